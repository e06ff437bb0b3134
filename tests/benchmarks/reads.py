"""Merged reads beside what people use today, and two limits: the scan of the same files, the scan of merged rows.

W1      upserts of whole rows                    W3  the same, compacted
W2      two streams of columns, with late data   W4  joins of feature tables to samples
W5      a wide table, narrow reads               W6  hot keys
nested  arrays, maps and structs                 growth  ten times the keys
"""

from importlib.metadata import version

from rich.console import Console

from benchmarks import joins, report, targets, tenfold
from benchmarks.arena import COMPACTED, Choice, arena
from benchmarks.figures import Findings
from benchmarks.machine import processor
from benchmarks.spark_server import CORES, HEAP
from benchmarks.systems import hudi_merge
from benchmarks.workload import Workload
from benchmarks.workloads import hot_keys, nested, two_streams, whole_rows, wide


def run(scale: float, console: Console, choice: Choice) -> Findings:
    """Everything that is asked for, told as it goes."""
    words = (
        f"scale {scale:g}, seed {whole_rows.SEED}, {processor()}, "
        f"every system in a process of its own with local[{CORES}], heap {HEAP}, zstd; "
        f"keylake {version('keylake')}, Spark {version('pyspark')}"
    )
    with arena(choice, console) as place:
        plain = [each for each in plain_workloads(scale) if _is_wanted(each, choice)]
        if choice.with_hudi:
            plain.append(hudi_merge.small_rows(round(hudi_merge.FULL_SIZE * scale)))
        else:
            console.print("Hudi is left out: it fetches a Spark of its own, and takes long; --with-hudi asks for it")
        joined = joins.workloads(scale) if choice.has_workload(joins.NAME) else ()
        grown = tenfold.workloads(scale) if choice.has_workload(tenfold.NAME) else ()
        staged = place.stage([*plain, *joined, *grown])
        for each in plain:
            place.measure(staged[each.name])
        if joined:
            joins.measure(place, [staged[each.name] for each in joined])
        if grown:
            tenfold.measure(place, *(staged[each.name] for each in grown))
    report.show(place, console)
    return Findings(words, tuple(targets.figures(place)), details=tuple(report.ratios(place)))


def plain_workloads(scale: float) -> tuple[Workload, ...]:
    """Those that are one table, asked all kinds of questions."""
    made = (
        (whole_rows.whole_rows, whole_rows.FULL_SIZE),
        (two_streams.two_streams, two_streams.FULL_SIZE),
        (hot_keys.hot_keys, hot_keys.FULL_SIZE),
        (nested.nested, nested.FULL_SIZE),
        (wide.wide, wide.FULL_SIZE),
    )
    return tuple(make(round(size * scale)) for make, size in made)


def _is_wanted(workload: Workload, choice: Choice) -> bool:
    return choice.has_workload(workload.name) or (workload.name == "W1" and choice.has_workload(COMPACTED))
