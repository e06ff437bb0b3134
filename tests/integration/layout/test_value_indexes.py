"""Indices of values: what they leave out, what they never hide, and what they are refused for."""

import datetime
import decimal
import uuid
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import keylake as kl
import keylake.local
from integration.query_plans import counted
from integration.random_runs import FIRST
from integration.refusals import refused, refused_in_sql
from integration.twin import fresh_name

SCHEMA = pa.schema([
    pa.field("id", pa.int64(), nullable=False), ("device", pa.string()), ("n", pa.int64()), ("x", pa.float64()),
])  # fmt: skip


def table_of(lake: kl.Lake, schema: pa.Schema = SCHEMA, buckets: int = 4, **words: Any) -> kl.KeyedTable[Any]:
    name = fresh_name("indexed")
    return lake.create(kl.TableSpec.from_arrow(schema, name=name, key="id", buckets=buckets, **words))


def devices(first: int, count: int, prefix: str = "d") -> list[dict[str, object]]:
    return [{"id": n, "device": f"{prefix}{n}", "n": n % 7, "x": None} for n in range(first, first + count)]


def left_out(table: kl.KeyedTable[Any], device: str) -> float:
    """The files of which filters said that they do not have a device."""
    frame = table.read(where=kl.col("device") == device)
    frame.collect()
    return counted(frame)["filesLeftOut"]


# ------------------------------------------------------------------------------------------------------- what it finds


def test_buckets_without_the_value_are_left_out(lake: kl.Lake) -> None:
    table = table_of(lake)
    assert table.layout.add_index(kl.Bloom("device")) == (kl.Bloom("device"),)
    table.upsert(devices(0, 400))
    table.update([{"id": n, "n": -1} for n in range(0, 400, 3)])
    table.update([{"id": 3, "device": "d3"}])
    table.update([{"id": n, "device": f"moved{n}"} for n in range(0, 400, 4)])
    assert left_out(table, "d7") >= 6
    assert [(row.id, row.device) for row in table.find(device="d7")] == [(7, "d7")]
    assert [row.id for row in table.find(device="moved8")] == [8]
    assert table.find(device="d8") == [], "the row has moved to another value"
    assert table.find(device="nobody") == []
    assert [row.id for row in table.find(device="d9", n=-1)] == [9]
    frame = lake.spark.sql(f"SELECT id FROM {lake.catalog}.{table.name} WHERE device IN ('d1', 'moved8', 'zz')")
    assert sorted(row.id for row in frame.collect()) == [1, 8]


def test_a_reader_without_a_server_asks_it(lake: kl.Lake, warehouse: Path) -> None:
    table = table_of(lake)
    table.layout.add_index(kl.Bloom("device"))
    table.upsert(devices(0, 400))
    table.update([{"id": n, "device": f"moved{n}"} for n in range(0, 400, 4)])
    with keylake.local.open(warehouse) as opened:
        local = opened.table(table.name)
        for device, ids in (("d7", [7]), ("moved8", [8]), ("d8", []), ("nobody", [])):
            assert [row.id for row in local.find(device=device)] == ids
        assert local.read(where="device IN ('d7', 'moved8', 'zz')").to_arrow().num_rows == 2
        with pytest.raises(kl.DefinitionError, match=r"add_index\(kl\.Bloom\('n'\)\)"):
            local.find(n=1)


@pytest.mark.slow
def test_statements_ask_it_too(lake: kl.Lake) -> None:
    table = table_of(lake)
    table.layout.add_index(kl.Bloom("device"))
    table.upsert(devices(0, 200))
    name = f"{lake.catalog}.{table.name}"
    lake.spark.sql(f"UPDATE {name} SET n = 99 WHERE device = 'd5'").collect()
    assert [row.n for row in table.find(device="d5")] == [99]
    lake.spark.sql(f"DELETE FROM {name} WHERE device = 'd5'").collect()
    assert table.find(device="d5") == []
    assert table.count() == 199


TYPES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "int": (pa.int32(), [0, -5, 2**31 - 1]),
    "long": (pa.int64(), [0, -(2**63), 2**62]),
    "text": (pa.string(), ["", "ä", "a" * 300]),
    "bytes": (pa.binary(), [b"", b"\x00\xff"]),
    "date": (pa.date32(), [datetime.date(1970, 1, 1), datetime.date(2026, 11, 29)]),
    "moment": (pa.timestamp("us", "UTC"), [datetime.datetime(2026, 11, 29, 1, 2, 3, 4, datetime.timezone.utc)]),
    "clock": (pa.timestamp("us"), [datetime.datetime(1969, 12, 31, 23, 59, 59)]),
    "small": (pa.decimal128(9, 2), [decimal.Decimal("-0.01"), decimal.Decimal("1234567.89")]),
    "wide": (pa.decimal128(38, 10), [decimal.Decimal("1234567890123456789012345678.0123456789")]),
    "uuid": (pa.uuid(), [uuid.UUID(int=7), uuid.UUID(int=2**127)]),
}


@pytest.mark.parametrize("kind", TYPES)
def test_values_of_each_type(lake: kl.Lake, warehouse: Path, kind: str) -> None:
    type_, values = TYPES[kind]
    table = table_of(lake, pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", type_)]), buckets=2)
    table.layout.add_index(kl.Bloom("v"))
    table.upsert([{"id": n, "v": values[n % len(values)]} for n in range(60)])
    table.update([{"id": 3, "v": None}])
    with keylake.local.open(warehouse) as opened:
        local = opened.table(table.name)
        for number, value in enumerate(values):
            wanted = [n for n in range(60) if n % len(values) == number and n != 3]
            assert sorted(row.id for row in table.find(v=value)) == wanted
            assert sorted(row.id for row in local.find(v=value)) == wanted


@pytest.mark.slow
def test_it_is_added_and_dropped_on_a_table_with_rows(lake: kl.Lake) -> None:
    table = table_of(lake)
    table.upsert(devices(0, 100))
    table.layout.add_index(kl.Bloom("device"))
    assert [row.id for row in table.find(device="d7")] == [7], "of files without filters"
    assert left_out(table, "d7") == 0
    older = table.health().indexes[0].files
    table.update([{"id": 7, "device": "other"}])
    assert table.find(device="d7") == []
    health = table.health()
    assert health.indexes == (kl.IndexHealth("device", older + 1, older),)
    assert f"The index of 'device' lacks {older} of {older + 1} files" in " ".join(health.to_do)
    table.compact("full")
    (index,) = table.health().indexes
    assert (index.older_files, "'device'" in " ".join(table.health().to_do)) == (0, False)
    assert left_out(table, "d8") >= 3
    lake.spark.sql(f"ALTER TABLE {lake.catalog}.{table.name} RENAME COLUMN device TO thing").collect()
    table = lake.table(table.name)
    assert table.layout.indexes() == (kl.Bloom("thing"),)
    assert [row.thing for row in table.find(thing="d8")] == ["d8"]
    assert [row.thing for row in table.find(THING="other")] == ["other"]
    assert table.layout.drop_index("Thing") == ()
    with refused(lake, table.name, kl.DefinitionError, "'thing'", "add_index(kl.Bloom('thing'))"):
        table.find(thing="d8")
    assert [row.id for row in table.find(id=8)] == [8], "the key needs none"


def test_a_column_with_a_default_is_not_missed(lake: kl.Lake) -> None:
    table = table_of(lake)
    table.upsert(devices(0, 50))
    name = f"{lake.catalog}.{table.name}"
    lake.spark.sql(f"ALTER TABLE {name} ADD COLUMN state STRING DEFAULT 'fresh'").collect()
    table = lake.table(table.name)
    table.layout.add_index(kl.Bloom("state"))
    table.update([{"id": 1, "state": "old"}])
    by_sql = {row.id for row in lake.spark.sql(f"SELECT id FROM {name} WHERE concat(state, '') = 'fresh'").collect()}
    assert {row.id for row in table.find(state="fresh")} == by_sql
    assert [row.id for row in table.find(state="old")] == [1]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FIRST, FIRST + 2))
def test_random_writes_beside_a_column_without_an_index(lake: kl.Lake, seed: int) -> None:
    random = Random(f"value index {seed}")
    schema = pa.schema([
        pa.field("id", pa.int64(), nullable=False), ("a", pa.string()), ("b", pa.int32()), ("c", pa.string()),
    ])  # fmt: skip
    table = table_of(lake, schema, buckets=2, versions="explicit")
    for commit in range(8):
        match random.randrange(6):
            case 0 if not table.layout.indexes():
                table.layout.add_index(kl.Bloom("a"))
                table.layout.add_index(kl.Bloom("b"))
            case 1:
                table.compact(random.choice(["full", "settle"]))
            case 2:
                table.delete([{"id": random.randrange(120)} for _ in range(5)], version=random.randrange(100))
        columns = random.sample(["a", "b", "c"], random.randint(1, 3))
        rows = {
            random.randrange(120): {
                name: None
                if random.random() < 0.1
                else random.randrange(30)
                if name == "b"
                else f"v{random.randrange(30)}"
                for name in columns
            }
            for _ in range(random.choice([3, 40, 100]))
        }
        table.update([{"id": n, **row} for n, row in rows.items()], version=random.randrange(100))
        truth = table.to_arrow().to_pylist()
        for _ in range(3):
            column = random.choice(["a", "b"])
            value: object = random.randrange(32) if column == "b" else f"v{random.randrange(32)}"
            wanted = sorted(row["id"] for row in truth if row[column] == value)
            where = kl.col(column) == value  # type: ignore[operator]
            assert sorted(table.to_arrow(["id"], where=where).column("id").to_pylist()) == wanted, (
                commit,
                column,
                value,
            )


# ------------------------------------------------------------------------------------------------------ what it is not

REFUSED = {
    "the key": ("id", ("'id'", "of the key")),
    "no column": ("devise", ("no column 'devise'", "id, device, n, x")),
    "a double": ("x", ("'x'", "it is double")),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_column_that_cannot_have_one(lake: kl.Lake, what: str) -> None:
    column, words = REFUSED[what]
    table = table_of(lake)
    with refused(lake, table.name, kl.DefinitionError, *words):
        table.layout.add_index(kl.Bloom(column))


def test_an_accumulator_has_none(lake: kl.Lake) -> None:
    table = table_of(lake, reducers={"n": kl.Sum()})
    with refused(lake, table.name, kl.DefinitionError, "'n'", "accumulates"):
        table.layout.add_index(kl.Bloom("n"))


def test_one_too_many(lake: kl.Lake) -> None:
    columns = [(f"c{n}", pa.int64()) for n in range(9)]
    table = table_of(
        lake, pa.schema([pa.field("id", pa.int64(), nullable=False), *map(pa.field, *zip(*columns, strict=True))])
    )
    for n in range(8):
        table.layout.add_index(kl.Bloom(f"c{n}"))
    with refused(lake, table.name, kl.DefinitionError, "9 indices", "may have 8"):
        table.layout.add_index(kl.Bloom("c8"))
    with refused(lake, table.name, kl.DefinitionError, "has no index", "c0, c1"):
        table.layout.drop_index("c8")


def test_properties_in_sql_are_the_same_indices(lake: kl.Lake) -> None:
    name = fresh_name("indexed")
    word = "write.parquet.bloom-filter-enabled.column"
    made = (
        f"CREATE TABLE {lake.catalog}.{name} (id BIGINT NOT NULL, v STRING, w DOUBLE, PRIMARY KEY (id)) USING keylake"
    )
    with refused_in_sql(lake, name, "DEFINITION", "'w'", "it is double"):
        lake.spark.sql(f"{made} TBLPROPERTIES ('{word}.w' = 'true')").collect()
    lake.spark.sql(f"{made} TBLPROPERTIES ('{word}.v' = 'true')").collect()
    table = lake.table(name)
    assert table.layout.indexes() == (kl.Bloom("v"),)
    table.upsert([{"id": 1, "v": "a", "w": None}])
    lake.spark.sql(f"ALTER TABLE {lake.catalog}.{name} ADD COLUMN u INT").collect()
    assert not table.compact("full"), "its files have the index"
    lake.spark.sql(f"ALTER TABLE {lake.catalog}.{name} SET TBLPROPERTIES ('{word}.u' = 'TRUE')").collect()
    assert [merge.reason for merge in table.compact("full")] == ["index"]
    assert not table.compact("full")
    lake.spark.sql(f"ALTER TABLE {lake.catalog}.{name} UNSET TBLPROPERTIES ('{word}.u')").collect()
    for value, words in (("maybe", ("maybe", "true or false")), ("true", ("no column 'z'",))):
        column = "v" if value == "maybe" else "z"
        statement = f"ALTER TABLE {lake.catalog}.{name} SET TBLPROPERTIES ('{word}.{column}' = '{value}')"
        with refused_in_sql(lake, name, "DEFINITION", *words):
            lake.spark.sql(statement).collect()
    assert lake.spark.sql(f"CALL {lake.catalog}.system.drop_index('{name}', 'v')").collect() == []
    assert lake.spark.sql(f"CALL {lake.catalog}.system.indexes('{name}')").collect() == []


def test_find_is_refused_what_it_cannot_look_for(lake: kl.Lake) -> None:
    table = table_of(lake)
    table.layout.add_index(kl.Bloom("device"))
    table.upsert(devices(0, 3))
    for words, error, said in (
        ({}, kl.SchemaMismatch, ("find(device=...)",)),
        ({"devise": "d1"}, kl.SchemaMismatch, ("'devise'", "device")),
        ({"device": None}, kl.BadRows, ("'device'", "None")),
        ({"n": 1}, kl.DefinitionError, ("'n'", "add_index")),
    ):
        with refused(lake, table.name, error, *said):
            table.find(**words)
