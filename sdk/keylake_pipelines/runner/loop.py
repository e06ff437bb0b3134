"""The loop: rounds of a pipeline, each from a poll of the source to positions that are kept.

    wishes ── poll ── steps: rows wait by keyed table, changes are made ── it is time, or the batch is full:
           ── tables that are due are written ── state: positions, schemas ── source.written

Every commit of a table has the offsets of its rows, so that rows which come again after a failure are left out;
positions are kept after the tables. Whatever is cut off in between, the next run begins at positions that were kept.
"""

# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from keylake.errors import BadRows, KeylakeError, ServerUnreachable
from keylake.extension import session_of
from keylake_pipelines.runner.ahead import ReadAhead
from keylake_pipelines.runner.asides import OF_NO_TABLE, Asides
from keylake_pipelines.runner.changes import Changes
from keylake_pipelines.runner.control import Wishes
from keylake_pipelines.runner.dead_letters import DeadLetters
from keylake_pipelines.runner.evolution import Made, table_of
from keylake_pipelines.runner.outages import Outage, passes
from keylake_pipelines.runner.rereads import Rereads
from keylake_pipelines.runner.rounds import Rounds, shown
from keylake_pipelines.runner.settings import PipelineReport, RunSettings, Target
from keylake_pipelines.runner.signs import SignsOfLife
from keylake_pipelines.runner.state import StateTable
from keylake_pipelines.runner.steps import Steps
from keylake_pipelines.runner.targets import Targets
from keylake_pipelines.runner.waiting import Waiting, by_table, offsets_in
from keylake_pipelines.source.absence import SourceAway
from keylake_pipelines.source.source import CHANGES, Lag, Source, Step
from keylake_pipelines.source.tables import SourceSchema, SourceTable, TableCreated, TableRefused

if TYPE_CHECKING:
    from keylake.lake import Lake

LOG = logging.getLogger("keylake")
_BETWEEN_PLACES = 1.0  # seconds between two places of a source without rows that are kept
_BETWEEN_SIGNS = 15.0  # seconds between two signs of life of a pipeline that has nothing to do


def run(source: Source, lake: Lake, settings: RunSettings, *, ending: threading.Event | None = None) -> PipelineReport:
    """Run a pipeline until it is asked to stop, or with `once` until the source has nothing more.

    `ending`, set by another thread, ends it after the round under way. Raises `PipelineBusy` where another process runs
    it, and the error that it ended with.
    """
    ahead = ReadAhead(source)
    loop = _Loop(ahead, lake, settings, ending or threading.Event())
    try:
        return loop.run()
    finally:
        ahead.close()


class _Loop:
    def __init__(self, source: Source, lake: Lake, settings: RunSettings, ending: threading.Event) -> None:
        self._source = source
        self._lake = lake
        self._settings = settings
        self._ending = ending
        self._state = StateTable(lake, settings.state_namespace, settings.name)
        self._asking = Wishes(self._state.table, settings.name)
        self._dead = DeadLetters(lake, settings.state_namespace, settings.name)
        self._open_targets()
        self._wishes: dict[str, str] = {}  # of keyed tables, that are not done
        self._waiting: dict[str, Waiting] = {}
        self._ends: dict[str, int] = {}
        self._offered: dict[str, SourceSchema] = {}  # the tables of the source, where it knows them
        self._rounds = Rounds(settings.name)
        self._steps = Steps(lake, settings.name, settings.steps, once=settings.once)
        self._lag = Lag(None, "rows", snapshots=True)  # after the last poll
        self._is_begun = False
        self._outage = Outage(settings.name, "The source is away", None, known=False)
        self._failing = Outage(settings.name, "The lake fails", settings.outage if settings.once else None, known=True)
        self._is_ending = False
        self._told: str | None = None  # of an outage
        self._rows, self._letters = 0, 0

    def run(self) -> PipelineReport:
        self._state.read()
        self._rounds = Rounds(self._settings.name, self._state.take(self._settings.lease).recent)
        most = self._settings.outage if self._settings.once else None
        self._outage = Outage(self._settings.name, "The source is away", most, known=bool(self._state.positions))
        self._forget()
        with SignsOfLife(self._state, self._settings.lease):
            try:
                self._rounds_to_the_end()
                self._steps.end()
            except BaseException as error:
                if isinstance(error, Exception):  # who interrupts it does not wait
                    self._steps.stop()
                self._failed(error)
                raise
        lag = self._lag if self._outage.lasts else self._source.lag()
        self._state.seen(state="stopped", last_error=self._steps.tell() or self._settings.notice(), lag=shown(lag))
        self._state.write()
        aside = tuple(sorted(self._state.targets))
        failed = tuple(sorted(self._steps.failed))
        return PipelineReport(self._settings.name, self._rounds.count, self._rows, self._letters, aside, failed)

    def _rounds_to_the_end(self) -> None:
        while True:
            try:
                if self._failing.lasts:
                    session_of(self._lake).open_again()
                if not self._round():
                    return
                self._failing.over()
            except KeylakeError as error:
                if not passes(error) or self._is_ending:
                    raise
                self._failing.failed(error)
                self._forget()
                self._wait_for_the_lake(error)

    # ------------------------------------------------------------------------------------------- begin and failures

    def _forget(self) -> None:
        """The source is to begin again at the positions that were kept; what waited comes again."""
        self._is_begun = False
        self._waiting.clear()
        self._rounds.begin_again()
        self._open_targets()
        self._ends = dict(self._state.positions)

    def _open_targets(self) -> None:
        self._targets = Targets(self._lake, self._settings.name)
        self._rereads = Rereads(self._settings, self._state, self._source, self._targets)
        self._changes = Changes(self._settings, self._state, self._targets, self._rereads)
        self._asides = Asides(self._settings, self._state, self._dead, self._targets, self._changes, self._rereads)

    def _begin(self) -> None:
        known = {name: each.schema for (name, _), each in self._state.tables.items()}
        self._source.begin(dict(self._state.positions), tuple(known.values()))
        self._steps.register({target for _, target in self._state.tables})
        self._offered = {str(schema.table): schema for schema in self._source.schemas()}
        if not self._state.positions:  # or the log between them and now says how tables came to be as they are now
            self._prepare()
        self._is_begun = True

    def _prepare(self) -> None:
        """Create the keyed tables of the source."""
        new = [
            (target, schema)
            for name, schema in self._offered.items()
            for target in self._settings.shaping.targets(schema.table)
            if (name, target.table) not in self._state.tables and target.table not in self._state.targets
        ]
        readable = [(target, schema) for target, schema in new if not schema.refused]
        self._targets.prepare((target, self._settings.shaping.schema(schema)) for target, schema in readable)
        for target, schema in new:
            self._make(Made(TableCreated(schema), {}, 0), target)

    def _wait_for_the_lake(self, error: KeylakeError) -> None:
        """An error where the run is asked to end meanwhile: rows that wait cannot be written."""
        if not isinstance(error, ServerUnreachable):
            with contextlib.suppress(KeylakeError):  # where the table of the state answers, it is told there, too
                self._state.seen(last_error=self._failing.said)
                self._state.write()
        if self._ending.wait(self._failing.seconds_left):
            LOG.warning("%s: it ends while the lake fails; rows that waited come again", self._settings.name)
            raise error

    def _failed(self, error: BaseException) -> None:
        said = str(error) if isinstance(error, KeylakeError) else f"{type(error).__name__}: {error}"
        try:
            self._state.seen(state="failed" if isinstance(error, Exception) else "stopped", last_error=said)
            self._state.write()
        except KeylakeError as another:  # what ended the pipeline is what counts
            LOG.warning("%s: its state could not be written: %s", self._settings.name, another)

    # -------------------------------------------------------------------------------------------------------- rounds

    def _round(self) -> bool:
        """One poll, and a write where it is time for one; False where it was the last."""
        begun, before = time.monotonic(), self._rows
        ends = self._listen()
        setting = self._settings.load.next(self._rounds.take_last())
        asked = time.monotonic()
        patience = self._rounds.patience(setting, self._waiting_rows(), ends=ends)
        steps = self._polled(setting.rows, patience, ends=ends)
        asked_for = self._fulfil()
        polling = time.monotonic() - asked
        rows = sum(map(self._take, steps))
        ends = ends or (self._settings.once and not steps and not asked_for and not self._outage.lasts)
        self._lag = replace(self._lag, behind=None) if self._outage.lasts else self._source.lag()
        is_time = ends or self._rounds.is_time(setting, self._waiting_rows())
        due = [name for name, waiting in self._waiting.items() if ends or (is_time and self._is_due(waiting))]
        self._write(due)
        written = self._rows - before
        positions = self._kept_positions()
        self._rounds.polled(rows, written, len(due), time.monotonic() - begun, polling)
        if due or written or not self._waiting:
            self._rounds.end(self._lag, self._waiting_rows())
        self._keep(positions, written, ends=ends)
        return not ends

    def _polled(self, most_rows: int, seconds: float, *, ends: bool) -> tuple[Step, ...]:
        """The steps that the source gives; none while it is away, so that rows that wait are written nevertheless."""
        if left := self._outage.seconds_left:
            self._ending.wait(0 if ends else min(seconds, left))
            return ()
        try:
            if not self._is_begun:
                self._begin()
            steps = self._source.poll(most_rows, seconds)
        except SourceAway as error:
            self._outage.failed(error)
            return ()
        self._outage.over()
        return steps

    def _waiting_rows(self) -> int:
        return sum(each.count for each in self._waiting.values())

    def _listen(self) -> bool:
        """Hear what others want of the pipeline; returns whether it is to end."""
        self._is_ending = self._ending.is_set()
        wanted, wishes = self._asking.asked()
        self._wishes |= wishes
        if self._wishes.get("") and self._state.give_up_positions():
            self._forget()
        if wanted == "restart" and (reason := self._settings.refusal()) is not None:
            LOG.error("%s goes on as it was: %s", self._settings.name, reason)
            self._state.refuse(reason)
            wanted = None
        self._is_ending = wanted is not None or self._ending.is_set()
        return self._is_ending

    def _fulfil(self) -> bool:
        """Do what others want of keyed tables, once the source has begun; whether there was something."""
        if not self._wishes or not self._is_begun:
            return bool(self._wishes)
        everything = "" in self._wishes
        every = {target for _, target in self._state.tables} | self._state.targets.keys() if everything else set[str]()
        of_tables = {name: wish for name, wish in self._wishes.items() if name}
        for name, wish in {**of_tables, **dict.fromkeys(every, "resnapshot")}.items():
            self._write([name] if name in self._waiting else [])
            if wish == "resnapshot":
                self._asides.resnapshot(name, self._offered_now())
            elif wish == "forget":
                self._asides.forget(name, self._source.schemas() or self._offered_now())
            elif name in self._state.targets:
                self._asides.resume(name, with_rows=wish == "resume")
            self._state.heard(name)
        if everything:
            self._state.heard("")
        self._wishes = {}
        self._rows, self._asides.rows = self._rows + self._asides.rows, 0
        return True

    def _offered_now(self) -> tuple[SourceSchema, ...]:
        """The tables of the source, as it knows them, or as its rows have shown them."""
        known = {str(each.schema.table): each.schema for each in self._state.tables.values()}
        return tuple({**known, **{str(each.table): each for each in self._source.schemas()}}.values())

    def _is_due(self, waiting: Waiting) -> bool:
        old = time.monotonic() - waiting.since >= self._settings.freshness
        return old or waiting.count >= self._settings.few

    def _kept_positions(self) -> dict[str, int]:
        """The positions at which each partition goes on: at its first row that waits, or behind all that was polled."""
        positions = dict(self._ends)
        for waiting in self._waiting.values():
            for partition, first in waiting.first.items():
                positions[partition] = min(first, positions.get(partition, first))
        return positions

    def _keep(self, positions: Mapping[str, int], written: int, *, ends: bool) -> None:
        pipeline = self._state.pipeline
        assert pipeline is not None
        moved = positions != self._state.positions
        quiet = time.time() - pipeline.seen_at.timestamp()
        longest = _BETWEEN_PLACES if moved else min(_BETWEEN_SIGNS, self._settings.lease / 4)
        if written or self._told != self._outage.said or (ends and moved) or quiet > longest:
            self._told, failed = self._outage.said, self._steps.tell()
            self._state.positions = dict(positions)
            self._state.seen(
                rounds=pipeline.rounds + 1,
                rows=pipeline.rows + written,
                lag=shown(self._lag),
                last_error=self._told or failed or self._lag.waits or self._settings.notice(),
                recent=tuple(self._rounds.recent),
            )
            self._state.write()
            self._source.written(positions)

    # --------------------------------------------------------------------------------------------------------- steps

    def _take(self, step: Step) -> int:
        """Let the rows of a step wait for their tables, then make its changes; returns how many rows it has."""
        rows = CHANGES.empty_table() if step.rows is None else step.rows
        bad = rows.filter(pc.is_valid(rows["error"]))
        is_row = pc.and_(pc.is_valid(bad["table"]), pc.is_valid(bad["op"]))
        messages = bad.filter(pc.invert(is_row))  # they say nothing of a row, and their trouble is their own
        self._dead.keep("", messages, None)
        self._letters += messages.num_rows
        parts = list(by_table(rows.filter(pc.is_null(rows["error"]))))
        known = {name for name, _ in parts}
        self._targets.open(to for name, to in self._state.tables if name in known and to not in self._state.targets)
        for name, part in by_table(bad.filter(is_row)):
            self._wait(name, part, bad=True)
        for name, part in parts:
            self._wait(name, part)
        for partition, end in step.ends.items():
            self._state.check_grows(partition, end)
            self._ends[partition] = max(end, self._ends.get(partition, end))
        for number, change in enumerate(self._changes.unrenamed(step.changes)):
            self._change(Made(change, step.ends, number))
        return int(rows.num_rows)

    def _wait(self, name: str, rows: pa.Table, *, bad: bool = False) -> None:
        """The rows of a source table wait for its keyed tables, without those that these have already."""
        schema = self._offered.get(name)
        table = SourceTable(tuple(name.split("."))) if schema is None else schema.table
        for target in self._settings.shaping.targets(table):
            if (name, target.table) not in self._state.tables and schema is not None:
                self._make(Made(TableCreated(schema), {}, 0), target)
            new = rows
            if target.table not in self._state.targets:
                if (name, target.table) not in self._state.tables:
                    self._dead.keep(target.table, rows, f"The columns of {name} are not known.")
                    self._letters += rows.num_rows
                    continue
                new = self._targets.new_rows(target.table, rows)
            if new.num_rows and bad:  # a value that no column holds: the table would keep an older row in silence
                if target.table not in self._state.targets:
                    self._write([target.table] if target.table in self._waiting else [])
                    since = {partition: first for partition, (first, _) in offsets_in(new).items()}
                    self._asides.add(target.table, since, BadRows(str(new["error"][0])))
                self._dead.keep(target.table, new, None)
                self._letters += new.num_rows
            elif new.num_rows:
                self._waiting.setdefault(target.table, Waiting(time.monotonic())).add(name, new)

    def _change(self, made: Made) -> None:
        """Make a change in each keyed table of its source table, behind the rows that came before it."""
        change = made.change
        if isinstance(change, TableCreated):
            self._offered[str(change.schema.table)] = change.schema
        for target in self._settings.shaping.targets(table_of(change)):
            if not self._changes.is_done(made, target.table, aside=self._asides.keeps(target.table)):
                self._write([target.table] if target.table in self._waiting else [])
                self._make(made, target)

    def _make(self, made: Made, target: Target) -> None:
        if not self._asides.keeps(target.table):
            try:
                self._asides.make(made, target)
            except KeylakeError as error:
                # What a pipeline was told to end at ends it; else the trouble of a table is its own.
                is_told = self._settings.behaviour == "exception" and not isinstance(made.change, TableCreated)
                if is_told or isinstance(error, OF_NO_TABLE):
                    raise
                self._asides.add(target.table, made.ends, error, anew=isinstance(made.change, TableRefused))
                self._make(made, target)
        elif made.ends or isinstance(made.change, TableRefused):
            self._dead.keep_change(target.table, made, self._state.targets[target.table].reason)

    # -------------------------------------------------------------------------------------------------------- writes

    def _write(self, due: Iterable[str]) -> None:
        """Write what waits for these tables; rows of those that are set aside are kept."""
        raw = {name: self._waiting.pop(name) for name in list(due)}
        shaped: dict[str, pa.Table] = {}
        failed: dict[str, KeylakeError] = {}
        for name, waiting in raw.items():
            if name not in self._state.targets:
                try:
                    shaped[name] = self._changes.shaped(name, waiting)
                except KeylakeError as error:
                    failed[name] = error
        some = {name: rows for name, rows in shaped.items() if rows.num_rows}
        self._steps.register(some)
        complete = {} if self._lag.snapshots else {name: self._steps.watermark(name, some[name]) for name in some}
        failed |= self._targets.write(some, self._ends, complete)
        passing = next((each for each in failed.values() if isinstance(each, OF_NO_TABLE)), None)
        if passing is not None:
            raise passing
        for name, reason in failed.items():
            self._asides.add(name, raw[name].first, reason)
        for name in raw.keys() & self._state.targets.keys():
            for _, rows in raw[name].by_source():
                self._dead.keep(name, rows, self._state.targets[name].reason)
                self._letters += rows.num_rows
        self._rows += sum(rows.num_rows for name, rows in shaped.items() if name not in failed)
