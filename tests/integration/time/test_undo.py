"""Writes are taken back as if they had never been made, whatever came after them, and however files were merged."""

from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

import keylake as kl
from integration.changed_rows import differences
from integration.histories import Operation, Shape, operations, shapes
from integration.random_runs import of_every_shape
from integration.reading.metadata_rows import of_commits
from integration.refusals import refused, refused_in_sql
from integration.time.appended import by_key as changes_by_key
from integration.twin import Found, Twin, fresh_name, given
from model.model import KeyedTable

SHAPES = dict(shapes())
EXPLICIT = Shape("explicit", buckets=2)


def at(twin: Twin, commits: int) -> kl.Commit | None:
    return twin.commits[commits - 1] if commits else None


def undone(twin: Twin, after: int, until: int) -> kl.Undone:
    """Take the commits back in both."""
    planned = twin.table.undo_plan(after=at(twin, after), until=at(twin, until), everything=after == 0)
    done = twin.table.undo(after=at(twin, after), until=at(twin, until), everything=after == 0)
    assert (planned.commits, planned.files_removed) == (done.commits, done.files_removed)
    twin.model = twin.model.without(after, until)
    return done


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_an_undone_overwrite_comes_back(lake: kl.Lake) -> None:
    """Also in buckets that it only emptied."""
    twin = Shape("explicit", buckets=4).create(lake, fresh_name("undo"))
    first = twin.upsert(rows(0, 10, 1), version=1)
    twin.overwrite(rows(20, 21, 2), version=2)
    overwritten = twin.model
    undo = undone(twin, 1, 2)
    twin.check()
    assert changed(twin, at(twin, 2), undo.snapshot_id) == {"insert": 10, "delete": 1}
    twin.table.undo(after=at(twin, 2), until=undo.snapshot_id)
    twin.model = overwritten
    twin.check()
    assert changed(twin, undo.snapshot_id, None) == {"delete": 10, "insert": 1}
    assert changed(twin, first, None) == {"delete": 10, "insert": 1}, "the net changes of all"
    assert changed(twin, at(twin, 2), None) == {}


def changed(twin: Twin, after: kl.Commit | int | None, until: int | None) -> dict[str, int]:
    """How many keys a feed has of each kind of change."""
    kinds = twin.table.changes(after=after, until=until).groupBy("_change").count().collect()
    return {row["_change"]: row["count"] for row in kinds}


def test_rows_that_an_undo_brings_back_are_in_the_feed(lake: kl.Lake) -> None:
    twin = Shape("explicit", buckets=4).create(lake, fresh_name("undo"))
    twin.upsert(rows(0, 10, 1), version=1)
    twin.upsert(rows(5, 15, 2), version=2)
    undo = twin.table.undo(after=at(twin, 1), until=at(twin, 2))
    assert undo.snapshot_id is not None
    twin.table.undo(after=at(twin, 2), until=undo.snapshot_id)
    assert changed(twin, undo.snapshot_id, None) == {"update": 5, "insert": 5}
    assert changed(twin, at(twin, 2), None) == {}


@pytest.mark.slow
def test_ranges_that_repeat_and_cross(lake: kl.Lake) -> None:
    """Undone twice stays undone until both undos are undone; an undone undo brings back also what lies before it."""
    twin = three_commits(lake)
    whole = twin.model
    first = undone(twin, 1, 2)
    undone(twin, 1, 3)
    twin.check()
    second = twin.table.history()[0].snapshot_id
    assert first.snapshot_id is not None
    twin.table.undo(after=at(twin, 3), until=first.snapshot_id)
    twin.check()
    twin.table.undo(after=first.snapshot_id, until=second)
    twin.model = whole
    twin.check()
    inner = twin.table.undo(twin.commits[0])
    twin.upsert(rows(200, 210, 4), version=4)
    twin.table.undo(after=at(twin, 2))
    twin.model = whole.only([1, 2])
    twin.check()
    assert inner.commits == 1


def test_an_overwrite_empties_what_comes_back_later(lake: kl.Lake) -> None:
    """It replaced nothing in these buckets at the time: all that was there was undone."""
    twin = Shape("explicit", buckets=4).create(lake, fresh_name("undo"))
    twin.upsert(rows(0, 10, 1), version=1)
    undo = undone(twin, 0, 1)
    twin.overwrite(rows(20, 21, 2), version=2)
    twin.table.undo(after=at(twin, 1), until=undo.snapshot_id)
    twin.check()


@pytest.mark.slow
def test_rows_that_a_dropped_file_superseded_come_back(lake: kl.Lake) -> None:
    """What was superseded where the replay begins may not be so at its end."""
    twin = Shape("explicit", buckets=1).create(lake, fresh_name("undo"))
    twin.upsert(rows(0, 10, 1), version=1)
    twin.upsert(rows(0, 1, 2), version=2)
    twin.table.compact("settle")
    twin.update([{"id": 5, "c": 2.5}], version=3)
    twin.table.drop_files(of_commits(twin, 2))
    twin.table.compact("full")
    twin.table.undo(after=twin.table.history(compactions=True)[3], until=at(twin, 3))
    twin.model = twin.model.only([1])
    twin.check()


@dataclass
class Step:
    """A commit: its number in the model if it is a write, and the commits that it took back if it is an undo."""

    snapshot_id: int
    number: int | None = None
    undone: frozenset[int] = frozenset()


@dataclass
class Story:
    """A table, the model with all that was ever written to it, and the rows after each step."""

    random: Random
    twin: Twin
    whole: KeyedTable
    steps: list[Step] = field(default_factory=list)
    states: list[Found] = field(default_factory=list)

    def counting(self) -> KeyedTable:
        """What the commits that count have written: those that no undo takes back which counts itself."""
        undone: set[int] = set()
        for step in reversed(self.steps):
            if step.snapshot_id not in undone:
                undone |= step.undone
        return self.whole.only(s.number for s in self.steps if s.number is not None and s.snapshot_id not in undone)

    def write(self, operation: Operation) -> None:
        self.twin.model = self.whole
        operation.apply(self.twin)
        self.keep(Step(self.twin.commits[-1].snapshot_id, len(self.whole.replaced)))

    def overwrite(self, operation: Operation) -> None:
        days = {row["day"] for row in operation.rows if "day" in row}
        rows = [row for row in operation.rows if not days or row["day"] == max(days)]
        where = f"day = DATE '{max(days)}'" if days else None
        self.whole.overwrite(rows, operation.version, lambda key: not days or key[1] == max(days))
        commit = self.twin.table.overwrite(self.twin.frame(rows), **given(where=where, version=operation.version))
        self.keep(Step(commit.snapshot_id, len(self.whole.replaced)))

    def undo(self) -> None:
        until = self.random.randint(1, len(self.steps))
        after = self.random.randint(max(0, until - 4), until - 1)
        done = self.twin.table.undo(
            after=self.steps[after - 1].snapshot_id if after else None,
            until=self.steps[until - 1].snapshot_id,
            everything=after == 0,
        )
        assert done.snapshot_id is not None
        self.keep(Step(done.snapshot_id, undone=frozenset(step.snapshot_id for step in self.steps[after:until])))

    def keep(self, step: Step) -> None:
        self.steps.append(step)
        self.twin.model = self.counting()
        self.states.append(self.twin.expected())

    def check(self) -> None:
        self.twin.check()
        until = self.random.randint(1, len(self.steps))
        after = self.random.randint(0, until - 1)
        feed = self.twin.table.changes(
            after=self.steps[after - 1].snapshot_id if after else None, until=self.steps[until - 1].snapshot_id
        )
        before = self.states[after - 1] if after else {}
        assert changes_by_key(self.twin, feed) == differences(before, self.states[until - 1]), (after, until)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["explicit", "commit", "partitions and groups"])
def test_random_undos_of_writes_overwrites_and_undos(lake: kl.Lake, name: str) -> None:
    random = Random(11)
    twin = SHAPES[name].create(lake, fresh_name("undo"))
    story = Story(random, twin, twin.model)
    writes = [each for each in operations(SHAPES[name], 811, count=20, rows=12) if each.verb != "overwrite"]
    whole = [each for each in operations(SHAPES[name], 812, count=40, rows=8) if each.verb == "upsert"]
    story.write(writes.pop())
    done: list[str] = []
    for _ in range(10):
        step = random.choice(["write", "write", "overwrite", "undo", "undo", "undo", "full", "settle"])
        done.append(step)
        if step == "write":
            story.write(writes.pop())
        elif step == "overwrite":
            story.overwrite(whole.pop())
        elif step == "undo":
            story.undo()
        else:
            twin.table.compact(step)  # type: ignore[arg-type]
        try:
            story.check()
        except AssertionError as error:
            raise AssertionError(f"{done}") from error


@pytest.mark.slow
def test_one_commit_is_taken_back(lake: kl.Lake) -> None:
    """By what its write returned, by its row of the history, by its snapshot, in SQL; the first one, too."""
    twin = three_commits(lake)
    everything = twin.model
    infos = {each.snapshot_id: each for each in twin.table.history()}
    for number, commit in enumerate(twin.commits):
        for one in (commit, infos[commit.snapshot_id], commit.snapshot_id):
            assert twin.table.commits.undo_plan(one).commits == 1
        call = f"CALL {lake.catalog}.system.undo_plan(table => '{twin.table.name}', commit => {commit.snapshot_id})"
        assert lake.spark.sql(call).collect()[0]["commits"] == 1
        twin.table.undo(commit)
        twin.model = everything.without(number, number + 1)
        twin.check()
        again = twin.table.undo(twin.table.history()[0])
        assert ": 1 commit is taken back in " in str(again), "an undo has no rows and columns of its own"
        twin.model = everything
        twin.check()
        assert "one of 0 files" not in str(twin.table.explain_row(id=55))


def test_a_commit_of_another_branch_is_not_taken_back(lake: kl.Lake) -> None:
    twin = three_commits(lake)
    name = twin.table.name
    draft = twin.table.branch("tmp_undo")
    of_draft = draft.update([{"id": 1, "a": 7}], version=9)
    of_main = twin.update([{"id": 1, "a": 8}], version=8)
    with refused(lake, name, kl.DefinitionError, f"Commit {of_draft.snapshot_id} is not one of main of"):
        twin.table.undo(of_draft)
    with refused(lake, name, kl.DefinitionError, f"Commit {of_main.snapshot_id} is not one of branch 'tmp_undo' of"):
        draft.undo(of_main)
    back = draft.undo(of_draft)
    assert draft.undo(back).commits == 1, "what an undo has returned is a commit, too"
    assert draft.get(id=1)["a"] == 7
    twin.check()
    first = twin.table.history()[0]
    twin.table.clean(kl.RetentionPolicy(days=0, snapshots=1))
    with refused(lake, name, kl.SnapshotExpired, f"Commit {first.snapshot_id}", "the commit before it has expired"):
        twin.table.undo(first)


def test_a_range_has_a_beginning(lake: kl.Lake) -> None:
    """An argument that was left away empties no table: everything is said, in every language."""
    twin = three_commits(lake)
    name, last = twin.table.name, twin.commits[-1].snapshot_id
    wrong: list[tuple[dict[str, Any], str]] = [
        ({}, "has no beginning"),
        ({"until": last}, "has no beginning"),
        ({"commit": last, "after": last}, "is a range of one commit"),
        ({"commit": last, "everything": True}, "is a range of one commit"),
        ({"after": last, "everything": True}, "ive one of both"),
    ]
    for words, says in wrong:
        for verb in (twin.table.undo, twin.table.commits.undo_plan):
            with refused(lake, name, kl.DefinitionError, says):
                verb(**words)
        arguments = "".join(f", {key} => {str(value).lower()}" for key, value in words.items())
        for procedure in ("undo", "undo_plan"):
            with refused_in_sql(lake, name, "DEFINITION", says):
                lake.spark.sql(f"CALL {lake.catalog}.system.{procedure}(table => '{name}'{arguments})").collect()
    assert twin.table.undo(everything=True).commits == 3
    assert twin.table.read().count() == 0
    assert twin.table.history()[0].verb == "undo"


def test_ranges_that_cannot_be_taken_back(lake: kl.Lake) -> None:
    twin = three_commits(lake)
    name = twin.table.name
    first, _, last = twin.commits
    with refused(lake, name, kl.DefinitionError, "exchange them"):
        twin.table.undo(after=last, until=first)
    with refused(lake, name, kl.SnapshotExpired, "Commit 17"):
        twin.table.undo(after=17)
    twin.table.compact("full")
    with refused(lake, name, kl.NothingToDo, "nothing to undo"):
        twin.table.undo(after=last)
    twin.table.undo(after=first, until=twin.commits[1])
    twin.table.clean(kl.RetentionPolicy(days=0))
    with refused(lake, name, kl.SnapshotExpired, "has expired"):
        twin.table.undo(after=first)
