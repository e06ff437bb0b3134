"""Rows of changes as they are gathered, and as Arrow."""

# pyright: reportUnknownParameterType=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pyarrow as pa

from keylake_pipelines.mysql.maps import RowsEvent, TableMap
from keylake_pipelines.mysql.places import version_of
from keylake_pipelines.mysql.values.images import ReadRow
from keylake_pipelines.mysql.values.literals import text_literal
from keylake_pipelines.source.source import CHANGES

_COLUMNS = ("table", "op", "row", "version", "offset", "at", "error")
_NO_KEY = "Table {} has no primary key. Give it one, or name its key in the definition of the source."


def row_json(values: dict[str, str]) -> str:
    """A JSON object of names and values that are JSON already."""
    return "{" + ",".join([f"{text_literal(name)}:{value}" for name, value in values.items()]) + "}"


def _check_end(at: int, end: int) -> None:
    """Refuses rows that were read beyond the end of their event: values were cut."""
    if at != end:
        raise ValueError(f"rows end {at - end} bytes behind their event")


@dataclass
class Rows:
    """Columns of `CHANGES`, row after row."""

    partition: str
    images: int = 0  # of the rows of a transaction: with them its versions are counted
    table: list[str] = field(default_factory=list)
    op: list[str | None] = field(default_factory=list)
    row: list[str] = field(default_factory=list)
    version: list[int] = field(default_factory=list)
    offset: list[int] = field(default_factory=list)
    at: list[int | None] = field(default_factory=list)  # seconds
    error: list[str | None] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.table)

    def add(
        self, table: str, op: str | None, row: str, version: int, offset: int, at: int | None, error: str | None = None
    ) -> None:
        self.table.append(table)
        self.op.append(op)
        self.row.append(row)
        self.version.append(version)
        self.offset.append(offset)
        self.at.append(at)
        self.error.append(error)

    def _add_all(self, table: str, op: str, rows: list[str], begins: int, seconds: int | None) -> None:
        """The next rows of a transaction."""
        count = len(rows)
        first, self.images = self.images, self.images + count
        self.table += [table] * count
        self.op += [op] * count
        self.row += rows
        self.version += range(version_of(begins, first), version_of(begins, self.images), 2)
        self.offset += [begins] * count
        self.at += [seconds] * count
        self.error += [None] * count

    def take(self, event: RowsEvent, begins: int, seconds: int | None) -> bool:
        """The rows of an event, in a transaction that begins at a place; True where the log lacks columns of some."""
        lacking = False
        how = event.table.reading(event.before, event.after)
        if how.key is not None and how.row is not None:
            lacking = self._take_updates(event, how.key, how.row, begins, seconds)
        elif how.key is not None:
            self._take_all(event, how.key, "d", begins, seconds)
        elif how.row is not None:
            self._take_all(event, how.row, "c", begins, seconds)
        else:
            for before, after in event.images():
                lacking |= self._take_images(event.table, before, after, begins, seconds)
        return lacking

    def _take_all(self, event: RowsEvent, read: ReadRow, op: str, begins: int, seconds: int | None) -> None:
        """The rows of an event that deletes, or inserts."""
        data, at, end = event.data, 0, len(event.data)
        rows: list[str] = []
        while at < end:
            row, at = read(data, at)
            rows.append(row)
        _check_end(at, end)
        self._add_all(event.table.label, op, rows, begins, seconds)

    def _take_updates(
        self, event: RowsEvent, read_key: ReadRow, read_row: ReadRow, begins: int, seconds: int | None
    ) -> bool:
        """The rows of an event that updates. One whose key has changed is taken by its values."""
        lacking = False
        data, at, end = event.data, 0, len(event.data)
        rows: list[str] = []
        while at < end:
            begin = at
            old, at = read_key(data, at)
            new, row, at = read_row(data, at)
            if old == new:
                rows.append(row)
                continue
            self._add_all(event.table.label, "u", rows, begins, seconds)
            rows = []
            lacking |= self._take_images(event.table, *next(event.images(begin)), begins, seconds)
        _check_end(at, end)
        self._add_all(event.table.label, "u", rows, begins, seconds)
        return lacking

    def _take_images(
        self,
        table: TableMap,
        before: dict[str, str] | None,
        after: dict[str, str] | None,
        begins: int,
        seconds: int | None,
    ) -> bool:
        """A row of the log; True where the log lacks columns of it.

        Of a system-versioned table, a row that becomes history is a delete, and history itself is nothing.
        """
        version = version_of(begins, self.images)
        self.images += 1
        if table.period:
            after = after if after is not None and table.is_current(after, before) else None
            before = before if before is not None and table.is_current(before) else None
        name, whole = table.label, after if before is None else {**before, **(after or {})}
        if whole is None:
            return False
        if not table.key:
            self.add(name, None, row_json(whole), version, begins, seconds, _NO_KEY.format(name))
            return False
        if before is None:
            self.add(name, "c", row_json(whole), version, begins, seconds)
            return False
        old = {column: before[column] for column in table.key}
        if after is None:
            self.add(name, "d", row_json(old), version, begins, seconds)
            return False
        new = {column: after.get(column, old[column]) for column in table.key}
        if old == new:
            self.add(name, "u", row_json({**new, **after}), version, begins, seconds)
            return False
        self.add(name, "d", row_json(old), version, begins, seconds)
        self.add(name, "c", row_json(whole), version + 1, begins, seconds)
        return len(whole) < len(table.columns)

    def moved(self, by: int) -> Rows:
        """The same rows, in a transaction that begins so many bytes later."""
        versions, offsets = ([each + by for each in numbers] for numbers in (self.version, self.offset))
        return replace(self, version=versions, offset=offsets)

    def extend(self, others: Rows) -> None:
        for name in _COLUMNS:
            getattr(self, name).extend(getattr(others, name))

    def cut(self, count: int) -> None:
        """Keep so many rows. Versions of those that come count on: the log has bytes of what was taken back."""
        for name in _COLUMNS:
            del getattr(self, name)[count:]

    def as_arrow(self) -> pa.Table:
        seconds = pa.array(self.at, pa.timestamp("s", tz="UTC"))
        columns = [
            pa.array(self.table, pa.string()),
            pa.array(self.op, pa.string()),
            pa.array(self.row, pa.string()),
            pa.array(self.version, pa.int64()),
            pa.array([self.partition] * len(self), pa.string()),
            pa.array(self.offset, pa.int64()),
            seconds.cast(pa.timestamp("us", tz="UTC")),
            pa.array(self.error, pa.string()),
        ]
        return pa.table(columns, schema=CHANGES)


def snapshot_rows(partition: str, table: str, rows: pa.Array | pa.ChunkedArray, version: int, offset: int) -> pa.Table:
    """Rows of a table as they were found at a place of the log, with the columns of `CHANGES`."""
    constants = {"table": table, "op": "r", "version": version, "partition": partition, "offset": offset}
    columns = [
        rows if column.name == "row" else pa.repeat(pa.scalar(constants.get(column.name), column.type), len(rows))
        for column in CHANGES
    ]
    return pa.table(columns, schema=CHANGES)
