"""W5: a wide table, 500 value columns, of which a read wants five."""

import pyarrow as pa

from benchmarks.workload import Value, Workload
from benchmarks.workloads.whole_rows import SEED

FULL_SIZE = 100_000
COLUMNS = 500
LONG = Value(pa.int64(), "pmod({h}, 1000)")
DOUBLE = Value(pa.float64(), "pmod({h}, 10000) / 100")
FEW = ("value_007", "value_118", "value_229", "value_340", "value_451")


def wide(keys: int) -> Workload:
    values = {f"value_{number:03d}": DOUBLE if number % 2 else LONG for number in range(COLUMNS)}
    return Workload("W5", keys, SEED, values, FEW, asked=("few", "key", "count"))


def of_columns(keys: int, columns: int) -> Workload:
    """A table of so many columns; the narrow read has five of them. Two commits after the base."""
    values = {f"value_{number:04d}": DOUBLE if number % 2 else LONG for number in range(columns)}
    few = tuple(f"value_{number * columns // 5:04d}" for number in range(5))
    return Workload(f"{columns} columns", keys, SEED, values, few, commits=2, asked=("all", "few"))
