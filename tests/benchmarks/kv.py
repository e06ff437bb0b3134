"""publish_kv beside what one would do without it: repartition the rows by group, sort them, and write a file for each.

A table of a base and nine updates of a tenth of its keys each, compacted; both read its rows through the same plug-in.
The log of Spark's events says how many bytes each has shuffled.
"""

import shutil
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from itertools import count
from pathlib import Path

import pyarrow.dataset as ds
from pyspark.sql import DataFrame
from rich.console import Console

import keylake as kl
from benchmarks.figures import Findings, Target, figure
from benchmarks.machine import CORES, processor
from benchmarks.repair import rows
from benchmarks.spark_server import ALIKE, HEAP
from benchmarks.stopwatch import Pace, race
from benchmarks.task_events import TaskEvents

KEYS, UPDATES, CHANGED = 4_000_000, 9, 0.1
WARM_UP, ROUNDS = Pace(1, 1, 0), Pace(3, 3, 0)
BUCKETS, GROUPS = 16, 1024
MINE, SORTED, IN_GROUPS = "publish_kv", "repartition, sort, write", "repartition(groups), sort, write"


class Profile(kl.Table, name="bench.profiles", buckets=BUCKETS, versions="explicit", groups=GROUPS, hash="murmur3_32"):
    """Some columns of each kind."""

    id: kl.Int64 = kl.key()
    a: kl.Int64 | None = kl.column()
    b: kl.Int64 | None = kl.column()
    c: kl.Float64 | None = kl.column()
    d: kl.Float64 | None = kl.column()
    e: str | None = kl.column()


def run(scale: float, console: Console) -> Findings:
    """Write the table, publish it in all ways in turns, and compare what lies there."""
    keys = max(round(KEYS * scale / 1000), 10) * 1000
    with tempfile.TemporaryDirectory(prefix="keylake-bench-") as name:
        folder = Path(name)
        events = TaskEvents(folder / "events")
        settings = {**ALIKE, "spark.keylake.maintenance.enabled": "false", **events.settings()}
        with kl.connect(warehouse=folder / "lake", memory=HEAP, settings=settings) as lake:
            return _measured(lake, folder, events, keys, console)


def _measured(lake: kl.Lake, folder: Path, events: TaskEvents, keys: int, console: Console) -> Findings:
    words = f"{keys:,} keys in {GROUPS:,} groups and {BUCKETS} buckets; {processor()}, local[{CORES}], heap {HEAP}"
    words = f"{words}, keylake {version('keylake')}, Spark {version('pyspark')}"
    console.print(words, highlight=False)
    table = lake.create(Profile)
    for number in range(UPDATES + 1):
        table.upsert(rows(lake, keys, round(keys * CHANGED) if number else keys, number), version="version")
    table.compact("full")
    grouped = lake.spark.sql(f"SELECT *, _group FROM {lake.catalog}.{table.name}")
    tasks: dict[str, Callable[[Path], object]] = {
        MINE: table.publish_kv,
        SORTED: lambda target: _written(grouped.repartition("_group"), target),
        IN_GROUPS: lambda target: _written(grouped.repartition(GROUPS, "_group"), target),
    }
    numbers = count()

    def once(name: str) -> Path:
        target = folder / f"published-{next(numbers)}"
        tasks[name](target)
        return target

    def timed(name: str) -> Callable[[int], object]:
        return lambda _: shutil.rmtree(once(name))

    times = race({name: timed(name) for name in tasks}, warm_up=WARM_UP, rounds=ROUNDS)
    found, moved = {}, {}
    for name in tasks:
        targets: list[Path] = []
        moved[name] = events.of(lambda name=name, targets=targets: targets.append(once(name))).shuffled  # type: ignore[misc]
        found[name] = _sums(targets[0])
        console.print(f"  {name}: {times[name]} s, {moved[name]:,} bytes shuffled, {found[name]}", highlight=False)
    assert len(set(found.values())) == 1, f"they have not published the same: {found}"
    better = min((SORTED, IN_GROUPS), key=lambda name: times[name].median)
    return Findings(
        words,
        [
            figure(
                f"{better} / {MINE}", times[better].over(times[MINE]), Target(3, at_least=True), "the better of two"
            ),
            figure("bytes that publish_kv shuffles", moved[MINE], Target(0), "by the log of Spark's events"),
        ],
        {"publish": times},
    )


def _written(frame: DataFrame, target: Path) -> None:
    frame.sortWithinPartitions("_group", "id").write.partitionBy("_group").parquet(str(target))


def _sums(target: Path) -> tuple[int, ...]:
    """Rows and a sum over two of their columns, equal for equal rows."""
    rows = ds.dataset([str(path) for path in target.rglob("*.parquet")]).to_table(columns=["id", "b"])
    return rows.num_rows, sum(rows.column("id").to_numpy().tolist()), int(rows.column("b").to_numpy().sum())
