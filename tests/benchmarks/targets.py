"""What merged reads should reach, line by line; each line is answered from races, with whom it names in turns."""

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks import tenfold
from benchmarks.arena import COMPACTED, THE_SCAN, Arena, Race
from benchmarks.figures import Figure, Target, figure
from benchmarks.questions import OF_KEYS
from benchmarks.report import MINE
from benchmarks.systems.iceberg_limits import Merged
from benchmarks.systems.iceberg_merge import IcebergMerge
from benchmarks.systems.plain_peers import ALTERNATIVES

SCAN_OF_KEYS = tuple(f"{name}{OF_KEYS}" for name in THE_SCAN)
QUERIES = tuple(sorted(ALTERNATIVES))


@dataclass(frozen=True)
class Line:
    """One target. `others` stand for the best of them."""

    workload: str
    question: str
    others: tuple[str, ...]
    called: str
    limit: float
    is_faster_by: bool = False  # the limit is how many times faster keylake should be, at least
    how: str = ""

    @property
    def figure(self) -> str:
        sides = f"{self.called} / {MINE}" if self.is_faster_by else f"{MINE} / {self.called}"
        return f"{self.workload}, {self.question}: {sides}"

    def answer(self, races: list[Race]) -> Figure | None:
        """The figure, if keylake met any of the others in this question."""
        for race in races:
            there = [name for name in self.others if name in race.times]
            if (race.workload, race.question) == (self.workload, self.question) and there:
                best = min(there, key=lambda name: race.times[name].median)
                mine, theirs = race.times[MINE], race.times[best]
                ratio = theirs.over(mine) if self.is_faster_by else mine.over(theirs)
                note = f"the best is {best}" if len(self.others) > 1 else ""
                target = Target(self.limit, at_least=self.is_faster_by)
                return figure(self.figure, ratio, target, "; ".join(each for each in (note, self.how) if each))
        return None


_PER_ROW = "times per row"
_AGAIN = "later reads of one snapshot"
LINES = (
    Line("W1", "all columns", THE_SCAN, "the scan", 0.65, how=_AGAIN),
    Line("W1", "all columns", (IcebergMerge.name,), IcebergMerge.name, 0.85, how=_AGAIN),
    Line("W1", "key + 3 columns", THE_SCAN, "the scan", 0.75, how=_AGAIN),
    Line("W1", "key + 3 columns", (IcebergMerge.name,), IcebergMerge.name, 0.9, how=_AGAIN),
    Line("W1", "key only", THE_SCAN, "the scan", 1.15),
    Line("W1", "count(*)", SCAN_OF_KEYS, "the scan of keys", 1.15),
    Line("W1", "count(*)", (IcebergMerge.name,), IcebergMerge.name, 1.0, how=_AGAIN),
    Line("W1", "1% by a value", THE_SCAN, "the scan", 0.95),
    Line("W1", "one key", (Merged.name,), Merged.name, 0.6),
    Line("W2", "all columns", THE_SCAN, "the scan", 0.85),
    Line("W2", "key + 3 columns", THE_SCAN, "the scan", 0.9),
    Line("nested", "all columns", THE_SCAN, "the scan", 1.2),
    Line(COMPACTED, "all columns", (Merged.name,), Merged.name, 1.0),
    Line(COMPACTED, "key + 3 columns", (Merged.name,), Merged.name, 1.0),
    Line("W1", "all columns", QUERIES, "the better query", 2.2, is_faster_by=True),
    Line("W1", "key + 3 columns", QUERIES, "the better query", 4.0, is_faster_by=True),
    Line("W1", "1% by a value", QUERIES, "the better query", 3.5, is_faster_by=True),
    Line("W2", "all columns", QUERIES, "the better query", 3.3, is_faster_by=True),
    Line("W5", "key + 5 columns", THE_SCAN, "the scan", 1.3),
    Line("W6", "all columns", THE_SCAN, "the scan", 0.5),
    Line(tenfold.NAME, "all columns", (f"{MINE}{tenfold.AT_FIRST}",), "a tenth of the keys", 1.1, how=_PER_ROW),
    Line(tenfold.NAME, "key + 3 columns", (f"{MINE}{tenfold.AT_FIRST}",), "a tenth of the keys", 1.1, how=_PER_ROW),
)


def figures(arena: Arena) -> Iterator[Figure]:
    """The answers, in the order of the lines; a line whose race was not run has none."""
    answers = (line.answer(arena.races) for line in LINES)
    return (each for each in answers if each)
