"""Values of every type inside of lists, structs and maps, by every writer and reader."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from pydantic import BaseModel

import keylake as kl
import keylake.local
from integration.twin import fresh_name

KINDS: dict[str, tuple[pa.DataType, Any, Any]] = {
    "boolean": (pa.bool_(), True, False),
    "int": (pa.int32(), -(2**31), 7),
    "long": (pa.int64(), 2**63 - 1, 0),
    "float": (pa.float32(), 0.5, -2.0),
    "double": (pa.float64(), 5e-324, -0.25),
    "date": (pa.date32(), date(1582, 10, 10), date(9999, 12, 31)),
    "timestamp": (pa.timestamp("us"), datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime(2026, 1, 1)),
    "timestamptz": (pa.timestamp("us", tz="UTC"), datetime(2026, 10, 25, 1, tzinfo=UTC), datetime(1, 1, 2, tzinfo=UTC)),
    "string": (pa.string(), "\U0010ffff", ""),
    "binary": (pa.binary(), b"\xff\x00", b""),
    "fixed": (pa.binary(16), b"\xff" * 16, b"\0" * 16),
    "decimal": (pa.decimal128(38, 18), Decimal("-99999999999999999999.000000000000000001"), Decimal("0E-18")),
    "short_decimal": (pa.decimal128(5, 2), Decimal("-999.99"), Decimal("0.01")),
    "uuid": (pa.uuid(), UUID("c4ca4238-a0b9-2382-0dcc-509a6f75849b"), UUID(int=5)),
}  # fmt: skip
KEYS = [kind for kind in KINDS if kind not in ("float", "double")]


def columns(kind: str) -> dict[str, tuple[pa.DataType, object]]:
    """A kind of value in all places, and what lies there."""
    type_, one, other = KINDS[kind]
    both = pa.struct([("x", type_), ("y", type_)])
    found: dict[str, tuple[pa.DataType, object]] = {
        "column": (type_, one),
        "list": (pa.list_(type_), [one, None, other]),
        "struct": (both, {"x": one, "y": None}),
        "value": (pa.map_(pa.string(), type_), [("k", one), ("n", None)]),
        "structs": (pa.list_(both), [{"x": None, "y": other}, None]),
        "deep": (
            pa.struct([("m", pa.map_(pa.string(), pa.list_(pa.struct([("z", pa.list_(type_))]))))]),
            {"m": [("k", [{"z": [one, None]}, None, {"z": None}])]},
        ),
    }
    if kind in KEYS:
        found["key"] = (pa.map_(type_, both), [(one, {"x": other, "y": one})])
    return {f"{kind}_{place}": column for place, column in found.items()}


ALL = {name: column for kind in KINDS for name, column in columns(kind).items()}
FIELDS = [(name, type_) for name, (type_, _) in ALL.items()]
SCHEMA = pa.schema([pa.field("k", pa.int32(), nullable=False), *FIELDS, ("n", pa.int32())])
ROW: dict[str, object] = {name: value for name, (_, value) in ALL.items()}
NULLS: dict[str, object] = dict.fromkeys(ALL)


TIME = pa.time64("us")
TIMES: dict[str, pa.DataType] = {
    "{}": TIME,
    "ARRAY<{}>": pa.list_(TIME),
    "STRUCT<x: {}>": pa.struct([("x", TIME)]),
    "MAP<STRING, {}>": pa.map_(pa.string(), TIME),
    "ARRAY<STRUCT<x: ARRAY<{}>>>": pa.list_(pa.struct([("x", pa.list_(TIME))])),
}


def plain(value: object) -> object:
    """A value in one form, whoever has read it: entries of maps and structs in order, uuids as text, times in UTC."""
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    if isinstance(value, BaseModel):
        value = {name: getattr(value, name) for name in type(value).model_fields}
    if isinstance(value, Mapping):
        return [[plain(name), plain(each)] for name, each in value.items()]
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


def check(found: Mapping[str, Any] | None, wanted: Mapping[str, object] = ROW) -> None:
    assert found is not None
    wrong = {name: found[name] for name in ALL if plain(found[name]) != plain(wanted[name])}
    assert not wrong


def created(lake: kl.Lake) -> kl.KeyedTable:
    spec = kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("inner"), key=["k"], buckets=1)
    return lake.create(spec)


def one(frame: Any) -> dict[str, Any]:
    return dict(frame.toArrow().to_pylist()[0])


@pytest.mark.slow
def test_all_readers(lake: kl.Lake, warehouse: Path) -> None:
    table = created(lake)
    sql = f"{lake.catalog}.{table.name}"
    first = table.upsert([{"k": 1, **ROW, "n": 0}, {"k": 2, **NULLS, "n": 0}])

    def checked() -> None:
        check(one(table.read(where="k = 1")))
        check(one(table.read(where="k > 0 AND n >= 0").orderBy("k").limit(1)))
        check(one(lake.spark.sql(f"SELECT * FROM {sql} WHERE k = 1")))
        for row in (table.get(k=1), table.get(k=2)):
            assert row is not None
            attributes = type(row).attributes()
            check({name: getattr(row, attributes[name]) for name in ALL}, ROW if row["k"] == 1 else NULLS)

    checked()
    second = table.update([{"k": 1, "n": 1}, {"k": 2, "n": 1}])
    checked()
    for image in ("_before", "_after"):
        check(one(table.changes(after=first, until=second).where("k = 1"))[image])
    check(one(table.appended(until=first).where("k = 1")))
    explained = table.explain_row(k=1)
    check({name: explained[name].value for name in ALL})
    assert (
        table.read(
            where="uuid_struct.x = 'c4ca4238-a0b9-2382-0dcc-509a6f75849b' AND uuid_list[0] = uuid_column"
        ).count()
        == 1
    )
    with keylake.local.open(warehouse) as opened:
        local = opened.table(table.name)
        check(next(row for row in local.read().to_arrow().to_pylist() if row["k"] == 1))
        assert local.read(where="k = 1").to_polars().height == 1
        check(local.read(where="k = 1").to_pandas().to_dict("records")[0])
        for found in (local.get(k=1), *local.get_many([{"k": 1}])):
            assert found is not None
            attributes = type(found).attributes()
            check({name: getattr(found, attributes[name]) for name in ALL})
        feed = local.changes(after=first, until=second).to_arrow().to_pylist()
        check(next(row for row in feed if row["k"] == 1)["_after"])
    checked()
    table.compact("full")
    checked()
    table.refresh_merged()
    check(one(lake.spark.sql(f"SELECT * FROM {sql}.branch_merged WHERE k = 1")))


@pytest.mark.slow
def test_all_writers(lake: kl.Lake, warehouse: Path) -> None:
    table = created(lake)
    table.upsert([{"k": 1, **ROW, "n": 0}])
    by_arrow, by_frame, by_sql, by_local = (created(lake) for _ in range(4))
    with keylake.local.open(warehouse) as opened:
        by_arrow.upsert(opened.table(table.name).read().to_arrow())
        local = opened.table(by_local.name)
        local.upsert([{"k": 1, **NULLS, "n": 0}, {"k": 2, **ROW, "n": 0}])
        local.upsert(opened.table(table.name).read().to_arrow())
        check(next(row for row in local.read().to_arrow().to_pylist() if row["k"] == 1))
        local.delete([{"k": 2}])
    by_frame.upsert(table.read())
    lake.spark.sql(
        f"INSERT INTO {lake.catalog}.{by_sql.name} SELECT * FROM {lake.catalog}.{table.name} WHERE k = 1"
    ).collect()
    for other in (by_arrow, by_frame, by_sql, by_local):
        check(one(other.read()))
        other.compact("full")
        check(one(other.read()))


@pytest.mark.parametrize("place", ["list", "struct", "value", "key", "structs", "deep"])
def test_uuids_inside(lake: kl.Lake, warehouse: Path, place: str) -> None:
    """The one type that files have in another form than Spark."""
    type_, value = columns("uuid")[f"uuid_{place}"]
    schema = pa.schema([pa.field("k", pa.int32(), nullable=False), ("u", type_), ("n", pa.int32())])
    table = lake.create(kl.TableSpec.from_arrow(schema, name=fresh_name("uuids"), key=["k"], buckets=1))
    table.upsert([{"k": 1, "u": value, "n": 0}, {"k": 2, "u": None, "n": 0}])
    assert plain(one(table.read(where="n = 0 AND k = 1"))["u"]) == plain(value)
    table.update([{"k": 1, "n": 1}])
    found = table.get(k=1)
    assert found is not None
    assert plain(found["u"]) == plain(value)
    table.compact("full")
    assert [plain(each) for each in table.read().orderBy("k").toArrow().column("u").to_pylist()] == [plain(value), None]
    with keylake.local.open(warehouse) as opened:
        local = opened.table(table.name)
        local.update([{"k": 2, "u": value}])
        assert [plain(each) for each in local.read().to_pandas().sort_values("k")["u"]] == [plain(value)] * 2
    assert [plain(row["u"]) for row in table.read().toArrow().to_pylist()] == [plain(value)] * 2


@pytest.mark.slow
@pytest.mark.parametrize("place", TIMES)
def test_types_that_no_keyed_table_holds(lake: kl.Lake, place: str) -> None:
    """Times of day, which Spark does not read, and variants, which Iceberg v2 has not; a table stays as it was."""
    table = lake.create(
        kl.TableSpec.from_arrow(pa.schema([("k", pa.int64()), ("a", pa.int64())]), name=fresh_name("none"), key="k")
    )
    sql = f"{lake.catalog}.{table.name}"
    variant, new = place.format("VARIANT"), f"{sql}_new"
    rows = f"(SELECT 1L AS k, CAST(NULL AS {variant}) AS c)"
    for statement in (
        f"CREATE TABLE {new} (k BIGINT PRIMARY KEY, c {variant}) USING keylake",
        f"ALTER TABLE {sql} ADD COLUMN c {variant}",
        f"CREATE TABLE {new} USING keylake TBLPROPERTIES ('key' = 'k') AS {rows}",
        f"MERGE WITH SCHEMA EVOLUTION INTO {sql} t USING {rows} s ON t.k = s.k WHEN NOT MATCHED THEN INSERT *",
    ):
        with pytest.raises(kl.DefinitionError, match=r"variant, which no file of Iceberg v2 can hold"):
            lake.spark.sql(statement).collect()
    with pytest.raises(kl.DefinitionError, match=r"'c'.* is a VARIANT, which no file of Iceberg v2 can hold"):
        table.update(lake.spark.sql(rows), evolve=True)
    time = pa.schema([("k", pa.int64()), ("c", TIMES[place])])
    with pytest.raises(kl.DefinitionError, match="'c' is of type time, which Spark cannot read"):
        lake.create(kl.TableSpec.from_arrow(time, name=f"{table.name}_new", key="k"))
    with pytest.raises(kl.DefinitionError, match="'c' is of type time, which Spark cannot read"):
        table.alter(add={"c": TIMES[place]})
    with pytest.raises(kl.DefinitionError, match="'c' is of type time, which Spark cannot read"):
        table.update(time.empty_table(), evolve=True)
    assert lake.table(table.name).read().columns == ["k", "a"]
    assert not lake.spark.catalog.tableExists(new)
