"""A first load and ten upserts of a tenth of the keys, beside appends of the same rows to a plain Iceberg table.

The rows are those of W1 of the benchmark `reads`, in random order. The plain table has the same buckets, its files are
sorted by key, too, and it has the same properties of Parquet; every row stays in it. Both are written by one server, in
turns, each round to new tables.

1. Time            of the writes, as who waits sees it.
2. Processor time  of the server's process meanwhile, which is steadier where others work on the machine.
3. Bytes           of the data files.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import Console

import keylake as kl
from benchmarks.engine import Connected
from benchmarks.figures import Figure, Findings, Target, figure
from benchmarks.machine import PLAIN, Cost, machine, processor_seconds
from benchmarks.stopwatch import Times, seconds
from benchmarks.systems.keyed import Keyed
from benchmarks.systems.plain import Plain
from benchmarks.workload import Batch, Workload
from benchmarks.workloads.whole_rows import FULL_SIZE, whole_rows

WARM_UP, ROUNDS = 1, 5
LOAD, UPSERTS = "first load", "ten upserts"


@dataclass
class Written(Cost):
    """With the bytes that are written."""

    size: list[float] = field(default_factory=list)


def run(scale: float, console: Console) -> Findings:
    """Both writes, in turns."""
    with machine() as place:
        lake = place.session()
        workload = whole_rows(round(FULL_SIZE * scale))
        words = f"{workload.keys:,} keys x {len(workload.columns)} columns, 8 buckets; {place.describe()}"
        console.print(words, highlight=False)
        batches = workload.stage(lake.spark, place.folder / "staged" / "rows")
        costs = {system: {LOAD: Written(), UPSERTS: Written()} for system in (Keyed.name, Plain.name)}
        for number in range(WARM_UP + ROUNDS):
            _round(lake, workload, batches, costs, number)
            if number < WARM_UP:
                costs = {system: {LOAD: Written(), UPSERTS: Written()} for system in costs}
        return Findings(words, _figures(costs))


def _round(
    lake: kl.Lake,
    workload: Workload,
    batches: Sequence[Batch],
    costs: Mapping[str, Mapping[str, Written]],
    number: int,
) -> None:
    """Each system loads and upserts, and who begins changes from round to round."""
    keyed = Keyed(lake, f"bench.keyed_{number}", workload)
    plain = Plain(Connected(lake.spark), f"{PLAIN}.bench.plain_{number}", workload, keyed.files().properties)
    writers: list[Keyed | Plain] = [keyed, plain]
    base, *upserts = batches
    for part, written in ((LOAD, [base]), (UPSERTS, upserts)):
        for writer in writers if number % 2 else reversed(writers):
            cost = costs[writer.name][part]
            before = processor_seconds(lake.spark), _size(writer)
            cost.time.append(seconds(_writing(writer, written)))
            cost.processor.append(processor_seconds(lake.spark) - before[0])
            cost.size.append(_size(writer) - before[1])
    stored = f"SELECT count(DISTINCT key), count(*) FROM {plain.table}"
    (keys, rows), *_ = plain.engine.fetch(stored)
    assert keyed.engine.fetch(f"SELECT count(*) FROM {keyed.table}") == [(keys,)]
    assert keyed.engine.fetch(f"SELECT sum(record_count) FROM {keyed.table}.files") == [(rows,)]
    keyed.engine.fetch(f"DROP TABLE {keyed.table} PURGE")
    plain.engine.fetch(f"DROP TABLE {plain.table} PURGE")


def _writing(writer: Keyed | Plain, batches: Sequence[Batch]) -> Callable[[], None]:
    def write() -> None:
        for batch in batches:
            writer.write(batch)

    return write


def _size(writer: Keyed | Plain) -> int:
    return sum(path.stat().st_size for path in writer.data_files())


def _figures(costs: Mapping[str, Mapping[str, Written]]) -> list[Figure]:
    found = []
    for part, limit in ((LOAD, 1.15), (UPSERTS, 1.1)):
        mine, plain = costs[Keyed.name][part], costs[Plain.name][part]
        for what, ours, theirs, target in (
            ("time", mine.time, plain.time, Target(limit)),
            ("processor time", mine.processor, plain.processor, Target(limit)),
            ("bytes", mine.size, plain.size, None),
        ):
            ratio = Times(tuple(ours)).over(Times(tuple(theirs)))
            found.append(figure(f"{part}, {what}: keylake / plain append", ratio, target))
        for system, cost in ((Keyed.name, mine), (Plain.name, plain)):
            found.append(figure(f"{part}, seconds of processors: {system}", Times(tuple(cost.processor))))
    return found
