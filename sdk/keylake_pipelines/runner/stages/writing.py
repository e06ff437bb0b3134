"""The keyed tables of a run, with what waits for them written and changes of their source tables made in them.

A table that cannot be written, or changed, is set aside, and its rows are kept; troubles of no one table are raised.
What is known of the tables holds since the positions that were kept, and is looked at again when the run begins there.
"""

# pyright: reportUnknownParameterType=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from keylake.errors import DefinitionError, KeylakeError
from keylake_pipelines.runner.asides import OF_NO_TABLE, Asides
from keylake_pipelines.runner.changes import Changes
from keylake_pipelines.runner.evolution import Made
from keylake_pipelines.runner.rereads import Rereads
from keylake_pipelines.runner.settings import NOTHING_REQUIRED, Required, Target
from keylake_pipelines.runner.stages.batch import Batch
from keylake_pipelines.runner.stages.run import Run
from keylake_pipelines.runner.targets import Targets
from keylake_pipelines.source.tables import KeyChanged, SourceSchema, TableCreated, TableRefused


class Writing:
    """The keyed tables that a batch is written to."""

    def __init__(self, run: Run, batch: Batch) -> None:
        settings, state = run.settings, run.state
        self._run = run
        self._batch = batch
        self.targets = Targets(run.lake, settings.name, self._required)
        rereads = Rereads(settings, state, run.source, self.targets)
        self.changes = Changes(settings, state, self.targets, rereads)
        self.asides = Asides(settings, state, run.dead, self.targets, self.changes, rereads)

    def _required(self, name: str) -> Required:
        """The conditions for the rows of a keyed table: those of the first source table that has some."""
        shaping = self._run.settings.shaping
        sources = (known.schema.table for (_, to), known in self._run.state.tables.items() if to == name)
        targets = (target for source in sources for target in shaping.targets(source) if target.table == name)
        return next((target.required for target in targets if target.required.require), NOTHING_REQUIRED)

    def prepare(self, offered: Iterable[SourceSchema]) -> None:
        """Create the keyed tables of these source tables."""
        shaping, state = self._run.settings.shaping, self._run.state
        new = [
            (target, schema)
            for schema in offered
            for target in shaping.targets(schema.table)
            if (str(schema.table), target.table) not in state.tables and target.table not in state.targets
        ]
        readable = [(target, schema) for target, schema in new if not schema.refused]
        self.targets.prepare((target, shaping.schema(schema)) for target, schema in readable)
        for target, schema in new:
            self.make(Made(TableCreated(schema), {}, 0), target)

    def make_all(self, run: Sequence[Made], target: Target) -> None:
        """Make changes in a keyed table: those of several columns as one, where each of them can be made."""
        together = len(run) > 1 and target.table not in self._run.state.targets
        if not (together and self.changes.make_together(run, target.table)):
            for made in run:
                self.make(made, target)

    def make(self, made: Made, target: Target) -> None:
        """Make a change in a keyed table, or set the table aside; the changes of one that is aside are kept."""
        if not self.asides.keeps(target.table):
            try:
                self.asides.make(made, target)
            except KeylakeError as error:
                # What a pipeline was told to end at ends it; else the trouble of a table is its own.
                behaviour = self._run.settings.behaviour
                is_told = behaviour == "exception" and not isinstance(made.change, TableCreated)
                if is_told or isinstance(error, OF_NO_TABLE):
                    raise
                # What was kept would fail in the same way, whatever somebody does in the source.
                anew = isinstance(made.change, (TableRefused, KeyChanged)) or isinstance(
                    error.__cause__, DefinitionError
                )
                self.asides.add(target.table, made.ends, error, anew=anew)
                self.make(made, target)
        elif made.ends or isinstance(made.change, TableRefused):
            self._run.dead.keep_change(target.table, made, self._run.state.targets[target.table].reason)

    def write(self, due: Iterable[str]) -> None:
        """Write what waits for these tables; rows of those that are set aside are kept."""
        state, steps = self._run.state, self._run.steps
        raw = self._batch.take(due)
        shaped: dict[str, pa.Table] = {}
        failed: dict[str, KeylakeError] = {}
        for name, waiting in raw.items():
            if name not in state.targets:
                try:
                    shaped[name] = self.changes.shaped(name, waiting)
                except KeylakeError as error:
                    failed[name] = error
        some = {name: rows for name, rows in shaped.items() if rows.num_rows}
        steps.register(some)
        complete = {} if self._run.lag.snapshots else {name: steps.watermark(name, some[name]) for name in some}
        failed |= self.targets.write(some, self._batch.ends, complete)
        passing = next((each for each in failed.values() if isinstance(each, OF_NO_TABLE)), None)
        if passing is not None:
            raise passing
        for name, reason in failed.items():
            self.asides.add(name, raw[name].first, reason)
        for name in raw.keys() & state.targets.keys():
            for _, rows in raw[name].by_source():
                self._run.keep(name, rows, state.targets[name].reason)
        self._run.rows += sum(rows.num_rows for name, rows in shaped.items() if name not in failed)
