"""A table as it is known at a place of the log, how its columns differ, and what statements make of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from keylake.errors import DefinitionError
from keylake_pipelines.mysql.catalog import HIDDEN_PERIOD
from keylake_pipelines.mysql.statements import Action, Add, Alter, Change, Create, Defined, Drop, RenameColumn
from keylake_pipelines.mysql.values.forms import plain_definition, source_column
from keylake_pipelines.mysql.words import Name, name_of
from keylake_pipelines.source.tables import (
    ColumnAdded,
    ColumnDropped,
    ColumnModified,
    ColumnRenamed,
    KeyChanged,
    SourceColumn,
    SourceSchema,
    SourceTable,
    TableChange,
)


@dataclass(frozen=True)
class Known:
    """A table: its columns, their definitions as far as they are known, and whether the log has said so."""

    schema: SourceSchema
    definitions: Mapping[str, str] = field(default_factory=dict[str, str])
    sure: bool = False
    defined: bool = False  # by statements of the log: the definitions are those of this place
    changes: tuple[TableChange, ...] | None = ()  # of a ghost, since it was made as its table; None: not seen
    period: tuple[str, ...] = ()  # columns of a system-versioned table that are no columns of its rows


@dataclass
class Outcome:
    """The result of a statement: changes that are told, tables to read again, and tables that it touched.

    Of those to read `again`, rows have other values of which the log has nothing; of those to `reread`, rows may be
    gone besides.
    """

    changes: list[TableChange] = field(default_factory=list["TableChange"])
    again: set[Name] = field(default_factory=set[Name])
    reread: set[Name] = field(default_factory=set[Name])
    touched: set[Name] = field(default_factory=set[Name])


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


def made(name: Name, create: Create, key: tuple[str, ...]) -> Known:
    """The table that a statement makes."""
    columns = [column for column in create.columns if not column.period]
    schema = SourceSchema(SourceTable(name), tuple(_column(name, column) for column in columns), key)
    return Known(
        schema,
        {column.name: plain_definition(column.definition) for column in columns},
        sure=True,
        defined=True,
        period=_period(name, create.columns),
    )


def altered(known: Known, alter: Alter, *, is_strict: bool = True) -> tuple[Known, list[TableChange], bool]:
    """A table after a statement, what changed, and whether values did of which the log has no rows.

    A session that `is_strict` refuses NOT NULL where a row has no value; others write a value.

    All names of a statement are those of before it: columns go first, then names change, a taken one after it is free.
    Where names go round in a circle, columns keep their places, and their values are read once more.
    """
    added = [each for each in alter.actions if isinstance(each, Add)]
    name = name_of(known.schema.table)
    period = _period(name, (each.column for each in added)) or (() if alter.unversioned else known.period)
    dropped = {each.name.lower() for each in alter.actions if isinstance(each, Drop)}
    found: list[TableChange] = []
    filled = bool(dropped & {each.column.name.lower() for each in added})
    known = replace(known, period=period)

    def make(action: Action) -> None:
        nonlocal known, filled
        changes, fills = _changes(known, action, is_strict=is_strict)
        for change in changes:
            known = replace(known, schema=changed(known.schema, change))
        known = replace(known, definitions=_definitions(known, action))
        found.extend(changes)
        filled = filled or fills

    pending: list[Action] = list(alter.actions)
    while pending:
        ready = _ready(pending, {column.name.lower() for column in known.schema.columns})
        if ready is None:
            known, changes = _circled(known, [each for each in pending if isinstance(each, (Change, RenameColumn))])
            found += changes
            filled = True
            pending = [*(each for each in pending if isinstance(each, Add))]
            continue
        pending.remove(ready)
        if not (isinstance(ready, Add) and ready.column.period) and _from(ready) not in {
            each.lower() for each in period
        }:
            make(ready)
    return known, found, filled


def _ready(actions: list[Action], names: set[str]) -> Action | None:
    """The first action whose new name no column has that is to go or to get another name."""
    leaving = {_from(each) for each in actions if not isinstance(each, Add)} & names
    return next((each for each in actions if isinstance(each, Drop) or _to(each) not in leaving - {_from(each)}), None)


def _from(action: Action) -> str:
    return "" if isinstance(action, Add) else action.name.lower()


def _to(action: Add | Change | RenameColumn) -> str:
    return (action.to if isinstance(action, RenameColumn) else action.column.name).lower()


def _circled(known: Known, actions: list[Change | RenameColumn]) -> tuple[Known, list[TableChange]]:
    """Columns that get each other's names."""
    table = known.schema.table
    before = {column.name: column for column in known.schema.columns}
    columns: dict[str, SourceColumn] = {}
    definitions = dict(known.definitions)
    for action in actions:
        name = action.to if isinstance(action, RenameColumn) else action.column.name
        if isinstance(action, Change):
            columns[name] = _column(name_of(table), action.column)
            definitions[name] = plain_definition(action.column.definition)
        elif action.name in before:
            columns[name] = replace(before[action.name], name=name)
            definitions[name] = known.definitions.get(action.name, "")
    changes: list[TableChange] = [
        ColumnModified(table, column)
        for name, column in columns.items()
        if name not in before or before[name].type != column.type
    ]
    schema = known.schema
    for change in changes:
        schema = changed(schema, change)
    names = {action.name: action.to if isinstance(action, RenameColumn) else action.column.name for action in actions}
    key = tuple(names.get(name, name) for name in schema.key)
    if set(key) != set(schema.key):
        changes.append(KeyChanged(table, key))
    return replace(known, schema=replace(schema, key=key), definitions=definitions), changes


def check_period(table: Name, definition: str) -> None:
    """Refuses a table whose history is by transactions."""
    if definition.lower().startswith("bigint"):
        raise DefinitionError(
            f"The history of {'.'.join(table)} is by transactions, and the log has statements instead of its rows."
            " Let TIMESTAMP(6) columns say when rows are current, or leave the table out."
        )


def _period(table: Name, columns: Iterable[Defined]) -> tuple[str, ...]:
    """The columns that say from when to when a row was current, the one of its end last."""
    columns = [column for column in columns if column.period]
    for column in columns:
        check_period(table, column.definition)
    named = {column.period: column.name for column in columns}
    return (named["START"], named["END"]) if len(named) == len(HIDDEN_PERIOD) else ()


def _column(table: Name, column: Defined) -> SourceColumn:
    return source_column(table, column.name, column.definition, column.comment)


def _changes(known: Known, action: Action, *, is_strict: bool) -> tuple[tuple[TableChange, ...], bool]:
    """The changes of columns, and whether values change of which the log has no rows."""
    table = known.schema.table
    name = name_of(table)
    names = {column.name: column for column in known.schema.columns}
    if isinstance(action, Drop):
        return ((ColumnDropped(table, action.name),), False) if action.name in names or not known.sure else ((), False)
    if isinstance(action, RenameColumn):
        return (ColumnRenamed(table, action.name, action.to),), False
    column = _column(name, action.column)
    if isinstance(action, Add):
        return (ColumnAdded(table, column, action.after),), action.column.filled
    changes: list[TableChange] = []
    if action.name != column.name:
        changes.append(ColumnRenamed(table, action.name, column.name))
    before = names.get(action.name)
    if before is None or (before.type, before.comment) != (column.type, column.comment):
        changes.append(ColumnModified(table, column))
    # What is not sure may be what the statement makes of it.
    same = known.sure and known.defined
    same = same and known.definitions.get(action.name) == plain_definition(action.column.definition)
    # Of what a column is computed, no definition says.
    return tuple(changes), not same or action.column.computed or (action.column.required and not is_strict)


def _definitions(known: Known, action: Action) -> dict[str, str]:
    definitions = dict(known.definitions)
    if isinstance(action, RenameColumn):
        definitions[action.to] = definitions.pop(action.name, "")
    elif isinstance(action, Drop):
        definitions.pop(action.name, None)
    else:
        if isinstance(action, Change):
            definitions.pop(action.name, None)
        definitions[action.column.name] = plain_definition(action.column.definition)
    return definitions
