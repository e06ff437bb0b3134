"""Where systems meet: one workload after another, every system in a process of its own, compared in the same rounds.

    stage     all batches of the workload, by a Spark that ends before anything is measured
    resident  keylake and the limits write the workload, and live as long as it is asked
    peers     start, write, are checked and asked in turns with keylake, and end, one after the other

Every answer of a system that merges is compared with the truth: the merge law in plain SQL over the staged batches.
"""

import importlib
import tempfile
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from rich.console import Console

from benchmarks.questions import Question, questions
from benchmarks.stopwatch import Pace, Times, race
from benchmarks.system import Hashed, Reader, Staged, StockSpark, System
from benchmarks.systems.iceberg_limits import IcebergLimits, IcebergScan, Merged
from benchmarks.systems.keyed import Keyed, Keylake
from benchmarks.systems.plain_peers import ALTERNATIVES
from benchmarks.systems.spark_scan import SparkScan
from benchmarks.workload import Workload

# Just-in-time compilation takes several rounds: short questions get more of them in the same time.
WARM_UP, ROUNDS = Pace(3, 8, 4.0), Pace(5, 9, 6.0)
COMPACTED = "W3"
THE_SCAN = (IcebergScan.name, SparkScan.name)
AnySystem = TypeVar("AnySystem", bound=System)
CHECKED = ("all", "few", "filter", "count", "group")


@dataclass(frozen=True)
class Choice:
    """The part of everything that is asked for; an empty choice is all of it."""

    workloads: Collection[str] = ()
    questions: Collection[str] = ()
    systems: Collection[str] = ()
    with_hudi: bool = False
    is_trial: bool = False  # one round each: it shows that everything works, and its times mean nothing

    def has_workload(self, name: str) -> bool:
        return not self.workloads or name in self.workloads

    def has_question(self, word: str) -> bool:
        return not self.questions or word in self.questions

    def has_system(self, name: str) -> bool:
        return not self.systems or any(word.lower() in name.lower() for word in self.systems)


@dataclass(frozen=True)
class Race:
    """A question, and the times of those that were asked it in turns."""

    workload: str
    question: str
    times: Mapping[str, Times]


@dataclass
class Arena:
    """A run: what it may ask, where its files lie, and what it has found so far."""

    folder: Path
    choice: Choice
    console: Console
    races: list[Race] = field(default_factory=list)
    written: dict[str, dict[str, Times]] = field(default_factory=dict)
    wrong: dict[str, set[str]] = field(default_factory=dict)  # by workload: who answers wrongly, as is known of them

    def stage(self, workloads: Sequence[Workload]) -> dict[str, Staged]:
        """Make all input, once."""
        with self.running(Staging, "staging") as staging:
            staged = {}
            for workload in workloads:
                with self.console.status(f"staging {workload.name}: {workload.keys:,} keys"):
                    folder = self.folder / "staged" / workload.name
                    staged[workload.name] = Staged(workload, workload.stage(staging.engine.spark, folder))
            return staged

    def measure(self, staged: Staged) -> None:
        """Everything about one workload, and, for the first, about its compacted state."""
        name = staged.workload.name
        compacts = name == "W1" and self.choice.has_workload(COMPACTED)
        self.console.rule(f"{name}: {staged.workload.keys:,} keys x {len(staged.workload.columns)} columns")
        with (
            self.running(Keylake, name) as keylake,
            self.running(IcebergLimits, name) as limits,
            self.running(SparkScan, name) as scan,
        ):
            keyed = self.taken(keylake, staged)[0]
            assert isinstance(keyed, Keyed)
            staged = replace(staged, keyed=keyed.files())
            residents = (*self.taken(limits, staged), *self.taken(scan, staged))
            truth = next(each for each in residents if isinstance(each, Merged))
            now: tuple[Reader, ...] = (keyed,)
            if self.choice.has_workload(name):
                self._check(name, truth, now)
                self._ask(name, (keyed, *residents), staged.workload)
            compacted: tuple[Reader, ...] = ()
            if compacts:
                with self.console.status("keylake: compacting"):
                    compacted = keylake.compact(staged)
                self._check(COMPACTED, truth, compacted)
                self._ask(COMPACTED, (*compacted, truth), staged.workload)
            for peer in peers():
                if name in peer.workloads and self.choice.has_system(peer.name):
                    self._meet(peer, staged, truth, now, compacted)

    def _meet(
        self, kind: type[System], staged: Staged, truth: Reader, now: Sequence[Reader], compacted: Sequence[Reader]
    ) -> None:
        name = staged.workload.name
        alike: Callable[[Sequence[Reader]], Sequence[Reader]] = tuple if kind.feeds_sinks else _hashed
        with self.running(kind, name) as peer:
            readers = self.taken(peer, staged)
            if self.choice.has_workload(name):
                self._check(
                    name, truth, readers, may_fail=bool(staged.workload.streams) and not peer.knows_late_columns
                )
                self._ask(name, alike((*now, *readers)), staged.workload)
            if compacted:
                with self.console.status(f"{kind.name}: compacting"):
                    settled = peer.compact(staged)
                if settled:
                    self._check(COMPACTED, truth, settled)
                    self._ask(COMPACTED, alike((*compacted, *settled)), staged.workload)

    @contextmanager
    def running(self, kind: type[AnySystem], workload: str) -> Generator[AnySystem]:
        """A system for as long as the block runs."""
        with self.console.status(f"{kind.name}: starting"):
            system = kind(self.folder / f"{workload}-{kind.name.replace(' ', '-').replace(',', '')}")
        try:
            yield system
        finally:
            system.close()

    def taken(self, system: System, staged: Staged) -> tuple[Reader, ...]:
        """A workload as the system has written it."""
        with self.console.status(f"{system.name}: writing {staged.workload.name}"):
            readers = system.take(staged)
        for name, times in system.written.items():
            self.written.setdefault(staged.workload.name, {})[name] = times
            self.console.print(f"  written by {name:24} {sum(times.rounds):.2f} s, the base apart", highlight=False)
        return readers

    def _check(self, name: str, truth: Reader, readers: Sequence[Reader], *, may_fail: bool = False) -> None:
        """A wrong answer is no figure: it ends the run, unless the system is known for it."""
        for word, question in questions(truth.workload).items():
            if word not in CHECKED or word not in truth.workload.asked or question.answer is None:
                continue
            expected = question.answer(truth)
            for reader in readers:
                found = question.answer(reader)
                if found != expected and may_fail:
                    self.wrong.setdefault(name, set()).add(reader.name)
                else:
                    assert found == expected, f"{name}, {question.name}: {reader.name} says {found}, not {expected}"

    def _ask(self, name: str, readers: Sequence[Reader], workload: Workload) -> None:
        for word, question in questions(workload).items():
            if word in workload.asked and self.choice.has_question(word):
                self.races.append(Race(name, question.name, self._raced(f"{name}, {question.name}", question, readers)))

    def raced(self, title: str, tasks: Mapping[str, Callable[[int], object]]) -> dict[str, Times]:
        """The times of a race, told when it is over."""
        with self.console.status(title):
            if self.choice.is_trial:
                times = race(tasks, warm_up=Pace(0, 0, 0), rounds=Pace(1, 1, 0))
            else:
                times = race(tasks, warm_up=WARM_UP, rounds=ROUNDS, alternatives=ALTERNATIVES)
        self.console.print(title)
        for each in tasks:
            told = f"{times[each]} s" if each in times else "left early: another way is far better"
            self.console.print(f"  {each:24} {told}", highlight=False)
        return times

    def _raced(self, title: str, question: Question, readers: Sequence[Reader]) -> dict[str, Times]:
        tasks = {each.name: partial(question.ask, each) for each in readers}
        if question.by_scan:
            scans = (each for each in readers if each.name in THE_SCAN)
            tasks |= {f"{each.name}{question.by_scan.name}": partial(question.by_scan.ask, each) for each in scans}
        return self.raced(title, tasks)


def _hashed(readers: Sequence[Reader]) -> tuple[Reader, ...]:
    return tuple(map(Hashed, readers))


class Staging(StockSpark):
    """A Spark that only makes input."""

    name = "staging"

    def take(self, staged: Staged) -> tuple[Reader, ...]:
        return ()


def peers() -> tuple[type[System], ...]:
    """Every system in `systems` that names workloads in which it is a peer."""
    found = []
    for path in sorted((Path(__file__).parent / "systems").glob("*.py")):
        module = importlib.import_module(f"benchmarks.systems.{path.stem}")
        found += [
            each
            for each in vars(module).values()
            if isinstance(each, type)
            and issubclass(each, System)
            and each.workloads
            and each.__module__ == module.__name__
        ]
    return tuple(found)


@contextmanager
def arena(choice: Choice, console: Console) -> Generator[Arena]:
    """An arena for one run; nothing is left of it."""
    with tempfile.TemporaryDirectory(prefix="keylake-bench-") as name:
        yield Arena(Path(name), choice, console)
