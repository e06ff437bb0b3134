"""How columns of a table differ, as changes, and what a change makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from keylake._captured.tables import (
    ColumnAdded,
    ColumnDropped,
    ColumnModified,
    ColumnRenamed,
    SourceColumn,
    SourceSchema,
    SourceTable,
    TableChange,
)


def difference(table: SourceTable, old: Iterable[SourceColumn], new: Iterable[SourceColumn]) -> Iterator[TableChange]:
    """Columns that are gone, new, or of another type, by their names."""
    before = {column.name: column for column in old}
    after = {column.name: column for column in new}
    yield from (ColumnDropped(table, name) for name in before if name not in after)
    behind: str | None = None
    for name, column in after.items():
        if name not in before:
            yield ColumnAdded(table, column, behind)
        elif before[name].type != column.type:
            yield ColumnModified(table, column)
        behind = name


def changed(schema: SourceSchema, change: TableChange) -> SourceSchema:
    """The schema after a change of its columns; what is so already stays."""
    columns = list(schema.columns)
    names = [column.name for column in columns]
    key = schema.key
    if isinstance(change, ColumnAdded):
        if change.column.name in names:
            columns[names.index(change.column.name)] = change.column
        else:
            at = names.index(change.after) + 1 if change.after in names else len(names)
            columns.insert(at, change.column)
    elif isinstance(change, ColumnDropped):
        columns = [column for column in columns if column.name != change.name]
    elif isinstance(change, ColumnRenamed):
        columns = [replace(column, name=change.to) if column.name == change.name else column for column in columns]
        key = tuple(change.to if name == change.name else name for name in key)
    elif isinstance(change, ColumnModified):
        columns = [change.column if column.name == change.column.name else column for column in columns]
    return replace(schema, columns=tuple(columns), key=key)


def of_table(table: SourceTable, change: TableChange) -> TableChange:
    """The same change of another table."""
    if isinstance(change, (ColumnAdded, ColumnDropped, ColumnRenamed, ColumnModified)):
        return replace(change, table=table)
    return change
