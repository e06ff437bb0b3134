"""The positions of a run, kept in its state after the tables, with what others see of the run."""

from __future__ import annotations

import time
from collections.abc import Mapping

from keylake_pipelines.runner.outages import Outage
from keylake_pipelines.runner.rounds import Rounds, shown
from keylake_pipelines.runner.stages.run import Run

_BETWEEN_PLACES = 1.0  # seconds between two places of a source without rows that are kept
_BETWEEN_SIGNS = 15.0  # seconds between two signs of life of a pipeline that has nothing to do


class Positions:
    """The positions that a run keeps, and the source may forget what lies before them."""

    def __init__(self, run: Run, rounds: Rounds, outage: Outage) -> None:
        self._run = run
        self._rounds = rounds
        self._outage = outage
        self._told: str | None = None  # of an outage

    def keep(self, positions: Mapping[str, int], written: int, *, ends: bool) -> None:
        """Keep positions after a round that has written so many rows; one that wrote none keeps them now and then."""
        state, settings = self._run.state, self._run.settings
        pipeline = state.pipeline
        assert pipeline is not None
        asked = {each for each in state.asked if self._run.source.owes(each)}
        moved = (positions, asked) != (state.positions, state.asked)
        quiet = time.time() - pipeline.seen_at.timestamp()
        longest = _BETWEEN_PLACES if moved else min(_BETWEEN_SIGNS, settings.lease / 4)
        if written or self._told != self._outage.said or (ends and moved) or quiet > longest:
            self._told, failed = self._outage.said, self._run.steps.tell()
            state.positions = dict(positions)
            state.asked = asked
            state.seen(
                rounds=pipeline.rounds + 1,
                rows=pipeline.rows + written,
                lag=shown(self._run.lag),
                last_error=self._told or failed or self._run.lag.waits or settings.notice(),
                recent=tuple(self._rounds.recent),
            )
            state.write()
            self._run.source.written(positions)
