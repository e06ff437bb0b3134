"""The newest row per key by a window over the plain table."""

from collections.abc import Sequence

from pyspark.sql import SparkSession

from benchmarks.systems.plain import Plain
from benchmarks.workload import KEY, TIME


class RowNumber:
    name = "row_number"

    def __init__(self, spark: SparkSession, plain: Plain) -> None:
        self.spark = spark
        self.table = plain.table

    def rows(self, columns: Sequence[str]) -> str:
        numbered = f"SELECT *, row_number() OVER (PARTITION BY {KEY} ORDER BY {TIME} DESC) AS age FROM {self.table}"
        return f"SELECT {', '.join(columns)} FROM ({numbered}) WHERE age = 1"
