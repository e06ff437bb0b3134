"""A write of skewed keys beside Iceberg's distribution modes, on a plain table of the same partitioning.

The events of users whose numbers follow Zipf's law with exponent 1.2: the first has a sixth of all rows, in one bucket
of one partition. Every event is a key of its own, so that all systems store the same rows.

1. Time    the writes in turns, on the cores there are.
2. Tasks   one write each as on many cores: how many rows the slowest task has, and how many files come of it.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.connect.functions import expr
from rich.console import Console

import keylake as kl
from benchmarks.figures import Figure, Findings, Target, figure
from benchmarks.machine import PLAIN, machine
from benchmarks.stopwatch import Pace, race

ROWS, REGIONS, BUCKETS = 10_000_000, 100, 64
USERS, EXPONENT = 10_000_000, 1.2
MODES = ("hash", "range", "none")
CORES = 64
WARM_UP, ROUNDS = Pace(1, 1, 0), Pace(3, 3, 0)
COLUMNS = "region, user, event, clicks, price, page"
AS_ON_MANY_CORES = {
    "spark.sql.shuffle.partitions": str(CORES),
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
}


class Event(kl.Table, name="bench.events", buckets=BUCKETS, bucket_by="user", partition_by="region"):
    """What a user did; a user lives in one region."""

    region: kl.Int32 = kl.key()
    user: kl.Int64 = kl.key()
    event: kl.Int64 = kl.key()
    clicks: kl.Int64 | None = kl.column()
    price: kl.Float64 | None = kl.column()
    page: str | None = kl.column()


def run(scale: float, console: Console) -> Findings:
    """Rows and regions follow the scale, so that files have as many rows as ever."""
    rows, regions = max(round(ROWS * scale), 10_000), max(round(REGIONS * scale), 2)
    with machine() as place:
        words = f"{rows:,} rows, Zipf({EXPONENT}), {BUCKETS} buckets x {regions} partitions; {place.describe()}"
        console.print(words, highlight=False)
        # What is worth a task shrinks with the rows.
        lake = place.session(
            {"spark.sql.adaptive.advisoryPartitionSizeInBytes": f"{max(round(64 * scale * 1024), 64)}k"}
        )
        frame = _staged(lake, place.folder / "staged" / "events", rows, regions)
        return Findings(words, _figures(lake, frame, console))


def _staged(lake: kl.Lake, path: Path, rows: int, regions: int) -> DataFrame:
    """As many files as there would be tasks; a rank is found from where a random number falls under the power law."""
    tail = 1 - EXPONENT
    rank = f"pow(1 - rand(7) * (1 - pow({USERS}D, {tail}D)), {1 / tail}D)"
    numbered = lake.spark.range(0, rows, 1, CORES).selectExpr("id AS event", f"bigint(floor({rank})) AS user")
    frame = numbered.selectExpr(
        f"int(pmod(xxhash64(user), {regions})) AS region",
        "user",
        "event",
        "event % 7 AS clicks",
        "rand(3) AS price",
        "sha2(string(event), 256) AS page",
    )
    frame.write.parquet(str(path))
    return lake.spark.read.parquet(str(path))


def _figures(lake: kl.Lake, frame: DataFrame, console: Console) -> list[Figure]:
    keyed = lake.create(Event)
    names = {"keylake": f"{lake.catalog}.{keyed.name}"}
    writes: dict[str, Callable[[int], object]] = {"keylake": lambda _: keyed.overwrite(frame)}
    for mode in MODES:
        name = names[mode] = f"{PLAIN}.bench.by_{mode}"
        # Iceberg's own default keeps a file open for every partition, which takes more memory than there is.
        lake.spark.sql(
            f"CREATE TABLE {name} (region int, user bigint, event bigint, clicks bigint, price double, page string) "
            f"USING iceberg PARTITIONED BY (region, bucket({BUCKETS}, user)) "
            f"TBLPROPERTIES ('write.distribution-mode' = '{mode}', 'write.spark.fanout.enabled' = 'false')"
        )
        writes[mode] = partial(_overwrite, frame, name)
    times = race(writes, warm_up=WARM_UP, rounds=ROUNDS)
    for system, taken in times.items():
        console.print(f"  {system:10} {taken} s", highlight=False)
    for setting, value in AS_ON_MANY_CORES.items():
        lake.spark.conf.set(setting, value)
    files, slowest = {}, {}
    for system in ("keylake", "hash", "range"):
        writes[system](0)
        files[system], slowest[system] = _layout(lake, names[system])
    expected = frame.selectExpr("count(*)", "sum(event)", "sum(clicks)").collect()
    for name in (names["keylake"], names["hash"]):
        assert lake.spark.table(name).selectExpr("count(*)", "sum(event)", "sum(clicks)").collect() == expected
    # Without distribution a task writes a file for each bucket of a partition that it meets; each reads one file here.
    cells = frame.selectExpr("_metadata.file_path", "region", f"{PLAIN}.system.bucket({BUCKETS}, user)")
    files["none"] = cells.distinct().count()
    return [
        *(
            figure(f"rows per second: keylake / {mode}", times[mode].over(times["keylake"]), target)
            for mode, target in (("hash", Target(4, at_least=True)), ("range", None), ("none", None))
        ),
        *(
            figure(f"slowest task / mean of {CORES}, rows: {system}", value, Target(2) if system == "keylake" else None)
            for system, value in slowest.items()
        ),
        figure(
            f"slowest of {CORES} tasks, rows: hash / keylake",
            slowest["hash"] / slowest["keylake"],
            how="what the throughput would be with a core for every task, if rows were all that took time",
        ),
        *(figure(f"files of a commit of {CORES} tasks: {system}", value) for system, value in files.items()),
        figure("files: keylake / none", files["keylake"] / files["none"], Target(1 / 50)),
    ]


def _layout(lake: kl.Lake, name: str) -> tuple[int, float]:
    """The files, and by how much the task with the most rows exceeds the mean."""
    files = lake.spark.sql(f"SELECT file_path, record_count FROM {name}.files")
    task = expr("substring_index(element_at(split(file_path, '/'), -1), '-', 1)")
    rows = [row[1] for row in files.groupBy(task).sum("record_count").collect()]
    return files.count(), max(rows) * CORES / sum(rows)


def _overwrite(frame: DataFrame, name: str, _: int) -> None:
    frame.selectExpr(*COLUMNS.split(", ")).writeTo(name).overwritePartitions()
