"""Parquet files of engines that keep no types: none of their rows becomes another row of a keyed table."""

from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import keylake as kl
from integration.rest.held_commits import Relay
from integration.twin import fresh_name

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("a", pa.int64()),
        ("t", pa.string()),
        ("d", pa.decimal128(9, 2)),
        ("at", pa.timestamp("us")),
    ]
)
TIME = datetime(2026, 1, 2)
ROW = {"id": 2, "a": 2, "t": "x" * 5000, "d": Decimal("1.25"), "at": TIME}
NULLABLE = pa.field("id", pa.int64())

# A column as a file has it, its values, and what is said.
FILES: dict[str, tuple[pa.Field, list[object], str]] = {
    "null key": (NULLABLE, [2, None, 4], "column 'id' is required, and may be null there"),
    "null key at the end": (NULLABLE, [2, 3, None], "column 'id' is required, and may be null there"),
    "text as key": (pa.field("id", pa.string()), ["2"], "column 'id' is optional binary id (STRING)"),
    "scale": (pa.field("d", pa.decimal128(9, 4)), [Decimal("1.2345")], "which is no decimal(9, 2)"),
    "precision": (pa.field("d", pa.decimal128(20, 2)), [Decimal("12345678901.25")], "which is no decimal(9, 2)"),
    "milliseconds": (pa.field("at", pa.timestamp("ms")), [TIME], "which is no timestamp"),
    "zone": (pa.field("at", pa.timestamp("us", tz="UTC")), [TIME], "which is no timestamp"),
    "double": (pa.field("a", pa.float64()), [2.5], "which is no long"),
}


def written(path: Path, column: pa.Field, values: list[object], rows: int) -> None:
    """Puts a file of the same size in the place of one, with a column that is another."""
    ids = {field.name: field.metadata[b"PARQUET:field_id"] for field in pq.read_schema(path)}
    fields = [
        (column if field.name == column.name else field).with_metadata({"PARQUET:field_id": ids[field.name]})
        for field in SCHEMA
    ]
    columns = [
        values if f.name == column.name else [ROW[f.name] if f.name != "id" else n + 2 for n in range(rows)]
        for f in fields
    ]
    table = pa.table(
        [pa.array(each, field.type) for each, field in zip(columns, fields, strict=True)], pa.schema(fields)
    )
    size, padding = path.stat().st_size, 1
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    while (missing := size - _stored(path, table, padding)) != 0:
        padding += missing


def _stored(path: Path, table: pa.Table, padding: int) -> int:
    with pq.ParquetWriter(path, table.schema, store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({"padding": "x" * padding})
    return path.stat().st_size


@pytest.mark.parametrize("file", FILES)
def test_a_file_that_has_other_types_than_the_table(lake: kl.Lake, relay: Relay, warehouse: Path, file: str) -> None:
    column, values, says = FILES[file]
    table = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("files"), key="id", buckets=1))
    table.upsert([ROW | {"id": 1, "t": "T"}])
    text = "array_join(transform(sequence(1, 600), n -> md5(CAST(n + id AS STRING))), '')"
    select = f"SELECT /*+ COALESCE(1) */ id, id, {text}, 1.25, TIMESTAMP_NTZ'2026-01-02' FROM range({len(values)})"
    commit = relay.commit(f"INSERT INTO {{}}.{table.name} {select}")
    (path,) = warehouse.joinpath(*table.name.split("."), "merged-state").rglob("data/*.parquet")
    written(path, column, values, len(values))
    reply = commit.send()
    assert reply.status == 400, reply.text
    assert says in reply.error[1]
    assert reply.error[1].endswith("nothing was written")
    assert table.read().count() == 1
