"""The requests of others to a run: to end, to begin anew, to do something about keyed tables."""

from __future__ import annotations

import logging
import threading

from keylake_pipelines.runner.control import Wishes
from keylake_pipelines.runner.stages.reading import Reading
from keylake_pipelines.runner.stages.run import Run
from keylake_pipelines.runner.stages.writing import Writing

LOG = logging.getLogger("keylake")


class Requests:
    """The requests that were heard and are not fulfilled. `ending` is set by another thread of the process."""

    def __init__(self, run: Run, ending: threading.Event) -> None:
        self._run = run
        self._ending = ending
        self._asking = Wishes(run.state.table, run.settings.name)
        self._wishes: dict[str, str] = {}  # by keyed table, '' for all of them
        self.is_ending = False

    @property
    def is_for_all(self) -> bool:
        """The request to read all tables once more is among them."""
        return "" in self._wishes

    def listen(self) -> None:
        """Hear what others want; a run that could not begin anew goes on instead of ending."""
        self.is_ending = self._ending.is_set()
        wanted, wishes = self._asking.asked()
        self._wishes |= wishes
        if wanted == "restart" and (reason := self._run.settings.refusal()) is not None:
            LOG.error("%s goes on as it was: %s", self._run.settings.name, reason)
            self._run.state.refuse(reason)
            wanted = None
        self.is_ending = wanted is not None or self._ending.is_set()

    def fulfil(self, reading: Reading, writing: Writing) -> bool:
        """Do what others want of keyed tables, once the source has begun; returns False where there was nothing."""
        if not self._wishes or not reading.is_begun:
            return bool(self._wishes)
        run, state, asides = self._run, self._run.state, writing.asides
        every = {target for _, target in state.tables} | state.targets.keys() if self.is_for_all else set[str]()
        of_tables = {name: wish for name, wish in self._wishes.items() if name}
        for name, wish in {**of_tables, **dict.fromkeys(every, "resnapshot")}.items():
            writing.write([name])
            if wish == "resnapshot":
                asides.resnapshot(name, reading.offered())
            elif wish == "forget":
                asides.forget(name, run.source.schemas() or reading.offered())
            elif name in state.targets:
                asides.resume(name, with_rows=wish == "resume")
            state.write()  # what was asked of the source is there before the wish is gone
            state.heard(name)
        if self.is_for_all:
            state.heard("")
        self._wishes = {}
        run.rows, asides.rows = run.rows + asides.rows, 0
        return True
