"""The newest values per key by an aggregate over the plain table: column by column, or as structs.

A struct holds the columns whose versions are always the same: all columns of whole rows, or those that the same streams
carry.
"""

from collections.abc import Sequence

from benchmarks.engine import Engine
from benchmarks.systems.plain import Plain
from benchmarks.workload import KEY


class MaxBy:
    name = "max_by"

    def __init__(self, engine: Engine, plain: Plain) -> None:
        self.engine = engine
        self.workload = plain.workload
        self.table = plain.table

    def rows(self, columns: Sequence[str]) -> str:
        newest = (
            column if column == KEY else f"max_by({column}, {self.workload.order_of(column)}) AS {column}"
            for column in columns
        )
        return f"SELECT {', '.join(newest)} FROM {self.table} GROUP BY {KEY}"


class MaxByStruct:
    name = "max_by of a struct"

    def __init__(self, engine: Engine, plain: Plain) -> None:
        self.engine = engine
        self.workload = plain.workload
        self.table = plain.table

    def rows(self, columns: Sequence[str]) -> str:
        return self.workload.newest(self.table, columns)
