"""Changes of source tables, made in the keyed tables between two batches.

    change ── seen before? ── schema then ── shaped ── Alteration ── alter

`evolve` makes every change, and sets the table aside at one that cannot be made. `try_evolve` goes on there, and says
so. `lenient` goes on, too, and takes nothing away: columns are added and widened, a column that is dropped or renamed
stays, with the values that it had, and so do the rows of a table that is truncated or dropped; a column of another type
sets the table aside there, too. `ignore` makes none, and `exception` ends the pipeline at the first. A keyed table that
keeps rows of a dropped table is set aside (`asides`). Tables that are created are created always, and another key is
followed by none: rows would be taken for others.
"""

# pyright: reportUnknownParameterType=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

import functools
import logging
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
from pyiceberg.types import StringType

from keylake.errors import BadRows, DefinitionError, KeylakeError, SchemaMismatch, Unsupported
from keylake_pipelines.runner.evolution import (
    Alteration,
    Made,
    after_change,
    alteration,
    holds,
    table_of,
    texts_for_bytes,
)
from keylake_pipelines.runner.rereads import Rereads
from keylake_pipelines.runner.settings import RunSettings, Target
from keylake_pipelines.runner.state import StateTable, TableState
from keylake_pipelines.runner.targets import Targets
from keylake_pipelines.runner.waiting import Waiting
from keylake_pipelines.source.members import Rewriting
from keylake_pipelines.source.tables import (
    ColumnAdded,
    ColumnDropped,
    ColumnModified,
    ColumnRenamed,
    KeyChanged,
    SourceSchema,
    SourceTable,
    TableChange,
    TableCreated,
    TableDropped,
    TableRefused,
    TableRenamed,
    TableReread,
    TableTruncated,
)

LOG = logging.getLogger("keylake")


_OF_COLUMNS = (ColumnAdded, ColumnDropped, ColumnModified, ColumnRenamed)


class Changes:
    """Makes the changes of source tables in the keyed tables, and keeps what it made in the state."""

    def __init__(self, settings: RunSettings, state: StateTable, targets: Targets, rereads: Rereads) -> None:
        self._settings = settings
        self._state = state
        self._targets = targets
        self._rereads = rereads

    def is_done(self, made: Made, target: str, *, aside: bool) -> bool:
        """A change was made in a keyed table before, or leaves it as it is.

        What is known of a table that is set `aside` is how it was then: of its changes only the places tell.
        """
        known = self._known(made.change, target)
        if isinstance(made.change, TableCreated) and (not aside or made.change.schema.refused):
            return aside or known is not None
        if isinstance(made.change, TableRefused):
            return aside or known is None  # which no place of the log tells
        if known is None:
            return not aside  # it was dropped since
        if (
            not aside
            and isinstance(made.change, (*_OF_COLUMNS, KeyChanged))
            and after_change(known.schema, made.change) == known.schema
        ):
            return True
        # Of the partitions of a step some may be of snapshots, which have other names when they are begun again.
        known_ends = [(known.done[p], (end, made.number)) for p, end in made.ends.items() if p in known.done]
        return bool(known_ends) and all(done >= this for done, this in known_ends)

    def make(self, made: Made, target: Target) -> None:
        """Make a change in a keyed table, and keep that it is made."""
        change = made.change
        if isinstance(change, TableCreated):
            self._create(change.schema, target)
            if change.filled:
                self._rereads.ask(target.table)
            return
        known = self._known(change, target.table)
        assert known is not None
        then = after_change(known.schema, change)
        self._evolve(made, target.table, known, then)
        self._keep(made, target.table, known, then)

    def make_together(self, run: Sequence[Made], target: str) -> bool:
        """Make changes of columns as one change of a keyed table; false where one of them cannot be made.

        Nothing is made then, and each has to be made alone: what was wrong with one is told of this one.
        """
        if self._settings.behaviour == "exception":
            return False
        known = self._known(run[0].change, target)
        assert known is not None
        then = functools.reduce(after_change, (made.change for made in run), known.schema)
        if self._settings.behaviour == "ignore":
            for made in run:
                LOG.info("%s: %s; %s stays as it is", self._settings.name, _told(made.change), target)
        else:
            try:
                self._alter([made.change for made in run], target, known, then)
            except (SchemaMismatch, DefinitionError, Unsupported):
                return False
        self._keep(run[-1], target, known, then)
        return True

    def _keep(self, made: Made, target: str, known: TableState, then: SourceSchema) -> None:
        self._state.tables.pop((str(table_of(made.change)), target), None)
        if not isinstance(made.change, TableDropped):
            done = {**known.done, **{partition: (end, made.number) for partition, end in made.ends.items()}}
            former = (known.former | self._names(known.schema)) - self._names(then)
            self._state.tables[str(then.table), target] = TableState(then, done, former)
            self._forget_dropped(target)
        self._state.write()

    def _forget_dropped(self, target: str) -> None:
        """A column that the keyed table has no more is new to all of its source tables when it comes again."""
        has = self._has(target)
        for pair, each in self._state.tables.items():
            if pair[1] == target and not each.former <= has:
                self._state.tables[pair] = replace(each, former=each.former & has)

    def strands(self, change: TableChange, target: str) -> bool:
        """A change leaves a keyed table with rows and without a source table."""
        if not isinstance(change, TableDropped) or self._settings.behaviour not in ("lenient", "ignore"):
            return False
        return not self._sharing(target, str(change.table))

    def unrenamed(self, changes: Sequence[TableChange]) -> list[TableChange]:
        """A table whose new name belongs to another keyed table is one that goes, and one that comes.

        All of a step go first: names may be swapped.
        """
        gone: list[TableChange] = []
        others: list[TableChange] = []
        moved: dict[SourceTable, SourceSchema] = {}
        for change in changes:
            if isinstance(change, TableRenamed) and self._moves(change):
                schema = moved.pop(change.table, None)  # the name may be one in between
                if schema is None:
                    gone.append(TableDropped(change.table))
                    schema = self._after(change.table, others)
                if schema is not None:
                    moved[change.to] = replace(schema, table=change.to)
            elif table_of(change) in moved and isinstance(change, (*_OF_COLUMNS, KeyChanged)):
                moved[table_of(change)] = after_change(moved[table_of(change)], change)
            else:
                others.append(change)
        return [*gone, *others, *(TableCreated(schema, filled=True) for schema in moved.values())]

    def _after(self, table: SourceTable, changes: Sequence[TableChange]) -> SourceSchema | None:
        """The schema that is known of a table, after changes of its columns that are not made yet."""
        known = (each.schema for (name, _), each in self._state.tables.items() if name == str(table))
        schema = next(known, None)
        for change in changes:
            if schema is not None and isinstance(change, (*_OF_COLUMNS, KeyChanged)) and table_of(change) == table:
                schema = after_change(schema, change)
        return schema

    def _moves(self, change: TableRenamed) -> bool:
        targets = self._settings.shaping.targets
        return {each.table for each in targets(change.table)} != {each.table for each in targets(change.to)}

    def shaped(self, target: str, waiting: Waiting) -> pa.Table:
        """The rows for a keyed table: without columns of their source that it has not, and as text where it has text.

        A change of columns was not made in it, or somebody has given one another type.
        """
        shaping = self._settings.shaping
        there = {column.name.lower(): column.type for column in self._targets.spec(target).columns}
        parts: list[pa.Table] = []
        for name, rows in waiting.by_source():
            schema = self._state.tables[name, target].schema
            columns = shaping.schema(schema).columns
            more = [column.name for column in columns if column.name.lower() not in there]
            texts = [
                column.name
                for column in columns
                if isinstance(there.get(column.name.lower()), StringType) and not isinstance(column.type, StringType)
            ]
            shaped = shaping.rows(schema, rows)
            parts.append(Rewriting(texts=texts, without=more).rows(shaped) if more or texts else shaped)
        return pa.concat_tables(parts)

    def _known(self, change: TableChange, target: str) -> TableState | None:
        """The state of the table that changes, also if it was renamed by this very change."""
        found = self._state.tables.get((str(table_of(change)), target))
        if found is None and isinstance(change, TableRenamed):
            return self._state.tables.get((str(change.to), target))
        return found

    def _create(self, schema: SourceSchema, target: Target) -> None:
        """A source table that is seen for the first time; the keyed table may be there, with rows of others."""
        if schema.refused:
            raise DefinitionError(schema.refused)
        shaped = self._settings.shaping.schema(schema)
        spec = self._targets.create(target, shaped)
        words = alteration(shaped, spec, keep=True)
        if words and self._settings.behaviour in ("ignore", "exception"):
            raise SchemaMismatch(
                f"{target.table} lacks columns that {schema.table} has, {', '.join(words.add) or 'or wider types'}, "
                f"and schema.change.behavior is {self._settings.behaviour}. Add them with alter, or use evolve."
            )
        # The columns of a database are of the types that they say.
        if self._settings.rereads and (unlike := texts_for_bytes(shaped, spec)):
            raise OtherType("; ".join(unlike))
        if words:
            self._targets.alter(target.table, words)
        self._state.tables[str(schema.table), target.table] = TableState(schema)

    def _evolve(self, made: Made, target: str, known: TableState, then: SourceSchema) -> None:
        """Do with a change what is to be done with changes."""
        behaviour, told = self._settings.behaviour, _told(made.change)
        if isinstance(made.change, TableReread):
            self._rereads.done(made.change, target)
            return
        if isinstance(made.change, TableRefused):
            raise SchemaMismatch(made.change.reason)
        if isinstance(made.change, KeyChanged):
            self._refuse_key(target, known.schema, then)
            return
        if behaviour == "exception":
            if self._is_there(made.change, target, known.schema, then):
                return
            raise SchemaMismatch(
                f"{told}, and schema.change.behavior is exception. Change {target} by hand, or use evolve."
            )
        if self.strands(made.change, target):
            return
        if behaviour == "ignore":
            LOG.info("%s: %s; %s stays as it is", self._settings.name, told, target)
            return
        try:
            self._change(made, target, known, then)
        except (SchemaMismatch, DefinitionError, Unsupported) as error:
            if behaviour == "evolve" or (behaviour == "lenient" and isinstance(error, OtherType)):
                kind = OtherType if isinstance(error, OtherType) else SchemaMismatch
                raise kind(f"{told}, and {target} cannot follow: {error}") from error
            LOG.warning("%s: %s, and %s goes on without it: %s", self._settings.name, told, target, error)

    def _refuse_key(self, target: str, before: SourceSchema, then: SourceSchema) -> None:
        """Rows of another key would be taken for each other, unless the keyed table has a key of its own."""
        old, new = (self._settings.shaping.schema(each).key for each in (before, then))
        if {name.lower() for name in old} != {name.lower() for name in new}:
            raise _of_another_key(then.table, new, target, old)

    def explained(self, target: str, error: KeylakeError) -> KeylakeError:
        """The reason why a keyed table took no rows: other types in its source table, or else the error alone."""
        if not isinstance(error, BadRows) or not self._targets.is_there(target):
            return error
        spec = self._targets.spec(target)
        types = {name.lower(): spec.column(name).type for name in spec.key}
        for known in [each.schema for (_, to), each in self._state.tables.items() if to == target]:
            shaped = self._settings.shaping.schema(known)
            of_key = {each.name.lower(): each.type for each in shaped.columns if each.name.lower() in types}
            if any(not holds(types[name], type_) for name, type_ in of_key.items()):
                old, new = ([f"{name} ({each[name]})" for name in of_key] for each in (types, of_key))
                return _of_another_key(known.table, new, target, old)
            refused = alteration(shaped, spec, keep=True).refused
            if refused:
                return OtherType(f"{str(error).rstrip('.')}. {'; '.join(refused)}.")
        return error

    def _change(self, made: Made, target: str, known: TableState, then: SourceSchema) -> None:
        change = made.change
        match change:
            case TableTruncated() | TableDropped():
                self._empty(made, target)
            case TableRenamed():
                pass  # both names belong to one keyed table
            case _:
                self._alter([change], target, known, then)

    def _alter(self, changes: Sequence[TableChange], target: str, known: TableState, then: SourceSchema) -> None:
        """Change the columns of a keyed table; of several changes all, or none."""
        told = _told(changes[0])
        if len(changes) > 1:
            told = f"{len(changes)} columns of {then.table} were added, modified or dropped"
        has = self._has(target)
        words = self._words(target, known.schema, then, changes[0])
        if words and not (words.refused and len(changes) > 1):
            self._targets.alter(target, words)
            LOG.info("%s: %s; so has %s", self._settings.name, told, target)
        if words.refused:
            raise OtherType("; ".join(words.refused))
        # A column of the new name has no values of the old one, and one that stayed has those of before it was dropped.
        # One that other source tables have had all the while stayed only if this one had it, too.
        stayed = (self._names(then) - self._names(known.schema)) & has
        if self._sharing(target, str(then.table)):
            stayed &= known.former
        if words.copied or stayed:
            try:
                self._rereads.ask(target)
            except Unsupported as error:
                LOG.warning("%s: %s, and rows of %s from before stay: %s", self._settings.name, told, target, error)

    def check_types(self, target: str, before: SourceSchema, then: SourceSchema) -> None:
        """Refuse columns that have another type than was known, and that the keyed table cannot follow.

        Some values would be read as if nothing had changed: text as base64, or without the zeros before a number.
        """
        if self._targets.is_there(target) and (refused := self._words(target, before, then).refused):
            raise OtherType("; ".join(refused))

    def keep_former(self, target: str, before: TableState) -> None:
        """Columns that a source table had until it was read anew are still in rows of the keyed table."""
        pair = (str(before.schema.table), target)
        now = self._state.tables[pair]
        former = (before.former | self._names(before.schema)) - self._names(now.schema)
        self._state.tables[pair] = replace(now, former=former & self._has(target))

    def _words(
        self, target: str, before: SourceSchema, then: SourceSchema, change: TableChange | None = None
    ) -> Alteration:
        """The alteration of a keyed table for other columns; of a rename only the change says that it is one."""
        shaped = self._settings.shaping.schema(then)
        known = {column.name.lower(): column for column in self._settings.shaping.schema(before).columns}
        old = {lower: column.name for lower, column in known.items()}
        new = {column.name.lower() for column in shaped.columns}
        renamed: dict[str, str] = {}
        if isinstance(change, ColumnRenamed) and change.name.lower() in old.keys() - new and change.to.lower() in new:
            renamed = {change.name: change.to}
        return alteration(
            shaped,
            self._targets.spec(target),
            dropped=[name for lower, name in old.items() if lower not in new and name not in renamed],
            renamed=renamed,
            others=[c.name for each in self._sharing(target, str(before.table)) for c in each.columns],
            only=[column.name for column in shaped.columns if known.get(column.name.lower()) != column],
            keep=self._settings.behaviour == "lenient",
        )

    def _is_there(self, change: TableChange, target: str, before: SourceSchema, then: SourceSchema) -> bool:
        """Somebody has made the change in the keyed table by hand."""
        match change:
            case TableTruncated() | TableDropped():
                return self._targets.is_empty(target)
            case TableRenamed():
                return True
            case _:
                words = self._words(target, before, then, change)
                return not words and not words.refused

    def _sharing(self, target: str, source: str) -> list[SourceSchema]:
        """The schemas of other source tables of a keyed table."""
        shaping = self._settings.shaping
        tables = self._state.tables.items()
        return [shaping.schema(each.schema) for (name, to), each in tables if to == target and name != source]

    def _has(self, target: str) -> set[str]:
        """The names of the columns of a keyed table, in small letters."""
        return {column.name.lower() for column in self._targets.spec(target).columns}

    def _names(self, schema: SourceSchema) -> set[str]:
        """The names of the columns of a source table in its keyed tables, in small letters."""
        return {column.name.lower() for column in self._settings.shaping.schema(schema).columns}

    def _empty(self, made: Made, target: str) -> None:
        told = _told(made.change)
        if self._settings.behaviour == "lenient":
            LOG.warning("%s: %s; the rows of %s stay (lenient)", self._settings.name, told, target)
            return
        sharing = self._sharing(target, str(table_of(made.change)))
        if sharing:
            raise Unsupported(f"it has rows of {sharing[0].table}, too, which stay")
        at = ", ".join(f"{partition}@{end}" for partition, end in sorted(made.ends.items()))
        self._targets.empty(target, f"{self._settings.name}: {told} at {at}")
        LOG.info("%s: %s; %s is empty", self._settings.name, told, target)


class OtherType(SchemaMismatch):
    """A column has another type or place now than the keyed table can give it: another reading would end there, too."""


def _of_another_key(table: SourceTable, new: Sequence[str], target: str, old: Sequence[str]) -> SchemaMismatch:
    return SchemaMismatch(
        f"Source table {table} has the key {', '.join(new) or '(none)'} now, and keyed table {target} has "
        f"{', '.join(old)}, which stays. Drop or rename {target}, and let keylake resnapshot make it anew; "
        "or name a key in the pipeline (transform: primary-keys)."
    )


def _told(change: TableChange) -> str:
    table = table_of(change)
    match change:
        case ColumnRenamed(name=name, to=to):
            return f"column {name!r} of {table} is called {to!r} now"
        case TableRenamed(to=to):
            return f"{table} is called {to} now"
        case KeyChanged(key=key):
            return f"{table} has the key {', '.join(key)} now"
        case TableRefused():
            return f"{table} cannot be read any more"
        case TableReread():
            return f"{table} was read once more"
        case TableTruncated():
            return f"{table} was truncated"
        case TableDropped():
            return f"{table} was dropped"
        case TableCreated():
            return f"{table} was created"
        case ColumnDropped(name=name):
            return f"column {name!r} of {table} was dropped"
        case ColumnAdded(column=column):
            return f"column {column.name!r} of {table} is new"
        case ColumnModified(column=column):
            return f"column {column.name!r} of {table} was modified"
