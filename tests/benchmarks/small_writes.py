"""Upserts of a few rows from Python, beside appends of the same rows, as a local frame, to a plain Iceberg table.

The plain table has no buckets, so that each append is one file; an upsert is a file for each bucket that it has rows
of. Both are written by one session, in turns, and so are upserts that leave the rows to a task.

1. Time            of a write, as who waits sees it.
2. Processor time  of the server's process meanwhile, which is steadier where others work on the machine. Some of it is
                   Java's compiler, which goes on for some hundred writes.
3. Writers at once on one table, each with a session of its own: what waits for a commit is committed together.
"""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from random import Random
from statistics import median

import pyarrow as pa
from rich.console import Console

import keylake as kl
from benchmarks.figures import Figure, Findings, Target, figure
from benchmarks.machine import PLAIN, Cost, Machine, machine, processor_seconds
from benchmarks.stopwatch import Times, seconds

BUCKETS, KEYS = 8, 100_000
SIZES = (1, 100, 2_000)
WARM_UP, ROUNDS, WRITES = 4, 8, 10
WRITERS = 8
TARGETS = {100: (Target(0.6), Target(0.15))}
DRIVER, TASK, APPEND = "upsert", "upsert by a task", "plain append"
DRIVER_ROWS = "spark.keylake.write.driver-rows"


SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("at", pa.int64()),
        ("a", pa.int64()),
        ("b", pa.float64()),
        ("c", pa.string()),
        ("d", pa.string()),
    ]
)


def run(scale: float, console: Console) -> Findings:
    """All sizes; the scale is of the rounds."""
    rounds = max(round(ROUNDS * scale), 1)
    with machine() as place:
        lake = place.session()
        words = f"{BUCKETS} buckets, 6 columns, {rounds} rounds of {WRITES} writes; {place.describe()}"
        console.print(words, highlight=False)
        found: list[Figure] = []
        for size in SIZES:
            found += _figures(size, _costs(lake, size, rounds))
        found += _at_once(place, lake, rounds)
        return Findings(words, found)


def _at_once(place: Machine, lake: kl.Lake, rounds: int) -> list[Figure]:
    """Writes of one row by several writers of one table at the same time."""
    name, plain = "bench.at_once", f"{PLAIN}.bench.at_once"
    lake.create(kl.TableSpec.from_arrow(SCHEMA, name=name, key="id", ordering="at", buckets=BUCKETS))
    lake.spark.sql(
        f"CREATE TABLE {plain} (id bigint, at bigint, a bigint, b double, c string, d string) USING iceberg "
        "TBLPROPERTIES ('commit.retry.num-retries' = '1000')"
    )
    sessions = [place.session() for _ in range(WRITERS)]
    tables = [session.table(name) for session in sessions]

    def upsert(writer: int, rows: pa.Table) -> object:
        return tables[writer].upsert(rows)

    def append(writer: int, rows: pa.Table) -> object:
        return sessions[writer].spark.createDataFrame(rows).writeTo(plain).append()

    writers = {DRIVER: upsert, APPEND: append}
    times: dict[str, list[float]] = {each: [] for each in writers}
    with ThreadPoolExecutor(WRITERS) as threads:
        for number in range(WARM_UP + rounds):
            for each, write in writers.items():

                def all_of(writer: int, write: Callable[[int, pa.Table], object] = write, number: int = number) -> None:
                    for batch in range(WRITES):
                        write(writer, _rows(1, (number * WRITES + batch) * WRITERS + writer))

                began = time.perf_counter()
                list(threads.map(all_of, range(WRITERS)))
                if number >= WARM_UP:
                    times[each].append((time.perf_counter() - began) / (WRITERS * WRITES))
    written = (WARM_UP + rounds) * WRITERS * WRITES
    assert len(lake.table(name).history()) == written == lake.spark.table(plain).count()
    by = {each: Times(tuple(seconds)) for each, seconds in times.items()}
    what = f"{WRITERS} writers at once, 1 row"
    return [
        figure(f"{what}, time of a write: {DRIVER} / {APPEND}", by[DRIVER].over(by[APPEND])),
        *(figure(f"{what}, seconds of a write: {each}", by[each]) for each in writers),
    ]


def _costs(lake: kl.Lake, size: int, rounds: int) -> Mapping[str, Cost]:
    by_driver, by_a_task = (
        lake.create(kl.TableSpec.from_arrow(SCHEMA, name=name, key="id", ordering="at", buckets=BUCKETS))
        for name in (f"bench.small_{size}", f"bench.small_{size}_by_a_task")
    )
    plain = f"{PLAIN}.bench.small_{size}"
    lake.spark.sql(f"CREATE TABLE {plain} (id bigint, at bigint, a bigint, b double, c string, d string) USING iceberg")
    writers: dict[str, Callable[[pa.Table], object]] = {
        DRIVER: by_driver.upsert,
        TASK: by_a_task.upsert,
        APPEND: lambda rows: lake.spark.createDataFrame(rows).writeTo(plain).append(),
    }
    names = list(writers)
    costs = {name: Cost() for name in names}
    for number in range(WARM_UP + rounds):
        if number == WARM_UP:
            costs = {name: Cost() for name in names}
        first = number % len(names)
        for name in names[first:] + names[:first]:
            lake.spark.conf.set(DRIVER_ROWS, 0 if name == TASK else 4096)
            before = processor_seconds(lake.spark)
            batches = [_rows(size, number * WRITES + write) for write in range(WRITES)]
            costs[name].time.append(median(seconds(partial(writers[name], batch)) for batch in batches))
            costs[name].processor.append((processor_seconds(lake.spark) - before) / WRITES)
    newest = f"SELECT max_by(struct(id, at, a, b, c, d), at) AS newest FROM {plain} GROUP BY id"
    expected = lake.spark.sql(f"SELECT newest.* FROM ({newest}) ORDER BY id").toArrow().to_pylist()
    for written in (by_driver, by_a_task):
        assert written.read().orderBy("id").toArrow().to_pylist() == expected
    return costs


def _rows(size: int, number: int) -> pa.Table:
    """Some rows of other keys each time, newer than all before."""
    keys = Random(number).sample(range(KEYS), size)
    return pa.table(
        {
            "id": keys,
            "at": [number] * size,
            "a": [key * number for key in keys],
            "b": [key / 7 for key in keys],
            "c": [f"text {key % 20}" for key in keys],
            "d": [f"user {key} of write {number}" for key in keys],
        },
        schema=SCHEMA,
    )


def _figures(size: int, costs: Mapping[str, Cost]) -> list[Figure]:
    what = f"{size:,} row{'' if size == 1 else 's'}"
    of_append, in_seconds = TARGETS.get(size, (None, None))
    times = {name: Times(tuple(cost.time)) for name, cost in costs.items()}
    processor = {name: Times(tuple(cost.processor)) for name, cost in costs.items()}
    return [
        figure(f"{what}, time: {DRIVER} / {APPEND}", times[DRIVER].over(times[APPEND]), of_append),
        figure(f"{what}, processor time: {DRIVER} / {APPEND}", processor[DRIVER].over(processor[APPEND])),
        figure(f"{what}, time: {DRIVER} / {TASK}", times[DRIVER].over(times[TASK])),
        figure(f"{what}, processor time: {DRIVER} / {TASK}", processor[DRIVER].over(processor[TASK])),
        *(figure(f"{what}, seconds: {name}", times[name], in_seconds if name == DRIVER else None) for name in costs),
        *(figure(f"{what}, processor seconds: {name}", processor[name]) for name in costs),
    ]
