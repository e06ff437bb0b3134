"""Writes of a few rows that came with their statement: the driver makes them without a job, as tasks would."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

import keylake as kl
from integration.histories import COMPOUND, Shape, operations, shapes
from integration.query_plans import changed_settings, explained
from integration.random_runs import seeds
from integration.raw import catalog_of, in_pyiceberg
from integration.sessions import clone_of
from integration.twin import Twin, fresh_name

BY_TASKS = {"spark.keylake.write.driver-rows": "0"}
NODE = "WriteByDriver"
SHAPES = dict(shapes())
PARTITIONED = Shape("explicit", key=COMPOUND, buckets=3, partition_by=("day",))


@pytest.fixture
def table(lake: kl.Lake) -> kl.KeyedTable:
    schema = pa.schema([("id", pa.int64()), ("a", pa.int64()), ("b", pa.string())])
    return lake.create(kl.TableSpec.from_arrow(schema, name=fresh_name("driver"), key="id", buckets=8))


@pytest.fixture
def folder(warehouse: Path, table: kl.KeyedTable) -> Path:
    """Where the files of the table lie."""
    return warehouse.joinpath(*table.name.split("."))


def files_in(folder: Path) -> set[Path]:
    return set(folder.rglob("*.parquet"))


def insert(lake: kl.Lake, table: kl.KeyedTable, rows: int) -> str:
    values = ", ".join(f"({key}, {key * key}, 'row {key}')" for key in range(rows))
    return f"INSERT INTO {lake.catalog}.{table.name} (id, a, b) VALUES {values}"


def test_rows_that_come_with_a_statement_are_written_without_a_job(lake: kl.Lake, table: kl.KeyedTable) -> None:
    name = f"{lake.catalog}.{table.name}"
    assert f"{NODE}\nkeylake update of {name}, 3 rows" in explained(lake, insert(lake, table, 3))
    assert NODE in explained(lake, f"INSERT OVERWRITE {name} VALUES (1, 2, 'x')")
    with changed_settings(lake, BY_TASKS):
        assert NODE not in explained(lake, insert(lake, table, 3))
    with changed_settings(lake, {"spark.keylake.write.driver-rows": "2"}):
        assert NODE in explained(lake, insert(lake, table, 2))
        assert NODE not in explained(lake, insert(lake, table, 3))
    table.upsert([{"id": key, "a": key, "b": "x"} for key in range(20)])
    assert {row["bucket"] for row in table.files().select("bucket").toArrow().to_pylist()} == set(range(8))
    assert table.read().count() == 20


def test_all_other_rows_are_left_to_tasks(lake: kl.Lake, table: kl.KeyedTable) -> None:
    name = f"{lake.catalog}.{table.name}"
    for statement in (
        f"INSERT INTO {name} SELECT id, id AS a, 'x' AS b FROM range(5)",
        f"INSERT INTO {name} SELECT id, a, b FROM {name}",
        f"UPDATE {name} SET a = 1 WHERE id = 1",
        f"INSERT INTO {name} VALUES (1, 2, repeat('x', 9000000))",
    ):
        assert NODE not in explained(lake, statement), statement


def test_a_bound_that_is_no_number(lake: kl.Lake, table: kl.KeyedTable) -> None:
    with (
        changed_settings(lake, {"spark.keylake.write.driver-rows": "few"}),
        pytest.raises(kl.DefinitionError, match=r"driver-rows is 'few'; it must be a whole number"),
    ):
        table.upsert([{"id": 1, "a": 1, "b": "x"}])


def stored(lake: kl.Lake, twin: Twin) -> list[str]:
    """The raw rows of all files."""
    return in_pyiceberg(catalog_of(lake).load_table(twin.table.name))


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(few=1, many=6))
@pytest.mark.parametrize("shape", [Shape("explicit"), PARTITIONED, Shape("ordering"), SHAPES["accumulators"]], ids=str)
def test_a_history_is_stored_as_by_tasks(lake: kl.Lake, shape: Shape, seed: int) -> None:
    random = Random(seed)
    count, rows = random.randint(2, 6), random.choice([4, 40, 300])
    history = operations(shape, seed, count, rows, forms=("arrow", "rows", "spark"))
    by_driver = shape.create(lake, fresh_name("driver"))
    by_tasks = shape.create(lake, fresh_name("driver"))
    for operation in history:
        print(operation)
        operation.apply(by_driver)
        with changed_settings(lake, BY_TASKS):
            operation.apply(by_tasks)
    by_driver.check()
    by_driver.check_stamps()
    by_tasks.check()
    assert stored(lake, by_driver) == stored(lake, by_tasks)
    made = [(commit.rows, commit.versions) for commit in by_driver.commits]
    assert made == [(commit.rows, commit.versions) for commit in by_tasks.commits]


Failing = Callable[[kl.Lake, kl.KeyedTable], object]
REFUSED: dict[str, Failing] = {
    "a key that is null": lambda lake, table: lake.spark.sql(
        f"INSERT INTO {lake.catalog}.{table.name} (id, a) VALUES (1, 1), (2, 2), (NULL, 3)"
    ).collect(),
    "a number that does not fit": lambda lake, table: lake.spark.sql(
        f"INSERT INTO {lake.catalog}.{table.name} (id, a) VALUES (1, 1), (2, 99999999999999999999)"
    ).collect(),
    "an operation that is none": lambda _, table: table.apply_changes(
        [{"id": key, "a": 1, "op": "I" if key < 30 else "X"} for key in range(31)], op="op"
    ),
    "offsets of no rows": lambda _, table: table.upsert(
        [{"id": key, "a": 1, "b": "x"} for key in range(30)], offsets={"topic-0": (10, 10)}
    ),
}


@pytest.mark.parametrize("failing", REFUSED.values(), ids=REFUSED)
def test_what_is_refused_leaves_nothing(lake: kl.Lake, table: kl.KeyedTable, folder: Path, failing: Failing) -> None:
    """Some of these have written all files before they fail, others some."""
    table.upsert([{"id": 7, "a": 7, "b": "x"}])
    before = files_in(folder)
    with pytest.raises(Exception) as by_driver:  # noqa: PT011 - compared below
        failing(lake, table)
    with changed_settings(lake, BY_TASKS), pytest.raises(Exception) as by_tasks:  # noqa: PT011
        failing(lake, table)
    assert type(by_driver.value) is type(by_tasks.value)
    assert _sentence(by_driver.value) == _sentence(by_tasks.value)
    assert files_in(folder) == before
    assert len(table.history()) == 1
    assert table.get(id=7)


def _sentence(error: BaseException) -> str:
    return str(error).partition("\n\nJVM stacktrace:")[0].partition("[KEYLAKE_")[2] or str(error).partition("\n")[0]


def test_a_row_outside_of_what_is_replaced_leaves_nothing(lake: kl.Lake, warehouse: Path) -> None:
    twin = PARTITIONED.create(lake, fresh_name("driver"))
    rows = [{"id": key, "day": day, "a": key} for day in _days(2) for key in range(9)]
    twin.table.update(rows, version=1)
    before = files_in(warehouse.joinpath(*twin.table.name.split(".")))
    everything = [row | {"b": None, "c": None, "d": None, "e": None} for row in rows]
    with pytest.raises(kl.BadRows, match="outside the partition"):
        twin.table.overwrite(everything, where="day = DATE '2026-01-01'", version=2)
    assert files_in(warehouse.joinpath(*twin.table.name.split("."))) == before


def _days(count: int) -> Iterator[object]:
    return (pa.scalar(20_454 + number, pa.int32()).cast(pa.date32()).as_py() for number in range(count))


@pytest.mark.slow
def test_writers_at_the_same_time(lake: kl.Lake, table: kl.KeyedTable, folder: Path) -> None:
    """More of them than there are threads that write files."""
    writers, writes = 12, 3

    def write(writer: int) -> None:
        with clone_of(lake, {}) as session:
            for number in range(writes):
                first = (writer * writes + number) * 20
                values = ", ".join(f"({key}, {writer})" for key in range(first, first + 20))
                session.sql(f"INSERT INTO {lake.catalog}.{table.name} (id, a) VALUES {values}").collect()

    with ThreadPoolExecutor(writers) as threads:
        list(threads.map(write, range(writers)))
    rows = table.read().orderBy("id").toArrow().to_pylist()
    assert [(row["id"], row["a"]) for row in rows] == [(key, key // 60) for key in range(20 * writers * writes)]
    assert len(table.history()) == writers * writes
    assert len(files_in(folder)) == table.files().count()


@pytest.mark.slow
def test_what_is_cached_of_a_table_is_read_anew(lake: kl.Lake, table: kl.KeyedTable) -> None:
    name = f"{lake.catalog}.{table.name}"
    row = {"a": 1, "b": "x"}

    def keys() -> list[int]:
        return [found.id for found in lake.spark.sql(f"SELECT id FROM {name} ORDER BY id").collect()]

    first = table.upsert([{"id": 1, **row}])
    lake.spark.sql(f"CACHE TABLE {name}")
    try:
        assert table.read().count() == 1
        second = table.upsert([{"id": 2, **row}])
        assert keys() == [1, 2]
        table.undo(after=first, until=second)
        assert keys() == [1]
        draft = table.branch("tmp_cached")
        for key in (3, 4):
            draft.upsert([{"id": key, **row}])
        assert keys() == [1]
        table.cherry_pick(draft, until=draft.history()[1])
        assert keys() == [1, 3]
        draft.publish()
        assert keys() == [1, 3, 4]
        for statement in (f"DELETE FROM {name} WHERE id = 3", f"UPDATE {name} SET a = 2 WHERE id = 1"):
            lake.spark.sql(statement).collect()
        assert keys() == [1, 4]
        table.rollback(to=first)
        assert keys() == [1]
    finally:
        lake.spark.sql(f"UNCACHE TABLE {name}")
