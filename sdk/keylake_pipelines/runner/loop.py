"""The loop: rounds of a pipeline, each from a poll of the source to positions that are kept.

    wishes ── poll ── steps: rows wait by keyed table, changes are made ── it is time, or the batch is full:
           ── tables that are due are written ── state: positions, schemas ── source.written

Every commit of a table has the offsets of its rows, so that rows which come again after a failure are left out;
positions are kept after the tables. Whatever is cut off in between, the next run begins at positions that were kept.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from typing import TYPE_CHECKING

from keylake.errors import KeylakeError, ServerUnreachable
from keylake.extension import session_of
from keylake_pipelines.runner.ahead import ReadAhead
from keylake_pipelines.runner.dead_letters import DeadLetters
from keylake_pipelines.runner.outages import Outage, passes
from keylake_pipelines.runner.rounds import Rounds, shown
from keylake_pipelines.runner.settings import PipelineReport, RunSettings
from keylake_pipelines.runner.signs import SignsOfLife
from keylake_pipelines.runner.stages.batch import Batch
from keylake_pipelines.runner.stages.intake import Intake
from keylake_pipelines.runner.stages.positions import Positions
from keylake_pipelines.runner.stages.reading import Reading
from keylake_pipelines.runner.stages.requests import Requests
from keylake_pipelines.runner.stages.run import Run
from keylake_pipelines.runner.stages.writing import Writing
from keylake_pipelines.runner.state import StateTable
from keylake_pipelines.runner.steps import Steps
from keylake_pipelines.source.source import Source

if TYPE_CHECKING:
    from keylake.lake import Lake

LOG = logging.getLogger("keylake")


def run(source: Source, lake: Lake, settings: RunSettings, *, ending: threading.Event | None = None) -> PipelineReport:
    """Run a pipeline until it is asked to stop, or with `once` until the source has nothing more.

    `ending`, set by another thread, ends it after the round under way. Raises `PipelineBusy` where another process runs
    it, and the error that it ended with.
    """
    ahead = ReadAhead(source)
    try:
        return _Loop(_begun(ahead, lake, settings), ending or threading.Event()).run()
    finally:
        ahead.close()


def _begun(source: ReadAhead, lake: Lake, settings: RunSettings) -> Run:
    """A run with what the table of pipelines has of the runs before it."""
    state = StateTable(lake, settings.state_namespace, settings.name)
    dead = DeadLetters(lake, settings.state_namespace, settings.name)
    steps = Steps(lake, settings.name, settings.steps, once=settings.once)
    state.read()
    return Run(source, lake, settings, state, dead, steps)


class _Loop:
    def __init__(self, run: Run, ending: threading.Event) -> None:
        settings, state = run.settings, run.state
        most = settings.outage if settings.once else None
        self._run = run
        self._ending = ending
        self._requests = Requests(run, ending)
        self._rounds = Rounds(settings.name, () if state.pipeline is None else state.pipeline.recent)
        self._outage = Outage(settings.name, "The source is away", most, known=bool(state.positions))
        self._failing = Outage(settings.name, "The lake fails", most, known=True)
        self._positions = Positions(run, self._rounds, self._outage)
        self._begin_again()

    def _begin_again(self) -> None:
        """The source is to begin at the positions that were kept; what waited comes again."""
        self._rounds.begin_again()
        self._batch = Batch(self._run.state.positions)
        self._writing = Writing(self._run, self._batch)
        self._intake = Intake(self._run, self._batch, self._writing)
        self._reading = Reading(self._run, self._intake, self._outage, self._ending)

    def run(self) -> PipelineReport:
        settings, state, steps = self._run.settings, self._run.state, self._run.steps
        state.take(settings.lease)
        with SignsOfLife(state, settings.lease):
            try:
                self._rounds_to_the_end()
                steps.end()
            except BaseException as error:
                if isinstance(error, Exception):  # who interrupts it does not wait
                    steps.stop()
                self._failed(error)
                raise
        lag = self._reading.lag()
        state.seen(state="stopped", last_error=steps.tell() or lag.waits or settings.notice(), lag=shown(lag))
        state.write()
        aside, failed = tuple(sorted(state.targets)), tuple(sorted(steps.failed))
        return PipelineReport(settings.name, self._rounds.count, self._run.rows, self._run.letters, aside, failed)

    def _rounds_to_the_end(self) -> None:
        while True:
            try:
                if self._failing.lasts:
                    session_of(self._run.lake).open_again()
                if not self._round():
                    return
                self._failing.over()
            except KeylakeError as error:
                if not passes(error) or self._requests.is_ending:
                    raise
                self._failing.failed(error)
                self._begin_again()
                self._wait_for_the_lake(error)

    def _round(self) -> bool:
        """One poll, and a write where it is time for one; False where it was the last."""
        begun, before = time.monotonic(), self._run.rows
        self._requests.listen()
        if self._requests.is_for_all and self._run.settings.rereads and self._run.state.give_up_positions():
            self._begin_again()
        ends, settings = self._requests.is_ending, self._run.settings
        setting = settings.load.next(self._rounds.take_last())
        asked = time.monotonic()
        patience = self._rounds.patience(setting, self._batch.rows, ends=ends)
        steps = self._reading.poll(setting.rows, patience, ends=ends)
        asked_for = self._requests.fulfil(self._reading, self._writing)
        polling = time.monotonic() - asked
        rows = sum(map(self._intake.take, steps))
        ends = ends or (settings.once and not steps and not asked_for and not self._outage.lasts)
        self._run.lag = self._reading.lag()
        due = self._due(is_time=self._rounds.is_time(setting, self._batch.rows), ends=ends)
        self._writing.write(due)
        written = self._run.rows - before
        positions = self._batch.positions()
        self._rounds.polled(rows, written, len(due), time.monotonic() - begun, polling)
        if due or written or not self._batch.tables:
            self._rounds.end(self._run.lag, self._batch.rows)
        self._positions.keep(positions, written, ends=ends)
        return not ends

    def _due(self, *, is_time: bool, ends: bool) -> tuple[str, ...]:
        """The keyed tables that are to be written in this round; all that rows wait for in the last."""
        if ends:
            return self._batch.tables
        return self._batch.due(self._run.settings.freshness, self._run.settings.few) if is_time else ()

    def _wait_for_the_lake(self, error: KeylakeError) -> None:
        """An error where the run is asked to end meanwhile: rows that wait cannot be written."""
        if not isinstance(error, ServerUnreachable):
            with contextlib.suppress(KeylakeError):  # where the table of the state answers, it is told there, too
                self._run.state.seen(last_error=self._failing.said)
                self._run.state.write()
        if self._ending.wait(self._failing.seconds_left):
            LOG.warning("%s: it ends while the lake fails; rows that waited come again", self._run.settings.name)
            raise error

    def _failed(self, error: BaseException) -> None:
        said = str(error) if isinstance(error, KeylakeError) else f"{type(error).__name__}: {error}"
        try:
            self._run.state.seen(state="failed" if isinstance(error, Exception) else "stopped", last_error=said)
            self._run.state.write()
        except KeylakeError as another:  # what ended the pipeline is what counts
            LOG.warning("%s: its state could not be written: %s", self._run.settings.name, another)
