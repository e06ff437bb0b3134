"""The newest row per key by an aggregate over the plain table: column by column, or all columns as one struct."""

from collections.abc import Sequence

from pyspark.sql import SparkSession

from benchmarks.systems.plain import Plain
from benchmarks.workload import KEY, TIME


class MaxBy:
    name = "max_by"

    def __init__(self, spark: SparkSession, plain: Plain) -> None:
        self.spark = spark
        self.table = plain.table

    def rows(self, columns: Sequence[str]) -> str:
        newest = (f"max_by({column}, {TIME}) AS {column}" for column in columns if column != KEY)
        return f"SELECT {', '.join((KEY, *newest))} FROM {self.table} GROUP BY {KEY}"


class MaxByStruct:
    name = "max_by of a struct"

    def __init__(self, spark: SparkSession, plain: Plain) -> None:
        self.spark = spark
        self.table = plain.table

    def rows(self, columns: Sequence[str]) -> str:
        values = ", ".join(column for column in columns if column != KEY)
        if not values:
            return f"SELECT {KEY} FROM {self.table} GROUP BY {KEY}"
        newest = f"SELECT {KEY}, max_by(struct({values}), {TIME}) AS newest FROM {self.table} GROUP BY {KEY}"
        return f"SELECT {KEY}, newest.* FROM ({newest})"
