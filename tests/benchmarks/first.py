"""Writing and reading one keyed table, beside a plain Iceberg table that took the same rows.

1. Write   base and ten upserts, each before or after the plain append of the same rows. A history with late rows comes
           first and warms both ways up; the second, in order of time, is measured.
2. Check   keylake, row_number and max_by give equal rows, and none of them moves rows between tasks.
3. Read    question by question, all systems in turns.
4. Weigh   the versions in the data files.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from rich.console import Console

from benchmarks import history
from benchmarks.figures import Figure, Findings, Target, figure
from benchmarks.history import History
from benchmarks.machine import Machine, machine
from benchmarks.questions import Ask, exchanges, fingerprint, questions
from benchmarks.stopwatch import Pace, Times, race
from benchmarks.system import Reader
from benchmarks.systems.keyed import Keyed
from benchmarks.systems.plain import Plain
from benchmarks.systems.same_files import SameFiles
from benchmarks.weight import size, size_of_versions
from benchmarks.workload import KEY, Workload
from benchmarks.workloads.whole_rows import FULL_SIZE, SEED, whole_rows

LATE_SHARE = 0.05
WARM_UP, ROUNDS = Pace(5, 5, 0), Pace(9, 9, 0)
ASKED = ("all", "few", "key", "count", "one")
ALL = "all columns"
ALL_LATE = f"{ALL}, {LATE_SHARE:.0%} of the rows late"


def run(scale: float, console: Console) -> Findings:
    """Everything, told as it goes."""
    workload = whole_rows(round(FULL_SIZE * scale))
    with machine() as place:
        words = (
            f"{workload.keys:,} keys x {len(workload.columns)} columns, base and ten upserts of 10%, seed {SEED}, "
            f"{place.describe()}"
        )
        console.print(words, highlight=False)
        late = _written(place, "late", replace(workload, late_share=LATE_SHARE), console)
        in_order = _written(place, "in_order", workload, console)
        checks = [*_checked(late), *_checked(in_order)]
        asked = [questions(workload)[word] for word in ASKED]
        times = {each.name: _raced(each.name, each.ask, in_order.readers, console) for each in asked}
        late_times = _raced(ALL_LATE, asked[0].ask, (late.keyed, late.same_files), console)
        of_files = _of_files(in_order)
    figures = [
        *_of_writing(in_order),
        *_of_reading(times, [peer.name for peer in in_order.peers]),
        figure(f"{ALL_LATE}: keylake / {SameFiles.name}", late_times[Keyed.name].over(late_times[SameFiles.name])),
        *of_files,
        *checks,
    ]
    writing = {Keyed.name: in_order.upserts, Plain.name: in_order.appends}
    return Findings(words, figures, {"upsert of 10%": writing, **times, ALL_LATE: late_times})


def _written(place: Machine, name: str, workload: Workload, console: Console) -> History:
    console.print(f"writing {workload.late_share:.0%} late rows, twice")
    made = history.write(place, name, workload)
    for writer, taken in ((Keyed, made.upserts), (Plain, made.appends)):
        console.print(f"  {writer.name:24}", *(f"{each:.2f}" for each in taken.rounds), "s", highlight=False)
    return made


def _raced(name: str, ask: Ask, readers: Sequence[Reader], console: Console) -> dict[str, Times]:
    console.print(name)
    times = race({each.name: partial(ask, each) for each in readers}, warm_up=WARM_UP, rounds=ROUNDS)
    for each, taken in times.items():
        console.print(f"  {each:24} {taken} s", highlight=False)
    return times


def _checked(made: History) -> list[Figure]:
    """A wrong answer is no figure: it ends the run."""
    merging = (made.keyed, *made.peers)
    for columns in (made.workload.columns, made.workload.narrow, (KEY,)):
        found = {reader.name: fingerprint(reader, columns) for reader in merging}
        assert len(set(found.values())) == 1, f"the answers differ ({made.name}): {found}"
        assert next(iter(found.values()))[0] == made.workload.keys
    moves = sum(exchanges(reader, made.workload.columns) for reader in merging)
    return [figure(f"Exchange nodes in the plans of keylake and its peers, {made.name}", moves, Target(0))]


def _of_writing(made: History) -> list[Figure]:
    return [
        figure("upsert of 10% / append of the same rows", made.upserts.over(made.appends), Target(1.25)),
        figure("upsert of the base / append of the same rows", made.base.over(made.base_append)),
    ]


def _of_reading(answers: Mapping[str, Mapping[str, Times]], peers: Sequence[str]) -> list[Figure]:
    figures = []
    for name, times in answers.items():
        mine = times[Keyed.name]
        best = min(peers, key=lambda peer: times[peer].median)
        limits = (Target(1.5), Target(1.5, at_least=True)) if name == ALL else (None, None)
        figures += [
            figure(f"{name}: keylake / {SameFiles.name}", mine.over(times[SameFiles.name]), limits[0]),
            figure(f"{name}: keylake / scan of the plain table", mine.over(times[Plain.name])),
            figure(
                f"{name}: better of row_number and max_by / keylake",
                times[best].over(mine),
                limits[1],
                f"the better is {best}",
            ),
        ]
    return figures


def _of_files(made: History) -> list[Figure]:
    mine, plain = made.keyed.data_files(), made.plain.data_files()
    share = 100 * size_of_versions(mine) / size(mine)
    return [
        figure("_merge_info, % of the bytes of all data files", share, Target(1), f"{len(mine)} files"),
        figure("bytes of all data files: keylake / plain Iceberg", size(mine) / size(plain)),
        figure("bytes of all data files of keylake, MB", size(mine) / 1e6),
    ]
