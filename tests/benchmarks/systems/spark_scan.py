"""The other limit of reading the unmerged files: Spark's own Parquet reader."""

from collections.abc import Sequence
from typing import ClassVar

from benchmarks.system import Reader, Staged, StockSpark


class SparkScan(StockSpark):
    name: ClassVar[str] = "Spark scan"

    def take(self, staged: Staged) -> tuple[Reader, ...]:
        return (SparkFiles(self, staged),)


class SparkFiles:
    name = SparkScan.name

    def __init__(self, system: SparkScan, staged: Staged) -> None:
        self.engine = system.engine
        self.workload = staged.workload
        self.view = f"{staged.workload.name}_files"
        files = map(str, staged.files.data_files)
        frame = system.engine.spark.read.schema(staged.workload.columns_in_sql()).parquet(*files)
        frame.createOrReplaceTempView(self.view)

    def rows(self, columns: Sequence[str]) -> str:
        return f"SELECT {', '.join(columns)} FROM {self.view}"
