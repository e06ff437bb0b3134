"""Commits of a branch are made again on another by their files alone: all, or what a condition selects."""

from datetime import date

import pytest

import keylake as kl
from integration.histories import COMPOUND, Shape
from integration.refusals import refused
from integration.twin import Twin, fresh_name

EXPLICIT = Shape("explicit", buckets=2)
BY_DAY = Shape("explicit", COMPOUND, buckets=2, partition_by=("day",))
FIRST, SECOND = date(2026, 11, 1), date(2026, 11, 2)


def rows(first: int, after: int, value: int, **more: object) -> list[dict[str, object]]:
    return [{"id": key, "a": value, "b": "text", "c": 0.5, "d": None, "e": 1} | more for key in range(first, after)]


def with_side(lake: kl.Lake, shape: Shape = EXPLICIT, **more: object) -> tuple[Twin, kl.KeyedTable]:
    twin = shape.create(lake, fresh_name("picks"))
    twin.upsert(rows(0, 100, 1, **more), version=1)
    return twin, twin.table.branch("tmp_side")


@pytest.mark.slow
def test_some_commits_of_a_branch(lake: kl.Lake) -> None:
    twin, side = with_side(lake)
    side.upsert(rows(0, 10, 5), version=5)
    middle = side.delete([{"id": 50}], version=6)
    side.upsert(rows(0, 10, 7), version=7)
    twin.update([{"id": 1, "a": 9}], version=9)
    planned = twin.table.cherry_pick_plan(side, until=middle)
    done = twin.table.cherry_pick("tmp_side", until=middle)
    assert (planned.commits, planned.files, planned.rows) == (done.commits, done.files, done.rows) == (2, 3, 11)
    twin.model.upsert(rows(0, 10, 5), 5)
    twin.model.delete([{"id": 50}], 6)
    twin.check()
    assert [entry.verb for entry in twin.table.history()] == ["delete", "upsert", "update", "upsert"]
    assert twin.table.history()[0].snapshot_id == done.snapshot_id
    by_commit = f"SELECT count(*) FROM {twin.sql_name}.manifests GROUP BY added_snapshot_id"
    assert [row[0] for row in lake.spark.sql(by_commit).collect()] == [1] * 4, "a copied commit writes one manifest"
    with refused(lake, twin.table.name, kl.NothingToDo, "nothing to pick"):
        twin.table.cherry_pick(side, until=middle)
    assert twin.table.cherry_pick(side).commits == 1, "what is there is left out"
    with refused(lake, twin.table.name, kl.NothingToDo, "nothing to publish"):
        side.publish()
    assert twin.table.get(id=0).a == 7  # type: ignore[union-attr]


def test_files_that_a_condition_selects_whole(lake: kl.Lake) -> None:
    twin, side = with_side(lake, BY_DAY, day=FIRST)
    side.upsert(rows(0, 10, 5, day=FIRST) + rows(0, 10, 5, day=SECOND), version=5)
    done = twin.table.cherry_pick(side, where="day = DATE '2026-11-02'")
    assert (done.commits, done.rows, done.files_cut) == (1, 10, 0)
    twin.model.upsert(rows(0, 10, 5, day=SECOND), 5)
    twin.check()
    # What was picked is left out, and the other file has no id below 3.
    with refused(lake, twin.table.name, kl.Unsupported, "a part of 1 files with 4 rows", "written anew"):
        twin.table.cherry_pick(side, where="id < 3")
    assert twin.table.cherry_pick_plan(side, where="id < 3").files_cut == 1
    assert twin.table.cherry_pick_plan(side, where="id < 1000").files == 2
    assert twin.table.cherry_pick(side, where="day = DATE '2026-11-01'").rows == 10, "the other part"
    twin.model.upsert(rows(0, 10, 5, day=FIRST), 5)
    twin.check()
    with refused(lake, twin.table.name, kl.DefinitionError, "nix"):
        twin.table.cherry_pick(side, where="nix = 1")
    with refused(lake, twin.table.name, kl.DefinitionError, "compare columns of the table with values"):
        twin.table.cherry_pick(side, where="id + 1 = 5")


def test_a_part_of_a_commit_is_not_its_delivery(lake: kl.Lake) -> None:
    """A write with the key of a commit of which only a part was picked brings the rest."""
    twin, side = with_side(lake, BY_DAY, day=FIRST)
    both = rows(0, 10, 5, day=FIRST) + rows(0, 10, 5, day=SECOND)
    side.upsert(both, version=5, idempotency_key="delivery")
    twin.table.cherry_pick(side, where="day = DATE '2026-11-02'")
    done = twin.table.upsert(both, version=5, idempotency_key="delivery")
    assert not done.repeated
    assert twin.table.upsert(both, version=5, idempotency_key="delivery").repeated
    twin.model.upsert(both, 5)
    twin.check()


def test_a_commit_whose_key_the_branch_has_is_a_repetition(lake: kl.Lake) -> None:
    """Of two commits with one key, made on two branches, a branch takes one."""
    twin, side = with_side(lake)
    side.upsert(rows(0, 3, 5), version=5, idempotency_key="delivery")
    side.upsert(rows(5, 6, 6), version=6)
    twin.table.upsert(rows(0, 3, 4), version=4, idempotency_key="delivery")
    twin.model.upsert(rows(0, 3, 4), 4)
    assert twin.table.cherry_pick_plan(side).commits == 1
    assert side.publish().commits == 2, "of the branch, one of which main has already"
    twin.model.upsert(rows(5, 6, 6), 6)
    twin.check()
    with refused(lake, twin.table.name, kl.NothingToDo, "nothing to pick"):
        twin.table.cherry_pick(side)
    assert twin.table.upsert(rows(0, 3, 7), version=7, idempotency_key="delivery").repeated


def test_an_overwrite_replaces_here_what_it_replaced_there(lake: kl.Lake) -> None:
    twin, side = with_side(lake, BY_DAY, day=FIRST)
    twin.upsert(rows(0, 10, 2, day=SECOND), version=2)
    side.overwrite(rows(3, 5, 3, day=FIRST), where="day = DATE '2026-11-01'", version=3)
    side.update([{"id": 4, "day": FIRST, "a": 4}], version=4)
    done = side.publish()
    assert not done.fast_forward
    twin.model.overwrite(rows(3, 5, 3, day=FIRST), 3, lambda key: key[1] == FIRST)
    twin.model.update([{"id": 4, "day": FIRST, "a": 4}], 4)
    twin.check()


@pytest.mark.slow
def test_both_sides_are_told(lake: kl.Lake) -> None:
    twin, side = with_side(lake)
    side.update([{"id": key, "a": 5, "c": 1.5} for key in range(10)], version=5)
    twin.update([{"id": key, "a": 6, "b": "main"} for key in (3, 200)], version=6)
    assert sorted(row["id"] for row in side.touched_by_both().collect()) == [3]
    done = side.publish()
    assert done.columns_of_both == ("a",)
    assert (done.buckets_of_both, done.rows_of_both_at_most) == (1, 2)
    side.update([{"id": 1, "b": "side"}], version=7)
    assert side.touched_by_both().count() == 0, "since it was last published"


def test_what_cannot_be_picked(lake: kl.Lake) -> None:
    twin, side = with_side(lake)
    first = side.update([{"id": 1, "a": 5}], version=5)
    second = side.update([{"id": 2, "a": 5}], version=5)
    side.undo(after=first, until=second)
    twin.update([{"id": 7, "a": 7}], version=7)
    assert twin.table.cherry_pick_plan(side).commits == 1, "what was undone is left out"
    with refused(lake, twin.table.name, kl.Unsupported, "takes back writes from before the range"):
        twin.table.cherry_pick(side, after=second)
    with refused(lake, twin.table.name, kl.TableNotFound, "no branch 'nowhere'"):
        twin.table.cherry_pick("nowhere")
    other, _ = with_side(lake)
    with refused(lake, twin.table.name, kl.DefinitionError, "another table"):
        twin.table.cherry_pick(other.table)
