"""W2: partial updates by two streams in turns, whose columns overlap; a tenth of the rows come late.

A late row is as old as the commit three before its own: what the other stream has written to the shared columns since
then stays. Some values are null, which is not the same as absent.
"""

from benchmarks.workload import Value, Workload
from benchmarks.workloads.whole_rows import FEW, SEED, VALUES

FULL_SIZE = 1_000_000
LATE_SHARE, LATE_BY = 0.1, 3
CLICKS = (*(f"long_{n}" for n in range(6)), *(f"double_{n}" for n in range(4)), "string_0", "string_1", "string_2")
ORDERS = (*(f"long_{n}" for n in range(4, 10)), *(f"double_{n}" for n in range(2, 6)), "string_1", "string_3")
SOMETIMES_NULL = ("long_3", "long_5", "double_4")


def two_streams(keys: int) -> Workload:
    values = {
        name: Value(value.type, f"if(pmod({{h}}, 19) = 0, NULL, {value.sql})") if name in SOMETIMES_NULL else value
        for name, value in VALUES.items()
    }
    streams = (CLICKS, ORDERS)
    return Workload("W2", keys, SEED, values, FEW, late_share=LATE_SHARE, late_by=LATE_BY, streams=streams)
