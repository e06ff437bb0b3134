"""Two limits, by stock Iceberg: a scan of the same unmerged files, and a scan of the same rows fully merged.

The merged table has the same buckets and the same order. It is made from the staged batches by the merge law in plain
SQL, so its rows are also the truth that every other answer is compared with.
"""

from collections.abc import Sequence
from typing import ClassVar

from benchmarks.spark_server import CATALOG
from benchmarks.system import Reader, Staged, StockSpark
from benchmarks.systems.plain import create_in_buckets
from benchmarks.systems.same_files import SameFiles


class Merged:
    name = "merged table"

    def __init__(self, system: "IcebergLimits", staged: Staged) -> None:
        self.engine = system.engine
        self.workload = workload = staged.workload
        self.table = f"{CATALOG}.bench.{workload.name}_merged"
        create_in_buckets(self.engine, self.table, workload.columns_in_sql(), staged.files.properties)
        spark = self.engine.spark
        paths = [str(batch.path) for batch in staged.batches]
        spark.read.schema(staged.batches[0].schema).parquet(*paths).createOrReplaceTempView("staged")
        spark.sql(workload.newest("staged", workload.columns)).writeTo(self.table).append()

    def rows(self, columns: Sequence[str]) -> str:
        return f"SELECT {', '.join(columns)} FROM {self.table}"


class IcebergScan(SameFiles):
    name = "Iceberg scan"


class IcebergLimits(StockSpark):
    name: ClassVar[str] = "Iceberg limits"

    def take(self, staged: Staged) -> tuple[Reader, ...]:
        merged = Merged(self, staged)
        table = f"{CATALOG}.bench.{staged.workload.name}_files"
        return IcebergScan(self.engine, table, staged.workload, staged.files.metadata_file), merged
