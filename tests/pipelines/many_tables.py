"""Tables that are written by one statement."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

import keylake as kl
from integration.twin import Twin, fresh_name
from keylake_pipelines.multi_table.write import TableBatch, TableOutcome, write_tables

Change = tuple[str | None, str | None, int | None, str | None]
COLUMNS = "table STRING, op STRING, version BIGINT, row STRING"


def change(table: kl.KeyedTable | Twin | str, op: str, version: int, **row: object) -> Change:
    return (name_of(table), op, version, json.dumps(row))


def name_of(table: kl.KeyedTable | Twin | str) -> str:
    return table if isinstance(table, str) else str((table.table if isinstance(table, Twin) else table).name)


def written(
    lake: kl.Lake, changes: Sequence[Change], *batches: TableBatch, count: int | None = None
) -> list[TableOutcome]:
    return list(write_tables(lake, lake.spark.createDataFrame(changes, COLUMNS), batches, count=count))


@contextmanager
def few_rows_by(lake: kl.Lake, writer: str) -> Iterator[None]:
    """Few rows are written by the driver, as without this, or by tasks."""
    if writer == "tasks":
        lake.spark.conf.set("spark.keylake.write.driver-rows", 0)
    try:
        yield
    finally:
        lake.spark.conf.unset("spark.keylake.write.driver-rows")


def create(lake: kl.Lake, buckets: int = 2, key: str = "id", **columns: pa.DataType) -> kl.KeyedTable:
    schema = pa.schema([pa.field(key, pa.int64(), nullable=False), *columns.items()])
    spec = kl.TableSpec.from_arrow(schema, name=fresh_name("many"), key=key, versions="explicit", buckets=buckets)
    return lake.create(spec)


def rows(table: kl.KeyedTable) -> list[dict[str, object]]:
    key = table.spec.key
    return sorted(table.read().toArrow().to_pylist(), key=lambda row: [row[name] for name in key])
