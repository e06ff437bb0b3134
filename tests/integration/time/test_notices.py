"""Commits as they come, told to those who wait: by a server, in SQL, and without a server."""

import asyncio
import json
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

import keylake as kl
import keylake.local
from integration.commands import invoked
from integration.random_runs import seeds
from integration.refusals import refused, refused_in_sql
from integration.twin import fresh_name

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("a", pa.int64())])
Seen = kl.KeyedTable | keylake.local.LocalTable
SOON, LONG = 0.3, 60.0  # seconds: for what must not come, and for what does


def create(lake: kl.Lake) -> kl.KeyedTable:
    return lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("notices"), key=["id"], buckets=2))


def rows(*keys: int) -> list[dict[str, object]]:
    return [{"id": key, "a": 1} for key in keys]


@contextmanager
def seen_by_both(lake: kl.Lake, warehouse: Path) -> Iterator[tuple[kl.KeyedTable, list[Seen]]]:
    """A new table; and the same as a client of a server sees it, and a reader without one."""
    table = create(lake)
    with keylake.local.open(warehouse) as local:
        yield table, [table, local.table(table.name)]


def ids(commits: Iterable[kl.CommitInfo]) -> list[int]:
    return [commit.snapshot_id for commit in commits]


def meanwhile(act: Callable[[], object]) -> threading.Thread:
    """What somebody else does in a moment."""
    thread = threading.Timer(0.2, act)
    thread.start()
    return thread


def test_a_wait_ends_with_the_next_commits(lake: kl.Lake, warehouse: Path) -> None:
    with seen_by_both(lake, warehouse) as (table, both):
        for seen in both:
            assert seen.wait(seconds=SOON) == ()
            thread = meanwhile(lambda: table.upsert(rows(1)))
            (told,) = seen.wait(seconds=LONG)
            thread.join()
            assert told == table.history()[0], "with all that the history says of it"
            written = [table.upsert(rows(2)), table.delete([{"id": 1}])]
            assert ids(seen.wait(told, seconds=LONG)) == [commit.snapshot_id for commit in written], "oldest first"
            assert seen.wait(written[-1], seconds=0) == ()
            assert ids(seen.wait(0, seconds=0)) == ids(reversed(table.history()))


def test_a_commit_says_how_far_its_stream_is_complete(lake: kl.Lake, warehouse: Path) -> None:
    with seen_by_both(lake, warehouse) as (table, both):
        noon, one = datetime(2026, 11, 1, 12, tzinfo=UTC), datetime(2026, 11, 1, 13, tzinfo=UTC)
        table.upsert(rows(1), stream="web", watermark=one)
        table.upsert(rows(2), watermark=noon)
        table.upsert(rows(3), stream="app")
        for seen in both:
            assert [commit.watermark for commit in seen.wait(0, seconds=0)] == [one, noon, None]


def test_compactions_are_told_where_they_are_asked_for(lake: kl.Lake, warehouse: Path) -> None:
    with seen_by_both(lake, warehouse) as (table, both):
        table.upsert(rows(1, 2, 3))
        last = table.upsert(rows(2))
        table.compact("full")
        for seen in both:
            assert seen.wait(last, seconds=0) == ()
            (compaction,) = seen.wait(last, seconds=0, compactions=True)
            assert compaction.verb == "compact"
        after = table.upsert(rows(4))
        for seen in both:
            assert ids(seen.wait(last, seconds=0)) == [after.snapshot_id]


def test_a_branch_has_commits_of_its_own(lake: kl.Lake, warehouse: Path) -> None:
    table = create(lake)
    first = table.upsert(rows(1))
    draft = table.branch("tmp_notices")
    with keylake.local.open(warehouse) as local:
        here = local.table(table.name)
        on_branch = draft.upsert(rows(2))
        on_main = table.upsert(rows(3))
        assert ids(table.wait(first, seconds=0)) == ids(here.wait(first, seconds=0)) == [on_main.snapshot_id]
        assert ids(draft.wait(first, seconds=0)) == [on_branch.snapshot_id]
        assert ids(here.wait(first, branch="tmp_notices", seconds=0)) == [on_branch.snapshot_id]
        assert ids(table.wait(on_branch, seconds=0)) == [on_main.snapshot_id], "what main has, and the branch has not"
        with pytest.raises(kl.TableNotFound, match="tmp_other"):
            here.wait(0, branch="tmp_other", seconds=0)


def test_an_experiment_has_commits_of_its_own(lake: kl.Lake) -> None:
    table = create(lake)
    table.upsert(rows(1))
    trial = table.experiment("trial", add={"score": float})
    begun = trial.history()[0]
    written = trial.update([{"id": 1, "score": 0.5}])
    table.upsert(rows(2))
    assert ids(trial.wait(begun, seconds=0)) == [written.snapshot_id]


def test_a_rollback_is_no_commit(lake: kl.Lake, warehouse: Path) -> None:
    with seen_by_both(lake, warehouse) as (table, both):
        first, second = table.upsert(rows(1)), table.upsert(rows(2))
        table.commits.rollback(to=first)
        for seen in both:
            assert seen.wait(second, seconds=0) == ()
        third = table.upsert(rows(3))
        for seen in both:
            (told,) = seen.wait(second, seconds=LONG)
            assert (told.snapshot_id, told.parent_id) == (third.snapshot_id, first.snapshot_id)


def test_a_watch_gives_each_commit_once(lake: kl.Lake, warehouse: Path) -> None:
    with seen_by_both(lake, warehouse) as (table, both):
        first = table.upsert(rows(0))
        for seen in both:
            watch = seen.watch(seconds=LONG)
            written = [table.upsert(rows(key)) for key in range(3)]  # behind the newest commit of when it began
            assert [next(watch).snapshot_id for _ in written] == [commit.snapshot_id for commit in written]
        everything = ids(reversed(table.history()))
        for seen in both:
            assert ids(seen.watch(0, seconds=SOON)) == everything
            assert ids(seen.watch(first, seconds=SOON)) == everything[1:]


def test_a_watch_leaves_the_event_loop_to_others(lake: kl.Lake, warehouse: Path) -> None:
    with seen_by_both(lake, warehouse) as (table, (_, here)):
        assert isinstance(here, keylake.local.LocalTable)
        ticks: list[float] = []

        async def tick() -> None:
            while True:
                ticks.append(time.monotonic())
                await asyncio.sleep(0.01)

        async def watch() -> list[int]:
            ticking = asyncio.create_task(tick())
            thread = meanwhile(lambda: [table.upsert(rows(key)) for key in range(2)])
            told = [commit.snapshot_id async for commit in here.awatch(seconds=3)]
            ticking.cancel()
            thread.join()
            return told

        assert asyncio.run(watch()) == ids(reversed(table.history()))
        assert len(ticks) > 50


def test_many_wait_for_one_commit(lake: kl.Lake, warehouse: Path) -> None:
    with seen_by_both(lake, warehouse) as (table, both), ThreadPoolExecutor(12) as pool:
        waits: list[Future[tuple[kl.CommitInfo, ...]]] = [
            pool.submit(seen.wait, 0, seconds=LONG) for seen in both for _ in range(6)
        ]
        time.sleep(0.3)
        written = table.upsert(rows(1))
        assert [ids(wait.result()) for wait in waits] == [[written.snapshot_id]] * 12


def test_commits_are_awaited_in_sql(lake: kl.Lake) -> None:
    table = create(lake)
    call = f"CALL {lake.catalog}.system.wait_for_commits(table => '{table.name}', after => %s, seconds => %s)"
    assert lake.spark.sql(call % (0, "0.1")).collect() == []
    table.upsert(rows(1), stream="web")
    (told,) = lake.spark.sql(call % (0, 10)).collect()
    assert (told["verb"], told["rows"], told["stream"]) == ("upsert", 1, "web")
    with refused_in_sql(lake, table.name, "DEFINITION", "seconds => 61.0", "0 to 60"):
        lake.spark.sql(call % (0, 61)).collect()
    with refused_in_sql(lake, table.name, "DEFINITION", "seconds => -1.0"):
        lake.spark.sql(call % (0, "-1")).collect()
    with refused_in_sql(lake, table.name, "SNAPSHOT_EXPIRED", "commit 77"):
        lake.spark.sql(call % (77, 1)).collect()


def test_a_command_prints_commits_as_they_come(lake: kl.Lake, warehouse: Path) -> None:
    table = create(lake)
    first, second = table.upsert(rows(1, 2), stream="web"), table.upsert(rows(3))
    words = ("watch", table.name, "--after", str(first.snapshot_id), "--seconds", "0.2", "--json")
    for lines in (invoked(lake, *words).stdout, invoked(lake, *words, "--lake", str(warehouse)).stdout):
        (told,) = map(json.loads, lines.splitlines())
        assert (told["snapshot_id"], told["rows"], told["columns"]) == (second.snapshot_id, 1, ["a"])
    lines = invoked(lake, "watch", table.name, "--after", "0", "--seconds", "0.2").stdout.splitlines()
    assert [str(commit.snapshot_id) in line for commit, line in zip((first, second), lines, strict=True)] == [True] * 2
    assert "upsert  rows 2  stream web" in lines[0]


def test_waits_without_sense_are_refused(lake: kl.Lake, warehouse: Path) -> None:
    with seen_by_both(lake, warehouse) as (table, both):
        for seen in both:
            for verb in (seen.wait, seen.watch):
                with refused(lake, table.name, kl.DefinitionError, "seconds=-1 is no time to wait"):
                    verb(seconds=-1)
                with refused(lake, table.name, kl.DefinitionError, "seconds=nan"):
                    verb(seconds=float("nan"))
                with refused(lake, table.name, kl.DefinitionError, "seconds", "'1'"):
                    verb(seconds="1")  # type: ignore[arg-type]
                with refused(lake, table.name, kl.DefinitionError, "after='x' is no commit"):
                    verb("x")  # type: ignore[arg-type]
            with refused(lake, table.name, kl.SnapshotExpired, "77"):
                seen.wait(77, seconds=LONG)


def test_a_wait_ends_with_its_table(lake: kl.Lake, warehouse: Path) -> None:
    for number in range(2):
        with seen_by_both(lake, warehouse) as (table, both):
            thread = meanwhile(lambda name=table.name: lake.drop(name))  # type: ignore[misc]
            with pytest.raises(kl.TableNotFound):
                both[number].wait(seconds=LONG)
            thread.join()


@pytest.mark.parametrize("seed", seeds(few=1, many=20))
def test_every_watch_is_told_of_all_random_commits(lake: kl.Lake, warehouse: Path, seed: int) -> None:
    """Two clients and a writer without a server commit at random, and maintenance tidies up; watches have all of it."""
    with seen_by_both(lake, warehouse) as (table, both), ThreadPoolExecutor(6) as pool:
        here = both[1]
        others = [lake.table(table.name), here]
        watches = [pool.submit(list, seen.watch(0, seconds=4)) for seen in both]

        def write(number: int) -> None:
            chosen = random.Random(seed * 10 + number)
            for _ in range(6):
                time.sleep(chosen.random() / 10)
                writer = others[number]
                chosen.choice((writer.upsert, writer.update))(rows(*chosen.sample(range(50), 3)))

        writes = [pool.submit(write, number) for number in range(2)]
        table.upsert(rows(99))
        table.compact("full")
        for each in writes:
            each.result()
        history = list(reversed(table.history()))
        assert [watch.result() for watch in watches] == [history, history]
        assert len(history) == 13
