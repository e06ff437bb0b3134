"""Writes to a log: how soon fresh reads of another process have them, how many there can be, what reads cost.

load        processes write 1 to 100 rows so and so often a second together; another process follows the log and
            reads a key of some of the entries
throughput  processes write one row after the other as fast as they can: to the log, and as commits
reads       a fresh read, and look-ups, with a minute of entries in the log, beside the same without it
move        the entries of that minute become files by one call

All of it through a log in files; load and throughput through a topic of Kafka as well, whose broker has a third of the
processors' time and writes to the same disk without a sync.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Literal

import pyarrow as pa
from rich.console import Console

import keylake as kl
import keylake.local
from benchmarks.figures import Figure, Target, figure
from benchmarks.stopwatch import seconds
from pipelines.broker import Broker

SCHEMA = pa.schema([("id", pa.int64()), ("n", pa.int64()), ("text", pa.string())])
KEYS, BUCKETS = 1_000_000, 8
WRITERS, WRITES_A_SECOND, MOST_ROWS = 4, 2_000, 100
FASTEST = 8  # processes
EVERY = 50  # of a writer's writes, one is looked for
ENTRIES_OF_A_MINUTE, ROWS_OF_AN_ENTRY = 6_000, 10
GIVEN_UP = 120.0  # seconds
TARGETS = (Target(0.9 * WRITES_A_SECOND, at_least=True), Target(100), Target(250))
_SPAWN = get_context("spawn")


def figures(lake: kl.Lake, folder: str, scale: float, console: Console) -> Iterator[Figure]:
    """All of it; the scale is of the seconds, and of the keys."""
    lasting = max(10 * scale, 1)
    yield from _load("log", _table(lake, folder, "load", 1000), folder, lasting, console, TARGETS)
    yield from _throughput(lake, folder, max(8 * scale, 1))
    yield from _reads(lake, folder, scale)
    with TemporaryDirectory() as place:
        broker = Broker(Path(place))
        broker.start()
        try:
            name = _table(lake, folder, "load_kafka", 1000, kl.KafkaLog(broker.servers, "load"))
            yield from _load("Kafka", name, folder, lasting, console, (None, None, None))
            name = _table(lake, folder, "throughput_kafka", 1000, kl.KafkaLog(broker.servers, "throughput"))
            yield _rows_a_second("Kafka", name, folder, "log", max(8 * scale, 1), None)
        finally:
            broker.stop()


def _table(lake: kl.Lake, folder: str, name: str, keys: int, log: kl.KafkaLog | None = None) -> str:
    """The name of a new table with a log, in files unless another is given, and so many rows in its files."""
    spec = kl.TableSpec.from_arrow(SCHEMA, name=f"bench.fresh_{name}", key="id", buckets=BUCKETS)
    table = lake.create(spec)
    table.upsert(lake.spark.range(keys).selectExpr("id", "0L AS n", "repeat('t', 20) AS text"))
    with keylake.local.open(folder) as local:
        local.table(spec.name).log.begin(log)
    return spec.name


def _row(key: int, number: int) -> dict[str, object]:
    return {"id": key, "n": number, "text": "t" * 20}


# ------------------------------------------------------------------------------------------------------------- load


def _load(
    what: str, name: str, folder: str, lasting: float, console: Console, targets: tuple[Target | None, ...]
) -> Iterator[Figure]:
    reader, told = _started(_follow, folder, name)
    writers = [_started(_write_steadily, folder, name, number, lasting) for number in range(WRITERS)]
    for _, pipe in writers:
        pipe.send("go")
    returned: dict[int, float] = {}
    count = 0
    for process, pipe in writers:
        assert pipe.poll(GIVEN_UP), "a writer does not end"
        mine, of_writer = pipe.recv()
        returned |= of_writer
        count += mine
        process.join()
    time.sleep(1)
    told.send("stop")
    seen: dict[int, float] = told.recv()
    reader.join()
    late = [1000 * max(0.0, seen[number] - at) for number, at in returned.items() if number in seen]
    console.print(f"{count} writes in {lasting:.0f} s, {len(late)} of {len(returned)} were looked for")
    of_rate, of_median, of_most = targets
    yield figure(f"{what}, writes a second of 1 to 100 rows", count / lasting, of_rate)
    yield figure(f"{what}: milliseconds until another process has read a row, median", median(late), of_median)
    yield figure(
        f"{what}: milliseconds until another process has read a row, 99th percentile",
        quantiles(late, n=100)[98],
        of_most,
    )


def _write_steadily(folder: str, name: str, writer: int, lasting: float, pipe: Connection) -> None:
    draw = Random(writer)
    returned: dict[int, float] = {}
    with keylake.local.open(folder) as local:
        log = local.table(name).log
        log.update(_row(writer, -1))
        pipe.send(None)
        pipe.recv()
        begun, pause, turn = time.monotonic(), WRITERS / WRITES_A_SECOND, 0
        while (now := time.monotonic()) < begun + lasting:
            if now < begun + turn * pause:
                time.sleep(begun + turn * pause - now)
            first = draw.randrange(1000)
            rows = [_row((first + each) % 1000, turn) for each in range(draw.randint(1, MOST_ROWS))]
            entry = log.upsert(rows)
            if turn % EVERY == 0:
                returned[entry.number] = time.monotonic()
            turn += 1
    pipe.send((turn, returned))


def _follow(folder: str, name: str, pipe: Connection) -> None:
    """Reads the first key of the entries that a writer looks for, which are those whose rows say so."""
    seen: dict[int, float] = {}
    with keylake.local.open(folder) as local:
        table = local.table(name)
        table.get(id=0, fresh=True)
        pipe.send(None)
        while not pipe.poll():
            for entry in table.log.follow(after=max(seen, default=-1) if seen else None, seconds=0.2):
                row = entry.rows.slice(0, 1).to_pylist()[0]
                if row["n"] % EVERY == 0:
                    assert table.get(id=row["id"], fresh=True) is not None
                    seen[entry.number] = time.monotonic()
                if pipe.poll():
                    break
        pipe.recv()
    pipe.send(seen)


# ------------------------------------------------------------------------------------------------------- throughput


def _throughput(lake: kl.Lake, folder: str, lasting: float) -> Iterator[Figure]:
    target = Target(10_000, at_least=True)
    for what, wanted in (("log", target), ("commits", None)):
        name = _table(lake, folder, f"throughput_{what}", 1000)
        yield _rows_a_second(what, name, folder, what, lasting, wanted)


def _rows_a_second(of: str, name: str, folder: str, what: str, lasting: float, target: Target | None) -> Figure:
    writers = [_started(_write_fast, folder, name, what, number, lasting) for number in range(FASTEST)]
    for _, pipe in writers:
        pipe.send("go")
    counts = []
    for process, pipe in writers:
        assert pipe.poll(GIVEN_UP), "a writer does not end"
        counts.append(pipe.recv())
        process.join()
    return figure(f"{of}: rows a second, in writes of one row by {FASTEST} processes", sum(counts) / lasting, target)


def _write_fast(
    folder: str, name: str, what: Literal["log", "commits"], writer: int, lasting: float, pipe: Connection
) -> None:
    with keylake.local.open(folder) as local:
        table = local.table(name)
        write: Callable[[dict[str, object]], object] = table.log.update if what == "log" else table.update
        write(_row(writer, -1))
        pipe.send(None)
        pipe.recv()
        begun, count = time.monotonic(), 0
        while time.monotonic() < begun + lasting:
            write(_row(count % 1000, count))
            count += 1
    pipe.send(count)


# ------------------------------------------------------------------------------------------------------------ reads


def _reads(lake: kl.Lake, folder: str, scale: float) -> Iterator[Figure]:
    keys = round(KEYS * scale)
    name = _table(lake, folder, "reads", keys)
    draw = Random(5)
    with keylake.local.open(folder) as local:
        table = local.table(name)
        batch = [_timed(table.read) for _ in range(5)]
        for number in range(round(ENTRIES_OF_A_MINUTE * scale)):
            table.log.update([_row(draw.randrange(keys), number) for _ in range(ROWS_OF_AN_ENTRY)])
        with keylake.local.open(folder) as other:
            first = seconds(partial(other.table(name).get, id=1, fresh=True))
        table.get(id=1, fresh=True)
        look_ups = [1000 * seconds(partial(table.get, id=draw.randrange(keys), fresh=True)) for _ in range(200)]
        pairs = [(_timed(table.read), _timed(partial(table.read, fresh=True))) for _ in range(5)]
        yield figure(
            "fresh read of all columns, with a minute of 100 entries of 10 rows a second, beside the read of files",
            median(fresh / plain for plain, fresh in pairs),
            Target(1.10),
            how=f"{median(batch):.2f} s without a log",
        )
        yield figure("get(fresh=True): milliseconds, median", median(look_ups), Target(10))
        yield figure("get(fresh=True): milliseconds, the first of a process with that log", 1000 * first)
        moved = lake.table(name).log.move()
        yield figure("entries a second that one call moves to files", moved.entries / moved.seconds)
        after = [1000 * seconds(partial(table.get, id=draw.randrange(keys), fresh=True)) for _ in range(50)]
        yield figure("get(fresh=True): milliseconds, when all was moved", median(after))


def _timed(read: Callable[[], keylake.local.MergedRows]) -> float:
    return seconds(lambda: read().to_arrow())


def _started(run: Callable[..., None], *words: object) -> tuple[object, Connection]:
    """A process that has said that it is ready, and the pipe to it."""
    here, there = _SPAWN.Pipe()
    process = _SPAWN.Process(target=run, args=(*words, there), daemon=True)
    process.start()
    assert here.poll(GIVEN_UP), "a process does not begin"
    here.recv()
    return process, here
