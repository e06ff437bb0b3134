"""W4: three feature tables of six columns each, joined to samples by key.

keylake joins its unmerged tables, base and ten upserts, and merges while it joins. The others are given the merged
rows: Iceberg in buckets, so that it can join them where they are stored, and plain Parquet files.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar

from benchmarks.arena import Arena, Race
from benchmarks.engine import Connected, Engine
from benchmarks.questions import consume, exchanges, fingerprint
from benchmarks.system import Reader, Staged, StockSpark
from benchmarks.systems.iceberg_limits import IcebergLimits, Merged
from benchmarks.systems.keyed import Keyed, Keylake
from benchmarks.systems.plain import IN_BUCKETS
from benchmarks.workload import KEY, Value, Workload
from benchmarks.workloads.whole_rows import SEED, VALUES

NAME = "W4"
FULL_SIZE = 500_000
FEATURES = ("long_3", "long_5", "long_8", "double_1", "double_3", "string_1")
SAMPLE = ("long_0", "double_2")
JOINING = {
    **IN_BUCKETS,
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
}


def workloads(scale: float) -> tuple[Workload, ...]:
    """The samples, and the three feature tables."""
    keys = round(FULL_SIZE * scale)
    samples = Workload(f"{NAME}_samples", keys, SEED, _named(0, SAMPLE), ("sample_long_0",), commits=0)
    return samples, *(
        Workload(f"{NAME}_features_{number}", keys, SEED + number, _named(number, FEATURES), (f"long_3_{number}",))
        for number in (1, 2, 3)
    )


class StoredJoin(IcebergLimits):
    """Iceberg tables in equal buckets: Spark joins bucket by bucket."""

    name: ClassVar[str] = "Iceberg storage-partitioned join"
    settings = JOINING


class ParquetJoin(StockSpark):
    """Plain files: Spark moves and sorts both sides."""

    name: ClassVar[str] = "plain Parquet"
    settings: ClassVar[Mapping[str, str]] = {"spark.sql.autoBroadcastJoinThreshold": "-1"}

    def take(self, staged: Staged) -> tuple[Reader, ...]:
        workload = staged.workload
        spark, path = self.engine.spark, str(self.folder / "tables" / workload.name)
        paths = [str(batch.path) for batch in staged.batches]
        spark.read.schema(staged.batches[0].schema).parquet(*paths).createOrReplaceTempView("staged")
        spark.sql(workload.newest("staged", workload.columns)).write.parquet(path)
        spark.read.schema(workload.columns_in_sql()).parquet(path).createOrReplaceTempView(workload.name)
        return ()


class Joined:
    """The join, as one reader of all its columns."""

    def __init__(self, name: str, engine: Engine, workload: Workload, tables: Sequence[str]) -> None:
        self.name = name
        self.engine = engine
        self.workload = workload  # of the columns together
        self.tables = tables

    def rows(self, columns: Sequence[str]) -> str:
        samples, *features = self.tables
        joins = (f"LEFT JOIN {table} f{n} ON s.{KEY} = f{n}.{KEY}" for n, table in enumerate(features, start=1))
        picked = (f"s.{column}" if column == KEY else column for column in columns)
        return f"SELECT {', '.join(picked)} FROM {samples} s {' '.join(joins)}"


def measure(arena: Arena, staged: Sequence[Staged]) -> None:
    """All three ways at once."""
    arena.console.rule(f"{NAME}: {staged[0].workload.keys:,} samples, three tables of {len(FEATURES)} features")
    values = {name: value for each in staged for name, value in each.workload.values.items()}
    together = replace(staged[0].workload, values=values, few=(), streams=(tuple(values),))
    names = [each.workload.name for each in staged]
    with (
        arena.running(Keylake, NAME) as keylake,
        arena.running(StoredJoin, NAME) as stored,
        arena.running(ParquetJoin, NAME) as parquet,
    ):
        for name, value in JOINING.items():
            keylake.lake.spark.conf.set(name, value)
        keyed, merged = [], []
        for each in staged:
            table = arena.taken(keylake, each)[0]
            assert isinstance(table, Keyed)
            keyed.append(table.table)
            known = replace(each, keyed=table.files())
            merged += [reader.table for reader in arena.taken(stored, known) if isinstance(reader, Merged)]
            arena.taken(parquet, known)
        readers = (
            Joined(Keyed.name, Connected(keylake.lake.spark), together, keyed),
            Joined(StoredJoin.name, stored.engine, together, merged),
            Joined(ParquetJoin.name, parquet.engine, together, names),
        )
        found = {each.name: fingerprint(each, together.columns) for each in readers}
        assert len(set(found.values())) == 1, f"the joins differ: {found}"
        for reader in readers:
            moves = exchanges(reader, together.columns)
            arena.console.print(f"  {reader.name}: {moves} Exchange nodes", highlight=False)
        tasks = {each.name: partial(_join, each) for each in readers}
        arena.races.append(Race(NAME, "join of all columns", arena.raced(f"{NAME}, join", tasks)))


def _join(reader: Reader, _: int) -> None:
    consume(reader, reader.workload.columns)


def _named(number: int, columns: Sequence[str]) -> dict[str, Value]:
    """Columns that no other of the tables has."""
    return {f"{column}_{number}" if number else f"sample_{column}": VALUES[column] for column in columns}
