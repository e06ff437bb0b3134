"""Writing and reading one keyed table, beside a plain Iceberg table that took the same rows.

1. Write   base and ten upserts, each before or after the plain append of the same rows. A history with late rows comes
           first and warms both ways up; the second, in order of time, is measured.
2. Check   keylake, row_number and max_by give equal rows, and none of them moves rows between tasks.
3. Read    question by question, all systems in turns.
4. Weigh   the versions in the data files.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from rich.console import Console

from benchmarks import history
from benchmarks.figures import Figure, Findings, Target, figure
from benchmarks.history import History
from benchmarks.machine import Machine, machine
from benchmarks.questions import consume, count, exchanges, fingerprint, look_up
from benchmarks.stopwatch import Times, race
from benchmarks.system import Reader
from benchmarks.systems.keyed import Keyed
from benchmarks.systems.plain import Plain
from benchmarks.systems.same_files import SameFiles
from benchmarks.weight import size, size_of_versions
from benchmarks.workload import COLUMNS, KEY, THREE_MORE, Workload

FULL_SIZE = 2_000_000
SEED = 2013
LATE_SHARE = 0.05
WARM_UP, ROUNDS = 5, 9
ALL, THREE, ONLY, COUNT, ONE = "all columns", "key + 3 columns", "key only", "count(*)", "one key"
ALL_LATE = f"{ALL}, {LATE_SHARE:.0%} of the rows late"


def run(scale: float, console: Console) -> Findings:
    """Everything, told as it goes."""
    workload = Workload(round(FULL_SIZE * scale), SEED)
    with machine() as place:
        words = (
            f"{workload.keys:,} keys x {len(COLUMNS)} columns, base and ten upserts of 10%, seed {SEED}, "
            f"{place.describe()}"
        )
        console.print(words, highlight=False)
        late = _written(place, "late", replace(workload, late_share=LATE_SHARE), console)
        in_order = _written(place, "in_order", workload, console)
        checks = [*_checked(late), *_checked(in_order)]
        times = {name: _raced(name, tasks, console) for name, tasks in _questions(in_order.readers, workload).items()}
        scans = {each.name: partial(consume, each, COLUMNS) for each in (late.keyed, late.same_files)}
        late_times = _raced(ALL_LATE, scans, console)
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


def _questions(readers: Iterable[Reader], workload: Workload) -> dict[str, dict[str, Callable[[], object]]]:
    asked: dict[str, dict[str, Callable[[], object]]] = {name: {} for name in (ALL, THREE, ONLY, COUNT, ONE)}
    for reader in readers:
        asked[ALL][reader.name] = partial(consume, reader, COLUMNS)
        asked[THREE][reader.name] = partial(consume, reader, THREE_MORE)
        asked[ONLY][reader.name] = partial(consume, reader, [KEY])
        asked[COUNT][reader.name] = partial(count, reader)
        asked[ONE][reader.name] = partial(look_up, reader, workload.some_keys(WARM_UP + ROUNDS))
    return asked


def _raced(name: str, tasks: Mapping[str, Callable[[], object]], console: Console) -> dict[str, Times]:
    console.print(name)
    times = race(tasks, warm_up=WARM_UP, rounds=ROUNDS)
    for each, taken in times.items():
        console.print(f"  {each:24} {taken} s", highlight=False)
    return times


def _checked(made: History) -> list[Figure]:
    """A wrong answer is no figure: it ends the run."""
    merging = (made.keyed, *made.peers)
    for columns in (COLUMNS, THREE_MORE, (KEY,)):
        found = {reader.name: fingerprint(reader, columns) for reader in merging}
        assert len(set(found.values())) == 1, f"the answers differ ({made.name}): {found}"
        assert next(iter(found.values()))[0] == made.workload.keys
    moves = sum(exchanges(reader, COLUMNS) for reader in merging)
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
