"""What a run has found: figures with their targets, as tables for people, JSON for programs, Markdown for a page."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.stopwatch import Times

RESULTS = Path(__file__).parent / "results"
BETWEEN_NOTES = "; "


@dataclass(frozen=True)
class Target:
    """A limit for a figure."""

    limit: float
    at_least: bool = False

    def is_met_by(self, value: float) -> bool:
        return value >= self.limit if self.at_least else value <= self.limit

    def __str__(self) -> str:
        return f"{'at least' if self.at_least else 'at most'} {self.limit:g}"


@dataclass(frozen=True)
class Figure:
    """One number, what it should be, and how it came about. Without a target there is nothing to meet."""

    figure: str
    value: float
    target: float | None
    met: bool | None
    how: str


@dataclass(frozen=True)
class Findings:
    """All of a run: on what, the figures, and the seconds (per question, per system) they come from.

    Details are kept like figures, but not shown beside them.
    """

    run: str
    figures: Sequence[Figure]
    seconds: Mapping[str, Mapping[str, Times]] = field(default_factory=dict)
    details: Sequence[Figure] = ()

    def all(self) -> tuple[Figure, ...]:
        """Everything as figures."""
        timed = (
            figure(f"{question}, {system}, seconds", times)
            for question, by_system in self.seconds.items()
            for system, times in by_system.items()
        )
        return (*self.figures, *self.details, *timed)


def figure(name: str, value: float | Times, target: Target | None = None, how: str = "") -> Figure:
    """A figure; of several rounds it is the median, and the others are told beside it."""
    spread = ""
    if isinstance(value, Times):
        rounds = len(value.rounds)
        spread = f"median of {rounds}, {value.low:.3g} to {value.high:.3g}" if rounds > 1 else "one round"
        value = value.median
    met = target.is_met_by(value) if target else None
    notes = _joined((str(target or ""), spread, how))
    return Figure(name, float(f"{value:.4g}"), target.limit if target else None, met, notes)


def show(found: Findings, console: Console) -> None:
    """The seconds, and then the figures."""
    systems = tuple(dict.fromkeys(system for by_system in found.seconds.values() for system in by_system))
    seconds = Table("seconds: median (lowest to highest)", *systems)
    for question, by_system in found.seconds.items():
        seconds.add_row(question, *(str(by_system.get(system, "")) for system in systems))
    table = Table("figure", "value", "target", "how")
    for each in found.figures:
        mark = {True: " [green]met[/]", False: " [red]missed[/]", None: ""}[each.met]
        table.add_row(each.figure, f"{each.value:.3g}", f"{'' if each.target is None else each.target}{mark}", each.how)
    console.print(*((seconds,) if found.seconds else ()), table, found.run, highlight=False)


def write(name: str, found: Findings, parts: Sequence[str] = ()) -> Path:
    """Leave everything as JSON: when and on what it ran (machine, size, seed, versions), and every figure.

    Figures of chosen parts lie beside those of the whole.
    """
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{'-'.join([name, *parts])}.json"
    result = {
        "benchmark": f"{name} PART={','.join(parts)}" if parts else name,
        "date": datetime.now(UTC).date().isoformat(),
        "run": found.run,
        "figures": [asdict(each) for each in found.all()],
    }
    path.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n")
    return path


def page() -> str:
    """The page of figures: of every committed result those that have a target; all, where they are few."""
    parts = [HEAD]
    for path in sorted(RESULTS.glob("*.json")):
        result = json.loads(path.read_text())
        parts += [f"## {result['benchmark']}", f"{result['date']}. {result['run']}.", _table(result["figures"])]
    return "\n\n".join(parts) + "\n"


FEW = 13

HEAD = """# Figures

`make figures` generates this page from `tests/benchmarks/results`, which `make bench NAME=...` writes. A ratio compares
systems in one run, in turns; it is the median of several rounds. Every answer is compared with the truth before it is
timed. Times of different runs cannot be compared. What is known of missed targets is in
[missed targets](missed_targets.md)."""


def _table(figures: Sequence[Mapping[str, object]]) -> str:
    lines = ["| figure | value | target | met |", "|---|---|---|---|"]
    for each in figures:
        if each["target"] is not None or len(figures) <= FEW:
            limit, *notes = ("", each["how"]) if each["target"] is None else str(each["how"]).split(BETWEEN_NOTES)
            met = "" if each["target"] is None else "yes" if each["met"] else "no"
            number = each["value"]
            shown = f"{number:.3g}" if isinstance(number, float) and abs(number) < 1000 else f"{number:,.0f}"
            value = f"{shown}{''.join(f' ({note})' for note in notes)}"
            lines.append(f"| {each['figure']} | {value} | {limit} | {met} |")
    return "\n".join(lines)


def _joined(notes: Iterable[str]) -> str:
    return BETWEEN_NOTES.join(note for note in notes if note)
