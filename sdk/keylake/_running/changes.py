"""Changes of source tables, made in the keyed tables between two batches.

    change ── seen before? ── schema then ── shaped ── Alteration ── alter

`evolve` makes every change, and ends the pipeline at one that cannot be made. `try_evolve` goes on there, and says so.
`lenient` goes on, too, and takes nothing away: columns are added and widened, a column that is dropped or renamed
stays, with the values that it had, and so do the rows of a table that is truncated or dropped. `ignore` makes none, and
`exception` ends the pipeline at the first. Tables that are created are created always.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace

from keylake._captured.tables import (
    ColumnAdded,
    ColumnDropped,
    ColumnModified,
    ColumnRenamed,
    SourceSchema,
    TableChange,
    TableCreated,
    TableDropped,
    TableRenamed,
    TableTruncated,
)
from keylake._running.evolution import after_change, alteration, table_of
from keylake._running.settings import RunSettings, Target
from keylake._running.state import Done, StateTable, TableState
from keylake._running.targets import Targets
from keylake.errors import DefinitionError, SchemaMismatch, Unsupported

LOG = logging.getLogger("keylake")


_OF_COLUMNS = (ColumnAdded, ColumnDropped, ColumnModified, ColumnRenamed)


class Changes:
    """Makes the changes of source tables in the keyed tables, and keeps what it made in the state."""

    def __init__(self, settings: RunSettings, state: StateTable, targets: Targets) -> None:
        self._settings = settings
        self._state = state
        self._targets = targets

    def known(self, change: TableChange) -> TableState | None:
        """What is known of the table that changes, also if it was renamed by this very change."""
        found = self._state.tables.get(str(table_of(change)))
        if found is None and isinstance(change, TableRenamed):
            return self._state.tables.get(str(change.to))
        return found

    def is_done(self, change: TableChange, ends: Mapping[str, int], number: int) -> bool:
        """Whether the change, the so-manyth of the step with these ends, was made before."""
        known = self.known(change)
        if isinstance(change, TableCreated):
            return known is not None
        if known is None:
            return True  # it was dropped since, or the table is not wanted
        if isinstance(change, _OF_COLUMNS) and after_change(known.schema, change) == known.schema:
            return True
        nothing: Done = (-1, 0)
        return bool(ends) and all(known.done.get(p, nothing) >= (end, number) for p, end in ends.items())

    def note(self, change: TableChange, ends: Mapping[str, int], number: int, schema: SourceSchema | None) -> None:
        """Keep that a change is made, with the columns of the source table since; None: it is gone."""
        known, source = self.known(change), str(table_of(change))
        assert known is not None
        self._state.tables.pop(source, None)
        if schema is not None:
            done = {**known.done, **{partition: (end, number) for partition, end in ends.items()}}
            self._state.tables[str(schema.table)] = replace(known, schema=schema, done=done)
        self._state.write()

    def create(self, schema: SourceSchema, target: Target) -> None:
        """A source table that is seen for the first time; the keyed table may be there, with rows of others."""
        shaped = self._settings.shaping.schema(schema)
        spec = self._targets.create(target, shaped)
        words = alteration(shaped, spec, keep=True)
        if words and self._settings.behaviour in ("ignore", "exception"):
            raise SchemaMismatch(
                f"{target.table} lacks columns that {schema.table} has, {', '.join(words.add) or 'or wider types'}, "
                f"and schema.change.behavior is {self._settings.behaviour}. Add them with alter, or use evolve."
            )
        if words:
            self._targets.alter(target.table, words)
        self._state.tables[str(schema.table)] = TableState(target.table, schema)

    def make(self, change: TableChange, target: str, ends: Mapping[str, int]) -> SourceSchema | None:
        """Make a change in its keyed table; returns the columns of the source table since, None where it is gone."""
        known = self.known(change)
        assert known is not None
        behaviour = self._settings.behaviour
        then = after_change(known.schema, change)
        if behaviour == "exception":
            raise SchemaMismatch(
                f"{_told(change)}, and schema.change.behavior is exception. Change {target} by hand, or use evolve."
            )
        if behaviour == "ignore":
            LOG.info("%s: %s; %s stays as it is", self._settings.name, _told(change), target)
        else:
            try:
                self._change(change, target, known.schema, then, ends)
            except (SchemaMismatch, DefinitionError, Unsupported) as error:
                if behaviour == "evolve":
                    raise SchemaMismatch(f"{_told(change)}, and {target} cannot follow: {error}") from error
                LOG.warning("%s: %s, and %s goes on without it: %s", self._settings.name, _told(change), target, error)
        return None if isinstance(change, TableDropped) else then

    def _change(
        self, change: TableChange, target: str, before: SourceSchema, then: SourceSchema, ends: Mapping[str, int]
    ) -> None:
        match change:
            case TableTruncated() | TableDropped():
                self._empty(change, target, ends)
            case TableRenamed(to=to):
                wanted = self._settings.shaping.target(to)
                if wanted is None or wanted.table != target:
                    where = wanted.table if wanted else "no table"
                    raise Unsupported(f"its rows would go to {where} from now on. Route both names to one table")
            case _:
                self._alter(change, target, before, then)

    def _alter(self, change: TableChange, target: str, before: SourceSchema, then: SourceSchema) -> None:
        shaped = self._settings.shaping.schema(then)
        old = {column.name.lower(): column.name for column in self._settings.shaping.schema(before).columns}
        new = {column.name.lower() for column in shaped.columns}
        renamed: dict[str, str] = {}
        if isinstance(change, ColumnRenamed) and change.name.lower() in old.keys() - new and change.to.lower() in new:
            renamed = {change.name: change.to}
        gone = [name for lower, name in old.items() if lower not in new and name not in renamed]
        lenient = self._settings.behaviour == "lenient"
        others = [column.name for each in self._sharing(target, str(table_of(change))) for column in each.columns]
        spec = self._targets.spec(target)
        words = alteration(shaped, spec, dropped=gone, renamed=renamed, others=others, keep=lenient)
        if words:
            self._targets.alter(target, words)
            LOG.info("%s: %s; so has %s", self._settings.name, _told(change), target)
        if words.refused:
            raise SchemaMismatch("; ".join(words.refused))

    def _sharing(self, target: str, source: str) -> list[SourceSchema]:
        """The schemas of other source tables of a keyed table."""
        shaping = self._settings.shaping
        tables = self._state.tables.items()
        return [shaping.schema(each.schema) for name, each in tables if each.target == target and name != source]

    def _empty(self, change: TableChange, target: str, ends: Mapping[str, int]) -> None:
        if self._settings.behaviour == "lenient":
            LOG.warning("%s: %s; the rows of %s stay (lenient)", self._settings.name, _told(change), target)
            return
        sharing = self._sharing(target, str(table_of(change)))
        if sharing:
            raise Unsupported(f"it has rows of {sharing[0].table}, too, which stay")
        at = ", ".join(f"{partition}@{end}" for partition, end in sorted(ends.items()))
        self._targets.empty(target, f"{self._settings.name}: {_told(change)} at {at}")
        LOG.info("%s: %s; %s is empty", self._settings.name, _told(change), target)


def _told(change: TableChange) -> str:
    table = table_of(change)
    match change:
        case ColumnRenamed(name=name, to=to):
            return f"column {name!r} of {table} is called {to!r} now"
        case TableRenamed(to=to):
            return f"{table} is called {to} now"
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
