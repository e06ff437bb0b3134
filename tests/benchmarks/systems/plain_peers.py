"""What people do with a plain Iceberg table: append, and let the query find the newest. Tuned not to shuffle."""

from typing import ClassVar

from benchmarks.spark_server import CATALOG
from benchmarks.system import Reader, Staged, StockSpark
from benchmarks.systems.max_by import MaxBy, MaxByStruct
from benchmarks.systems.plain import IN_BUCKETS, Plain
from benchmarks.systems.row_number import RowNumber

ALTERNATIVES = frozenset({RowNumber.name, MaxBy.name, MaxByStruct.name})


class PlainPeers(StockSpark):
    name: ClassVar[str] = "plain"
    workloads = frozenset({"W1", "W2", "W5", "W6", "nested"})
    settings = IN_BUCKETS

    def take(self, staged: Staged) -> tuple[Reader, ...]:
        workload = staged.workload
        plain = Plain(self.engine, f"{CATALOG}.bench.{workload.name}", workload, staged.files.properties)
        self.timed(plain, staged.batches)
        aggregates = (MaxBy(self.engine, plain), MaxByStruct(self.engine, plain))
        return aggregates if workload.streams else (RowNumber(self.engine, plain), *aggregates)
