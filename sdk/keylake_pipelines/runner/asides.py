"""Keyed tables that are set aside, and the ways on: with the rows that were kept, without these, or by a snapshot."""

# pyright: reportUnknownParameterType=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

import pyarrow as pa

from keylake.errors import (
    Cancelled,
    CommitConflict,
    KeylakeError,
    PipelineBusy,
    ServerUnreachable,
    StoreFailed,
    Unsupported,
)
from keylake_pipelines.runner.changes import Changes, OtherType
from keylake_pipelines.runner.dead_letters import DeadLetters
from keylake_pipelines.runner.evolution import Made, table_of
from keylake_pipelines.runner.rereads import Rereads
from keylake_pipelines.runner.settings import RunSettings, Target
from keylake_pipelines.runner.state import StateTable, TargetState
from keylake_pipelines.runner.targets import Targets
from keylake_pipelines.runner.waiting import Waiting, by_table, offsets_in
from keylake_pipelines.source.tables import SourceSchema, TableCreated

LOG = logging.getLogger("keylake")
# After other errors a table is set aside.
OF_NO_TABLE = (ServerUnreachable, StoreFailed, CommitConflict, Cancelled, PipelineBusy)


class Asides:
    """Sets keyed tables aside, and lets them go on."""

    def __init__(
        self,
        settings: RunSettings,
        state: StateTable,
        dead: DeadLetters,
        targets: Targets,
        changes: Changes,
        rereads: Rereads,
    ) -> None:
        self._settings = settings
        self._state = state
        self._dead = dead
        self._targets = targets
        self._changes = changes
        self._rereads = rereads
        self.rows = 0  # that were kept and are written

    def add(self, name: str, since: Mapping[str, int], error: KeylakeError, *, anew: bool = False) -> None:
        """Set a keyed table aside since these offsets; `anew` where it goes on only when it is read once more."""
        error = self._changes.explained(name, error)
        state = self._state.targets[name] = TargetState(dict(since), str(error))
        pipeline = self._settings.name
        resume = "" if anew else f"keylake resume {pipeline} {name} (skip: without its rows)"
        rereads = anew or (self._settings.rereads and not isinstance(error, OtherType))
        reread = f"keylake resnapshot {pipeline} {name}" if rereads else ""
        ways = ", or ".join(filter(None, (resume, reread)))
        LOG.error("%s: %s is %s. The way on: %s", pipeline, name, str(state).rstrip("."), ways)

    def keeps(self, name: str) -> bool:
        """A keyed table is set aside until somebody lets it go on, and changes of its sources are kept."""
        aside = self._state.targets.get(name)
        return aside is not None and not aside.gone

    def make(self, made: Made, target: Target) -> None:
        """Make a change in a keyed table. One that is left with rows and without a source table is set aside.

        It goes on by itself, and is read once more, when the source has such a table again.
        """
        name, change = target.table, made.change
        before = self._state.targets.get(name)
        strands = self._changes.strands(change, name)
        if strands:  # before the change is kept as made: a run that is cut off between them would not tell of it
            self._strand(name, f"{table_of(change)} was dropped in the source, or has another name", made.ends)
        try:
            self._changes.make(made, target)
        except KeylakeError:
            if before is None:
                self._state.targets.pop(name, None)
            else:
                self._state.targets[name] = before
            raise
        if before is not None and before.gone and not strands:
            LOG.info("%s: %s has the source table %s again, and goes on", self._settings.name, name, table_of(change))
            del self._state.targets[name]
            self._read_once_more(name)
            self._state.write()

    def _strand(self, name: str, why: str, since: Mapping[str, int]) -> None:
        pipeline = self._settings.name
        reason = (
            f"{why}. Its rows stay in {name}. The table goes on, and is read once more, when the source has it again; "
            f"to leave it as it is, run keylake forget {pipeline} {name}."
        )
        self._state.targets[name] = TargetState(dict(since), reason, gone=True)
        LOG.warning("%s: %s is set aside: %s", pipeline, name, reason)

    def resume(self, name: str, *, with_rows: bool = True) -> None:
        """Write the rows that were kept of a table, and make the changes between them; then it goes on."""
        aside = self._state.targets[name]
        if aside.gone:
            LOG.warning("%s: %s stays %s", self._settings.name, name, aside)
            return
        self._targets.forget(name)
        try:
            for place, kept in self._dead.kept(name):
                if not isinstance(kept, pa.Table):
                    self._change(name, kept)
                elif with_rows:
                    self._write(name, kept)
                self._dead.forget(name, place)
        except KeylakeError as error:
            if isinstance(error, OF_NO_TABLE):
                raise
            reason = str(self._changes.explained(name, error))
            self._state.targets[name] = TargetState(aside.aside, reason)
            LOG.error("%s: %s stays set aside: %s", self._settings.name, name, reason)
        else:
            if self._state.targets.get(name) is aside:  # or one of the changes was that its source table is gone
                del self._state.targets[name]
                LOG.info("%s: %s goes on", self._settings.name, name)
        self._state.write()

    def _change(self, name: str, kept: Made) -> None:
        for target in self._settings.shaping.targets(table_of(kept.change)):
            if target.table == name and not self._changes.is_done(kept, name, aside=False):
                self.make(kept, target)

    def _write(self, name: str, rows: pa.Table) -> None:
        rows = self._targets.new_rows(name, rows)
        waiting = Waiting(0.0)
        for source, part in by_table(rows):
            waiting.add(source, part)
        if rows.num_rows:
            ends = {partition: end for partition, (_, end) in offsets_in(rows).items()}
            for error in self._targets.write({name: self._changes.shaped(name, waiting)}, ends).values():
                raise error
            self.rows += rows.num_rows

    def resnapshot(self, name: str, offered: Iterable[SourceSchema]) -> None:
        """Read the source tables of a keyed table once more, as they are now; what was kept of it is not needed."""
        self._targets.forget(name)
        before = self._state.targets.pop(name, None)
        known = {key: self._state.tables.pop(key) for key in list(self._state.tables) if key[1] == name}
        try:
            for schema in offered:
                for target in self._settings.shaping.targets(schema.table):
                    if target.table == name:
                        earlier = known.get((str(schema.table), name))
                        if earlier is not None:
                            self._changes.check_types(name, earlier.schema, schema)
                        self._changes.make(Made(TableCreated(schema), {}, 0), target)
                        if earlier is not None:
                            self._changes.keep_former(name, earlier)
            if (known or (before and before.gone)) and not self._has_source(name) and self._targets.is_there(name):
                self._strand(name, "The source has no table for it", {})
            self._rereads.ask(name)
        except KeylakeError as error:
            if isinstance(error, OF_NO_TABLE):
                raise
            self._state.tables |= known
            if before is not None and isinstance(error, Unsupported):  # it is no reason why it is set aside
                self._state.targets[name] = before
            if before is None or isinstance(error, Unsupported):
                LOG.error("%s: %s goes on as it was: %s", self._settings.name, name, error)
            else:
                self.add(name, before.aside, error)
        else:
            self._dead.forget_all(name)
        self._state.write()

    def _has_source(self, name: str) -> bool:
        return any(target == name for _, target in self._state.tables)

    def forget(self, name: str, offered: Iterable[SourceSchema]) -> None:
        """Drop what is known of a keyed table; source tables that go to it are new, and are read from their beginning.

        The keyed table itself, with its rows, is left as it is.
        """
        self._targets.forget(name)
        self._state.targets.pop(name, None)
        for key in [key for key in self._state.tables if key[1] == name]:
            del self._state.tables[key]
        self._dead.forget_all(name)
        self._state.write()
        try:
            for schema in offered:
                for target in self._settings.shaping.targets(schema.table):
                    if target.table == name:
                        self._changes.make(Made(TableCreated(schema), {}, 0), target)
        except KeylakeError as error:
            if isinstance(error, OF_NO_TABLE):
                raise
            self.add(name, {}, error)
        else:
            LOG.info("%s: %s is forgotten; source tables that go to it are new", self._settings.name, name)
            self._read_once_more(name)
        self._state.write()

    def _read_once_more(self, name: str) -> None:
        try:
            self._rereads.ask(name)
        except Unsupported as error:  # a source that has only what comes
            LOG.info("%s: %s goes on with what comes: %s", self._settings.name, name, error)
