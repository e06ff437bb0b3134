"""The newest row per key by a window over the plain table. Only for whole rows: it picks rows, not columns."""

from collections.abc import Sequence

from benchmarks.engine import Engine
from benchmarks.systems.plain import Plain
from benchmarks.workload import KEY, TIME


class RowNumber:
    name = "row_number"

    def __init__(self, engine: Engine, plain: Plain) -> None:
        self.engine = engine
        self.workload = plain.workload
        self.table = plain.table

    def rows(self, columns: Sequence[str]) -> str:
        numbered = f"SELECT *, row_number() OVER (PARTITION BY {KEY} ORDER BY {TIME} DESC) AS age FROM {self.table}"
        return f"SELECT {', '.join(columns)} FROM ({numbered}) WHERE age = 1"
