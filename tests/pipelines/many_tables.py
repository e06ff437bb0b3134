"""Tables that are written by one statement."""

import json
from collections.abc import Sequence

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


def create(lake: kl.Lake, buckets: int = 2, key: str = "id", **columns: pa.DataType) -> kl.KeyedTable:
    schema = pa.schema([pa.field(key, pa.int64(), nullable=False), *columns.items()])
    spec = kl.TableSpec.from_arrow(schema, name=fresh_name("many"), key=key, versions="explicit", buckets=buckets)
    return lake.create(spec)


def rows(table: kl.KeyedTable) -> list[dict[str, object]]:
    key = table.spec.key
    return sorted(table.read().toArrow().to_pylist(), key=lambda row: [row[name] for name in key])
