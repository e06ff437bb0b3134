"""A table of features: an embedding, a map of counts, a struct, and a few plain columns beside them."""

import pyarrow as pa

from benchmarks.workload import Value, Workload
from benchmarks.workloads.whole_rows import SEED, VALUES

FULL_SIZE = 200_000
LENGTH, ENTRIES = 64, 5
FEW = ("embedding", "counts", "place")
PLAIN = ("long_1", "long_2", "long_5", "double_3", "string_1")
NESTED = {
    "embedding": Value(
        pa.list_(pa.float32()),
        f"transform(sequence(0, {LENGTH - 1}), i -> CAST(pmod(hash({{h}}, i), 1000) / 1000 AS FLOAT))",
    ),
    "counts": Value(
        pa.map_(pa.string(), pa.int32()),
        f"map_from_arrays(transform(sequence(0, {ENTRIES - 1}), i -> concat('tag-', 7 * i + pmod({{h}}, 7))), "
        f"transform(sequence(0, {ENTRIES - 1}), i -> pmod(hash({{h}}, i), 1000)))",
    ),
    "place": Value(
        pa.struct([("cell", pa.int64()), ("city", pa.string()), ("distance", pa.float64())]),
        "named_struct('cell', pmod({h}, 100000), 'city', concat('city-', pmod({h}, 300)), "
        "'distance', pmod({h}, 10000) / 100)",
    ),
}


def nested(keys: int) -> Workload:
    return Workload("nested", keys, SEED, {**{name: VALUES[name] for name in PLAIN}, **NESTED}, FEW)
