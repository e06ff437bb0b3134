"""What is written: a base and ten upserts of a tenth of the keys, in 22 columns.

Every value is a hash of (key, batch, column, seed), so Spark makes the same rows on any machine, and no row travels
through Python. They are staged as Parquet, in random order, before anything is measured.

    batch 0      every key once               event time in hour 0
    batch 1..10  a tenth of the keys, random  event time in hour 1..10

With a share of late rows, these have an event time two hours before their batch's: then the newest event of a key is
not always in the newest batch.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

import keylake as kl

KEY, TIME = "key", "event_time"
# Ranges and lengths as tables have them: flags, small codes, counters, amounts, names, addresses. About 80 bytes a row
# on disk. A hash is `{h}` here.
_VALUES = {
    **{
        f"long_{number}": (pa.int64(), f"pmod({{h}}, {size})")
        for number, size in enumerate((2, 10, 100, 1000, 10**4, 10**5, 10**6, 10**7, 10**9, 10**12))
    },
    **{f"double_{number}": (pa.float64(), f"pmod({{h}}, {10 ** (number + 3)}) / 100") for number in range(6)},
    "string_0": (pa.string(), "concat('country-', pmod({h}, 200))"),
    "string_1": (pa.string(), "concat('/page/', pmod({h}, 5000), '/item')"),
    "string_2": (pa.string(), "substr(hex({h}), 1, 8)"),
    "string_3": (pa.string(), "concat('user', pmod({h}, 10000000), '@example.org')"),
}
SCHEMA = pa.schema(
    [
        pa.field(KEY, pa.int64(), nullable=False),
        pa.field(TIME, pa.timestamp("us", tz="UTC")),
        *((name, type_) for name, (type_, _) in _VALUES.items()),
    ]
)
COLUMNS = tuple(SCHEMA.names)
THREE_MORE = (KEY, "long_5", "double_3", "string_1")
BUCKETS = 8
UPSERTS = 10
_TYPES_IN_SQL = {pa.int64(): "BIGINT", pa.float64(): "DOUBLE", pa.string(): "STRING"}
_FIRST_SECOND = 1_760_000_000


def columns_in_sql() -> str:
    """The columns as CREATE TABLE has them."""
    types = (_TYPES_IN_SQL.get(field.type, "TIMESTAMP") for field in SCHEMA)
    return ", ".join(
        f"{field.name} {type_}{'' if field.nullable else ' NOT NULL'}"
        for field, type_ in zip(SCHEMA, types, strict=True)
    )


@dataclass(frozen=True)
class Workload:
    """One history of writes; equal ones hold equal rows."""

    keys: int
    seed: int
    late_share: float = 0.0

    def spec(self, name: str) -> kl.TableSpec:
        """The keyed table that takes it."""
        return kl.TableSpec.from_arrow(SCHEMA, name=name, key=KEY, ordering=TIME, buckets=BUCKETS)

    def stage(self, spark: SparkSession, folder: Path) -> tuple[Path, ...]:
        """Make the batches, once; base first."""
        paths = tuple(folder / f"batch-{batch:02d}" for batch in range(UPSERTS + 1))
        for batch, path in enumerate(paths):
            self._batch(spark, batch).write.parquet(str(path))
        return paths

    def some_keys(self, how_many: int) -> Iterator[int]:
        """Keys to look up, far apart."""
        return ((number * 982_451_653 + self.seed) % self.keys for number in range(how_many))

    def _batch(self, spark: SparkSession, batch: int) -> DataFrame:
        def hashed(what: str) -> str:
            return f"xxhash64(id, {batch}, '{what}', {self.seed})"

        rows = spark.range(0, self.keys, 1, 4)
        if batch:
            rows = rows.where(f"pmod({hashed('chosen')}, 10) = 0")
        late = f"pmod({hashed('late')}, 10000) < {round(self.late_share * 10_000)}"
        second = f"{_FIRST_SECOND} + 3600 * ({batch} - if({late}, 2, 0))"
        # Milliseconds, and the batch as microseconds: no two batches give a key the same event time.
        time = f"timestamp_micros(1000000L * ({second}) + 1000L * pmod({hashed(TIME)}, 3600000) + {batch})"
        values = (f"{sql.format(h=hashed(name))} AS {name}" for name, (_, sql) in _VALUES.items())
        shuffled = rows.orderBy(expr(hashed("place")))
        return shuffled.selectExpr(f"id AS {KEY}", f"{time} AS {TIME}", *values)


def staged(spark: SparkSession, path: Path) -> DataFrame:
    """A batch as a frame."""
    return spark.read.schema(columns_in_sql()).parquet(str(path))
