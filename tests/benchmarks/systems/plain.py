"""A plain Iceberg table in the same buckets, its files sorted by key like a keyed table's; every row stays.

Its append is the measure for an upsert. Queries that merge when they read it stand in files of their own.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.engine import Connected
from benchmarks.workload import BUCKETS, KEY, Batch, Workload

# With these Spark knows that rows of one key lie in one bucket, so that a window or an aggregate moves none of them.
IN_BUCKETS = {
    "spark.sql.sources.v2.bucketing.enabled": "true",
    "spark.sql.sources.v2.bucketing.pushPartValues.enabled": "true",
    "spark.sql.iceberg.planning.preserve-data-grouping": "true",
    "spark.sql.requireAllClusterKeysForDistribution": "false",
}


def create_in_buckets(engine: Connected, table: str, columns: str, properties: Mapping[str, str]) -> None:
    """An Iceberg table with the buckets and the order of a keyed table."""
    made = ", ".join(f"'{name}'='{value}'" for name, value in {"format-version": "2", **properties}.items())
    engine.fetch(f"CREATE NAMESPACE IF NOT EXISTS {table.rpartition('.')[0]}")
    engine.fetch(
        f"CREATE TABLE {table} ({columns}) USING iceberg PARTITIONED BY (bucket({BUCKETS}, {KEY})) "
        f"TBLPROPERTIES ({made})"
    )
    engine.fetch(f"ALTER TABLE {table} WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY {KEY}")


class Plain:
    name = "plain Iceberg"

    def __init__(self, engine: Connected, table: str, workload: Workload, properties: Mapping[str, str]) -> None:
        self.engine = engine
        self.workload = workload
        self.table = table
        create_in_buckets(engine, table, workload.columns_in_sql(workload.stored), properties)

    def write(self, batch: Batch) -> None:
        batch.frame(self.engine.spark).writeTo(self.table).append()

    def rows(self, columns: Sequence[str]) -> str:
        return f"SELECT {', '.join(columns)} FROM {self.table}"

    def data_files(self) -> tuple[Path, ...]:
        found = self.engine.fetch(f"SELECT file_path FROM {self.table}.files")
        return tuple(Path(str(row[0]).removeprefix("file:")) for row in found)
