"""From the return of a write to another process that is told of it, and that has the merged row.

    server  a client of a Connect server writes; another client, a process of its own, waits and reads
    local   a process without a server writes, and another one waits and reads
    log     the same through a log in files, and in Kafka, under load: see fresh_log

Writes of 1 and of 100 rows come one after the other, with pauses of random lengths. Each reader looks for what it was
told of, and has to find it.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from random import Random
from statistics import median, quantiles
from typing import Literal

import pyarrow as pa
from rich.console import Console

import keylake as kl
import keylake.local
from benchmarks import fresh_log
from benchmarks.figures import Figure, Findings, Target, figure
from benchmarks.machine import machine
from benchmarks.stopwatch import seconds

Side = Literal["server", "local"]
BUCKETS, KEYS = 8, 100_000
SIZES, WRITES, WARM_UP = (1, 100), 100, 20
LONGEST_PAUSE, GIVEN_UP = 0.1, 60.0  # seconds
TARGETS = (Target(100), Target(250))  # milliseconds: median and 99th percentile
SCHEMA = pa.schema([("id", pa.int64()), ("n", pa.int64()), ("text", pa.string())])


def run(scale: float, console: Console) -> Findings:
    """Both sides; the scale is of the writes."""
    writes = max(round(WRITES * scale), 10)
    with machine() as place:
        lake = place.session()
        folder = str(place.folder / "lake")
        words = f"{KEYS:,} keys, {BUCKETS} buckets, {writes} writes of each size; {place.describe()}"
        console.print(words, highlight=False)
        assert lake._server is not None
        places: dict[Side, str] = {"server": lake._server.url, "local": folder}
        found: list[Figure] = []
        for side, where in places.items():
            name = f"bench.fresh_{side}"
            table = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=name, key="id", buckets=BUCKETS))
            table.upsert(rows(range(KEYS), 0))
            with keylake.local.open(folder) as local, _reader(side, where, name) as told:
                write = table.upsert if side == "server" else local.table(name).upsert
                found += _figures(side, write, told, writes)
        found += fresh_log.figures(lake, folder, scale, console)
        return Findings(words, found)


def rows(keys: range, number: int) -> pa.Table:
    return pa.table({"id": keys, "n": [number] * len(keys), "text": ["t" * 20] * len(keys)}, SCHEMA)


def _figures(side: Side, write: Callable[[pa.Table], object], told: Connection, writes: int) -> Iterator[Figure]:
    draw, number = Random(7), 0
    for size in SIZES:
        taken, notices, reads = [], [], []
        for turn in range(WARM_UP + writes):
            number += 1
            first = draw.randrange(KEYS - size)
            told.send((first, number))
            took = seconds(partial(write, rows(range(first, first + size), number)))
            returned = time.monotonic()
            assert told.poll(GIVEN_UP), f"nobody was told of write {number}"
            told_at, read_at = told.recv()
            if turn >= WARM_UP:
                taken.append(took)
                notices.append(max(0.0, told_at - returned))
                reads.append(max(0.0, read_at - returned))
            time.sleep(draw.random() * LONGEST_PAUSE)
        of = f"{side}, {size} rows" if size > 1 else f"{side}, 1 row"
        yield figure(f"{of}: milliseconds of the write", 1000 * median(taken))
        yield figure(f"{of}: milliseconds until another process is told", 1000 * median(notices))
        for what, value, target in zip(
            ("median", "99th percentile"), (median(reads), quantiles(reads, n=100)[98]), TARGETS, strict=True
        ):
            yield figure(f"{of}: milliseconds until it has read the row, {what}", 1000 * value, target)


@contextmanager
def _reader(side: Side, where: str, name: str) -> Iterator[Connection]:
    """A process that waits for commits: it gets a key with its value, and gives back when it was told and had read."""
    here, there = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=_read, args=(side, where, name, there), daemon=True)
    process.start()
    try:
        assert here.poll(GIVEN_UP), "the reader does not begin"
        here.recv()
        yield here
    finally:
        process.terminate()
        process.join()


def _read(side: Side, where: str, name: str, told: Connection) -> None:
    with ExitStack() as opened:
        lake = opened.enter_context(kl.connect(where) if side == "server" else keylake.local.open(where))
        table = lake.table(name)
        watch = table.watch()
        table.get(id=0)
        told.send(None)
        for _ in watch:
            told_at = time.monotonic()
            key, number = told.recv()
            row = table.get(id=key)
            assert row is not None
            assert row.n == number
            told.send((told_at, time.monotonic()))
