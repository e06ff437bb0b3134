"""Everybody at once: writers, readers and a compactor on one table, for minutes, and then the answer.

Writers update overlapping keys, each row with a version that nobody else has, so that the right answer is known without
knowing who came first. Readers look for a key that stands twice, and for rows that vanish.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median

import pyarrow as pa
from rich.console import Console

import keylake as kl
from benchmarks.figures import Findings, Target, figure
from benchmarks.machine import Machine, machine

SEED = 2013
WRITERS, READERS = 4, 4
SECONDS = 600
KEYS, ROWS = 50_000, 400
COLUMNS = ("a", "b", "c")


class Row(kl.Table, name="bench.soak", buckets=4, versions="explicit"):
    """Three columns, each fed by everybody."""

    id: kl.Int64 = kl.key()
    a: kl.Int64 | None = kl.column()
    b: kl.Int64 | None = kl.column()
    c: kl.Int64 | None = kl.column()


@dataclass
class Writer:
    """What one writer has written: for each key and column its newest version, which is the value, too."""

    number: int
    newest: dict[tuple[int, str], int] = field(default_factory=dict)
    commits: int = 0
    seconds: list[float] = field(default_factory=list)

    def write(self, table: kl.KeyedTable[Row], random: Random) -> None:
        column = random.choice(COLUMNS)
        keys = random.sample(range(KEYS), ROWS)
        # Late as often as not: versions are drawn, not counted. The last digit keeps writers apart.
        versions = [random.randrange(10**9) * 10 + self.number for _ in keys]
        begun = time.monotonic()
        table.update(pa.table({"id": keys, column: versions, "v": versions}), version="v")
        self.seconds.append(time.monotonic() - begun)
        self.commits += 1
        for key, version in zip(keys, versions, strict=True):
            self.newest[key, column] = max(version, self.newest.get((key, column), -1))


def run(scale: float, console: Console) -> Findings:
    """Everybody for ten minutes, times the scale."""
    seconds = max(SECONDS * scale, 10)
    with machine() as place:
        words = f"{WRITERS} writers, {READERS} readers, 1 compactor, {seconds:.0f} s, seed {SEED}, {place.describe()}"
        console.print(words, highlight=False)
        lake = place.session()
        table = lake.create(Row)
        writers = [Writer(number) for number in range(WRITERS)]
        seen = _at_once(place, writers, seconds)
        expected: dict[tuple[int, str], int] = {}
        for writer in writers:
            for cell, version in writer.newest.items():
                expected[cell] = max(version, expected.get(cell, -1))
        wrong = _wrong(table, expected)
        files = _unknown_files(lake, table, place.folder / "lake")
        retried = _retries(lake, table)
    commits = sum(writer.commits for writer in writers)
    taken = sorted(second for writer in writers for second in writer.seconds)
    first, last = _thirds(writers)
    return Findings(
        words,
        [
            figure("lost, doubled or wrong rows at the end", wrong, Target(0)),
            figure("keys that stood twice, or vanished, in a read meanwhile", seen.odd_reads, Target(0)),
            figure("failed writes, reads and compactions", len(seen.errors), Target(0), "; ".join(seen.errors[:3])),
            figure("files that no snapshot knows", files, Target(0)),
            figure("commits of writers", commits),
            figure("commits, also of merges, that had to be tried again", retried),
            figure("merges", seen.merges),
            figure("reads", seen.reads),
            figure("runs that a read had to merge, at most", seen.deepest),
            figure("a write, seconds, median", median(taken)),
            figure("a write, seconds, of a hundred the slowest", taken[len(taken) * 99 // 100]),
            figure("a write in the last third / in the first, medians", last / first),
        ],
    )


@dataclass
class Seen:
    """What went on meanwhile."""

    errors: list[str] = field(default_factory=list)
    odd_reads: int = 0
    reads: int = 0
    merges: int = 0
    deepest: int = 0


def _at_once(place: Machine, writers: list[Writer], seconds: float) -> Seen:
    seen, until, lock = Seen(), time.monotonic() + seconds, threading.Lock()

    def repeat(number: int, action: Callable[[kl.KeyedTable[Row], Random], None]) -> None:
        table = place.session().table(Row)
        random = Random(SEED + number)
        while time.monotonic() < until:
            try:
                action(table, random)
            except kl.KeylakeError as error:
                with lock:
                    seen.errors.append(str(error))

    def read(table: kl.KeyedTable[Row], random: Random) -> None:
        known = next((key for key, _ in list(writers[0].newest)), None)  # written before this read began
        asked = ("count(id)", "count(DISTINCT id)", "true" if known is None else f"max(id = {known})")
        keys, different, there = table.read().selectExpr(*asked).collect()[0]
        with lock:
            seen.odd_reads += keys != different or not there
            seen.reads += 1

    def compact(table: kl.KeyedTable[Row], random: Random) -> None:
        depth = max((bucket.depth for bucket in table.compaction_plan()), default=0)
        done = len(table.compact())
        with lock:
            seen.deepest = max(seen.deepest, depth)
            seen.merges += done
        time.sleep(0.5)

    actions = [writer.write for writer in writers] + [read] * READERS + [compact]
    threads = [threading.Thread(target=repeat, args=each) for each in enumerate(actions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seen


def _wrong(table: kl.KeyedTable[Row], expected: dict[tuple[int, str], int]) -> int:
    found = table.read().toArrow().to_pylist()
    wrong = len(found) - len({row["id"] for row in found}) + abs(len(found) - len({key for key, _ in expected}))
    return wrong + sum(row[column] != expected.get((row["id"], column)) for row in found for column in COLUMNS)


def _retries(lake: kl.Lake, table: kl.KeyedTable[Row]) -> int:
    """Of all snapshots; a manifest list is named after the snapshot and the attempt: `snap-4711-2-...`."""
    rows = lake.spark.sql(f"SELECT manifest_list FROM {lake.catalog}.{table.name}.snapshots").collect()
    return sum(int(Path(str(row[0])).name.split("-")[2]) > 1 for row in rows)


def _thirds(writers: list[Writer]) -> tuple[float, float]:
    """How long a write took in the first and in the last third of the run."""
    first = [second for writer in writers for second in writer.seconds[: len(writer.seconds) // 3]]
    last = [second for writer in writers for second in writer.seconds[-len(writer.seconds) // 3 :]]
    return median(first), median(last)


def _unknown_files(lake: kl.Lake, table: kl.KeyedTable[Row], folder: Path) -> int:
    rows = lake.spark.sql(f"SELECT DISTINCT file_path FROM {lake.catalog}.{table.name}.all_files").collect()
    known = {Path(str(row[0]).removeprefix("file:")) for row in rows}
    return len(set(folder.rglob("*.parquet")) - known)
