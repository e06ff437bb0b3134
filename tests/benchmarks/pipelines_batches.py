"""Batches of a few rows of a stream into a keyed table, beside an append to a plain Iceberg table by the same stream.

The rows are small files of JSON, one of which is a batch. The plain table has no buckets, so that each append is one
file; a batch of the keyed table is a file for each bucket that it has rows of. Tables are written in turns.

1. Time            of a batch, as Spark tells it.
2. Processor time  of the server's process meanwhile, with the start of the query.
3. Jobs and tasks  of a batch.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from statistics import median

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console

import keylake as kl
from benchmarks.figures import Figure, Findings, figure
from benchmarks.machine import PLAIN, Cost, machine, processor_seconds
from benchmarks.stopwatch import Times
from benchmarks.task_events import TaskEvents

SIZES = (10, 100, 1_000)
BUCKETS, KEYS = 8, 100_000
BATCHES, WARM_UP, ROUNDS = 40, 2, 5
FIRST = 5  # batches of a query that do not count
SCHEMA = pa.schema([("id", pa.int64()), ("at", pa.int64()), ("a", pa.int64()), ("b", pa.float64()), ("c", pa.string())])
COLUMNS = "id BIGINT, at BIGINT, a BIGINT, b DOUBLE, c STRING"
DRIVER, TASKS, APPEND = "keyed table", "keyed table, by tasks", "plain append"
DRIVER_ROWS = "spark.keylake.write.driver-rows"


@dataclass
class Batches(Cost):
    """With jobs and tasks."""

    jobs: list[float] = field(default_factory=list)
    tasks: list[float] = field(default_factory=list)


def run(scale: float, console: Console) -> Findings:
    """All sizes; the scale is of the rounds."""
    rounds = max(round(ROUNDS * scale), 1)
    with machine() as place:
        events = TaskEvents(place.folder / "events")
        lake = place.session(server=events.settings())
        words = f"{BUCKETS} buckets, 5 columns, {rounds} rounds of {BATCHES} batches; {place.describe()}"
        console.print(words, highlight=False)
        found: list[Figure] = []
        for size in SIZES:
            costs = _costs(lake, events, size, rounds, place.folder)
            found += _figures(f"{size:,} rows", costs)
            for name, cost in costs.items():
                told = f"{Times(tuple(cost.time))} s, {Times(tuple(cost.processor))} s of processors"
                console.print(f"  {size} rows, {name}: {told}, {cost.jobs[-1]:g} jobs", highlight=False)
        return Findings(words, found)


def _costs(lake: kl.Lake, events: TaskEvents, size: int, rounds: int, folder: Path) -> Mapping[str, Batches]:
    keyed = {
        name: lake.create(kl.TableSpec.from_arrow(SCHEMA, name=table, key="id", ordering="at", buckets=BUCKETS))
        for name, table in ((DRIVER, f"bench.few_{size}"), (TASKS, f"bench.few_{size}_by_tasks"))
    }
    plain = f"{PLAIN}.bench.few_{size}"
    lake.spark.sql(f"CREATE TABLE {plain} ({COLUMNS}) USING iceberg")
    costs = {name: Batches() for name in (*keyed, APPEND)}
    for number in range(WARM_UP + rounds):
        if number == WARM_UP:
            costs = {name: Batches() for name in costs}
        files = folder / "staged" / f"{size} {number}"
        _stage(files, size, number)
        names = list(costs)
        for name in names[number % 3 :] + names[: number % 3]:
            lake.spark.conf.set(DRIVER_ROWS, 0 if name == TASKS else 4096)
            frame = lake.spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).json(str(files))
            checkpoint = folder / "checkpoints" / f"{name} {size} {number}"
            write = partial(_append, plain) if name == APPEND else partial(_stream, keyed[name])
            _spend(lake, events, partial(write, frame, checkpoint), costs[name])
    newest = f"SELECT max_by(struct(id, at, a, b, c), at) AS newest FROM {plain} GROUP BY id"
    expected = lake.spark.sql(f"SELECT newest.* FROM ({newest}) ORDER BY id").toArrow().to_pylist()
    for table in keyed.values():
        assert table.read().orderBy("id").toArrow().to_pylist() == expected
    return costs


def _stream(table: kl.KeyedTable, frame: DataFrame, checkpoint: Path) -> StreamingQuery:
    return table.stream(frame, checkpoint=checkpoint, available_now=True).query


def _append(table: str, frame: DataFrame, checkpoint: Path) -> StreamingQuery:
    stream = frame.writeStream.option("checkpointLocation", str(checkpoint))
    return stream.trigger(availableNow=True).toTable(table)


def _stage(files: Path, size: int, number: int) -> None:
    files.mkdir()
    for batch in range(BATCHES):
        at = number * BATCHES + batch
        keys = Random(at).sample(range(KEYS), size)
        rows = [{"id": key, "at": at, "a": key * at, "b": key / 7, "c": f"text {key % 20}"} for key in keys]
        (files / f"{batch:03}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))


def _spend(lake: kl.Lake, events: TaskEvents, write: Callable[[], StreamingQuery], cost: Batches) -> None:
    processor = processor_seconds(lake.spark)
    queries: list[StreamingQuery] = []

    def go() -> None:
        queries.append(write())
        queries[-1].awaitTermination()

    used = events.of(go)
    cost.processor.append((processor_seconds(lake.spark) - processor) / BATCHES)
    batches = [each.durationMs["triggerExecution"] for each in queries[-1].recentProgress if each.numInputRows]
    assert len(batches) == BATCHES
    cost.time.append(median(batches[FIRST:]) / 1000)
    cost.jobs.append(used.jobs / BATCHES)
    cost.tasks.append(used.tasks / BATCHES)


def _figures(what: str, costs: Mapping[str, Batches]) -> list[Figure]:
    times = {name: Times(tuple(cost.time)) for name, cost in costs.items()}
    processor = {name: Times(tuple(cost.processor)) for name, cost in costs.items()}
    found = []
    for other in (APPEND, TASKS):
        found.append(figure(f"{what}, time of a batch: {DRIVER} / {other}", times[DRIVER].over(times[other])))
        ratio = processor[DRIVER].over(processor[other])
        found.append(figure(f"{what}, processor time: {DRIVER} / {other}", ratio))
    for name, cost in costs.items():
        told = f"{median(cost.jobs):g} jobs, {median(cost.tasks):g} tasks"
        found.append(figure(f"{what}, seconds of a batch: {name}", times[name], how=told))
        found.append(figure(f"{what}, processor seconds of a batch: {name}", processor[name]))
    return found
