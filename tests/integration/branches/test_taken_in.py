"""What a branch has taken in is known for good: nothing comes to it twice, whatever has expired or moved meanwhile."""

from dataclasses import replace
from datetime import date, timedelta

import pyarrow as pa
import pytest

import keylake as kl
from integration.histories import COMPOUND, Shape
from integration.refusals import refused
from integration.twin import fresh_name

BY_COMMIT = Shape("commit", buckets=1)
BY_DAY = Shape("commit", COMPOUND, buckets=1, partition_by=("day",))
FIRST, SECOND = date(2026, 11, 1), date(2026, 11, 2)
NOTHING_KEPT = kl.RetentionPolicy(days=0)


def row(key: int, value: int, **more: object) -> list[dict[str, object]]:
    return [{"id": key, "a": value, "b": "text", "c": 0.5, "d": None, "e": 1} | more]


def values(table: kl.KeyedTable, **words: object) -> dict[int, int]:
    found: pa.Table = table.read(**words).select("id", "a").toArrow()  # type: ignore[arg-type]
    return {each["id"]: each["a"] for each in found.to_pylist()}


@pytest.mark.slow
def test_main_gives_a_branch_nothing_that_came_from_it(lake: kl.Lake) -> None:
    table = BY_COMMIT.create(lake, fresh_name("taken")).table
    table.upsert(row(1, 0))
    draft = table.branch("tmp_draft")
    draft.upsert(row(1, 1))
    table.upsert(row(9, 0))
    draft.publish()
    draft.upsert(row(1, 2))
    assert draft.cherry_pick(table).commits == 1, "only what main has written itself"
    assert values(draft) == {1: 2, 9: 0}
    draft.compact("full")
    draft.publish()
    assert values(table) == {1: 2, 9: 0}
    table.compact("full")
    assert values(table) == {1: 2, 9: 0}


@pytest.mark.slow
def test_a_part_comes_once(lake: kl.Lake) -> None:
    table = BY_DAY.create(lake, fresh_name("taken")).table
    table.upsert(row(1, 0, day=FIRST))
    side = table.branch("tmp_side")
    side.upsert(row(1, 5, day=FIRST) + row(2, 5, day=SECOND))
    second = "day = DATE '2026-11-02'"
    table.cherry_pick(side, where=second)
    table.upsert(row(2, 7, day=SECOND))
    table.compact("full")
    with refused(lake, table.name, kl.NothingToDo, "nothing to pick"):
        table.cherry_pick(side, where=second)
    table.clean(NOTHING_KEPT)
    side.publish()
    assert values(table) == {1: 5, 2: 7}
    table.compact("full")
    assert values(table) == {1: 5, 2: 7}


def test_late_writes_come_once_though_their_snapshots_expire(lake: kl.Lake) -> None:
    table = BY_COMMIT.create(lake, fresh_name("taken")).table
    table.upsert(row(1, 0))
    table.archive("2026-11-01")
    table.archive("2026-11-02", every=timedelta(0))
    table.upsert(row(1, 1), business_time="2026-11-01")
    table.upsert(row(1, 2), business_time="2026-11-02")
    table.clean(NOTHING_KEPT)
    table.archive("2026-11-03", every=timedelta(0))
    assert [values(table, as_of=f"2026-11-0{day}")[1] for day in (1, 2, 3)] == [1, 2, 2]
    table.branch("history_20261102T000000Z").compact("full")
    assert values(table, as_of="2026-11-02") == {1: 2}


def test_a_key_counts_after_its_snapshot(lake: kl.Lake) -> None:
    table = BY_COMMIT.create(lake, fresh_name("taken")).table
    first = table.upsert(row(1, 1), idempotency_key="load 1")
    table.upsert(row(1, 2))
    table.clean(NOTHING_KEPT)
    again = table.upsert(row(1, 1), idempotency_key="load 1")
    assert replace(again, seconds=0) == replace(first, seconds=0, repeated=True)
    assert values(table) == {1: 2}


def test_a_key_of_a_commit_that_was_undone(lake: kl.Lake) -> None:
    table = BY_COMMIT.create(lake, fresh_name("taken")).table
    before = table.upsert(row(1, 0))
    first = table.upsert(row(1, 1), idempotency_key="load 1")
    table.undo(after=before, until=first)
    for _ in range(2):
        again = table.upsert(row(1, 1), idempotency_key="load 1")
        assert (again.snapshot_id, again.undone) == (first.snapshot_id, True)
        assert "undone since" in str(again)
        table.upsert(row(2, 2))
        table.clean(NOTHING_KEPT)
    table.upsert(row(1, 3), idempotency_key="load 1, again")
    assert values(table) == {1: 3, 2: 2}


def test_a_branch_of_a_table_that_was_empty(lake: kl.Lake) -> None:
    table = BY_COMMIT.create(lake, fresh_name("taken")).table
    draft = table.branch("tmp_draft")
    draft.upsert(row(1, 1))
    table.upsert(row(2, 2))
    assert draft.touched_by_both().count() == 0
    published = draft.publish()
    assert (published.commits, published.fast_forward) == (1, False)
    assert values(table) == {1: 1, 2: 2}


@pytest.mark.parametrize("moved", ["the branch", "main"])
def test_what_was_not_checked_is_not_published(lake: kl.Lake, moved: str) -> None:
    table = BY_COMMIT.create(lake, fresh_name("taken")).table
    table.upsert(row(1, 0))
    draft = table.branch("tmp_draft")
    draft.upsert(row(1, 1))

    def measured(*_frames: object) -> int:
        (draft if moved == "the branch" else table).upsert(row(1, -1))
        return 0

    check = replace(kl.condition("a >= 0"), measured=measured)
    with pytest.raises(kl.CommitConflict, match=r"has moved to commit .*publish again"):
        draft.publish(require=[check])
    assert values(table) == {1: 0 if moved == "the branch" else -1}


@pytest.mark.parametrize("moved", ["the branch", "main"])
def test_a_compaction_while_a_branch_is_checked_changes_nothing(lake: kl.Lake, moved: str) -> None:
    """Maintenance may compact a branch, or main, at any moment."""
    table = BY_COMMIT.create(lake, fresh_name("taken")).table
    table.upsert(row(1, 0))
    table.upsert(row(1, 1))
    draft = table.branch("tmp_draft")
    draft.upsert(row(1, 2))

    def measured(*_frames: object) -> int:
        report = (draft if moved == "the branch" else table).compact("full")
        assert report.bytes_written > 0
        return 0

    check = replace(kl.condition("a >= 0"), measured=measured)
    draft.publish(require=[check])
    assert values(table) == {1: 2}
