"""Plain tables with equality deletes, read and maintained by keylake and by stock Iceberg.

1. Write     tables of the same rows with 1, 5 and 20 times as many equality deletes, by Iceberg's own writers. Of six
             partitions each has more deletes than the one before.
2. Read      in turns, with memory for both.
3. Fit       the smallest heap in which each reads a table, and takes its deletes out: one server after the other. Both
             read once more in the heap that stock Iceberg needs.
4. Threads   the memory of all indexes at once, with 1, 2 and 8 tasks in one process.
5. Apply     deletes become deletion vectors, beside stock Iceberg's rewrite.

Every answer is compared. A heap is too small for a server that dies; one that only becomes slow counts as enough.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from benchmarks.figures import Figure, Findings, Target, figure
from benchmarks.machine import processor
from benchmarks.stopwatch import Pace, Times, race, seconds
from benchmarks.systems.upserted import KEYLAKE, STOCK, Reader, Running, Upserted, running, within

FULL_SIZE = 1_000_000  # rows of data; the most deletes are twenty times as many
MULTIPLES = (1, 5, 20)
FEW, MANY = 5, 20
AMPLE, SMALL = "6g", "1g"
HEAPS = (512, 640, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288)  # MB; Spark starts in no smaller one
THREADS = (1, 2, 8)
WARM_UP, ROUNDS = Pace(1, 1, 0), Pace(3, 3, 0)
APPLIED = 3
SLOWER = 3  # times as long as stock Iceberg reads with enough memory: what takes longer is ended, and counts as done
LEAST_SECONDS = 60.0
BYTES_PER_KEY = 16
SMALL_HEAP = "small-heap"  # the part that can be asked for by itself


@dataclass(frozen=True)
class Place:
    """Tables, and servers that read them one after the other."""

    folder: Path
    warehouse: Path
    console: Console
    _numbers: Iterator[int]

    def servers(self, opened: ExitStack, *, heap: str = AMPLE, threads: int = 2) -> dict[str, Running]:
        """One of each reader, for as long as the stack is open."""
        return {each.name: opened.enter_context(self.server(each, heap, threads)) for each in (KEYLAKE, STOCK)}

    def server(self, reader: Reader, heap: str, threads: int = 2) -> AbstractContextManager[Running]:
        """A server for as long as a block runs."""
        return running(reader, self.folder / f"server{next(self._numbers)}", self.warehouse, heap=heap, threads=threads)

    def say(self, *words: object) -> None:
        self.console.print(*words, highlight=False)


def run(scale: float, console: Console, chosen: Sequence[str]) -> Findings:
    """Everything, told as it goes; or only the read in a small heap, which goes at any size."""
    rows = round(FULL_SIZE * scale)
    with TemporaryDirectory(prefix="keylake-bench-") as name:
        folder = Path(name)
        (folder / "tables").mkdir()
        place = Place(folder, folder / "tables", console, count())
        words = (
            f"{rows:,} rows x 8 columns in 6 partitions, {', '.join(f'{each}x' for each in MULTIPLES)} as many "
            f"equality deletes of a long key, 10 commits, format 3, {processor()}, local[2]"
        )
        place.say(words)
        tables = {each: Upserted(place.warehouse, rows, each) for each in MULTIPLES}
        if SMALL_HEAP in chosen:
            place.say(f"writing {tables[FEW].name}: {seconds(tables[FEW].write):.0f} s")
            return Findings(words, list(_of_a_small_heap(place, tables[FEW])))
        for table in tables.values():
            place.say(f"writing {table.name}: {seconds(table.write):.0f} s")
        figures: list[Figure] = []
        with ExitStack() as opened:
            servers = place.servers(opened)
            times = {f"{each}x, read": _raced(place, tables[each], servers) for each in MULTIPLES}
            figures += _of_reads(times)
            figures += _of_loads(servers[KEYLAKE.name], tables[MANY])
            applied = _applied(place, tables[FEW], servers)
        figures += _of_applying(applied)
        longest = max(LEAST_SECONDS, SLOWER * times[f"{MANY}x, read"][STOCK.name].median)
        heaps = _smallest_heaps(place, tables[MANY], longest)
        figures += _of_heaps(heaps)
        figures += _where_stock_just_fits(place, tables[MANY], heaps)
        figures += _of_threads(place, tables[MANY])
        figures += _of_a_small_heap(place, tables[FEW])
    return Findings(words, figures, times | {"5x, deletes taken out": applied.seconds})


# -------------------------------------------------------------------------------------------------------------- reads


def _raced(place: Place, table: Upserted, servers: Mapping[str, Running]) -> dict[str, Times]:
    answers = {name: server.read(table) for name, server in servers.items()}
    assert len(set(answers.values())) == 1, f"the answers differ: {answers}"
    asked: dict[str, Callable[[int], object]] = {
        name: lambda _, server=server: server.read(table) for name, server in servers.items()
    }
    times = race(asked, warm_up=WARM_UP, rounds=ROUNDS)
    place.say(f"{table.name}:", ", ".join(f"{name} {each} s" for name, each in times.items()))
    return times


def _of_reads(times: Mapping[str, Mapping[str, Times]]) -> Iterator[Figure]:
    for name, of_readers in times.items():
        ratio = of_readers[STOCK.name].over(of_readers[KEYLAKE.name])
        yield figure(f"{name}, heap {AMPLE}: {STOCK.name} / {KEYLAKE.name}, time", ratio)


def _of_loads(server: Running, table: Upserted) -> Iterator[Figure]:
    server.read(table)
    numbers = server.numbers()
    yield figure(
        "bytes of delete files loaded / bytes of delete files",
        numbers["deleteBytesLoaded"] / server.bytes_of_deletes(table),
        Target(1.0),
    )
    per_key = numbers["deleteMemoryTaken"] / numbers["deleteKeysLoaded"]
    yield figure("bytes of memory per distinct key", per_key, Target(BYTES_PER_KEY), f"{table.times}x")
    left = numbers["deleteMemoryTaken"] - numbers["deleteMemoryFreed"]
    yield figure("bytes of delete indexes after the last task", left, Target(0))


# -------------------------------------------------------------------------------------------------------------- heaps


def _fits(place: Place, reader: Reader, limit: float, task: Callable[[Running], object], heap: int) -> bool:
    begun = time.perf_counter()
    try:
        with place.server(reader, f"{heap}m") as server:
            taken = within(limit, server, task)
    except RuntimeError:  # not even the server starts
        taken = None
    told = "did not" if taken is None else f"{taken:.1f} s"
    place.say(f"  {reader.name} in {heap} MB: {told} ({time.perf_counter() - begun:.0f} s with its server)")
    return taken is not None


def _smallest(heaps: Sequence[int], fits: Callable[[int], bool]) -> int:
    """The smallest heap in which it goes, if it goes in all larger ones."""
    low, high = 0, len(heaps) - 1
    while low < high:
        middle = (low + high) // 2
        if fits(heaps[middle]):
            high = middle
        else:
            low = middle + 1
    return heaps[low]


def _smallest_heaps(place: Place, table: Upserted, limit: float) -> dict[str, dict[str, int]]:
    """For each reader: to read, and to take the deletes out. Where that has gone, the table is set back."""
    found: dict[str, dict[str, int]] = {}
    with ExitStack() as opened:
        stock = opened.enter_context(place.server(STOCK, SMALL))
        head = stock.head(table)
        tasks: dict[str, Callable[[Running], object]] = {
            "read": lambda server: server.read(table),
            "take deletes out": lambda server: (server.apply(table), stock.set_back(table, head)),
        }
        for reader in (KEYLAKE, STOCK):
            found[reader.name] = {}
            for what, task in tasks.items():
                place.say(f"{reader.name}: the smallest heap to {what}")
                fits = partial(_fits, place, reader, limit, task)
                found[reader.name][what] = _smallest(HEAPS, fits)
    return found


def _of_heaps(heaps: Mapping[str, Mapping[str, int]]) -> Iterator[Figure]:
    for what in ("read", "take deletes out"):
        stock, own = heaps[STOCK.name][what], heaps[KEYLAKE.name][what]
        told = f"{stock} MB / {own} MB"
        if own == HEAPS[0]:
            told += ", the smallest in which Spark starts"
        if stock == HEAPS[-1]:
            told += ", the largest that was tried"
        yield figure(
            f"{MANY}x, smallest heap to {what}: {STOCK.name} / {KEYLAKE.name}", stock / own, Target(8, True), told
        )


def _where_stock_just_fits(place: Place, table: Upserted, heaps: Mapping[str, Mapping[str, int]]) -> Iterator[Figure]:
    heap = heaps[STOCK.name]["read"]
    with ExitStack() as opened:
        times = _raced(place, table, place.servers(opened, heap=f"{heap}m"))
    ratio = times[STOCK.name].over(times[KEYLAKE.name])
    yield figure(
        f"{MANY}x, read in {heap} MB, where {STOCK.name} just fits: {STOCK.name} / {KEYLAKE.name}, time",
        ratio,
        Target(4, at_least=True),
    )


def _of_a_small_heap(place: Place, table: Upserted) -> Iterator[Figure]:
    with place.server(KEYLAKE, SMALL) as server:
        taken = seconds(partial(server.read, table))
        numbers = server.numbers()
    memory, disk = (numbers[name] / 1e6 for name in ("deleteMemoryTaken", "deleteBytesSpilled"))
    told = (
        f"{table.rows:,} rows, {table.rows * table.times:,} deletes of {numbers['deleteKeysLoaded']:,} keys; "
        f"all indexes together took {memory:.0f} MB of memory and {disk:.0f} MB of disk"
    )
    yield figure(f"{table.times}x, read in a heap of {SMALL}, seconds", taken, None, told)


# ------------------------------------------------------------------------------------------------- threads, applying


def _of_threads(place: Place, table: Upserted) -> Iterator[Figure]:
    peaks = {}
    for threads in THREADS:
        with place.server(KEYLAKE, SMALL, threads) as server:
            used = server.events.of(partial(server.read, table))
        peaks[threads] = used.peak_storage
        place.say(f"{threads} threads: {used.peak_storage / 1e6:.0f} MB of delete indexes at once")
    most = max(peaks.values())
    yield figure(
        f"{MANY}x, memory of delete indexes at once: {THREADS[-1]} threads / 1 thread",
        peaks[THREADS[-1]] / peaks[1],
        Target(1.1),
        f"at most {most / 1e6:.0f} MB",
    )


@dataclass(frozen=True)
class Applied:
    """What it took to take the deletes out, and the bytes that were written."""

    seconds: Mapping[str, Times]
    written: Mapping[str, float]


def _applied(place: Place, table: Upserted, servers: Mapping[str, Running]) -> Applied:
    head = servers[STOCK.name].head(table)
    truth = servers[STOCK.name].read(table)
    taken: dict[str, list[float]] = {name: [] for name in servers}
    written: dict[str, list[int]] = {name: [] for name in servers}
    for number in range(APPLIED):
        for name in sorted(servers, reverse=bool(number % 2)):
            server, before = servers[name], table.bytes_stored()
            taken[name].append(seconds(partial(server.apply, table)))
            written[name].append(table.bytes_stored() - before)
            assert server.read(table) == truth, f"the answer differs after {name} took the deletes out"
            servers[STOCK.name].set_back(table, head)
    times = {name: Times(tuple(each)) for name, each in taken.items()}
    place.say("deletes taken out:", ", ".join(f"{name} {each} s" for name, each in times.items()))
    return Applied(times, {name: sum(each) / APPLIED for name, each in written.items()})


def _of_applying(applied: Applied) -> Iterator[Figure]:
    yield figure(
        "5x, deletes to deletion vectors / stock rewrite, time",
        applied.seconds[KEYLAKE.name].over(applied.seconds[STOCK.name]),
        Target(1 / 5),
    )
    yield figure(
        "5x, deletes to deletion vectors / stock rewrite, bytes written",
        applied.written[KEYLAKE.name] / applied.written[STOCK.name],
        Target(1 / 20),
    )
