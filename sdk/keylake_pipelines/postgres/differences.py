"""The differences of tables between two looks at the catalog, and the columns that an older row of the log has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from keylake_pipelines.postgres.messages import RelationColumn
from keylake_pipelines.postgres.tables import Catalog, Column, Table, newest_tables
from keylake_pipelines.source.tables import (
    ColumnAdded,
    ColumnDropped,
    ColumnModified,
    ColumnRenamed,
    KeyChanged,
    SourceSchema,
    TableChange,
    TableCreated,
    TableDropped,
    TableRefused,
    TableRenamed,
)


def changes_of_tables(before: Catalog, after: Catalog) -> tuple[TableChange, ...]:
    """The changes of tables between two looks, in an order in which they can be repeated."""
    gone = [
        TableRefused(table.name, after.refused[number].refused) if number in after.refused else TableDropped(table.name)
        for number, table in before.tables.items()
        if number not in after.tables
    ]
    found: list[TableChange] = [*gone]
    for number, table in after.tables.items():
        known = before.tables.get(number)
        found += [TableCreated(table.schema)] if known is None else changes_of_table(known, table)
    new = after.refused.keys() - before.refused.keys() - before.tables.keys()
    found += [TableCreated(after.refused[number]) for number in new]
    return tuple(found)


def changes_of_table(before: Table, after: Table) -> Iterator[TableChange]:
    """The changes of one table: columns are known by their numbers, which stay when names change."""
    if before.name != after.name:
        yield TableRenamed(before.name, after.name)
    kept = {each.number: each for each in after.columns}
    yield from (ColumnDropped(after.name, each.name) for each in before.columns if each.number not in kept)
    yield from _renamed(after, {each.name: kept[each.number].name for each in before.columns if each.number in kept})
    known = {each.number: each for each in before.columns}
    previous: str | None = None
    for column in after.columns:
        old = known.get(column.number)
        if old is None:
            yield ColumnAdded(after.name, column.shown, previous)
        elif (old.form.type, old.comment) != (column.form.type, column.comment):
            yield ColumnModified(after.name, column.shown)
        previous = column.name
    if set(before.key) != set(after.key):
        yield KeyChanged(after.name, after.key_names)


def _renamed(table: Table, names: dict[str, str]) -> Iterator[TableChange]:
    """Renames, each to a name that is free by then: names that change in a circle go over another one."""
    waiting = {name: to for name, to in names.items() if name != to}
    while waiting:
        name = next((each for each, to in waiting.items() if to not in waiting), None)
        if name is None:
            name = next(iter(waiting))
            between = f"{name}_renamed"
            yield ColumnRenamed(table.name, name, between)
            waiting[between] = waiting.pop(name)
        else:
            yield ColumnRenamed(table.name, name, waiting.pop(name))


# What it costs to hold two columns for the same, or to leave one out.
_OTHER_NAME, _GONE, _OTHER_NAME_AND_TYPE, _LEFT_OUT, _NOT_YET, _UNKNOWN = 4, 3, 9, 5, 1, 12


def aligned(
    logged: Sequence[RelationColumn], table: Table, names: Mapping[int, frozenset[str]]
) -> tuple[tuple[Column | None, ...], bool]:
    """The columns that the log names, as the table has them now; None for one that was dropped since.

    Rows of the log have the names of their time, and `names` has those that were seen, by numbers of columns. Both
    sides are in the order of these numbers, which only grow: the cheapest way to lay one over the other in this order
    finds who is who, also by names that nobody saw. False where another way is as cheap: a column with a new name, or
    one that was dropped and another one that came.
    """
    now = table.columns
    if [(each.name, each.type) for each in logged] == [(each.name, each.type) for each in now]:
        return now, True
    found, other = _alignments(logged, table, names)
    return found, found == other


def _alignments(
    logged: Sequence[RelationColumn], table: Table, names: Mapping[int, frozenset[str]]
) -> tuple[tuple[Column | None, ...], tuple[Column | None, ...]]:
    """The cheapest way, from both ends of those that are as cheap."""
    present = {each.number: each for each in table.columns}
    slots = [
        _Slot(present.get(number), names.get(number, frozenset()))
        for number in range(1, max([*present, *table.unpublished], default=0) + 1)
    ]
    return _cheapest(logged, slots), _cheapest(logged, slots, last=True)


def _cheapest(
    logged: Sequence[RelationColumn], slots: Sequence[_Slot], *, last: bool = False
) -> tuple[Column | None, ...]:
    """The first, or the last, of the ways that cost least."""
    order = -1 if last else 1
    # best[j] is the least cost of the columns so far over the first j slots, with the choices that led there.
    best: list[tuple[int, tuple[Column | None, ...]]] = [(0, ())]
    best += [(sum(each.cost_without() for each in slots[:end]), ()) for end in range(1, len(slots) + 1)]
    for column in logged:
        row: list[tuple[int, tuple[Column | None, ...]]] = [(best[0][0] + _UNKNOWN, (*best[0][1], None))]
        for at, slot in enumerate(slots):
            ways = [
                (best[at][0] + slot.cost(column), (*best[at][1], slot.column)),
                (row[at][0] + slot.cost_without(), row[at][1]),
                (best[at + 1][0] + _UNKNOWN, (*best[at + 1][1], None)),
            ]
            row.append(min(ways[::order], key=lambda way: way[0]))
        best = row
    # Columns behind the last one of the log were not there yet.
    not_yet = [sum(0 if each.column is None else _NOT_YET for each in slots[end:]) for end in range(len(slots) + 1)]
    ends = list(zip(best, not_yet, strict=True))
    return min(ends[::order], key=lambda end: end[0][0] + end[1])[0][1]


@dataclass(frozen=True)
class _Slot:
    """A number of a column: the column as it is now, None if it is gone, and the names it had when looks saw it."""

    column: Column | None
    names: frozenset[str]

    def cost(self, logged: RelationColumn) -> int:
        if logged.name in self.names or (self.column is not None and self.column.name == logged.name):
            return 0
        if self.column is None:
            return _GONE
        return _OTHER_NAME if self.column.type == logged.type else _OTHER_NAME_AND_TYPE

    def cost_without(self) -> int:
        return 0 if self.column is None else _LEFT_OUT


def changed_meanwhile(
    catalog: Catalog, read: Mapping[str, int], known: Iterable[SourceSchema]
) -> tuple[TableChange, ...]:
    """Tables that have changed, come or gone since positions were kept; what is known changes nothing."""
    schemas = {schema.table: schema for schema in known}
    tables = {table.name: table for table in catalog.tables.values()}
    refused = {schema.table: schema for schema in catalog.refused.values()}
    numbers = newest_tables(read)
    found: list[TableChange] = []
    for name in sorted(schemas.keys() - tables.keys() - refused.keys()):
        renamed = catalog.tables.get(numbers.get(".".join(name.parts[1:]), 0))
        found.append(TableDropped(name) if renamed is None else TableRenamed(name, renamed.name))
    found += [
        TableRefused(each.table, each.refused) if each.table in schemas else TableCreated(each)
        for each in refused.values()
    ]
    for name in sorted(schemas.keys() & tables.keys()):
        renames = _renamed_meanwhile(schemas[name], tables[name])
        there = {each.name for each in tables[name].columns}
        names = [each.name for each in schemas[name].columns]
        found += [ColumnDropped(name, each) for each in names if renames.get(each, each) not in there]
        found += _renamed(tables[name], renames)
        if {renames.get(each, each) for each in schemas[name].key} != set(tables[name].key_names):
            found.append(KeyChanged(name, tables[name].key_names))
    for number, table in catalog.tables.items():
        is_new = table.name not in schemas
        is_unread = any(each.partition not in read for each in catalog.rows[number])
        if is_new or is_unread:
            found.append(TableCreated(table.schema))
        if is_unread:
            previous = [None, *[each.name for each in table.columns]]
            found += [
                ColumnAdded(table.name, each.shown, after)
                for each, after in zip(table.columns, previous[:-1], strict=True)
            ]
            found += [ColumnModified(table.name, each.shown) for each in table.columns]
    return tuple(found)


def _renamed_meanwhile(known: SourceSchema, table: Table) -> dict[str, str]:
    """The new names of those columns of which it is certain: both sides are in the order of their numbers."""
    there = {each.name for each in table.columns}
    if there >= {each.name for each in known.columns}:
        return {}
    types = {str(each.type): at for at, each in enumerate((*known.columns, *(each.shown for each in table.columns)))}
    logged = [RelationColumn(each.name, types[str(each.type)], -1) for each in known.columns]
    columns = tuple(replace(each, type=types[str(each.form.type)]) for each in table.columns)
    ways = _alignments(logged, replace(table, columns=columns), {})
    pairs = zip(known.columns, *ways, strict=True)
    found = {old.name: new.name for old, new, other in pairs if new is not None and new == other}
    renames = {old: new for old, new in found.items() if old != new}
    names = {each.name for each in known.columns}
    while taken := [old for old, new in renames.items() if new in names - renames.keys()]:  # of one that was dropped
        for old in taken:
            del renames[old]
    return renames
