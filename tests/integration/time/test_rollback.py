"""A branch stands at one of its commits again: only metadata changes, and what came later is still there."""

import pytest

import keylake as kl
from integration.histories import Shape, operations, shapes
from integration.refusals import refused
from integration.twin import Twin, fresh_name

SHAPES = dict(shapes())


def after_a_history(lake: kl.Lake, shape: Shape) -> Twin:
    twin = shape.create(lake, fresh_name("rollback"))
    for number, operation in enumerate(operations(shape, 601, count=6, rows=20)):
        operation.apply(twin)
        if number in (2, 4):
            twin.table.compact("settle" if number == 2 else "full")
    return twin


@pytest.mark.slow
@pytest.mark.parametrize("name", ["explicit", "commit"])
def test_a_table_goes_on_from_where_it_was_rolled_back_to(lake: kl.Lake, name: str) -> None:
    twin = after_a_history(lake, SHAPES[name])
    late = operations(SHAPES[name], 602, count=3, rows=20)
    back = twin.table.rollback(to=twin.commits[3])
    assert back.snapshot_id == twin.commits[3].snapshot_id == twin.table.history()[0].snapshot_id
    assert twin.read() == twin.expected(commits=4)
    assert twin.read(commits=6) == twin.expected(commits=6), "what came later is still there"
    assert twin.table.rollback(to=twin.commits[3].snapshot_id) == back, "again changes nothing"
    twin.model = twin.model.between(0, 4)
    twin.commits = twin.commits[:4]
    for operation in late:
        operation.apply(twin)
        twin.check()
    twin.table.compact("settle")
    twin.check()
    assert twin.table.changes(after=twin.commits[3]).count() >= 0


@pytest.mark.slow
def test_forward_again(lake: kl.Lake) -> None:
    twin = after_a_history(lake, SHAPES["explicit"])
    newest = twin.table.history()[0]
    twin.table.rollback(to=twin.commits[1])
    assert twin.table.rollback(to=newest) == newest
    twin.check()
    draft = twin.table.branch("tmp_forward")
    added = draft.update([{"id": 1, "a": 1}], version=99)
    draft.rollback(to=newest.snapshot_id)
    draft.rollback(to=added)
    assert draft.history()[0].snapshot_id == added.snapshot_id
    twin.table.rollback(to=twin.commits[1])
    twin.table.update([{"id": 1, "a": 1}], version=99)
    with refused(lake, twin.table.name, kl.DefinitionError, "another branch"):
        twin.table.rollback(to=newest)


def test_only_commits_of_the_branch(lake: kl.Lake) -> None:
    twin = after_a_history(lake, SHAPES["explicit"])
    name = twin.table.name
    lake.spark.sql(f"ALTER TABLE {twin.sql_name} CREATE BRANCH side").collect()
    side = twin.table.branch("side")
    elsewhere = side.update([{"id": 1, "a": 1}], version=99)
    with refused(lake, name, kl.DefinitionError, "exchange them"):
        twin.table.rollback(to=elsewhere)
    with refused(lake, name, kl.SnapshotExpired, "Commit 17"):
        twin.table.rollback(to=17)
    side.rollback(to=twin.commits[1])
    assert side.history()[0].snapshot_id == twin.commits[1].snapshot_id
    twin.check()
    empty = SHAPES["explicit"].create(lake, fresh_name("rollback")).table
    with pytest.raises(kl.NothingToDo, match="nothing to roll back to"):
        empty.rollback(to=17)
