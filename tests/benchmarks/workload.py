"""What is written: a base of whole rows, and commits that change a share of the keys.

Every value is a hash of (key, batch, column, seed), so Spark makes the same rows on any machine, and no row travels
through Python. They are staged as Parquet, in random order, before anything is measured.

    batch 0      every key once, whole rows                  event time in hour 0
    batch 1..n   a share of the keys; whole rows, or,        event time in hour 1..n
                 with streams, the columns of one stream

With a share of late rows, these have an event time `late_by` hours before their batch's: then the newest event of a key
is not always in the newest batch.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

import keylake as kl

KEY, TIME, STREAM = "key", "event_time", "stream"
BUCKETS = 8
COMMITS = 10
ALL_QUESTIONS = ("all", "few", "key", "count", "filter", "range", "one", "group")
_FIRST_SECOND = 1_760_000_000
_TIME_TYPE = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True)
class Value:
    """How a column's values are made: its type, and SQL in which a hash is `{h}`."""

    type: pa.DataType
    sql: str


@dataclass(frozen=True)
class Batch:
    """Staged rows, and the value columns that they carry."""

    number: int
    path: Path
    columns: tuple[str, ...]
    is_whole: bool
    schema: str

    def frame(self, spark: SparkSession) -> DataFrame:
        """The rows, with their event time and, if there are streams, the number of theirs."""
        return spark.read.schema(self.schema).parquet(str(self.path))


@dataclass(frozen=True)
class Workload:
    """One history of writes; equal ones hold equal rows.

    Without `streams` every row is whole and its event time is a column of the table, the ordering column. With streams,
    commit 1 carries the columns of the first, commit 2 those of the second, and so on in turns; the event time is then
    only the version of what is written.
    """

    name: str
    keys: int
    seed: int
    values: Mapping[str, Value]
    few: tuple[str, ...]  # the value columns of a narrow read
    chosen: str = "pmod({h}, 10) = 0"  # which keys a commit writes, by a hash that differs from commit to commit
    commits: int = COMMITS
    late_share: float = 0.0
    late_by: int = 2
    streams: tuple[tuple[str, ...], ...] = ()
    filter_on: str = "long_2 = 42"  # one row of a hundred
    group_on: tuple[str, str] = field(default=("long_1", "long_5"))  # grouped, summed
    hot: bool = False  # every commit writes the same keys
    asked: tuple[str, ...] = ALL_QUESTIONS

    @property
    def schema(self) -> pa.Schema:
        """The columns as a reader of the keyed table sees them."""
        time = [] if self.streams else [pa.field(TIME, _TIME_TYPE)]
        values = [pa.field(name, value.type) for name, value in self.values.items()]
        return pa.schema([pa.field(KEY, pa.int64(), nullable=False), *time, *values])

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.schema.names)

    @property
    def narrow(self) -> tuple[str, ...]:
        """Key and a few more."""
        return (KEY, *self.few)

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns as a plain table needs them for the same answers: also whose row it is, and how new."""
        return (KEY, TIME, *((STREAM,) if self.streams else ()), *self.values)

    def spec(self, name: str) -> kl.TableSpec:
        """The keyed table that takes it."""
        if self.streams:
            return kl.TableSpec.from_arrow(self.schema, name=name, key=KEY, versions="explicit", buckets=BUCKETS)
        return kl.TableSpec.from_arrow(self.schema, name=name, key=KEY, ordering=TIME, buckets=BUCKETS)

    def columns_in_sql(self, columns: tuple[str, ...] | None = None) -> str:
        """The columns as CREATE TABLE has them: those of the keyed table, unless others are said."""
        return ", ".join(f"{name} {self._type_in_sql(name)}" for name in columns or self.columns)

    def order_of(self, column: str) -> str:
        """In a plain table: the version of this column's value in a row, null where the row does not carry it."""
        if not self.streams or column == KEY:
            return TIME
        carrying = (number for number, columns in enumerate(self.streams, start=1) if column in columns)
        return f"CASE WHEN {STREAM} IN ({', '.join(map(str, (0, *carrying)))}) THEN {TIME} END"

    def newest(self, table: str, columns: Sequence[str]) -> str:
        """The merge law over a plain table, in plain SQL: columns of one version together, as the newest struct."""
        together: dict[str, list[str]] = {}
        for column in columns:
            if column != KEY:
                together.setdefault(self.order_of(column), []).append(column)
        newest = [
            f"max_by(struct({', '.join(names)}), {order}) AS newest_{number}"
            for number, (order, names) in enumerate(together.items())
        ]
        of = {name: number for number, names in enumerate(together.values()) for name in names}
        merged = f"SELECT {', '.join((KEY, *newest))} FROM {table} GROUP BY {KEY}"
        picked = (KEY if name == KEY else f"newest_{of[name]}.{name} AS {name}" for name in columns)
        return f"SELECT {', '.join(picked)} FROM ({merged})"

    def hashable(self, column: str) -> str:
        """The column as xxhash64 takes it: a map has no order, and therefore no hash."""
        is_map = pa.types.is_map(self.schema.field(column).type)
        return f"array_sort(map_entries({column}))" if is_map else column

    def stage(self, spark: SparkSession, folder: Path) -> tuple[Batch, ...]:
        """Make the batches, once; base first."""
        batches = []
        for number in range(self.commits + 1):
            columns = self._carried(number)
            schema = self.columns_in_sql(self.stored)
            batch = Batch(number, folder / f"batch-{number:02d}", columns, len(columns) == len(self.values), schema)
            self._rows(spark, number).write.parquet(str(batch.path))
            batches.append(batch)
        return tuple(batches)

    def some_keys(self, how_many: int) -> Iterator[int]:
        """Keys to look up, far apart."""
        return map(self.some_key, range(how_many))

    def some_key(self, number: int) -> int:
        """A key to look up; another one for another number."""
        return (number * 982_451_653 + self.seed) % self.keys

    def _carried(self, batch: int) -> tuple[str, ...]:
        if self.streams and batch:
            return self.streams[self._stream(batch) - 1]
        return tuple(self.values)

    def _stream(self, batch: int) -> int:
        return 1 + (batch - 1) % len(self.streams) if batch else 0

    def _rows(self, spark: SparkSession, batch: int) -> DataFrame:
        def hashed(what: str, number: int = batch) -> str:
            return f"xxhash64(id, {number}, '{what}', {self.seed})"

        rows = spark.range(0, self.keys, 1, 4)
        if batch:
            rows = rows.where(self.chosen.format(h=hashed("chosen", 1 if self.hot else batch)))
        late = f"pmod({hashed('late')}, 10000) < {round(self.late_share * 10_000) if batch else 0}"
        second = f"{_FIRST_SECOND} + 3600 * ({batch} - if({late}, {self.late_by}, 0))"
        # Milliseconds, and the batch as microseconds: no two batches give a key the same event time.
        time = f"timestamp_micros(1000000L * ({second}) + 1000L * pmod({hashed(TIME)}, 3600000) + {batch})"
        carried = self._carried(batch)
        values = (
            f"{value.sql.format(h=hashed(name)) if name in carried else f'CAST(NULL AS {self._type_in_sql(name)})'} "
            f"AS {name}"
            for name, value in self.values.items()
        )
        stream = (f"{self._stream(batch)} AS {STREAM}",) if self.streams else ()
        shuffled = rows.orderBy(expr(hashed("place")))
        return shuffled.selectExpr(f"id AS {KEY}", f"{time} AS {TIME}", *stream, *values)

    def _type_in_sql(self, column: str) -> str:
        if column == KEY:
            return "BIGINT NOT NULL"
        if column == STREAM:
            return "INT"
        return "TIMESTAMP" if column == TIME else in_sql(self.values[column].type)


def in_sql(type_: pa.DataType) -> str:
    """A type as Spark's SQL writes it.

    >>> in_sql(pa.list_(pa.float32()))
    'ARRAY<FLOAT>'
    """
    if pa.types.is_list(type_):
        return f"ARRAY<{in_sql(type_.value_type)}>"
    if pa.types.is_map(type_):
        return f"MAP<{in_sql(type_.key_type)}, {in_sql(type_.item_type)}>"
    if pa.types.is_struct(type_):
        return f"STRUCT<{', '.join(f'{each.name}: {in_sql(each.type)}' for each in type_)}>"
    names = {"int64": "BIGINT", "int32": "INT", "double": "DOUBLE", "float": "FLOAT", "string": "STRING"}
    return names[str(type_)]
