"""Writes are taken back as if they had never been made, whatever came after them, and however files were merged."""

from random import Random

import pytest

import keylake as kl
from integration.histories import Shape, operations, shapes
from integration.random_runs import of_every_shape
from integration.refusals import refused
from integration.twin import Twin, fresh_name

SHAPES = dict(shapes())
EXPLICIT = Shape("explicit", buckets=2)


def at(twin: Twin, commits: int) -> kl.Commit | None:
    return twin.commits[commits - 1] if commits else None


def undone(twin: Twin, after: int, until: int) -> kl.Undone:
    """Take the commits back in both."""
    planned = twin.table.undo_plan(after=at(twin, after), until=at(twin, until))
    done = twin.table.undo(after=at(twin, after), until=at(twin, until))
    assert (planned.commits, planned.files_removed) == (done.commits, done.files_removed)
    twin.model = twin.model.without(after, until)
    return done


@of_every_shape
def test_random_ranges_are_taken_back(lake: kl.Lake, shape: Shape) -> None:
    random = Random(3)
    twin = shape.create(lake, fresh_name("undo"))
    steps = operations(shape, 801, count=9, rows=random.choice([5, 30]))
    for number, operation in enumerate(steps[:7]):
        operation.apply(twin)
        if number in {2, 5}:
            twin.table.compact("settle" if number == 2 else "full")
    undone(twin, *sorted(random.sample(range(4, 8), 2)))
    twin.check()
    for operation in steps[7:]:
        operation.apply(twin)
        twin.check()
    undone(twin, *sorted(random.sample(range(4), 2)))
    twin.check()
    twin.check_stamps()
    twin.table.compact("full")
    twin.check()
    twin.check_stamps()


def rows(first: int, after: int, value: int) -> list[dict[str, object]]:
    return [{"id": key, "a": value, "b": "text", "c": 0.5, "d": None, "e": 1} for key in range(first, after)]


def three_commits(lake: kl.Lake) -> Twin:
    twin = EXPLICIT.create(lake, fresh_name("undo"))
    twin.upsert(rows(0, 100, 1), version=1)
    twin.upsert(rows(50, 150, 2), version=2)
    twin.update([{"id": key, "c": 1.5} for key in range(40, 60)], version=3)
    return twin


@pytest.mark.parametrize("compacted", [None, "settle", "full"])
def test_the_middle_of_a_history(lake: kl.Lake, compacted: str | None) -> None:
    twin = three_commits(lake)
    if compacted:
        twin.table.compact(compacted)  # type: ignore[arg-type]
    before = twin.table.history()[0]
    done = undone(twin, 1, 2)
    assert done.metadata_only == (compacted != "full")
    assert (done.commits, done.files_written > 0) == (1, compacted == "full")
    assert (done.rows, done.columns) == (100, ("a", "b", "c", "d", "e"))
    assert twin.table.history()[0].verb == "undo"
    twin.check()
    feed = twin.table.changes(after=before.snapshot_id).groupBy("_change").count().collect()
    assert {row["_change"]: row["count"] for row in feed} == {"update": 50, "delete": 50}, "the inverse feed"
    assert twin.table.appended(after=twin.commits[0]).count() == 20, "what was taken back was not written"
    twin.upsert(rows(50, 60, 7), version=2)
    twin.check()
    assert twin.table.undo_plan(after=twin.commits[2]).commits == 2, "the undo and what came later"


def test_an_overwrite_is_taken_back(lake: kl.Lake) -> None:
    twin = three_commits(lake)
    twin.overwrite(rows(0, 3, 5), version=4)
    twin.update([{"id": 1, "a": 6}], version=5)
    undone(twin, 3, 4)
    twin.check()


def test_what_a_later_overwrite_emptied_is_left_alone(lake: kl.Lake) -> None:
    twin = three_commits(lake)
    twin.overwrite(rows(0, 3, 5), version=4)
    assert undone(twin, 1, 2).buckets == 0
    twin.check()


def test_an_undo_is_taken_back(lake: kl.Lake) -> None:
    twin = three_commits(lake)
    whole = twin.model
    undone(twin, 2, 3)
    twin.check()
    twin.table.undo(after=twin.commits[2])
    twin.model = whole
    twin.check()


def test_ranges_that_cannot_be_taken_back(lake: kl.Lake) -> None:
    twin = three_commits(lake)
    name = twin.table.name
    first, _, last = twin.commits
    with refused(lake, name, kl.DefinitionError, "exchange them"):
        twin.table.undo(after=last, until=first)
    with refused(lake, name, kl.SnapshotExpired, "Commit 17"):
        twin.table.undo(after=17)
    twin.table.compact("full")
    with refused(lake, name, kl.TableNotFound, "nothing to undo"):
        twin.table.undo(after=last)
    twin.table.undo(after=first, until=twin.commits[1])
    with refused(lake, name, kl.Unsupported, "lie before those to be undone"):
        twin.table.undo(after=twin.commits[1], until=last)
    twin.table.clean(kl.RetentionPolicy(days=0))
    with refused(lake, name, kl.SnapshotExpired, "has expired"):
        twin.table.undo(after=first)
