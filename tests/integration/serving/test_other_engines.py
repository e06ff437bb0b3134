"""DuckDB, polars and reads without a server over the branch `merged`: the rows of the commit that it was made of."""

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from pyiceberg.table import Table

import keylake as kl
import keylake.local
from integration.histories import Shape, operations
from integration.random_runs import FIRST, of_every_shape
from integration.raw import catalog_of
from integration.twin import by_key, fresh_name

pytestmark = pytest.mark.usefixtures("planned_by_pyiceberg")


def merged_by_each(
    lake: kl.Lake, warehouse: Path, duck: duckdb.DuckDBPyConnection, name: str, columns: list[str]
) -> dict[str, pa.Table]:
    """The rows of the branch as each engine gives them."""
    plain: Table = catalog_of(lake).load_table(name)
    snapshot = plain.metadata.refs["merged"].snapshot_id
    named = ", ".join(f'"{column}"' for column in columns)
    scan = f"SELECT {named} FROM iceberg_scan('{plain.metadata_location}', snapshot_from_id = {snapshot})"
    with keylake.local.open(warehouse) as local:
        return {
            "DuckDB": duck.execute(scan).to_arrow_table(),
            "polars": pl.scan_iceberg(plain, snapshot_id=snapshot).select(columns).collect().to_arrow(),
            "keylake.local": local.table(name).read(branch="merged", columns=columns).to_arrow(),
        }


@pytest.mark.slow
@of_every_shape
def test_random_histories(lake: kl.Lake, warehouse: Path, duck: duckdb.DuckDBPyConnection, shape: Shape) -> None:
    twin = shape.create(lake, fresh_name("engines"))
    for number, operation in enumerate(operations(shape, FIRST + 5, count=6, rows=25)):
        print(operation)
        operation.apply(twin)
        if number in (1, 4):
            twin.table.compact("settle")
        if number == 3:
            twin.table.refresh_merged()
    columns = [n for n in twin.model.columns if not isinstance(twin.table.spec.column(n).reducer, kl.ArraySum)]
    for commits in (4, 6):
        for engine, rows in merged_by_each(lake, warehouse, duck, twin.table.name, [*twin.model.key, *columns]).items():
            assert by_key(rows, twin.model.key) == twin.expected(columns, commits=commits), engine
        twin.table.refresh_merged()


TYPES = pa.schema(
    [
        pa.field("id", pa.uuid(), nullable=False),
        ("flag", pa.bool_()),
        ("small", pa.int32()),
        ("single", pa.float32()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us")),
        ("zoned", pa.timestamp("us", tz="UTC")),
        ("money", pa.decimal128(9, 2)),
        ("most", pa.decimal128(38, 10)),
        ("text", pa.string()),
        ("bytes", pa.binary()),
        ("list", pa.list_(pa.int64())),
        ("place", pa.struct([("x", pa.float64()), ("label", pa.string())])),
    ]
)


def test_values_of_every_type(lake: kl.Lake, warehouse: Path, duck: duckdb.DuckDBPyConnection) -> None:
    table = lake.create(kl.TableSpec.from_arrow(TYPES, name=fresh_name("engines"), key="id", buckets=2))
    rows = [
        {
            "id": UUID(int=number),
            "flag": number % 2 == 0,
            "small": -number,
            "single": 0.5 * number,
            "day": date(1969, 12, 31),
            "at": datetime(1969, 12, 31, 23, 59, 59, number),
            "zoned": datetime(2026, 3, 29, 1, 30, tzinfo=UTC),
            "money": Decimal(number) / 4,
            "most": Decimal(10) ** 20 + number,
            "text": "é" * number,
            "bytes": b"\xff" * number,
            "list": [number, None],
            "place": {"x": float("nan"), "label": None},
        }
        for number in range(1, 9)
    ]
    arrow = pa.Table.from_pylist(rows, schema=TYPES)
    table.upsert(arrow)
    table.update(arrow.slice(2, 3).select(["id", "text"]))
    table.update([{"id": UUID(int=9), "flag": True}])
    table.delete(arrow.slice(0, 1).select(["id"]))
    table.refresh_merged()
    given = by_key(table.read().toArrow(), ["id"])
    assert len(given) == 8
    for engine, found in merged_by_each(lake, warehouse, duck, table.name, list(TYPES.names)).items():
        assert by_key(with_uuids(found), ["id"]) == given, engine


def with_uuids(rows: pa.Table) -> pa.Table:
    """The rows with keys as uuids, of which polars has the bytes."""
    key = rows["id"].combine_chunks()
    if not pa.types.is_large_binary(key.type):
        return rows
    as_uuids = pa.ExtensionArray.from_storage(pa.uuid(), key.cast(pa.binary()).cast(pa.binary(16)))
    return rows.set_column(0, "id", as_uuids)
