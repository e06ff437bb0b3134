"""The time per row with ten times the keys, which is to stay the same: both sizes in one process, in turns."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from benchmarks.arena import Arena, Race
from benchmarks.questions import questions
from benchmarks.stopwatch import Times
from benchmarks.system import Reader, Staged, System
from benchmarks.systems.keyed import Keyed, Keylake
from benchmarks.systems.spark_scan import SparkScan
from benchmarks.workload import Workload
from benchmarks.workloads.whole_rows import whole_rows

NAME = "growth"
FULL_SIZE, FACTOR = 300_000, 10
ASKED = ("all", "few")
AT_FIRST = " at a tenth of the keys"


def workloads(scale: float) -> tuple[Workload, Workload]:
    """The small one and the large one."""
    keys = round(FULL_SIZE * scale)
    return whole_rows(keys, f"{NAME}_small"), whole_rows(keys * FACTOR, f"{NAME}_large")


def measure(arena: Arena, small: Staged, large: Staged) -> None:
    """Seconds of the large one are told divided by the factor, so a ratio of two is that of times per row."""
    arena.console.rule(f"{NAME}: {small.workload.keys:,} and {large.workload.keys:,} keys")
    with ExitStack() as running:
        keylake, scan = (running.enter_context(arena.running(kind, NAME)) for kind in (Keylake, SparkScan))
        pairs = _read_by(arena, keylake, scan, (small, large))
        for word in ASKED:
            question = questions(small.workload)[word]
            if not arena.choice.has_question(word):
                continue
            tasks = {}
            for before, after in pairs:
                tasks[f"{before.name}{AT_FIRST}"] = partial(question.ask, before)
                tasks[after.name] = partial(question.ask, after)
            taken = arena.raced(f"{NAME}, {question.name}", tasks)
            times = {
                name: each if name.endswith(AT_FIRST) else Times(tuple(seconds / FACTOR for seconds in each.rounds))
                for name, each in taken.items()
            }
            arena.races.append(Race(NAME, question.name, times))


def _read_by(
    arena: Arena, keylake: System, scan: System, both: Sequence[Staged]
) -> tuple[tuple[Reader, Reader], tuple[Reader, Reader]]:
    keyed: list[Keyed] = []
    scans: list[Reader] = []
    for staged in both:
        table = arena.taken(keylake, staged)[0]
        assert isinstance(table, Keyed)
        keyed.append(table)
        scans += arena.taken(scan, replace(staged, keyed=table.files()))
    return (keyed[0], keyed[1]), (scans[0], scans[1])
