"""A keyed table, written by `upsert` and read by SELECT."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

import keylake as kl
from benchmarks.workload import Workload, staged


class Keyed:
    name = "keylake"

    def __init__(self, lake: kl.Lake, table: str, workload: Workload) -> None:
        self.spark: SparkSession = lake.spark
        self.table = f"{lake.catalog}.{table}"
        self._keyed = lake.create(workload.spec(table))

    def write(self, batch: Path) -> None:
        self._keyed.upsert(staged(self.spark, batch))

    def rows(self, columns: Sequence[str]) -> str:
        return f"SELECT {', '.join(columns)} FROM {self.table}"

    def file_properties(self) -> Mapping[str, str]:
        """How its files are made, for a peer that must make them alike."""
        listed = self.spark.sql(f"SHOW TBLPROPERTIES {self.table}").collect()
        return {row["key"]: row["value"] for row in listed if row["key"].startswith("write.parquet.")}

    def metadata_file(self) -> str:
        """Where Iceberg says what the table consists of now."""
        log = f"SELECT file FROM {self.table}.metadata_log_entries ORDER BY timestamp DESC LIMIT 1"
        return str(self.spark.sql(log).collect()[0][0])

    def data_files(self) -> tuple[Path, ...]:
        found = self.spark.sql(f"SELECT file_path FROM {self.table}.files").collect()
        return tuple(Path(row[0].removeprefix("file:")) for row in found)
