"""Four feature tables of twenty columns joined to samples: keyed tables beside what one would do without them.

1. Compacted   all columns, beside Iceberg's storage-partitioned join, Spark's bucketed tables and a shuffle of plain
               Parquet, which are given the merged rows.
2. Unmerged    the same with ten updates of a tenth of the keys that nobody has merged; Iceberg has to find the newest
               row of each key first.
3. Back-fill   two columns of each table by `kl.join`, from samples that lie anyhow, beside whole rows deduplicated and
               joined with shuffles.

All of them run in turns in one server; their answers are compared by a checksum before.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from rich.console import Console

import keylake as kl
from benchmarks import kv, skewed_writes
from benchmarks.engine import Connected
from benchmarks.figures import Figure, Findings, Target, figure
from benchmarks.machine import PLAIN, Machine, machine
from benchmarks.stopwatch import Pace, Times, race
from benchmarks.task_events import TaskEvents

SAMPLES, TABLES, COLUMNS, UPDATES, CHANGED, BUCKETS = 2_000_000, 4, 20, 10, 0.1, 16
STRIDE = 997  # has no factor in common with the number of keys
WARM_UP, ROUNDS = Pace(1, 3, 40), Pace(3, 7, 80)
KEYLAKE, ICEBERG, BUCKETED, SHUFFLED = "keylake", "Iceberg storage-partitioned", "Spark bucketBy", "plain Parquet"
KINDS = ("bigint", "double", "bigint", "string", "double")
JOINED = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
    "spark.sql.requireAllClusterKeysForDistribution": "false",
}


def run(scale: float, console: Console, chosen: Sequence[str] = ()) -> Findings:
    """The joins; publishing to a store; writes of skewed keys. Or some of these."""
    parts = {"joins": joins, "publish": kv.run, "writes": skewed_writes.run}
    unknown = [part for part in chosen if part not in parts]
    if unknown:
        raise SystemExit(f"joins has no part {unknown[0]!r}; it has {', '.join(parts)}")
    found = [part(scale, console) for name, part in parts.items() if name in (chosen or parts)]
    return Findings(
        "; ".join(each.run for each in found),
        [each for findings in found for each in findings.figures],
        {question: times for findings in found for question, times in findings.seconds.items()},
    )


def joins(scale: float, console: Console) -> Findings:
    """Tables are written, joined, and compacted in between."""
    rows = max(round(SAMPLES * scale / 1000), 2) * 1000
    with machine() as place:
        words = f"{rows:,} samples, {TABLES} tables of as many keys x {COLUMNS} columns; {place.describe()}"
        console.print(words, highlight=False)
        events = TaskEvents(place.folder / "events")
        lake = place.session(JOINED, events.settings())
        bench = Bench(place, lake, rows, Connected(lake.spark), events, console)
        bench.write()
        figures = [*bench.unmerged(), *bench.backfill(), *bench.compacted()]
        return Findings(words, figures, bench.seconds)


@dataclass
class Bench:
    """The same rows in four forms: keyed, in Iceberg's buckets, in Spark's, and in plain files."""

    place: Machine
    lake: kl.Lake
    rows: int
    engine: Connected
    events: TaskEvents
    console: Console
    seconds: dict[str, Mapping[str, Times]] = field(default_factory=dict)

    def write(self) -> None:
        """Samples, and tables of a base and ten updates; the raw rows of all of them, and the merged ones."""
        self.console.print("writing the tables")
        self.lake.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {PLAIN}.bench")
        samples = self._frame(0, self.rows, 0, "sample").drop("version")
        self._keyed("samples", samples.schema.names[1:]).upsert(samples, version=0)
        samples.write.parquet(self._path("samples"))
        self._stored("samples", samples, sorted_by=True)
        for number in range(1, TABLES + 1):
            name = f"features_{number}"
            names = [f"f{number}_{at}" for at in range(COLUMNS)]
            keyed = self._keyed(name, names)
            for commit in range(UPDATES + 1):
                changed = self._frame(number, round(self.rows * CHANGED) if commit else self.rows, commit, f"f{number}")
                changed.write.mode("append").parquet(self._path(f"raw_{name}"))
                keyed.upsert(changed, version="version")
            raw = self.lake.spark.read.parquet(self._path(f"raw_{name}"))
            self._stored(f"raw_{name}", raw, sorted_by=False)
            merged = keyed.read()
            self._stored(name, merged, sorted_by=True)
            merged.write.parquet(self._path(name))

    # -------------------------------------------------------------------------------------------------- questions

    def compacted(self) -> list[Figure]:
        """All columns of merged rows; keylake's tables are compacted now."""
        for number in range(1, TABLES + 1):
            self.lake.table(f"bench.features_{number}").compact("full")
        names = [f"features_{number}" for number in range(1, TABLES + 1)]
        queries = {
            KEYLAKE: self._join(f"{self.lake.catalog}.bench", names),
            ICEBERG: self._join(f"{PLAIN}.bench", names),
            BUCKETED: self._join("spark_catalog.default", names),
            SHUFFLED: self._join("parquet", names),
        }
        times = self._raced("compacted", queries)
        explained = kl.explain_join(self.lake.spark.sql(queries[KEYLAKE]))
        mine, theirs = (self.events.of(partial(self._consume, queries[name], 0)) for name in (KEYLAKE, ICEBERG))
        return [
            figure(
                "most memory that a task holds for the join / the same of Iceberg's",
                mine.peak_memory / max(theirs.peak_memory, 1),
                Target(0.25),
                f"{mine.peak_memory:,} of {theirs.peak_memory:,} bytes",
            ),
            figure("Exchange nodes of the join of compacted tables", explained.shuffles, Target(0)),
            figure("Sort nodes of the join of compacted tables", explained.sorts, Target(0)),
            *(
                figure(f"{name} / keylake, compacted, all columns", times[name].over(times[KEYLAKE]), target)
                for name, target in (
                    (ICEBERG, Target(1.5, at_least=True)),
                    (BUCKETED, Target(1.5, at_least=True)),
                    (SHUFFLED, Target(4, at_least=True)),
                )
            ),
        ]

    def unmerged(self) -> list[Figure]:
        """All columns of tables with ten updates that nobody has merged."""
        names = [f"features_{number}" for number in range(1, TABLES + 1)]
        queries = {
            KEYLAKE: self._join(f"{self.lake.catalog}.bench", names),
            "Iceberg, merged beforehand": self._join(f"{PLAIN}.bench", names),
            "Iceberg, deduplicated": self._join(f"{PLAIN}.bench", names, newest=True),
        }
        times = self._raced("ten updates unmerged", queries)
        explained = kl.explain_join(self.lake.spark.sql(queries[KEYLAKE]))
        mine = times[KEYLAKE]
        return [
            figure("Exchange and Sort nodes, unmerged", explained.shuffles + explained.sorts, Target(0)),
            figure(
                "Iceberg over merged rows / keylake over unmerged ones",
                times["Iceberg, merged beforehand"].over(mine),
                Target(1, at_least=True),
            ),
            figure(
                "Iceberg, deduplicated / keylake, unmerged",
                times["Iceberg, deduplicated"].over(mine),
                Target(3, at_least=True),
            ),
        ]

    def backfill(self) -> list[Figure]:
        """Two columns of each unmerged table, for samples that lie in plain files."""
        samples = self.lake.spark.read.parquet(self._path("samples"))
        names = [f"features_{number}" for number in range(1, TABLES + 1)]
        picked = [self.lake.table(f"bench.{name}")[f"f{n}_3", f"f{n}_7"] for n, name in enumerate(names, start=1)]

        def mine() -> DataFrame:
            return kl.join(samples, picked, on="id")

        whole = self._join("parquet", names, newest=True)
        tasks: dict[str, Callable[[int], object]] = {
            KEYLAKE: lambda _: mine().write.format("noop").mode("overwrite").save(),
            SHUFFLED: lambda _: self.engine.consume(whole),
        }
        times = race(tasks, warm_up=WARM_UP, rounds=ROUNDS)
        self._told("back-fill of two columns", times)
        return [
            figure(
                "whole rows, deduplicated and shuffled / kl.join of two columns",
                times[SHUFFLED].over(times[KEYLAKE]),
                Target(10, at_least=True),
            ),
            figure("Exchange nodes of kl.join from unbucketed samples", kl.explain_join(mine()).shuffles, Target(1)),
        ]

    # ---------------------------------------------------------------------------------------------------- helpers

    def _raced(self, title: str, queries: Mapping[str, str]) -> dict[str, Times]:
        sums = {name: self._checksum(query) for name, query in queries.items()}
        assert len(set(sums.values())) == 1, f"the joins differ: {sums}"
        tasks = {name: partial(self._consume, query) for name, query in queries.items()}
        times = race(tasks, warm_up=WARM_UP, rounds=ROUNDS)
        self._told(title, times)
        return times

    def _consume(self, query: str, _: int) -> None:
        self.engine.consume(query)

    def _told(self, title: str, times: Mapping[str, Times]) -> None:
        self.seconds[title] = times
        self.console.print(title)
        for name, each in times.items():
            self.console.print(f"  {name} {each} s", highlight=False)

    def _checksum(self, query: str) -> tuple[object, ...]:
        columns = ", ".join(f"f{number}_{at}" for number in range(1, TABLES + 1) for at in range(COLUMNS))
        return self.engine.fetch(f"SELECT count(*), bit_xor(xxhash64(id, {columns})) FROM ({query})")[0]

    def _join(self, where: str, names: list[str], *, newest: bool = False) -> str:
        """Samples with all columns of the tables; of raw rows only the newest of each key."""
        joins = []
        for number, name in enumerate(names, start=1):
            columns = ", ".join(f"f{number}_{at}" for at in range(COLUMNS))
            source = self._source(where, f"raw_{name}" if newest else name)
            if newest:
                ranked = f"SELECT *, row_number() OVER (PARTITION BY id ORDER BY version DESC) AS nth FROM {source}"
                source = f"(SELECT id, {columns} FROM ({ranked}) WHERE nth = 1)"
            joins.append(f"LEFT JOIN {source} t{number} ON s.id = t{number}.id")
        columns = ", ".join(f"t{number}.f{number}_{at}" for number in range(1, TABLES + 1) for at in range(COLUMNS))
        return f"SELECT s.*, {columns} FROM {self._source(where, 'samples')} s {' '.join(joins)}"

    def _source(self, where: str, name: str) -> str:
        return f"parquet.`{self._path(name)}`" if where == "parquet" else f"{where}.{name}"

    def _path(self, name: str) -> str:
        return str(self.place.folder / "staged" / name)

    def _keyed(self, name: str, columns: list[str]) -> kl.KeyedTable[kl.Table]:
        fields = [
            pa.field("id", pa.int64(), nullable=False),
            *(_arrow(at, column) for at, column in enumerate(columns)),
        ]
        spec = kl.TableSpec.from_arrow(
            pa.schema(fields), name=f"bench.{name}", key="id", versions="explicit", buckets=BUCKETS
        )
        return self.lake.create(spec)

    def _stored(self, name: str, frame: DataFrame, *, sorted_by: bool) -> None:
        """The rows in Iceberg's buckets, and, merged ones, in Spark's."""
        frame.createOrReplaceTempView("stored")
        columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in frame.schema.fields)
        table = f"{PLAIN}.bench.{name}"
        self.engine.fetch(f"CREATE TABLE {table} ({columns}) USING iceberg PARTITIONED BY (bucket({BUCKETS}, id))")
        self.engine.fetch(f"ALTER TABLE {table} WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY id")
        self.engine.fetch(f"INSERT INTO {table} SELECT * FROM stored")
        if sorted_by:
            writer = frame.repartition(BUCKETS, "id").write.format("parquet").bucketBy(BUCKETS, "id").sortBy("id")
            self.engine.fetch("USE spark_catalog.default")
            writer.option("path", self._path(f"bucketed_{name}")).saveAsTable(name)
            self.engine.fetch(f"USE {self.lake.catalog}")

    def _frame(self, table: int, rows: int, commit: int, prefix: str) -> DataFrame:
        """So many rows, of keys that lie everywhere, with the commit as their version."""
        number = f"pmod(id * {STRIDE} + {commit * 7919 + table * 31}, {self.rows})"
        values = {
            "bigint": f"xxhash64({number}, {table}, {commit}, {{at}})",
            "double": f"CAST(pmod(xxhash64({number}, {commit}, {{at}}), 1000003) AS DOUBLE) / 7",
            "string": f"concat('text ', pmod(xxhash64({number}, {commit}, {{at}}), 1000))",
        }
        count = COLUMNS if table else 2
        columns = [f"{values[KINDS[at % len(KINDS)]].format(at=at)} AS {prefix}_{at}" for at in range(count)]
        return self.lake.spark.range(rows).selectExpr(
            f"{number} AS id", *columns, f"CAST({commit} AS BIGINT) AS version"
        )


def _arrow(at: int, name: str) -> pa.Field:
    types = {"bigint": pa.int64(), "double": pa.float64(), "string": pa.string()}
    return pa.field(name, types[KINDS[at % len(KINDS)]])
