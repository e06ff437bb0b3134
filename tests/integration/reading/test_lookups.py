"""Look-ups of one key: the driver reads a few small files itself, plans no job, and answers as tasks do."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from uuid import UUID

import pyarrow as pa
import pytest

import keylake as kl
from integration.histories import COMPOUND, TEXT, Shape, operations
from integration.query_plans import changed_settings, explained, planned, rows_of
from integration.random_runs import of_every
from integration.spark_processes import connect_server
from integration.twin import Twin, fresh_name

BY_TASKS = {"spark.keylake.read.driver-bytes": "0"}
LOOKED_UP = "LocalTableScan"


def merged(lake: kl.Lake) -> Twin:
    """A table of three runs of which two have each key."""
    twin = Shape("explicit", buckets=2).create(lake, fresh_name("lookups"))
    for version, first in enumerate((0, 0, 50), start=1):
        rows = [
            {"id": key, "a": key * version, "b": f"text {key}", "c": 0.5, "d": [key], "e": None}
            for key in range(first, 100)
        ]
        twin.upsert(rows, version=version)
    return twin


def nodes(lake: kl.Lake, query: str) -> set[str]:
    """What the plan of a query consisted of when it ran."""
    frame = lake.spark.sql(query)
    frame.collect()
    assert frame.executionInfo is not None
    _, found = frame.executionInfo.metrics.extract_graph()
    return {node.name for node in found.values()}


@pytest.mark.slow
def test_a_key_is_looked_up_without_a_job(lake: kl.Lake) -> None:
    twin = merged(lake)
    for query in (
        f"SELECT * FROM {twin.sql_name} WHERE id = 7",
        f"SELECT a FROM {twin.sql_name} WHERE id = 7",
        f"SELECT upper(b) AS b, a + 1 AS c FROM {twin.sql_name} WHERE 7 = id AND a > 5",
        f"SELECT _merge_info.version, _bucket FROM {twin.sql_name} WHERE id = 7",
        f"SELECT * FROM {twin.sql_name} VERSION AS OF {twin.commits[0].snapshot_id} WHERE id = 7",
        f"SELECT * FROM {twin.sql_name} WHERE id = 70000",
        f"SELECT * FROM {twin.sql_name} WHERE id = 7 AND b = 'another'",
    ):
        assert nodes(lake, query) == {LOOKED_UP}, query
        assert "KeyLookup" in explained(lake, query), query
        looked_up = rows_of(lake, query)
        with changed_settings(lake, BY_TASKS):
            assert rows_of(lake, query) == looked_up, query
            assert LOOKED_UP not in nodes(lake, query), query


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM {table} WHERE id >= 7 AND id <= 7",
        "SELECT * FROM {table} WHERE id = 7 OR id = 8",
        "SELECT id FROM {table} WHERE id % 100 = 7",
        "SELECT a, monotonically_increasing_id() >= 0 AS numbered FROM {table} WHERE id = 7",
        "SELECT a FROM {table} WHERE id = (SELECT min(id) FROM {table})",
        "SELECT l.a, r.a FROM {table} l JOIN {table} r ON l.id = r.id WHERE l.id = 7",
        "SELECT * FROM {table} WITH ('after' = '0') WHERE id = 7",
        "SELECT max(a) FROM {table} WHERE id = 7",
    ],
)
def test_other_queries_are_left_to_tasks(lake: kl.Lake, query: str) -> None:
    table = merged(lake).sql_name
    assert "KeyLookup" not in explained(lake, query.format(table=table))
    rows = rows_of(lake, query.format(table=table))
    with changed_settings(lake, BY_TASKS):
        assert rows_of(lake, query.format(table=table)) == rows


@pytest.mark.slow
def test_many_files_and_bytes_are_left_to_tasks(lake: kl.Lake) -> None:
    twin = merged(lake)
    query = f"SELECT * FROM {twin.sql_name} WHERE id = 7"
    assert planned(lake, query)["files"] == 2
    with changed_settings(lake, {"spark.keylake.read.driver-bytes": "10"}):
        assert LOOKED_UP not in nodes(lake, query)
    for version in range(4, 70):
        twin.update([{"id": 7, "a": version}], version=version)
    assert planned(lake, query)["files"] > 64
    assert LOOKED_UP not in nodes(lake, query)


def test_a_plan_that_is_shown_reads_nothing(lake: kl.Lake) -> None:
    twin = merged(lake)
    query = f"SELECT * FROM {twin.sql_name} WHERE id = 7"
    (file, *_) = lake.spark.sql(f"SELECT file_path FROM {twin.sql_name}.files").collect()[0]
    folder = Path(file.removeprefix("file:")).parents[1]
    folder.rename(folder.with_name("elsewhere"))
    try:
        assert "KeyLookup" in explained(lake, query)
        with pytest.raises(kl.KeylakeError, match="is not there"):
            twin.get({"id": 7})
    finally:
        folder.with_name("elsewhere").rename(folder)
    assert twin.get({"id": 7})


KEYS: dict[str, Callable[[Random], Shape]] = {
    "int": lambda random: Shape("explicit", buckets=random.randint(1, 3)),
    "text": lambda random: Shape("ordering", key=TEXT, buckets=random.randint(1, 3)),
    "compound": lambda random: Shape("commit", key=COMPOUND, buckets=random.randint(1, 3)),
}


@of_every("kind", list(KEYS), today=2)
@pytest.mark.parametrize("seed", range(2))
def test_every_key_of_a_history(lake: kl.Lake, kind: str, seed: int) -> None:
    twin = KEYS[kind](Random(seed)).create(lake, fresh_name("lookups"))
    for operation in operations(twin_shape(kind, seed), seed, count=5, rows=30):
        operation.apply(twin)
    expected = twin.expected()
    for key in twin.model.written:
        of_key = dict(zip(twin.model.key, key, strict=True))
        assert twin.get(of_key) == expected.get(key), of_key


def twin_shape(kind: str, seed: int) -> Shape:
    return KEYS[kind](Random(seed))


def test_texts_with_one_beginning(lake: kl.Lake) -> None:
    """Texts are compared by their first bytes, and the highest of these has nothing above it."""
    twin = Shape("explicit", key=TEXT, buckets=1).create(lake, fresh_name("lookups"))
    names = ["", "user", "user1234", "user12345", "user123456", "user1235", "\U0010ffff" * 3, "\U0010ffff" * 2]
    for version in (1, 2):
        twin.update([{"name": name, "a": number * version} for number, name in enumerate(names)], version=version)
    for name in [*names, "user12", "user1234567"]:
        assert twin.get({"name": name}) == twin.expected().get((name,)), name


@pytest.mark.parametrize("key", [-(2**63), -1, 0, 2**63 - 1])
def test_the_ends_of_numbers(lake: kl.Lake, key: int) -> None:
    twin = Shape("explicit", buckets=1).create(lake, fresh_name("lookups"))
    for version in (1, 2):
        twin.update([{"id": each, "a": version} for each in (-(2**63), -1, 0, 1, 2**63 - 1)], version=version)
    assert twin.get({"id": key}) == twin.expected()[(key,)]


@pytest.mark.slow
def test_another_server_is_seen_at_once(tmp_path: Path) -> None:
    class Row(kl.Table, name="lookups.shared", buckets=1, versions="explicit"):
        id: kl.Int64 = kl.key()
        a: kl.Int64 | None = kl.column()

    with (
        connect_server(tmp_path / "lake") as one,
        connect_server(tmp_path / "lake") as other,
        kl.connect(one.url) as here,
        kl.connect(other.url) as there,
    ):
        table = here.create(Row)
        for version in range(1, 4):
            there.table(Row).upsert([Row(id=1, a=version)], version=version)
            assert table.get(id=1) == Row(id=1, a=version)
        there.drop("lookups.shared")
        there.create(Row)
        assert table.get(id=1) is None
        there.table(Row).upsert([Row(id=1, a=-1)], version=1)
        assert table.get(id=1) == Row(id=1, a=-1)


def test_many_keys_are_as_each_alone(lake: kl.Lake) -> None:
    table = merged(lake).table
    keys = [{"id": key} for key in (7, 70000, 99, 7, 0, -1)]
    found = table.get_many(keys)
    assert found == [table.get(key) for key in keys]
    assert [row is None for row in found] == [False, True, False, False, False, True]
    assert table.get_many(iter(keys)) == found
    assert table.get_many([]) == []
    everything = table.get_many({"id": key} for key in range(1200))
    assert [row is not None for row in everything] == [key < 100 for key in range(1200)]


TYPES: dict[str, tuple[pa.DataType, list[object]]] = {
    "who_id": (pa.uuid(), [UUID(int=7), UUID(int=0)]),
    "day": (pa.date32(), [date(2026, 11, 1), date(1969, 12, 31)]),
    "at": (pa.timestamp("us", "UTC"), [datetime(2026, 11, 1, 2, 30, tzinfo=UTC), datetime(1970, 1, 1, tzinfo=UTC)]),
    "local": (pa.timestamp("us"), [datetime(2026, 11, 1, 2, 30, 0, 1), datetime(1900, 1, 1)]),
    "amount": (pa.decimal128(12, 2), [Decimal("1.50"), Decimal(-2)]),
    "raw": (pa.binary(), [b"\x00\xff", b""]),
    "who": (pa.string(), ["O'Hara \\ \n", ""]),
    "is_on": (pa.bool_(), [True, False]),
}


@pytest.mark.parametrize("column", TYPES)
def test_many_keys_of_each_type(lake: kl.Lake, column: str) -> None:
    kind, values = TYPES[column]
    name = fresh_name("many")
    schema = pa.schema([("id", pa.int32()), (column, kind), ("v", pa.int32())])
    table = lake.create(kl.TableSpec.from_arrow(schema, name=name, key=["id", column], versions="explicit"))
    rows = [{"id": n, column: value, "v": n} for n, value in enumerate((*values, *values))]
    table.upsert(rows, version=1)
    keys = [{"id": row["id"], column: row[column]} for row in rows]
    crossed = [{"id": keys[0]["id"], column: keys[1][column]}]
    assert [row and row["v"] for row in table.get_many([*reversed(keys), *crossed])] == [3, 2, 1, 0, None]


def test_keys_that_are_none(lake: kl.Lake) -> None:
    table = merged(lake).table
    with pytest.raises(kl.SchemaMismatch, match=r"The key of .* is 'id', and get_many\(\) has 'a'"):
        table.get_many([{"a": 7}])
    with pytest.raises(kl.BadRows):
        table.get_many([{"id": "seven"}])
    with pytest.raises(kl.DefinitionError, match="A key is 7"):
        table.get_many([7])  # type: ignore[list-item]
