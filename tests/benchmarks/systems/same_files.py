"""The files of a keyed table, read by stock Iceberg as they stand: the measure for a merged read."""

from collections.abc import Sequence

from pyspark.sql import SparkSession

from benchmarks.systems.keyed import Keyed


class SameFiles:
    name = "scan of the same files"

    def __init__(self, spark: SparkSession, table: str, keyed: Keyed) -> None:
        self.spark = spark
        self.table = table
        catalog, _, name = table.partition(".")
        spark.sql(
            f"CALL {catalog}.system.register_table(table => '{name}', metadata_file => '{keyed.metadata_file()}')"
        ).collect()

    def rows(self, columns: Sequence[str]) -> str:
        return f"SELECT {', '.join(columns)} FROM {self.table}"
