"""The first read of a snapshot beside later ones and the scan of the same files: rows and upserts of W1.

A server keeps which rows win, so that only the first read of files merges their keys. Equal tables of files of their
own are each read for the first time once, after others like them have warmed the server; stock Iceberg has scanned the
files right before, so that they lie in memory.
"""

from collections.abc import Iterator, Sequence

from rich.console import Console

from benchmarks.engine import Connected
from benchmarks.figures import Figure, Findings, Target, figure
from benchmarks.machine import PLAIN, machine
from benchmarks.questions import consume, fingerprint
from benchmarks.stopwatch import Times, seconds
from benchmarks.systems.keyed import Keyed
from benchmarks.systems.same_files import SameFiles
from benchmarks.workloads.whole_rows import whole_rows

KEYS = 4_000_000
WARM_UP, ROUNDS = 2, 5
LATER = 3  # reads of the same snapshot


def run(scale: float, console: Console) -> Findings:
    """All columns, then some; each with tables that nobody has read."""
    workload = whole_rows(max(round(KEYS * scale), 1000))
    with machine() as place:
        words = f"{workload.keys:,} keys, {workload.commits} upserts of 10%; seed {workload.seed}, {place.describe()}"
        console.print(words, highlight=False)
        lake = place.session()
        stock = Connected(lake.spark)
        batches = workload.stage(lake.spark, place.folder / "staged" / "rows")

        def tables() -> Iterator[tuple[Keyed, SameFiles]]:
            number = 0
            while True:
                keyed = Keyed(lake, f"bench.rows_{number}", workload)
                for batch in batches:
                    keyed.write(batch)
                files = SameFiles(stock, f"{PLAIN}.bench.rows_{number}", workload, keyed.files().metadata_file)
                yield keyed, files
                lake.drop(f"bench.rows_{number}")
                number += 1

        unread = tables()
        every = _figures("all columns", workload.columns, unread, (0.75, 0.65), console)
        few = _figures("key + 3 columns", workload.narrow, unread, (0.75, 0.75), console)
        return Findings(words, [*every, *few])


def _figures(
    called: str,
    columns: Sequence[str],
    unread: Iterator[tuple[Keyed, SameFiles]],
    limits: tuple[float, float],
    console: Console,
) -> Sequence[Figure]:
    scans, firsts, laters = [], [], []
    truth = None
    for number in range(WARM_UP + ROUNDS):
        keyed, files = next(unread)
        consume(files, columns)
        before = seconds(lambda files=files: consume(files, columns))  # type: ignore[misc]
        first = seconds(lambda keyed=keyed: consume(keyed, columns))  # type: ignore[misc]
        after = seconds(lambda files=files: consume(files, columns))  # type: ignore[misc]
        later = [seconds(lambda keyed=keyed: consume(keyed, columns)) for _ in range(LATER)]  # type: ignore[misc]
        truth = truth or fingerprint(keyed, columns)
        assert fingerprint(keyed, columns) == truth, "equal tables have equal rows"
        if number >= WARM_UP:
            scans.append((before + after) / 2)
            firsts.append(first)
            laters.append(Times(tuple(later)).median)
    scan, of_first, of_later = (Times(tuple(each)) for each in (scans, firsts, laters))
    console.print(f"{called}: scan {scan}, first read {of_first}, later {of_later} s", highlight=False)
    at_first, afterwards = limits
    return [
        figure(f"{called}: first read / scan of the same files", of_first.over(scan), Target(at_first)),
        figure(f"{called}: later read / scan of the same files", of_later.over(scan), Target(afterwards)),
    ]
