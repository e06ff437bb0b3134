"""Merged reads beside what people use today, and two limits: the scan of the same files, the scan of merged rows.

W1      upserts of whole rows                    W3  the same, compacted
W2      two streams of columns, with late data   W4  joins of feature tables to samples
W5      a wide table, narrow reads               W6  hot keys
nested  arrays, maps and structs                 growth  ten times the keys
"""

from importlib.metadata import version

from rich.console import Console

from benchmarks import report, targets
from benchmarks.arena import COMPACTED, Choice, arena
from benchmarks.figures import Findings
from benchmarks.machine import processor
from benchmarks.spark_server import CORES, HEAP
from benchmarks.workload import Workload
from benchmarks.workloads.whole_rows import FULL_SIZE, SEED, whole_rows


def run(scale: float, console: Console, choice: Choice) -> Findings:
    """Everything that is asked for, told as it goes."""
    words = (
        f"scale {scale:g}, seed {SEED}, {processor()}, every system in a process of its own with local[{CORES}], "
        f"heap {HEAP}, zstd; keylake {version('keylake')}, Spark {version('pyspark')}"
    )
    with arena(choice, console) as place:
        workloads = [each for each in all_workloads(scale) if _is_wanted(each, choice)]
        staged = place.stage(workloads)
        for each in staged.values():
            place.measure(each)
    figures = [*targets.figures(place), *report.ratios(place)]
    report.show(place, console)
    return Findings(words, figures, {})


def all_workloads(scale: float) -> tuple[Workload, ...]:
    return (whole_rows(round(FULL_SIZE * scale)),)


def _is_wanted(workload: Workload, choice: Choice) -> bool:
    return choice.has_workload(workload.name) or (workload.name == "W1" and choice.has_workload(COMPACTED))
