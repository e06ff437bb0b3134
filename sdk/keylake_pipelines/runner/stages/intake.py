"""The intake of steps: their rows wait for keyed tables, then their changes are made, behind the rows before them.

    step ── rows that cannot be read: dead letters ── rows that tables have already: left out ── others: the batch

A change ends the batch of its keyed table, which is written first.
"""

# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from keylake.errors import BadRows
from keylake_pipelines.runner.evolution import Made, runs, table_of
from keylake_pipelines.runner.stages.batch import Batch
from keylake_pipelines.runner.stages.run import Run
from keylake_pipelines.runner.stages.writing import Writing
from keylake_pipelines.runner.waiting import by_table, offsets_in
from keylake_pipelines.source.source import CHANGES, Step
from keylake_pipelines.source.tables import SourceSchema, SourceTable, TableCreated


class Intake:
    """The way of steps into a batch, and from there into keyed tables."""

    def __init__(self, run: Run, batch: Batch, writing: Writing) -> None:
        self._run = run
        self._batch = batch
        self._writing = writing
        self._offered: dict[str, SourceSchema] = {}  # the tables of the source, where it knows them

    def begin(self, schemas: Iterable[SourceSchema]) -> None:
        """The source begins with these tables; a first run has the keyed tables created before there are rows."""
        self._offered = {str(schema.table): schema for schema in schemas}
        if not self._run.state.positions:  # or the log since then says how tables came to be as they are now
            self._writing.prepare(self._offered.values())

    def take(self, step: Step) -> int:
        """Let the rows of a step wait for their tables, then make its changes; returns how many rows it has."""
        rows = CHANGES.empty_table() if step.rows is None else step.rows
        bad = rows.filter(pc.is_valid(rows["error"]))
        is_row = pc.and_(pc.is_valid(bad["table"]), pc.is_valid(bad["op"]))
        # Messages say nothing of a row, and their trouble is their own.
        self._run.keep("", bad.filter(pc.invert(is_row)), None)
        parts = list(by_table(rows.filter(pc.is_null(rows["error"]))))
        known, state = {name for name, _ in parts}, self._run.state
        self._writing.targets.open(to for name, to in state.tables if name in known and to not in state.targets)
        for name, part in by_table(bad.filter(is_row)):
            self._wait(name, part, bad=True)
        for name, part in parts:
            self._wait(name, part)
        for partition, end in step.ends.items():
            state.check_grows(partition, end)
            self._batch.reach(partition, end)
        changes = self._writing.changes.unrenamed(step.changes)
        for run in runs(Made(change, step.ends, number) for number, change in enumerate(changes)):
            self._change(run)
        return int(rows.num_rows)

    def _wait(self, name: str, rows: pa.Table, *, bad: bool = False) -> None:
        """The rows of a source table wait for its keyed tables, without those that these have already."""
        state, targets = self._run.state, self._writing.targets
        schema = self._offered.get(name)
        table = SourceTable(tuple(name.split("."))) if schema is None else schema.table
        for target in self._run.settings.shaping.targets(table):
            if (name, target.table) not in state.tables and schema is not None:
                self._writing.make(Made(TableCreated(schema), {}, 0), target)
            new = rows
            if target.table not in state.targets:
                if (name, target.table) not in state.tables:
                    self._run.keep(target.table, rows, f"The columns of {name} are not known.")
                    continue
                new = targets.new_rows(target.table, rows)
            if new.num_rows and bad:
                self._refuse(target.table, new)
            elif new.num_rows:
                self._batch.add(target.table, name, new)

    def _refuse(self, target: str, rows: pa.Table) -> None:
        """Rows with a value that no column holds set their table aside: it would keep older rows in silence."""
        if target not in self._run.state.targets:
            self._writing.write([target])
            since = {partition: first for partition, (first, _) in offsets_in(rows).items()}
            self._writing.asides.add(target, since, BadRows(str(rows["error"][0])))
        self._run.keep(target, rows, None)

    def _change(self, run: Sequence[Made]) -> None:
        """Make changes of a source table in each of its keyed tables, behind the rows that came before them."""
        change, writing = run[0].change, self._writing
        if isinstance(change, TableCreated):
            self._offered[str(change.schema.table)] = change.schema
        for target in self._run.settings.shaping.targets(table_of(change)):
            aside = writing.asides.keeps(target.table)
            to_do = [made for made in run if not writing.changes.is_done(made, target.table, aside=aside)]
            if to_do:
                writing.write([target.table])
                writing.make_all(to_do, target)
