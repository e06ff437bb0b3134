"""A plain Iceberg table in the same buckets, its files sorted by key like a keyed table's; every row stays.

Its append is the measure for an upsert, its scan one of the two measures for a merged read.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.workload import BUCKETS, KEY, columns_in_sql, staged

# With these Spark knows that rows of one key lie in one bucket, so that a window or an aggregate moves none of them.
IN_BUCKETS = {
    "spark.sql.sources.v2.bucketing.enabled": "true",
    "spark.sql.sources.v2.bucketing.pushPartValues.enabled": "true",
    "spark.sql.iceberg.planning.preserve-data-grouping": "true",
    "spark.sql.requireAllClusterKeysForDistribution": "false",
}


class Plain:
    name = "plain Iceberg"

    def __init__(self, spark: SparkSession, table: str, properties: Mapping[str, str]) -> None:
        self.spark = spark
        self.table = table
        made = ", ".join(f"'{name}'='{value}'" for name, value in {"format-version": "2", **properties}.items())
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {table.rpartition('.')[0]}").collect()
        spark.sql(
            f"CREATE TABLE {table} ({columns_in_sql()}) USING iceberg "
            f"PARTITIONED BY (bucket({BUCKETS}, {KEY})) TBLPROPERTIES ({made})"
        ).collect()
        spark.sql(f"ALTER TABLE {table} WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY {KEY}").collect()

    def write(self, batch: Path) -> None:
        staged(self.spark, batch).writeTo(self.table).append()

    def rows(self, columns: Sequence[str]) -> str:
        return f"SELECT {', '.join(columns)} FROM {self.table}"

    def data_files(self) -> tuple[Path, ...]:
        found = self.spark.sql(f"SELECT file_path FROM {self.table}.files").collect()
        return tuple(Path(row[0].removeprefix("file:")) for row in found)
