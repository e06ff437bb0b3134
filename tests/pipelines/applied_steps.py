"""The merge law over steps of a source, short and slow: what tables read after steps were written in their order."""

import json
from collections.abc import Iterable
from itertools import count
from typing import Any

from keylake_pipelines.source.source import Step
from keylake_pipelines.source.tables import (
    ColumnAdded,
    ColumnDropped,
    ColumnModified,
    ColumnRenamed,
    SourceSchema,
    TableChange,
    TableCreated,
    TableDropped,
    TableRenamed,
    TableReread,
    TableTruncated,
)

Place = tuple[int, int]  # a version, and the order of writing


class AppliedTable:
    def __init__(self, schema: SourceSchema) -> None:
        self.key = schema.key
        self.columns = [each.name for each in schema.columns]
        self.cells: dict[tuple[Any, ...], dict[str, tuple[Place, Any]]] = {}
        self.written: dict[tuple[Any, ...], Place] = {}
        self.deleted: dict[tuple[Any, ...], Place] = {}

    def write(self, op: str, row: dict[str, Any], place: Place) -> None:
        assert row.keys() <= set(self.columns), (row, self.columns)
        key = tuple(row[name] for name in self.key)
        if op == "d":
            self.deleted[key] = max(self.deleted.get(key, place), place)
            return
        self.written[key] = max(self.written.get(key, place), place)
        cells = self.cells.setdefault(key, {})
        for name, value in row.items():
            if name not in cells or cells[name][0] < place:
                cells[name] = (place, value)

    def remove_older(self, place: Place) -> None:
        for key, written in self.written.items():
            if written < place:
                self.deleted[key] = max(self.deleted.get(key, place), place)

    def rows(self) -> dict[tuple[Any, ...], dict[str, Any]]:
        long_ago = (-(2**63), 0)
        found = {}
        for key, written in self.written.items():
            deleted = self.deleted.get(key, long_ago)
            if written > deleted:
                cells = {name: value for name, (place, value) in self.cells[key].items() if place > deleted}
                found[key] = {name: cells.get(name) for name in self.columns}
        return found


class AppliedSteps:
    """Tables by their names in the source."""

    def __init__(self) -> None:
        self.tables: dict[str, AppliedTable] = {}
        self.errors: list[dict[str, Any]] = []
        self._order = count()
        self._truncated = (-1, 0)
        self._offsets: dict[tuple[str, str], int] = {}

    def begin(self, schemas: Iterable[SourceSchema]) -> None:
        """What a pipeline does when it begins again: tables get the columns that the source has now."""
        for schema in schemas:
            table = self.tables.setdefault(str(schema.table), AppliedTable(schema))
            names = [each.name for each in schema.columns]
            for gone in set(table.columns) - set(names):
                self._dropped(table, gone)
            table.columns = names

    def apply(self, step: Step) -> None:
        """Rows of a table that come again are left out: by their offsets, as a pipeline does it."""
        new: dict[tuple[str, str], int] = {}
        for row in step.rows.to_pylist() if step.rows is not None else ():
            place_of = (row["table"], row["partition"])
            if row["offset"] < self._offsets.get(place_of, 0):
                continue
            new[place_of] = max(row["offset"] + 1, step.ends.get(row["partition"], 0))
            if row["error"] is not None:
                self.errors.append(row)
            else:
                place = (row["version"], next(self._order))
                self.tables[row["table"]].write(row["op"], json.loads(row["row"]), place)
        self._offsets |= new
        for number, change in enumerate(step.changes):
            if not isinstance(change, TableTruncated) or (step.ends["log"], number) > self._truncated:
                self._change(change)
            if isinstance(change, TableTruncated):
                self._truncated = max(self._truncated, (step.ends["log"], number))

    def _change(self, change: TableChange) -> None:
        if isinstance(change, TableCreated):
            self.tables.setdefault(str(change.schema.table), AppliedTable(change.schema))
        elif isinstance(change, TableDropped):
            del self.tables[str(change.table)]
        elif isinstance(change, TableRenamed):
            self.tables[str(change.to)] = self.tables.pop(str(change.table))
        elif isinstance(change, TableReread):
            self.tables[str(change.table)].remove_older((change.version, -1))
        elif isinstance(change, TableTruncated):
            table = self.tables[str(change.table)]
            table.cells.clear()
            table.written.clear()
            table.deleted.clear()
        else:
            self._change_column(self.tables[str(change.table)], change)

    def _change_column(self, table: AppliedTable, change: TableChange) -> None:
        if isinstance(change, ColumnAdded):
            if change.column.name not in table.columns:
                at = len(table.columns) if change.after is None else table.columns.index(change.after) + 1
                table.columns.insert(at, change.column.name)
        elif isinstance(change, ColumnDropped):
            table.columns.remove(change.name)
            self._dropped(table, change.name)
        elif isinstance(change, ColumnRenamed):
            assert change.to not in table.columns
            table.columns[table.columns.index(change.name)] = change.to
            for cells in table.cells.values():
                if change.name in cells:
                    cells[change.to] = cells.pop(change.name)
        else:
            assert isinstance(change, ColumnModified)
            assert change.column.name in table.columns

    @staticmethod
    def _dropped(table: AppliedTable, name: str) -> None:
        for cells in table.cells.values():
            cells.pop(name, None)
