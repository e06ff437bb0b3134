"""Columns that are added to a source table while its rows are written: when the keyed table has them, at what cost.

A scripted source gives batches of one size; some of them end with a new column, which the rows afterwards have. The
pipeline is the one that `keylake run` runs. The rows are compared with a model at the end.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from pyiceberg.types import DoubleType, IcebergType, LongType, StringType
from rich.console import Console

import keylake as kl
from benchmarks.figures import Figure, Findings, Target, figure
from benchmarks.machine import machine
from benchmarks.stopwatch import Times
from keylake_pipelines.runner.loop import run as run_pipeline
from keylake_pipelines.runner.settings import AsTheyAre, Round, RunSettings, Setting
from keylake_pipelines.source.tables import SourceColumn, SourceSchema, TableCreated
from pipelines.scripted import Changed, ColumnAdded, Event, Log, found, model, table

BATCHES, ROWS, KEYS = 60, 2_000, 20_000
WARM_UP = 10  # batches, which do not count
EVERY = 10  # batches a column is added
NEAR = 2  # so many batches after that of a change belong to it
ORDERS = table("shop.orders")
NAME, NAMESPACE = "ddl", "shop"
TYPES: tuple[IcebergType, ...] = (LongType(), StringType(), DoubleType())


@dataclass
class Sized:
    """Rounds of one size, whose times are kept."""

    rounds: list[Round] = field(default_factory=list)

    def next(self, last: Round | None) -> Setting:
        """One more row than a batch has: the change behind it."""
        if last is not None:
            self.rounds.append(last)
        return Setting(ROWS + 1, 0.05)


class Watched(Log):
    """A log that looks after each batch which columns the keyed table has."""

    def __init__(self, lake: kl.Lake, events: list[Event]) -> None:
        super().__init__(events)
        self.lake = lake
        self.columns: list[frozenset[str]] = []

    def written(self, positions: Mapping[str, int]) -> None:
        super().written(positions)
        self.columns.append(frozenset(self.lake.table(f"{NAMESPACE}.orders").spec.column_names))


def events_of(batches: int, rows: int) -> list[Event]:
    """Batches, some with a new column behind their last row."""
    draw = random.Random(22)
    columns: list[SourceColumn] = [SourceColumn("id", LongType()), SourceColumn("total", LongType())]
    events: list[Event] = [TableCreated(SourceSchema(ORDERS, tuple(columns), ("id",)))]
    for batch in range(batches):
        for number in range(rows + (batch % EVERY != EVERY - 1)):
            values = {column.name: _value(column.type, number) for column in columns[1:]}
            events.append(Changed("shop.orders", {"id": draw.randrange(KEYS), **values}))
        if batch % EVERY == EVERY - 1:
            columns.append(SourceColumn(f"added_{batch}", TYPES[len(columns) % len(TYPES)]))
            events.append(ColumnAdded(ORDERS, columns[-1]))
    return events


def _value(kind: IcebergType, number: int) -> object:
    return f"text {number}" if isinstance(kind, StringType) else number / 2 if isinstance(kind, DoubleType) else number


def run(scale: float, console: Console) -> Findings:
    """The scale is of the batches."""
    batches = max(round(BATCHES * scale), WARM_UP + 2 * EVERY)
    with machine() as place:
        lake = place.session()
        words = f"{batches} batches of {ROWS:,} rows, a column added every {EVERY} batches; {place.describe()}"
        console.print(words, highlight=False)
        events, sized = events_of(batches, ROWS), Sized()
        log = Watched(lake, events)
        run_pipeline(log, lake, RunSettings(NAME, AsTheyAre(NAMESPACE), once=True, load=sized))
        assert found(lake.table(f"{NAMESPACE}.orders")) == model(events)["shop.orders"]
        times = [each.seconds for each in sized.rounds if each.rows]
        seen = log.columns[1:]  # the first one was there when the table was created
        assert len(times) == len(seen) == batches
        return Findings(words, _figures(times, seen))


def _figures(times: Sequence[float], seen: Sequence[frozenset[str]]) -> list[Figure]:
    changed = [batch for batch in range(WARM_UP, len(times)) if batch % EVERY == EVERY - 1]
    later = [
        next(after for after, columns in enumerate(seen[batch:]) if f"added_{batch}" in columns) for batch in changed
    ]
    near = {batch + after for batch in changed for after in range(NEAR + 1)}
    usual = median(seconds for batch, seconds in enumerate(times) if batch >= WARM_UP and batch not in near)
    slower = Times(tuple(max(times[batch : batch + NEAR + 1]) / usual for batch in changed))
    return [
        figure("a column is added: batches until the keyed table has it, most", max(later), Target(2)),
        figure("the slowest batch with a change or right after it / median of the others", slower.high, Target(2)),
        figure("the same, of each change", slower),
        figure("seconds of a batch, median of the others", usual),
    ]
