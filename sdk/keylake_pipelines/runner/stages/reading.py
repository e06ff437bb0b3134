"""The source of a run as its rounds read it: begun at positions that were kept, and not asked while it is away."""

from __future__ import annotations

import threading
from dataclasses import replace

from keylake_pipelines.runner.outages import Outage
from keylake_pipelines.runner.stages.intake import Intake
from keylake_pipelines.runner.stages.run import Run
from keylake_pipelines.source.absence import SourceAway
from keylake_pipelines.source.source import Lag, Step
from keylake_pipelines.source.tables import SourceSchema


class Reading:
    """The polls of a source since the positions that were kept. `ending` is set where the run is to end."""

    def __init__(self, run: Run, intake: Intake, outage: Outage, ending: threading.Event) -> None:
        self._run = run
        self._intake = intake
        self._outage = outage
        self._ending = ending
        self.is_begun = False

    def poll(self, most_rows: int, seconds: float, *, ends: bool) -> tuple[Step, ...]:
        """The steps that the source gives; none while it is away, so that rows that wait are written nevertheless."""
        if left := self._outage.seconds_left:
            self._ending.wait(0 if ends else min(seconds, left))
            return ()
        try:
            if not self.is_begun:
                self._begin()
            steps = self._run.source.poll(most_rows, seconds)
        except SourceAway as error:
            self._outage.failed(error)
            return ()
        self._outage.over()
        return steps

    def _begin(self) -> None:
        source, state = self._run.source, self._run.state
        known = {name: each.schema for (name, _), each in state.tables.items()}
        source.begin(dict(state.positions), tuple(known.values()))
        state.asked &= known.keys()
        for name in state.asked:
            source.reread(known[name].table)
        self._run.steps.register({target for _, target in state.tables})
        self._intake.begin(source.schemas())
        self.is_begun = True

    def lag(self) -> Lag:
        """The lag after the last poll; how much is behind is not known while the source is away."""
        return replace(self._run.lag, behind=None) if self._outage.lasts else self._run.source.lag()

    def offered(self) -> tuple[SourceSchema, ...]:
        """The tables of the source, as it knows them, or as its rows have shown them."""
        known = {str(each.schema.table): each.schema for each in self._run.state.tables.values()}
        return tuple({**known, **{str(each.table): each for each in self._run.source.schemas()}}.values())
