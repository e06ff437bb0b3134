"""What becomes of the log as its table changes, and of who follows it and moves it at the same time."""

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import keylake as kl
import keylake.local
from integration.log.logged_table import Both, made, shown
from integration.twin import comparable, fresh_name
from integration.value_types import TYPES, row
from integration.writing.key_types import KEYS


@pytest.mark.slow
def test_entries_that_were_undone_or_rolled_back_stay_away(both: Both) -> None:
    first = both.table.upsert([{"id": 1, "a": 1, "b": "one"}])
    both.here.log.update({"id": 1, "a": 10})
    both.table.log.move()
    both.table.undo(both.table.history()[0])
    assert shown(both.here, fresh=True) == shown(both.table, fresh=True) == {1: (1, "one")}
    both.here.log.update({"id": 1, "b": "two"})
    assert shown(both.here, fresh=True) == {1: (1, "two")}
    both.table.log.move()
    assert shown(both.here) == {1: (1, "two")}
    both.table.commits.rollback(to=first)
    assert shown(both.here, fresh=True) == shown(both.table, fresh=True) == {1: (1, "one")}
    both.table.layout.clean(kl.RetentionPolicy(days=0, orphan_days=0))
    both.here.log.update({"id": 1, "a": 7})
    assert shown(both.here, fresh=True) == shown(both.table, fresh=True) == {1: (7, "one")}
    assert both.table.log.state().waiting == 0


def test_what_was_rolled_back_is_not_forgotten_with_its_commits(lake: kl.Lake, both: Both, warehouse: Path) -> None:
    first = both.table.upsert([{"id": 1, "a": 1, "b": "one"}])
    for number in range(2, 5):
        both.here.log.update({"id": number, "a": number})
        both.table.log.move()
    both.table.commits.rollback(to=first)
    both.table.upsert([{"id": 9, "a": 9, "b": "nine"}])
    both.table.layout.clean(kl.RetentionPolicy(days=0, orphan_days=0))
    both.table.apply_changes([{"id": 8, "a": 8, "b": "eight", "op": "I"}], op="op", offsets={"kafka": (0, 1)})
    expected = {1: (1, "one"), 8: (8, "eight"), 9: (9, "nine")}
    for moved in ("as it is", "lost"):
        if moved == "lost":  # of a mover that has died between its commit and the note of it
            (both.folder / "moved").unlink()
        with keylake.local.open(warehouse) as other:
            assert shown(other.table(both.table.name), fresh=True) == expected
        assert shown(lake.table(both.table.name), fresh=True) == expected
    assert both.table.log.state().waiting == 0


@pytest.mark.parametrize("undone", [[0], [1], [0, 2], [2, 0, 1]])
def test_any_of_several_moves_is_undone(both: Both, undone: list[int]) -> None:
    moves = []
    for number in range(3):
        both.here.log.update({"id": number, "a": number})
        both.table.log.move()
        moves.append(both.table.history()[0])
    for number in undone:
        both.table.undo(moves[number])
    left = {number: (number, None) for number in range(3) if number not in undone}
    assert shown(both.here, fresh=True) == left
    both.here.log.update({"id": 7, "a": 7})
    assert both.table.log.move().entries == 1
    assert shown(both.here) == shown(both.table) == left | {7: (7, None)}


def test_cleaning_and_compaction_leave_the_log(both: Both) -> None:
    for number in range(4):
        both.here.log.update({"id": number, "a": number})
        if number == 1:
            both.table.log.move()
    both.table.compact("full")
    both.table.layout.clean(kl.RetentionPolicy(days=0, orphan_days=0))
    expected = {number: (number, None) for number in range(4)}
    assert shown(both.here, fresh=True) == expected
    assert shown(both.table, fresh=True) == expected


def test_columns_change_between_the_log_and_its_move(lake: kl.Lake, both: Both, warehouse: Path) -> None:
    both.table.upsert([{"id": 1, "a": 1, "b": "one"}])
    both.here.log.update({"id": 1, "a": 10, "b": "ten"})
    name = f"{lake.catalog}.{both.table.name}"
    lake.spark.sql(f"ALTER TABLE {name} RENAME COLUMN b TO c")
    lake.spark.sql(f"ALTER TABLE {name} ADD COLUMN d INT")
    lake.spark.sql(f"ALTER TABLE {name} RENAME COLUMN id TO key")
    with keylake.local.open(warehouse) as again:
        here = again.table(both.table.name)
        assert here.read(fresh=True).to_arrow().to_pylist() == [{"key": 1, "a": 10, "c": "ten", "d": None}]
        here.log.update({"key": 1, "d": 4})
        lake.spark.sql(f"ALTER TABLE {name} DROP COLUMN a")
        lake.spark.sql(f"ALTER TABLE {name} ALTER COLUMN d TYPE BIGINT")
        rows = [{"key": 1, "c": "ten", "d": 4}]
        assert here.read(fresh=True).to_arrow().to_pylist() == rows
        assert [entry.rows.to_pylist() for entry in here.log.entries()][1] == [{"key": 1, "d": 4}]
    assert both.table.read(fresh=True).toArrow().to_pylist() == rows


def test_a_table_that_is_made_anew_has_no_log(lake: kl.Lake, local: keylake.local.LocalLake, both: Both) -> None:
    both.here.log.update({"id": 1, "a": 1})
    spec = both.table.spec
    lake.drop(both.table.name)
    table = lake.create(spec)
    assert shown(table, fresh=True) == {}
    with pytest.raises(kl.NothingToDo):
        local.table(spec.name).log.update({"id": 1, "a": 1})


def test_times_that_python_does_not_have(lake: kl.Lake, local: keylake.local.LocalLake) -> None:
    for type_ in (pa.timestamp("us"), pa.timestamp("us", tz="UTC"), pa.date32()):
        schema = pa.schema([("k", type_), ("n", pa.int64())])
        table = lake.create(kl.TableSpec.from_arrow(schema, name=fresh_name("log_keys"), key="k", buckets=3))
        here = local.table(table.name)
        here.log.begin()
        numbers = pa.array([2**30, 5], pa.int32() if type_ == pa.date32() else pa.int64())
        here.log.update(pa.table({"k": numbers.cast(type_), "n": [1, 2]}))
        here.upsert(pa.table({"k": numbers.cast(type_), "n": [0, 0]}))
        assert sorted(here.read(fresh=True).to_arrow().column("n").to_pylist()) == [1, 2]
        table.log.move()
        assert sorted(here.read().to_arrow().column("n").to_pylist()) == [1, 2]


@pytest.mark.parametrize("kind", KEYS)
def test_keys_of_every_type_in_the_log(lake: kl.Lake, local: keylake.local.LocalLake, kind: str) -> None:
    type_, keys = KEYS[kind]
    schema = pa.schema([("k", type_), ("n", pa.int64())])
    table = lake.create(kl.TableSpec.from_arrow(schema, name=fresh_name("log_keys"), key="k", buckets=3))
    here = local.table(table.name)
    here.log.begin()
    here.upsert([{"k": key, "n": 0} for key in keys[::2]])
    here.log.update([{"k": key, "n": number} for number, key in enumerate(keys)])
    found = here.get_many([{"k": key} for key in keys], fresh=True)
    assert [None if row is None else row["n"] for row in found] == list(range(len(keys)))
    everything = sorted(row["n"] for row in here.read(fresh=True).to_arrow().to_pylist())
    assert everything == list(range(len(keys)))
    table.log.move()
    assert [row and row["n"] for row in here.get_many([{"k": key} for key in keys])] == list(range(len(keys)))


def test_values_of_every_type_in_the_log(lake: kl.Lake, local: keylake.local.LocalLake) -> None:
    columns = [pa.field(f"c_{kind}", type_) for kind, (type_, _) in TYPES.items()]
    schema = pa.schema([pa.field("k", pa.int32(), nullable=False), *columns])
    table = lake.create(kl.TableSpec.from_arrow(schema, name=fresh_name("log_values"), key="k", versions="explicit"))
    here = local.table(table.name)
    here.log.begin()
    here.log.upsert([row(key) for key in range(30)], version=1)
    names = list(TYPES)
    for start in range(3):
        some = [f"c_{kind}" for kind in names[start::3]]
        rows = [{"k": key} | {name: row(key + 1 + start)[name] for name in some} for key in range(start, 30, 2)]
        here.log.update(rows, version=2 + start)
    in_log = here.read(fresh=True).to_arrow().sort_by("k")
    table.log.move()
    assert rows_of(here.read().to_arrow().sort_by("k")) == rows_of(in_log)


def rows_of(table: pa.Table) -> list[object]:
    return [comparable(row) for row in table.to_pylist()]


# ---------------------------------------------------------------------------------------------------- who follows


def test_a_follower_is_told_of_each_entry_once(both: Both) -> None:
    both.here.log.update({"id": 0, "a": 0}, stream="web")
    told: list[keylake.local.LogEntry] = []
    thread = threading.Thread(target=lambda: told.extend(both.here.log.follow(after=-1, seconds=2)))
    thread.start()
    for number in range(1, 40):
        both.here.log.update({"id": number, "a": number})
        if number % 10 == 0:
            both.table.log.move()
    thread.join()
    assert [entry.number for entry in told] == list(range(40))
    assert [entry.rows.to_pylist() for entry in told] == [[{"id": n, "a": n}] for n in range(40)]
    assert told[0].stream == "web"
    assert [entry.at for entry in told] == sorted(entry.at for entry in told)
    assert [entry.number for entry in both.here.log.entries(after=37)] == [38, 39]
    assert list(both.here.log.follow(seconds=0)) == []


def test_entries_that_are_not_kept_any_more_are_told(lake: kl.Lake, local: keylake.local.LocalLake) -> None:
    both = made(lake, local, kl.FileLog(keep=timedelta(0)))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("keylake._log.segments.SEGMENT_BYTES", 1)
        for number in range(3):
            both.here.log.update({"id": number, "a": number})
    both.table.log.move()
    assert both.here.log.state().first > 0
    with pytest.raises(kl.SnapshotExpired, match="is not kept any more"):
        list(both.here.log.entries(after=-1))
    assert len(shown(both.here, fresh=True)) == 3


# ------------------------------------------------------------------------------------------------- several at once


@pytest.mark.parametrize("limit", ["MOST_ROWS", "MOST_BYTES"])
def test_a_move_makes_commits_that_a_server_can_hold(both: Both, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(f"keylake._table.log.{limit}", 3 if limit == "MOST_ROWS" else 2000)
    for number in range(10):
        both.here.log.update({"id": number, "a": number})
    moved = both.table.log.move()
    assert moved.entries == moved.rows == 10
    assert moved.commits > 2
    assert shown(both.here) == {number: (number, None) for number in range(10)}


def test_each_entry_counts_once_however_many_move(lake: kl.Lake, both: Both) -> None:
    done = threading.Event()
    failures: list[BaseException] = []

    def guarded(act: Callable[[], object]) -> threading.Thread:
        def run() -> None:
            try:
                while not done.is_set():
                    act()
            except BaseException as error:  # noqa: BLE001  # it is raised below
                failures.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    movers = [lake.table(both.table.name) for _ in range(3)]
    threads = [guarded(mover.log.move) for mover in movers]
    for number in range(150):
        both.here.log.update({"id": number % 40, "a": number})
        if number % 5 == 0:
            fresh = both.here.get(id=number % 40, fresh=True)
            assert fresh is not None
            assert fresh["a"] == number, "no fresh read is older than a write before it"
    time.sleep(0.2)
    done.set()
    for thread in threads:
        thread.join()
    assert not failures
    both.table.log.move()
    rows = [commit.rows or 0 for commit in both.table.history() if commit.verb == "apply_changes"]
    entries = len(list(both.here.log.entries()))
    assert entries == 150
    assert sum(rows) <= 150
    assert both.table.commits.offsets() == {next(iter(both.table.commits.offsets())): 150}
    assert shown(both.here) == {key: (max(n for n in range(150) if n % 40 == key), None) for key in range(40)}
