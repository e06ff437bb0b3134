"""A source that is a list: rows and changes of tables, each at its offset; and what the tables have then."""

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TypeAlias

import pyarrow as pa

import keylake as kl
from keylake_pipelines.runner.settings import AsTheyAre, Fixed, RunSettings, Setting
from keylake_pipelines.source.source import CHANGES, Lag, Step
from keylake_pipelines.source.tables import (
    ColumnAdded,
    ColumnDropped,
    ColumnRenamed,
    SourceSchema,
    SourceTable,
    TableChange,
    TableCreated,
    TableDropped,
    TableTruncated,
)


@dataclass(frozen=True)
class Changed:
    """A row of a table, inserted or updated (u) or deleted (d); an error where it could not be read."""

    table: str
    row: Mapping[str, object]
    op: str = "u"
    error: str | None = None


Event: TypeAlias = Changed | TableChange


class Log:
    """Gives the events of a list; the number of an event is its offset in the partition "log".

    Changes come one in a step; `together`, those that follow each other come in one, as of a statement with several.
    """

    def __init__(
        self, events: Sequence[Event], schemas: Sequence[SourceSchema] = (), *, together: bool = False
    ) -> None:
        self.events = events
        self._together = together
        self.written_to = 0
        self.polled = threading.Event()
        self._schemas = tuple(schemas)
        self._next = 0

    def begin(self, positions: Mapping[str, int], schemas: Sequence[SourceSchema] = ()) -> None:
        self._next = positions.get("log", 0)

    def reread(self, table: SourceTable) -> bool:
        return False

    def schemas(self) -> tuple[SourceSchema, ...]:
        return self._schemas

    def poll(self, most_rows: int, seconds: float) -> tuple[Step, ...]:
        begin = end = self._next
        while end < len(self.events) and end - begin < most_rows and isinstance(self.events[end], Changed):
            end += 1
        rows = rows_of(self.events, begin, end)
        changes: list[TableChange] = []
        while end < len(self.events) and end - begin - len(changes) < most_rows:
            change = self.events[end]
            if isinstance(change, Changed) or (changes and not self._together):
                break
            changes.append(change)
            end += 1
        self._next = end
        self.polled.set()
        if begin == end:
            threading.Event().wait(min(seconds, 0.05))
            return ()
        return (Step(rows, {"log": end}, tuple(changes)),)

    def written(self, positions: Mapping[str, int]) -> None:
        self.written_to = positions["log"]

    def lag(self) -> Lag:
        return Lag(len(self.events) - self._next, "rows")

    def close(self) -> None:
        pass


def rows_of(events: Sequence[Event], begin: int, end: int) -> pa.Table:
    rows = [
        {
            "table": None if event.error else event.table,
            "op": event.op,
            "row": json.dumps(event.row),
            "version": number + 1,
            "partition": "log",
            "offset": number,
            "at": datetime(2026, 11, 1, tzinfo=timezone.utc),
            "error": event.error,
        }
        for number, event in enumerate(events[begin:end], begin)
        if isinstance(event, Changed)
    ]
    return pa.Table.from_pylist(rows, schema=CHANGES)


def settings(name: str, namespace: str, rows: int = 1000, **words: object) -> RunSettings:
    """Settings of a run that ends with its source."""
    load = Fixed(Setting(rows, 0.05))
    given: dict[str, object] = {"once": True, "load": load, **words}
    return RunSettings(name, AsTheyAre(namespace, buckets=1), **given)  # type: ignore[arg-type]


Model: TypeAlias = dict[str, dict[object, dict[str, object]]]


def model(events: Sequence[Event]) -> Model:
    """The rows of each table by the column `id`, without columns that are null."""
    tables: Model = {}
    for event in events:
        match event:
            case Changed(table=table, row=row, op="d"):
                tables[table].pop(row["id"], None)
            case Changed(table=table, row=row, error=None):
                tables[table].setdefault(row["id"], {}).update(row)
            case TableCreated(schema=schema):
                tables.setdefault(str(schema.table), {})
            case TableTruncated(table=table) | TableDropped(table=table):
                tables[str(table)].clear()
            case ColumnDropped(table=table, name=name):
                for row in tables[str(table)].values():
                    row.pop(name, None)
            case ColumnRenamed(table=table, name=name, to=to):
                for row in tables[str(table)].values():
                    if name in row:
                        row[to] = row.pop(name)
            case _:
                pass
    return {
        table: {key: {k: v for k, v in row.items() if v is not None} for key, row in rows.items()}
        for table, rows in tables.items()
    }


def found(table: kl.KeyedTable) -> dict[object, dict[str, object]]:
    """The rows of a keyed table in the same form."""
    rows = table.read().toArrow().to_pylist()
    return {row["id"]: {k: v for k, v in row.items() if v is not None} for row in rows}


def table(name: str) -> SourceTable:
    return SourceTable(tuple(name.split(".")))


__all__ = ["Changed", "ColumnAdded", "Event", "Log", "found", "model", "settings", "table"]
