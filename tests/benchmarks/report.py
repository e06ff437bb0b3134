"""A run as tables: per workload one, rows are reads, columns are systems; and the same as figures."""

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from benchmarks.arena import Arena, Race
from benchmarks.figures import Figure, figure
from benchmarks.stopwatch import Times
from benchmarks.systems.keyed import Keyed

MINE = Keyed.name
WRONG = "wrong answer"


def show(arena: Arena, console: Console) -> None:
    """A table of ratios for each workload. Each ratio is of rounds that were run in turns."""
    for workload in dict.fromkeys(race.workload for race in arena.races):
        races = [race for race in arena.races if race.workload == workload]
        systems = tuple(dict.fromkeys(name for race in races for name in race.times if name != MINE))
        heads = (f"{name}\n({WRONG})" if name in arena.wrong.get(workload, ()) else name for name in systems)
        table = Table("read", f"{MINE}, s", *heads, title=f"{workload}: time of {MINE} / time of the system")
        for question in dict.fromkeys(race.question for race in races):
            asked = [race for race in races if race.question == question]
            ratios = {name: _ratio(race, name) for race in asked for name in race.times if name != MINE}
            cells = (str(ratios[name]) if name in ratios else "" for name in systems)
            table.add_row(question, f"{asked[0].times[MINE].median:.2f}", *cells)
        console.print(table, highlight=False)
    for workload, times in arena.written.items():
        told = ", ".join(f"{name} {sum(each.rounds):.1f}" for name, each in times.items())
        console.print(f"{workload}, seconds to write all commits after the base: {told}", highlight=False)


def ratios(arena: Arena) -> Iterator[Figure]:
    """Every ratio, and the seconds of each system in the race it was in."""
    for race in arena.races:
        wrong = arena.wrong.get(race.workload, ())
        for name in race.times:
            note = WRONG if name in wrong else ""
            if name != MINE:
                yield figure(f"{race.workload}, {race.question}: {MINE} / {name}", _ratio(race, name), how=note)
        for name, times in race.times.items():
            beside = ", ".join(other for other in race.times if other != name)
            yield figure(f"{race.workload}, {race.question}: {name}, seconds", times, how=f"in turns with {beside}")
    for workload, by_system in arena.written.items():
        for name, times in by_system.items():
            yield figure(f"{workload}, one commit written by {name}, seconds", times)


def _ratio(race: Race, name: str) -> Times:
    return race.times[MINE].over(race.times[name])
