"""Steps of a pipeline: files of SQL that are run for closed intervals of its keyed tables.

    rows of a batch ── newest event time, less what rows may be late ── the watermark of its commit ── intervals are
    closed ── a thread runs the steps that are due; their positions lie in the tables

A watermark says that a table is complete up to it. Rows that lie in a source, op `r`, say none, and while some of them
are still to come no batch says one. Of the partitions of a batch that with the oldest newest row counts: one that lags
behind has rows in every batch.
"""

# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

import contextlib
import datetime
import json
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.types import DateType, TimestampType, TimestamptzType

import keylake as kl
from keylake.errors import DefinitionError, KeylakeError
from keylake.extension import session_of

if TYPE_CHECKING:
    from keylake.lake import Lake
    from keylake.table import KeyedTable

LOG = logging.getLogger("keylake")
_UTC = pa.timestamp("us", tz="UTC")
_BETWEEN_LOOKS = 2.0  # seconds


@dataclass(frozen=True)
class TableStep:
    """A step, and where the rows of its table have their event time: a column, or when the source was changed.

    Rows may come so `late`. The first run begins with the interval of `since`, or with that of the first watermark.
    """

    step: kl.SqlStep
    event_time: str | None = None
    late: datetime.timedelta = datetime.timedelta(0)
    since: datetime.datetime | None = None


class Steps:
    """The steps of one run."""

    def __init__(self, lake: Lake, pipeline: str, steps: Sequence[TableStep], *, once: bool) -> None:
        self._lake = lake
        self._pipeline = pipeline
        self._left = list(steps)
        self._of_table = {each.step.table: each for each in steps}  # those of one table have the same event time
        self._once = once
        self._triggers = kl.Triggers(session_of(lake))
        self._told: kl.Fired | None = None
        self.failed: dict[str, str] = {}

    def register(self, tables: Collection[str]) -> None:
        """Register the steps of these tables, which are there; a run that goes on runs from then on what is due."""
        ready = [each for each in self._left if each.step.table in tables]
        for each in ready:
            self._check(each, self._lake.table(each.step.table))
            kl.register_steps(self._lake, [each.step], since=each.since, triggers=self._triggers)
            self._left.remove(each)
        if ready and not self._once and not self._triggers.is_started:
            self._triggers.start(seconds=_BETWEEN_LOOKS)

    def watermark(self, table: str, rows: pa.Table) -> datetime.datetime | None:
        """The event time up to which a table is complete with these rows, which have the columns of `CHANGES`."""
        step = self._of_table.get(table)
        newest = None if step is None else newest_of(rows, step.event_time)
        return None if step is None or newest is None else newest - step.late

    def tell(self) -> str | None:
        """Log what was run since this was asked; what has failed and not been run since."""
        entries: list[kl.Fired] = []
        for entry in self._triggers.log():
            if entry is self._told:
                break
            entries.append(entry)
        self._told = entries[0] if entries else self._told
        for entry in reversed(entries):
            if entry.error is None:
                LOG.info("%s: step %s ran for %s in %.1f s", self._pipeline, entry.trigger, entry.what, entry.seconds)
                self.failed.pop(entry.trigger, None)
            elif self.failed.get(entry.trigger) != entry.error:
                LOG.error("%s: %s", self._pipeline, entry.error)
                self.failed[entry.trigger] = entry.error
        return next(iter(self.failed.values()), None)

    def stop(self) -> None:
        """End the runs of steps, once those under way are done."""
        self._triggers.stop()

    def end(self) -> None:
        """The run ends: one that ends with its source runs all that is due."""
        self._triggers.stop()
        if self._once:
            with contextlib.suppress(KeylakeError):  # the log has it
                self._triggers.run_due()
        self.tell()
        for each in self._left:
            LOG.warning(
                "%s: step %s was not run: the pipeline has written nothing to %s",
                self._pipeline,
                each.step.trigger,
                each.step.table,
            )

    @staticmethod
    def _check(step: TableStep, table: KeyedTable) -> None:
        if step.event_time is None:
            return
        found = {column.name.lower(): column.type for column in table.spec.columns}.get(step.event_time.lower())
        if not isinstance(found, TimestampType | TimestamptzType | DateType):
            said = "no such column" if found is None else f"the type {found} there"
            raise DefinitionError(
                f"Step {step.step.trigger!r} has event-time {step.event_time}, and {table.name} has {said}. Name a "
                "column of times or dates, or leave it out: the time of the change in the source counts then."
            )


def newest_of(rows: pa.Table, event_time: str | None) -> datetime.datetime | None:
    """The newest event time of rows, a column of theirs or `at`; of several partitions the oldest of these."""
    rows = rows.filter(pc.not_equal(rows["op"], "r"))
    times = rows["at"] if event_time is None else _times(rows["row"], event_time)
    timed = pa.table({"partition": rows["partition"], "time": times}).drop_null()
    newest: list[Any] = timed.group_by("partition").aggregate([("time", "max")])["time_max"].to_pylist()
    return min(newest, default=None)


def _times(rows: pa.ChunkedArray, column: str) -> pa.Array:
    """The times of a column in rows of JSON; null where a row has none, or it is no time."""
    lower = column.lower()
    texts: list[str | None] = []
    for text in rows.to_pylist():
        row: dict[str, object] = json.loads(text)
        value = row[column] if column in row else next((v for k, v in row.items() if k.lower() == lower), None)
        texts.append(value if isinstance(value, str) else None)
    found = pa.array(texts, pa.string())
    for type_ in (_UTC, pa.timestamp("us")):
        try:
            return found.cast(type_).cast(_UTC)
        except pa.ArrowInvalid:  # of the other type, or a value that the table refuses, too
            continue
    return pa.nulls(len(texts), _UTC)
