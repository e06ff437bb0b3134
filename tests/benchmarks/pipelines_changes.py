"""A stream of changes with random keys into a keyed table, beside other ways to write and to keep them.

The changes are Parquet files that arrive in the order of their versions: inserts and updates of whole rows, and some
deletes. A batch takes some of the files. Each system takes all of them, in batches of the same files:

    keylake        table.stream(frame, op=, version=), Structured Streaming
    append         Structured Streaming into a plain Iceberg table, which keeps every change: the measure for ingest
    append in      the same, its files in the buckets and in the order of a keyed table
    buckets
    Delta MERGE    foreachBatch, which merges the newest change of each key of its batch
    Flink upsert   the sink that Flink's SQL has, into a plain Iceberg table in buckets: equality deletes

1. Ingest       seconds of all batches, each system once it is warm; keylake and the appends in turns, in one process.
2. Reads        right afterwards, in turns: keylake, Delta, and stock Iceberg on Flink's table. Every read is of a
                fingerprint of its values, which is compared with the truth, by plain SQL from the changes.
3. Maintenance  what each has for it: compaction, OPTIMIZE, a rewrite that takes the deletes out. Processor seconds of
                ingest and of maintenance are told.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

import keylake as kl
from benchmarks.figures import Figure, Findings, Target, figure
from benchmarks.machine import PLAIN, Cost, Machine, machine, processor_seconds
from benchmarks.spark_server import CATALOG, SparkServer
from benchmarks.stopwatch import Pace, Times, race, seconds
from benchmarks.systems.delta_merge import DeltaMerge
from benchmarks.systems.flink_upserts import flink_upserts
from keylake._server.server import catalog_settings

ROWS, KEYS = 10_000_000, 2_000_000
FILES, FILES_OF_A_BATCH, BUCKETS = 40, 4, 8
DELETES = 5  # of a hundred changes
ROUNDS = 3
WARM_UP, READS = Pace(1, 1, 0), Pace(3, 5, 60)
PARTITIONED = f"PARTITIONED BY (bucket({BUCKETS}, id))"
TYPES = {
    "id": pa.int64(),
    "clicks": pa.int64(),
    "amount": pa.int64(),
    "level": pa.int32(),
    "score": pa.float64(),
    "ratio": pa.float64(),
    "at": pa.timestamp("us", tz="UTC"),
    "name": pa.string(),
    "page": pa.string(),
    "city": pa.string(),
}
VALUES = {
    "clicks": "pmod({h}, 1000)",
    "amount": "{h}",
    "level": "CAST(pmod({h}, 8) AS INT)",
    "score": "pmod({h}, 1000000) / 1024D",
    "ratio": "{h} / 1e9D",
    "at": "timestamp_micros(1760000000000000L + 1000L * id)",
    "name": "concat('user ', pmod({h}, 100000))",
    "page": "concat('page/', hex(pmod({h}, 65536)))",
    "city": "elt(1 + pmod({h}, 5), 'Oslo', 'Bergen', 'Lima', 'Hanoi', 'Accra')",
}
IN_SQL = (
    "id BIGINT, clicks BIGINT, amount BIGINT, level INT, score DOUBLE, ratio DOUBLE, at TIMESTAMP, "
    "name STRING, page STRING, city STRING"
)
CHANGES = f"op STRING, version BIGINT, {IN_SQL}"
ALL, FEW = tuple(TYPES), ("id", "clicks", "score", "city")
QUESTIONS = {"all columns": ALL, "key + 3": FEW}
KEYLAKE, APPEND, IN_BUCKETS, DELTA, FLINK = "keylake", "append", "append in buckets", "Delta MERGE", "Flink upsert"
DELTA_SETTINGS = {**DeltaMerge.settings, "spark.databricks.delta.snapshotPartitions": "2"}
TARGETS = {APPEND: Target(0.8, at_least=True), FLINK: Target(3, at_least=True)}
MERGED = """
    MERGE INTO {table} t USING (
      SELECT newest.* FROM (SELECT max_by(struct(*), version) AS newest FROM changes GROUP BY id)
    ) s ON t.id = s.id
    WHEN MATCHED AND s.op = 'd' THEN DELETE
    WHEN MATCHED THEN UPDATE SET {updates}
    WHEN NOT MATCHED AND s.op <> 'd' THEN INSERT ({columns}) VALUES ({values})
"""
REWRITE = f"CALL {CATALOG}.system.rewrite_data_files('{{table}}', options => map('delete-file-threshold', '1'))"


@dataclass(frozen=True)
class Changes:
    """Files of changes, and some of them alone, by which systems get warm."""

    folder: Path
    warm: Path

    @property
    def both(self) -> Mapping[str, Path]:
        """By the last part of the names of the tables they go to."""
        return {"warm": self.warm, "full": self.folder}

    def stream(self, spark: SparkSession, files: Path) -> DataFrame:
        """The files as they arrive, some in a batch."""
        return spark.readStream.schema(CHANGES).option("maxFilesPerTrigger", FILES_OF_A_BATCH).parquet(str(files))


@dataclass(frozen=True)
class Reader:
    """Who reads a table after ingest."""

    spark: SparkSession
    table: str

    def fingerprint(self, columns: tuple[str, ...]) -> tuple[object, ...]:
        """Of all rows."""
        return _fingerprint(self.spark, self.table, columns)


def run(scale: float, console: Console) -> Findings:
    """Keys follow the scale as changes do."""
    rows, keys = max(round(ROWS * scale), 10_000), max(round(KEYS * scale), 2_000)
    with machine() as place, ExitStack() as opened:
        lake = place.session({"spark.sql.shuffle.partitions": str(BUCKETS)})
        words = (
            f"{rows:,} changes of {keys:,} keys x {len(TYPES)} columns, {DELETES}% deletes, "
            f"{FILES // FILES_OF_A_BATCH} batches, {BUCKETS} buckets; {place.describe()}"
        )
        console.print(words, highlight=False)
        changes = _staged(lake.spark, place.folder / "staged", rows, keys)
        costs = _in_turns(lake, changes, place.folder, console)
        readers = {KEYLAKE: Reader(lake.spark, f"{lake.catalog}.bench.changes")}
        for name, taken in (
            (FLINK, partial(_flink, place, changes, opened)),
            (DELTA, partial(_delta, place, changes, opened)),
        ):
            costs[name], readers[name] = taken()
            console.print(f"  {name}: {costs[name].time[0]:.1f} s", highlight=False)
        truth = {name: _truth(lake.spark, changes, columns) for name, columns in QUESTIONS.items()}
        times = {name: _reads(readers, columns, truth[name], console) for name, columns in QUESTIONS.items()}
        kept = _maintained(lake, readers)
        assert all(reader.fingerprint(ALL) == truth["all columns"] for reader in readers.values())
        return Findings(words, list(_figures(rows, costs, times, kept)), times)


def _staged(spark: SparkSession, folder: Path, rows: int, keys: int) -> Changes:
    """Files with consecutive versions, each newer than the one before."""
    folder.mkdir(exist_ok=True)
    staged = Changes(folder / "changes", folder / "warm")
    values = [f"{sql.format(h=f'xxhash64(id, {name!r})')} AS {name}" for name, sql in VALUES.items()]
    op = f"if(pmod(xxhash64(id, 'op'), 100) < {DELETES}, 'd', 'u') AS op"
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    made = spark.range(0, rows, 1, FILES).selectExpr(
        op, "id AS version", f"pmod(xxhash64(id, 'key'), {keys}) AS id", *values
    )
    made.write.parquet(str(staged.folder))
    staged.warm.mkdir()
    for number, path in enumerate(sorted(staged.folder.glob("*.parquet"))):
        os.utime(path, (1_760_000_000 + number,) * 2)  # a stream takes the oldest first
        if number < FILES_OF_A_BATCH:
            os.link(path, staged.warm / path.name)
    return staged


def _truth(spark: SparkSession, changes: Changes, columns: tuple[str, ...]) -> tuple[object, ...]:
    newest = f"SELECT max_by(struct(*), version) AS newest FROM parquet.`{changes.folder}` GROUP BY id"
    return _fingerprint(spark, f"(SELECT newest.* FROM ({newest}) WHERE newest.op <> 'd')", columns)


def _fingerprint(spark: SparkSession, table: str, columns: tuple[str, ...]) -> tuple[object, ...]:
    hashed = f"sum(CAST(xxhash64({', '.join(columns)}) AS DECIMAL(38, 0)))"
    return tuple(spark.sql(f"SELECT count(*), {hashed} FROM {table}").collect()[0])


# ------------------------------------------------------------------------------------------------------------- ingest


def _in_turns(lake: kl.Lake, changes: Changes, folder: Path, console: Console) -> dict[str, Cost]:
    """keylake and the appends, another of which begins in each round; the last table of keylake stays."""
    lake.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {PLAIN}.bench")
    writers: dict[str, Callable[[kl.Lake, DataFrame, Path], Callable[[], object]]] = {
        KEYLAKE: _stream,
        APPEND: partial(_append, in_buckets=False),
        IN_BUCKETS: partial(_append, in_buckets=True),
    }
    names = list(writers)
    costs = {name: Cost() for name in names}
    for number in range(ROUNDS + 1):
        files = changes.folder if number else changes.warm
        first = number % len(names)
        for name in names[first:] + names[:first]:
            checkpoint = folder / "checkpoints" / f"{name} {number}"
            write = writers[name](lake, changes.stream(lake.spark, files), checkpoint)
            _spend(lake.spark, write, costs[name] if number else Cost())
        if number:
            told = ", ".join(f"{name} {cost.time[-1]:.1f} s" for name, cost in costs.items())
            console.print(f"  round {number}: {told}", highlight=False)
    return costs


def _spend(spark: SparkSession, task: Callable[[], object], cost: Cost) -> None:
    """Run it, and add what it takes to a cost."""
    before = processor_seconds(spark)
    cost.time.append(seconds(task))
    cost.processor.append(processor_seconds(spark) - before)


def _stream(lake: kl.Lake, frame: DataFrame, checkpoint: Path) -> Callable[[], object]:
    lake.spark.sql(f"DROP TABLE IF EXISTS {lake.catalog}.bench.changes PURGE")
    schema = pa.schema([pa.field(name, type_, nullable=name != "id") for name, type_ in TYPES.items()])
    spec = kl.TableSpec.from_arrow(schema, name="bench.changes", key="id", versions="explicit", buckets=BUCKETS)
    table = lake.create(spec)
    return lambda: table.stream(frame, checkpoint=checkpoint, op="op", version="version", available_now=True).wait()


def _append(lake: kl.Lake, frame: DataFrame, checkpoint: Path, *, in_buckets: bool) -> Callable[[], object]:
    table = f"{PLAIN}.bench.changes"
    lake.spark.sql(f"DROP TABLE IF EXISTS {table} PURGE")
    lake.spark.sql(f"CREATE TABLE {table} ({CHANGES}) USING iceberg {PARTITIONED if in_buckets else ''}")
    if in_buckets:
        lake.spark.sql(f"ALTER TABLE {table} WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY id")
    stream = frame.writeStream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    return lambda: stream.toTable(table).awaitTermination()


def _delta(place: Machine, changes: Changes, opened: ExitStack) -> tuple[Cost, Reader]:
    folder = place.folder / "delta"
    folder.mkdir()
    server = SparkServer(folder, DELTA_SETTINGS)
    opened.callback(server.stop)
    spark = server.session()
    cost = Cost()
    for part, files in changes.both.items():
        table = f"changes_{part}"
        spark.sql(f"CREATE TABLE {table} ({IN_SQL}) USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
        cost = Cost()
        _spend(spark, partial(_merge_batches, changes.stream(spark, files), table, folder / part), cost)
    return cost, Reader(spark, "changes_full")


def _merge_batches(frame: DataFrame, table: str, checkpoint: Path) -> None:
    columns = [name for name in TYPES if name != "id"]
    merge = MERGED.format(
        table=table,
        updates=", ".join(f"t.{name} = s.{name}" for name in columns),
        columns=", ".join(TYPES),
        values=", ".join(f"s.{name}" for name in TYPES),
    )

    def write(batch: DataFrame, _: int) -> None:
        batch.createOrReplaceTempView("changes")
        batch.sparkSession.sql(merge).collect()

    stream = frame.writeStream.foreachBatch(write).option("checkpointLocation", str(checkpoint))
    stream.trigger(availableNow=True).start().awaitTermination()


def _flink(place: Machine, changes: Changes, opened: ExitStack) -> tuple[Cost, Reader]:
    folder = place.folder / "flink"
    folder.mkdir()
    server = SparkServer(folder, {"spark.driver.memory": "4g"})
    opened.callback(server.stop)
    spark = server.session()
    spark.sql(f"CREATE NAMESPACE {CATALOG}.bench")
    required = IN_SQL.replace("id BIGINT", "id BIGINT NOT NULL")
    for part in changes.both:
        table = f"{CATALOG}.bench.{part}"
        spark.sql(f"CREATE TABLE {table} ({required}) USING iceberg {PARTITIONED}")
        spark.sql(f"ALTER TABLE {table} SET IDENTIFIER FIELDS id")
    settings = catalog_settings(CATALOG, "", folder / "tables")
    jobs = [(f"bench.{part}", files) for part, files in changes.both.items()]
    *_, taken = flink_upserts(CATALOG, settings, folder, FILES_OF_A_BATCH, jobs)
    return Cost([taken.seconds], [taken.processor]), Reader(spark, f"{CATALOG}.bench.full")


# ------------------------------------------------------------------------------------------------ reads, maintenance


def _reads(
    readers: Mapping[str, Reader], columns: tuple[str, ...], truth: tuple[object, ...], console: Console
) -> dict[str, Times]:
    def read(reader: Reader, who: str) -> None:
        found = reader.fingerprint(columns)
        assert found == truth, f"{who} has {found}, and the truth is {truth}"

    tasks = {name: lambda _, name=name, reader=reader: read(reader, name) for name, reader in readers.items()}
    times = race(tasks, warm_up=WARM_UP, rounds=READS)
    told = ", ".join(f"{name} {each} s" for name, each in times.items())
    console.print(f"  {len(columns)} columns: {told}", highlight=False)
    return times


def _maintained(lake: kl.Lake, readers: Mapping[str, Reader]) -> dict[str, Cost]:
    """What each has to bring its table into its best state."""
    delta, flink = readers[DELTA], readers[FLINK]
    tasks: dict[str, Callable[[], object]] = {
        KEYLAKE: lambda: lake.table("bench.changes").compact("full"),
        DELTA: lambda: delta.spark.sql(f"OPTIMIZE {delta.table}").collect(),
        FLINK: lambda: flink.spark.sql(REWRITE.format(table=flink.table.removeprefix(f"{CATALOG}."))).collect(),
    }
    costs = {name: Cost() for name in tasks}
    for name, task in tasks.items():
        _spend(readers[name].spark, task, costs[name])
    return costs


def _figures(
    rows: int, costs: Mapping[str, Cost], times: Mapping[str, Mapping[str, Times]], kept: Mapping[str, Cost]
) -> Iterator[Figure]:
    by = {name: Times(tuple(cost.time)) for name, cost in costs.items()}
    for name in (APPEND, IN_BUCKETS):
        yield figure(f"rows per second: keylake / {name}", by[name].over(by[KEYLAKE]), TARGETS.get(name))
    for name, of_reader in times.items():
        for other in (FLINK, DELTA):
            ratio = of_reader[other].over(of_reader[KEYLAKE])
            yield figure(f"read right after, {name}: {other} / keylake", ratio, TARGETS.get(other))
    for name, taken in by.items():
        yield figure(f"rows per second: {name}", Times(tuple(rows / each for each in taken.rounds)))
    for name, cost in costs.items():
        ingest, maintenance = Times(tuple(cost.processor)).median, kept.get(name)
        told = f"ingest {ingest:.0f}"
        if maintenance is not None:
            told += f", maintenance {maintenance.processor[0]:.0f} in {maintenance.time[0]:.1f} s"
        both = ingest + (maintenance.processor[0] if maintenance is not None else 0)
        yield figure(f"processor seconds of ingest and maintenance: {name}", both, how=told)
