"""The tables of a server at a place of its log, and what statements there make of them.

What is known comes from the catalog when reading begins, which may be ahead of the log: such tables are not `sure`.
Statements of the log change what is known, and what the log says before rows makes it sure. A ghost is a table that a
tool (gh-ost, pt-online-schema-change) fills beside another one and then renames to it: it never shows itself, and when
it takes the place of its table, that table gets its columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from keylake.errors import DefinitionError
from keylake_pipelines.mysql.catalog import HIDDEN_PERIOD, CatalogTable
from keylake_pipelines.mysql.differences import (
    Known,
    Outcome,
    altered,
    changed,
    check_period,
    difference,
    made,
    of_table,
)
from keylake_pipelines.mysql.statements import (
    Alter,
    Create,
    DropDatabase,
    Drops,
    Renames,
    RenameTable,
    Statement,
    Truncate,
)
from keylake_pipelines.mysql.values.forms import plain_definition, source_column
from keylake_pipelines.mysql.words import Name, name_of
from keylake_pipelines.source.tables import (
    ColumnAdded,
    ColumnModified,
    KeyChanged,
    SourceColumn,
    SourceSchema,
    SourceTable,
    TableChange,
    TableCreated,
    TableDropped,
    TableRefused,
    TableRenamed,
    TableTruncated,
)

_GHOSTS = (
    re.compile(r"_(?P<table>.+?)(?:_\d{14})?_(?:gho|ghc|del)"),  # gh-ost
    re.compile(r"_+(?P<table>.+)_(?:new|old)"),  # pt-online-schema-change
)


def base_of_ghost(name: str) -> str | None:
    """The table for which a tool makes a table of that name.

    >>> base_of_ghost("_orders_gho"), base_of_ghost("__orders_new"), base_of_ghost("orders")
    ('orders', 'orders', None)
    """
    found = next(filter(None, (pattern.fullmatch(name) for pattern in _GHOSTS)), None)
    return found["table"] if found else None


def _keyless(name: Name) -> str:
    return (
        f"Table {'.'.join(name)} has no primary key, so its rows cannot be told apart. Give it one, or name its key in"
        " the pipeline (transform: primary-keys)."
    )


@dataclass(frozen=True)
class Selection:
    """The selection of tables that are read: patterns over `database.table`, and keys of tables that have none."""

    patterns: tuple[re.Pattern[str], ...]
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def takes(self, name: Name) -> bool:
        return any(pattern.fullmatch(".".join(name)) for pattern in self.patterns)


class KnownTables:
    """All tables that matter at the place up to which the log was read."""

    def __init__(self, selection: Selection, catalog: Mapping[Name, CatalogTable], at: int | None = None) -> None:
        """`at` is a place of the log behind all that the catalog has seen; None where that is not known."""
        self._selection = selection
        self._at = at
        self._tables: dict[Name, Known] = {}
        self._refused: dict[Name, SourceSchema] = {}  # until reading begins again
        self._told: dict[Name, tuple[SourceSchema, SourceSchema]] = {}  # before reading began, and in the catalog then
        self._aside: dict[Name, Known] = {}  # renamed to a ghost's name, until the ghost comes to this one
        names = set(catalog)
        for name, (columns, key, comment) in catalog.items():
            base = base_of_ghost(name[1])
            ghost = base is not None and (name[0], base) in names
            if not selection.takes((name[0], base) if ghost and base is not None else name):
                continue
            period = tuple(each.name for each in columns if each.period)
            of_rows = [each for each in columns if not each.period]
            try:
                for each in columns:
                    if each.period:
                        check_period(name, each.definition)
                schema = SourceSchema(
                    SourceTable(name),
                    tuple(source_column(name, each.name, each.definition, each.comment) for each in of_rows),
                    self._key(name, tuple(each for each in key if each not in period)),
                    comment,
                )
            except DefinitionError as error:
                if not ghost:
                    self._refused[name] = SourceSchema(SourceTable(name), (), (), comment, str(error))
                continue
            if not schema.key and not ghost:
                self._refused[name] = replace(schema, refused=_keyless(name))
                continue
            definitions = {each.name: plain_definition(each.definition) for each in of_rows}
            self._tables[name] = Known(schema, definitions, changes=None, period=period)

    def remember(self, schemas: Iterable[SourceSchema]) -> None:
        """Columns as they were told before reading begins again: what the log has still to tell is a change of them."""
        for schema in schemas:
            name = name_of(schema.table)
            known = self._tables.get(name)
            if known is not None:
                then = replace(schema, key=known.schema.key)
                self._told[name] = (then, known.schema)
                self._tables[name] = replace(known, schema=then)

    def offered(self) -> tuple[SourceSchema, ...]:
        """The tables as the catalog had them when reading began, or as the log has told since."""
        pairs = ((schema, self._told.get(name, (None, schema))) for name, schema in self.schemas().items())
        return tuple(now if then is schema else schema for schema, (then, now) in pairs)

    def _key(self, name: Name, key: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self._selection.keys.get(".".join(name), key))

    def _ghost_of(self, name: Name) -> Name | None:
        base = base_of_ghost(name[1])
        found = (name[0], base or "")
        return found if base and (found in self._tables or found in self._aside) else None

    def takes(self, name: Name) -> bool:
        """Rows of the table are given."""
        return self._selection.takes(name) and self._ghost_of(name) is None and name not in self._refused

    def watches(self, name: Name) -> bool:
        """The table is one whose rows are given, or a ghost of one."""
        ghost_of = self._ghost_of(name)
        return self._selection.takes(name if ghost_of is None else ghost_of) and name not in self._refused

    def schemas(self) -> dict[Name, SourceSchema]:
        """The tables whose rows are given."""
        return {name: known.schema for name, known in self._tables.items() if self.takes(name)}

    def refused(self) -> tuple[SourceSchema, ...]:
        """The tables whose rows cannot be given, with the reasons."""
        return tuple(self._refused.values())

    def ghosts(self) -> dict[Name, Known]:
        """The ghosts that were seen since they were made."""
        return {
            name: known
            for name, known in self._tables.items()
            if known.changes is not None and self._ghost_of(name) is not None
        }

    def take_ghosts(self, earlier: KnownTables) -> None:
        """Ghosts as they were known at the end of an earlier stretch of the log."""
        self._tables |= earlier.ghosts()

    def schema(self, name: Name) -> SourceSchema | None:
        known = self._tables.get(name)
        return known.schema if known else None

    def definition(self, name: Name, column: str) -> str:
        known = self._tables.get(name)
        return known.definitions.get(column, "") if known else ""

    def observe(
        self, name: Name, columns: tuple[SourceColumn, ...], key: tuple[str, ...], *, sure: bool = False
    ) -> tuple[TableChange, ...]:
        """The changes of a table that the log shows before its rows, after all statements that were understood.

        Where there are any, a statement was not understood: its effect on earlier rows is not known. `sure` where the
        log was read up to what the catalog said when reading began.
        """
        known = self._tables.get(name)
        if known is None:
            schema = SourceSchema(SourceTable(name), columns, self._key(name, key))
            self._tables[name] = Known(schema, sure=True)
            return (TableCreated(schema),) if self.takes(name) else ()
        comments = {column.name: column.comment for column in known.schema.columns}
        logged = tuple(replace(column, comment=comments.get(column.name, "")) for column in columns)
        found: tuple[TableChange, ...] = tuple(difference(known.schema.table, known.schema.columns, logged))
        schema = replace(known.schema, columns=logged, key=self._key(name, key) or known.schema.key)
        if set(schema.key) != set(known.schema.key):
            found = (*found, KeyChanged(schema.table, schema.key))
        self._tables[name] = replace(known, schema=schema, sure=True)
        return found if (sure or known.sure) and self.takes(name) else ()

    def period(self, name: Name, columns: Sequence[str], key: Sequence[str]) -> tuple[str, ...]:
        """The columns of a system-versioned table that say from when to when a row was current, the last one second.

        Of those that the log names before rows: those that no statement has named are called row_start and row_end.
        """
        known = self._tables.get(name)
        period = known.period if known and known.period else HIDDEN_PERIOD
        if not period or tuple(key[-1:]) != period[-1:] or not set(period) <= set(columns):
            return ()
        if known is not None and known.period != period and {each.name for each in known.schema.columns} & set(period):
            return ()
        return period

    def refuse(self, name: Name, reason: str) -> TableChange:
        """Rows of a table cannot be read from here on, until reading begins again."""
        known = self._tables.pop(name, None)
        refused = self._refused[name] = SourceSchema(SourceTable(name), (), (), refused=reason)
        return TableCreated(refused) if known is None else TableRefused(refused.table, reason)

    def follow(self, statement: Statement, *, at: int | None = None, is_strict: bool = True) -> Outcome:
        """The effects of a statement on the tables; one that makes a column which cannot be read refuses its table.

        `at` is its place in the log: from where the catalog was read on, definitions are those of the place.
        `is_strict` says that its session refuses values which a column cannot hold.
        """
        outcome = Outcome()
        if self._at is not None and at is not None and at >= self._at:
            self._at = None
            self._tables = {name: replace(known, defined=True) for name, known in self._tables.items()}
        try:
            self._follow(statement, outcome, is_strict=is_strict)
        except DefinitionError as error:
            if isinstance(statement, (Create, Alter)) and self.takes(statement.table):
                outcome.changes.append(self.refuse(statement.table, str(error)))
                outcome.touched.add(statement.table)
        return outcome

    def _follow(self, statement: Statement, outcome: Outcome, *, is_strict: bool) -> None:
        if isinstance(statement, Create):
            self._create(statement, outcome)
        elif isinstance(statement, Alter):
            self._alter(statement, outcome, is_strict=is_strict)
        elif isinstance(statement, Renames):
            for rename in statement.renames:
                self._rename(rename, outcome)
        elif isinstance(statement, Truncate):
            if self.takes(statement.table) and statement.table in self._tables:
                outcome.changes.append(TableTruncated(SourceTable(statement.table)))
                outcome.touched.add(statement.table)
        elif isinstance(statement, Drops):
            for name in statement.tables:
                self._drop(name, outcome)
        elif isinstance(statement, DropDatabase):
            for name in [each for each in self._tables if each[0] == statement.name]:
                self._drop(name, outcome)
        else:
            self._reread(statement.tables, outcome)

    def _reread(self, names: Iterable[Name], outcome: Outcome) -> None:
        """Rows of these tables may be others, without a word in the log."""
        for name in names:
            known = self._tables.get(name)
            if known is not None and self.takes(name):
                outcome.reread.add(name)
                outcome.touched.add(name)
            elif known is not None:  # a ghost is compared with its table when it takes its place
                self._tables[name] = replace(known, changes=None)

    def _create(self, create: Create, outcome: Outcome) -> None:
        name = create.table
        if not self.watches(name) or (name in self._tables and self._tables[name].sure and not create.replaces):
            return
        if create.replaces and name in self._tables:
            self._drop(name, outcome)
        if create.like is not None:
            if create.like in self._refused:
                raise DefinitionError(self._refused[create.like].refused)
            model = self._tables.get(create.like)
            if model is None:
                return  # the log says what it is before its first rows
            known = replace(model, schema=replace(model.schema, table=SourceTable(name)), changes=())
        else:
            if not create.columns and create.selects and name not in self._tables:
                raise DefinitionError(
                    f"{'.'.join(name)} was made by a statement of a session whose binlog_format is not ROW, and the log"
                    " has neither its columns nor its rows. Stop the pipeline, start it again, then run keylake"
                    " resnapshot."
                )
            if not create.columns:
                return
            known = made(name, create, self._key(name, create.key))
        self._tables[name] = known
        if self.takes(name):
            outcome.changes.append(TableCreated(known.schema))
            outcome.touched.add(name)

    def _alter(self, alter: Alter, outcome: Outcome, *, is_strict: bool) -> None:
        name = alter.table
        known = self._tables.get(name)
        if known is not None and self.watches(name):
            then, changes, filled = altered(known, alter, is_strict=is_strict)
            if self._ghost_of(name) is not None:
                then = replace(then, changes=None if then.changes is None else (*then.changes, *changes))
            else:
                outcome.changes.extend(changes)
                outcome.touched.add(name)
                if filled:
                    outcome.again.add(name)
            key = then.schema.key if alter.key is None else self._key(name, alter.key)
            self._tables[name] = replace(then, schema=replace(then.schema, key=key))
            if alter.key is not None and self.takes(name):
                outcome.changes.append(KeyChanged(then.schema.table, key))
                outcome.touched.add(name)
                outcome.again.add(name)  # chunks are ranges of the key
        if alter.made is not None:
            self._create(Create(alter.made, like=name), outcome)
            self._reread([alter.made], outcome)
        if alter.taken is not None:
            self._drop(alter.taken, outcome)
        self._reread(alter.unlogged, outcome)
        if alter.to is not None:
            self._rename(RenameTable(name, alter.to), outcome)

    def _rename(self, rename: RenameTable, outcome: Outcome) -> None:
        name, to = rename.table, rename.to
        known = self._tables.get(name)
        if known is not None and self.takes(name) and base_of_ghost(to[1]) == name[1] and to[0] == name[0]:
            self._aside[name] = self._tables.pop(name)
            return
        if self._ghost_of(name) == to and self._selection.takes(to):
            self._switch(name, to, outcome)
            return
        self._tables.pop(name, None)
        if known is None:  # the catalog is ahead of the log, or the log says what it is before its first rows
            if self.takes(name):
                outcome.changes.append(TableDropped(SourceTable(name)))
                outcome.touched.add(name)
            if to in self._tables and self.takes(to):
                outcome.again.add(to)
            return
        moved = replace(known, schema=replace(known.schema, table=SourceTable(to)))
        taken, takes = self._selection.takes(name) and base_of_ghost(name[1]) is None, self._selection.takes(to)
        if takes or self.watches(to):
            self._tables[to] = moved
        outcome.touched.update((name, to))
        if taken and takes:
            outcome.changes.append(TableRenamed(SourceTable(name), SourceTable(to)))
        elif taken:
            outcome.changes.append(TableDropped(SourceTable(name)))
        elif takes:
            outcome.changes.append(TableCreated(moved.schema))
            outcome.again.add(to)

    def _switch(self, ghost: Name, name: Name, outcome: Outcome) -> None:
        """A ghost takes the place of its table."""
        old = self._aside.pop(name, None) or self._tables.get(name)
        new = self._tables.pop(ghost, None)
        outcome.touched.add(name)
        if old is None:
            return
        table = old.schema.table
        if new is None:
            # Columns that are told twice are taken once.
            outcome.changes.extend(ColumnAdded(table, column) for column in old.schema.columns)
            outcome.again.add(name)
            self._tables[name] = replace(old, sure=False)
            return
        schema = old.schema
        changes: list[TableChange] = []
        for change in (of_table(table, each) for each in new.changes or ()):
            schema = changed(schema, change)
            changes.append(change)
        for change in list(difference(table, schema.columns, new.schema.columns)):
            schema = changed(schema, change)
            changes.append(change)
        if new.changes is None:
            changes += [ColumnAdded(table, column) for column in new.schema.columns]
        self._tables[name] = Known(replace(schema, columns=new.schema.columns), new.definitions, new.sure, new.defined)
        outcome.changes.extend(changes)
        if new.changes is None or any(isinstance(change, (ColumnAdded, ColumnModified)) for change in changes):
            outcome.again.add(name)

    def _drop(self, name: Name, outcome: Outcome) -> None:
        self._refused.pop(name, None)
        taken = self.takes(name)
        self._tables.pop(name, None)
        if taken:  # the catalog, which is ahead of the log, may lack it
            outcome.changes.append(TableDropped(SourceTable(name)))
            outcome.touched.add(name)
