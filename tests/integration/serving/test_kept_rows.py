"""Composed rows of a merged state stay in those that follow, for as long as nobody writes their keys."""

import copy
import dataclasses
from pathlib import Path
from random import Random

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.table import StaticTable

import keylake as kl
from integration.histories import Shape, operations
from integration.random_runs import FIRST, of_every_shape
from integration.twin import Twin, by_key, fresh_name

KEYS = 300
ALIKE = 16  # files of composed rows of about one size, beyond which they become one


class Clicks(kl.Table, name="kept_rows.of_clicks", buckets=1):
    id: int = kl.key()
    clicks: int | None = None
    city: str | None = None
    seen: int | None = None


@pytest.fixture
def table(lake: kl.Lake) -> kl.KeyedTable:
    """All of its rows are composed: of two commits that every state has seen."""
    table = lake.create(dataclasses.replace(Clicks.table_spec(), name=fresh_name("kept_rows")))
    table.upsert([{"id": n, "clicks": n, "city": "Oslo", "seen": 0} for n in range(KEYS)])
    table.serving.merged_state()
    table.update([{"id": n, "seen": 1} for n in range(100, 200)])
    table.serving.merged_state()
    return table


def composed(state: kl.MergedState) -> dict[str, tuple[int, int]]:
    """The files of composed rows: how many rows each has, and how many of them are hidden."""
    plain = StaticTable.from_metadata(state.metadata_location)
    reader = ArrowScan(plain.metadata, plain.io, plain.schema(), AlwaysTrue())
    files = {}
    for task in plain.scan().plan_files():
        if "/merged-state/" in task.file.file_path:
            rows = task.file.record_count
            files[Path(task.file.file_path).name] = (rows, rows - reader.to_table([task]).num_rows)
    return files


def rows_of(state: kl.MergedState) -> dict[int, tuple[object, ...]]:
    rows = StaticTable.from_metadata(state.metadata_location).scan().to_arrow().to_pylist()
    found = {row["id"]: (row["clicks"], row["city"], row["seen"]) for row in rows}
    assert len(found) == len(rows), "a key stands twice"
    return found


def checked(table: kl.KeyedTable) -> kl.MergedState:
    """The state, which has the rows that a read gives."""
    state = table.serving.merged_state()
    assert rows_of(state) == {row.id: (row.clicks, row.city, row.seen) for row in table.read().collect()}
    return state


def test_only_rows_of_new_keys_are_composed(table: kl.KeyedTable) -> None:
    (first,) = composed(checked(table))
    table.update([{"id": n, "clicks": -1} for n in (5, 105, 250)])
    files = composed(checked(table))
    assert files.pop(first) == (100, 1)
    assert list(files.values()) == [(3, 0)]


def test_a_composed_row_is_updated_again(table: kl.KeyedTable) -> None:
    for clicks in range(3):
        table.update([{"id": 105, "clicks": clicks}])
        files = composed(checked(table))
        assert sorted(files.values()) == [(1, 0), (100, 1)], "a file of which no row is left goes"


def test_a_composed_row_is_written_whole(table: kl.KeyedTable) -> None:
    table.upsert([{"id": 105, "clicks": 7, "city": "Bergen", "seen": 7}])
    assert list(composed(checked(table)).values()) == [(100, 1)]
    table.update([{"id": 105, "city": None}])
    assert sorted(composed(checked(table)).values()) == [(1, 0), (100, 1)]


def test_a_composed_row_is_deleted_and_comes_back(table: kl.KeyedTable) -> None:
    table.delete([{"id": 105}, {"id": 5}, {"id": 1000}])
    state = checked(table)
    assert list(composed(state).values()) == [(100, 1)]
    assert not {105, 5} & rows_of(state).keys()
    table.update([{"id": 105, "city": "Bodø"}, {"id": 5, "city": "Bodø"}])
    assert rows_of(checked(table))[105] == (None, "Bodø", None)
    table.upsert([{"id": 105, "clicks": 1, "city": "Moss", "seen": 1}])
    assert rows_of(checked(table))[105] == (1, "Moss", 1)


def test_an_undo_brings_composed_rows_back(table: kl.KeyedTable) -> None:
    before = table.history(1)[0].snapshot_id
    last = table.update([{"id": n, "clicks": -1} for n in (5, 105)])
    assert rows_of(checked(table))[105] == (-1, "Oslo", 1)
    undone = table.undo(after=before, until=last)
    state = checked(table)
    assert rows_of(state)[105] == (105, "Oslo", 1)
    assert rows_of(state)[5] == (5, "Oslo", 0)
    table.undo(after=last, until=undone)
    assert rows_of(checked(table))[105] == (-1, "Oslo", 1)


def test_states_are_skipped(table: kl.KeyedTable) -> None:
    before = table.history(1)[0].snapshot_id
    table.update([{"id": 105, "clicks": -1}])
    table.delete([{"id": 106}])
    table.upsert([{"id": 106, "clicks": 1, "city": "Moss", "seen": 1}])
    table.update([{"id": 107, "city": "Moss"}])
    assert len(composed(checked(table))) == 2
    table.update([{"id": 108, "clicks": 1}])
    table.rollback(to=before)
    assert sorted(composed(checked(table)).values()) == [(3, 0), (100, 3)]


@pytest.fixture
def large(lake: kl.Lake) -> kl.KeyedTable:
    """A table whose first run is so large that it is not merged with the others, whose rows are all composed."""
    table = lake.create(dataclasses.replace(Clicks.table_spec(), name=fresh_name("kept_rows")))
    random = Random(FIRST)
    ids = range(20_000)
    clicks = [random.getrandbits(62) for _ in ids]
    table.upsert(pa.table({"id": ids, "clicks": clicks, "city": ["Oslo"] * len(ids), "seen": [0] * len(ids)}))
    for seen in range(4):
        table.update([{"id": n, "seen": seen} for n in range(10 * seen, 10 * seen + 15)])
        checked(table)
    return table


SMALL_RUNS = kl.CompactionPolicy(small_bytes=64 << 10, superseded_share=1.0, settle_share=None, least_freed_share=0.0)


def test_a_merge_of_small_runs_leaves_composed_rows(large: kl.KeyedTable) -> None:
    before = composed(checked(large))
    assert len(before) == 4
    assert large.compact(SMALL_RUNS)
    assert composed(checked(large)) == before
    large.update([{"id": 1, "clicks": 1}, {"id": 100, "clicks": 1}])
    assert large.compact("full")
    assert not composed(checked(large))


@pytest.mark.slow
def test_writes_that_were_merged_before_a_state(large: kl.KeyedTable) -> None:
    before = composed(checked(large))
    large.update([{"id": 1, "clicks": 1}, {"id": 100, "clicks": 1}])
    assert large.compact(SMALL_RUNS)
    after = composed(checked(large))
    (new,) = after.keys() - before.keys()
    assert after[new] == (2, 0)


def test_files_that_are_gone_were_deleted(large: kl.KeyedTable) -> None:
    """Their keys cannot be looked up any more: the section is made as a whole."""
    assert len(composed(checked(large))) == 4
    assert large.compact(SMALL_RUNS)
    large.update([{"id": 100, "clicks": -1}])
    large.clean(kl.RetentionPolicy(days=0, orphan_days=1))
    assert list(composed(checked(large)).values()) == [(46, 0)]


def test_more_rows_of_a_settled_file_are_superseded(lake: kl.Lake) -> None:
    table = lake.create(dataclasses.replace(Clicks.table_spec(), name=fresh_name("kept_rows")))
    row = {"city": "Oslo", "seen": 0}
    table.upsert([{"id": n, "clicks": n} | row for n in range(KEYS)])
    table.apply_changes([{"id": n, "clicks": -n, "op": "D" if n % 5 else "U"} | row for n in range(100)], op="op")
    assert table.compact("settle")
    checked(table)
    table.upsert([{"id": n, "clicks": 0} | row for n in range(50)])
    assert table.compact("settle")
    checked(table)
    table.update([{"id": 5, "clicks": 1}])
    checked(table)


def test_a_column_comes_between_states(lake: kl.Lake, table: kl.KeyedTable) -> None:
    checked(table)
    lake.spark.sql(f"ALTER TABLE lake.{table.name} ADD COLUMN country STRING")
    table.update([{"id": 105, "country": "Norway"}])
    lake.spark.sql(f"ALTER TABLE lake.{table.name} RENAME COLUMN city TO town")
    state = StaticTable.from_metadata(table.serving.merged_state().metadata_location)
    rows = {row["id"]: row for row in state.scan().to_arrow().to_pylist()}
    assert rows[105] == {"id": 105, "clicks": 105, "town": "Oslo", "seen": 1, "country": "Norway"}
    assert rows[106] == {"id": 106, "clicks": 106, "town": "Oslo", "seen": 1, "country": None}


@pytest.mark.slow
def test_files_of_composed_rows_stay_few(table: kl.KeyedTable) -> None:
    for n in range(ALIKE + 3):
        table.update([{"id": n, "clicks": -n}])
        files = composed(table.serving.merged_state())
        assert len([rows for rows, _ in files.values() if rows < ALIKE]) <= ALIKE
    assert sorted(files.values()) == [(1, 0), (1, 0), (ALIKE + 1, 0), (100, 0)]
    checked(table)


def test_a_file_of_which_most_rows_are_hidden_is_written_again(table: kl.KeyedTable) -> None:
    (first,) = composed(checked(table))
    table.upsert([{"id": n, "clicks": 0, "city": "Moss", "seen": 0} for n in range(100, 151)])
    assert composed(checked(table)) == {first: (100, 51)}
    table.update([{"id": 5, "clicks": 0}])
    assert list(composed(checked(table)).values()) == [(50, 0)]


def base(twin: Twin, shape: Shape, seed: int) -> None:
    """Rows of many keys, of which the operations that follow write few."""
    drawn = operations(shape, seed, count=60, rows=10 * KEYS)
    largest = max((each for each in drawn if each.verb == "upsert"), key=lambda each: len(each.rows))
    largest.apply(twin)


@pytest.mark.slow
@of_every_shape
def test_states_of_few_keys_among_many(lake: kl.Lake, duck: duckdb.DuckDBPyConnection, shape: Shape) -> None:
    twin = shape.create(lake, fresh_name("kept_rows"))
    columns = [n for n in twin.model.columns if not isinstance(twin.table.spec.column(n).reducer, kl.ArraySum)]
    random = Random(FIRST + 8)
    base(twin, shape, FIRST + 8)
    for operation in operations(shape, FIRST + 9, count=14, rows=30):
        print(operation)
        before = copy.deepcopy(twin.model)
        operation.apply(twin)
        change = random.choice(["nothing", "nothing", "no state", "undo", "runs", "settle", "no state", "runs"])
        print(change)
        if change == "undo":
            (last,) = twin.table.history(1)
            twin.table.undo(after=last.parent_id, until=last.snapshot_id)
            twin.model = before
        elif change in ("runs", "settle"):
            twin.table.compact(SMALL_RUNS if change == "runs" else "settle")
        if change != "no state":
            metadata = twin.table.serving.merged_state().metadata_location
            rows = duck.execute(f"SELECT * FROM iceberg_scan('{metadata}')").to_arrow_table()
            shown = rows.select([*twin.model.key, *columns])
            assert by_key(shown, twin.model.key) == twin.expected(columns), change
