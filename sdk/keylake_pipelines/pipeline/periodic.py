"""A check while a pipeline runs: now and then a part of each table is compared, and what differs is told."""

from __future__ import annotations

import logging
import threading
from types import TracebackType
from typing import TYPE_CHECKING

from keylake.errors import KeylakeError
from keylake_pipelines.comparison.results import TableCheck
from keylake_pipelines.definition.pipeline import Pipeline
from keylake_pipelines.pipeline.checking import Checker
from keylake_pipelines.runner.control import tell_differences

if TYPE_CHECKING:
    from keylake.lake import Lake

LOG = logging.getLogger("keylake")
_ROWS_AT_ONCE = 20_000
_SECONDS_OF_A_WAIT = 120.0
_SECONDS_OF_THE_LAST = 10.0


class PeriodicCheck:
    """A thread that compares the next range of each keyed table, then waits for the next time.

    A pipeline whose definition does not ask for it has none.
    """

    def __init__(self, pipeline: Pipeline, lake: Lake, *, once: bool) -> None:
        every = pipeline.pipeline.check_every
        self._pipeline = pipeline
        self._lake = lake
        self._seconds = None if every is None or once else every.total_seconds()
        self._ending = threading.Event()
        self._told: dict[str, str | None] = {}
        self._thread = threading.Thread(target=self._run, name="keylake check", daemon=True)

    def __enter__(self) -> None:
        if self._seconds is not None:
            self._thread.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.set()
        if self._seconds is not None:
            self._thread.join(_SECONDS_OF_THE_LAST)

    def _run(self) -> None:
        checker: Checker | None = None
        while not self._ending.wait(self._seconds):
            try:
                if checker is not None:  # tables may have changed
                    checker = checker.again()
                else:
                    checker = Checker(
                        self._pipeline,
                        self._lake,
                        rows_at_once=_ROWS_AT_ONCE,
                        seconds=_SECONDS_OF_A_WAIT,
                        ending=self._ending,
                    )
                for name in checker.tables():
                    if self._ending.is_set():
                        break
                    self._tell(checker.check_next(name))
            except KeylakeError as error:  # the source, or the lake, is away: the loop says so
                LOG.info("%s: its tables could not be checked: %s", self._pipeline.pipeline.name, error)
        if checker is not None:
            checker.close()

    def _tell(self, found: TableCheck) -> None:
        said = str(found) if found.differs else None
        if self._told.get(found.table, "") == said:
            return
        name = self._pipeline.pipeline.name
        tell_differences(self._lake, name, {found.table: said})
        self._told[found.table] = said
        if said is not None:
            LOG.error("%s: rows differ from the source: %s", name, said)
