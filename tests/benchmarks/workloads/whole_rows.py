"""W1: upserts of whole rows. 22 columns, a base, and ten upserts of a tenth of the keys, drawn anew each time.

Ranges and lengths as tables have them: flags, small codes, counters, amounts, names, addresses. About 80 bytes a row on
disk.
"""

import pyarrow as pa

from benchmarks.workload import ALL_QUESTIONS, Value, Workload

SEED = 2013
FULL_SIZE = 2_000_000
VALUES = {
    **{
        f"long_{number}": Value(pa.int64(), f"pmod({{h}}, {size})")
        for number, size in enumerate((2, 10, 100, 1000, 10**4, 10**5, 10**6, 10**7, 10**9, 10**12))
    },
    **{f"double_{number}": Value(pa.float64(), f"pmod({{h}}, {10 ** (number + 3)}) / 100") for number in range(6)},
    "string_0": Value(pa.string(), "concat('country-', pmod({h}, 200))"),
    "string_1": Value(pa.string(), "concat('/page/', pmod({h}, 5000), '/item')"),
    "string_2": Value(pa.string(), "substr(hex({h}), 1, 8)"),
    "string_3": Value(pa.string(), "concat('user', pmod({h}, 10000000), '@example.org')"),
}
FEW = ("long_5", "double_3", "string_1")


def whole_rows(keys: int, name: str = "W1", asked: tuple[str, ...] = ALL_QUESTIONS) -> Workload:
    return Workload(name, keys, SEED, VALUES, FEW, asked=asked)
