"""Rounds of the loop that are sized by a controller."""

from __future__ import annotations

import time

from keylake._load.controller import Controller
from keylake._load.rounds import Observed
from keylake._running.settings import Round, Setting

_LONGEST_POLL_SECONDS = 5.0  # what others want of the pipeline is asked between two rounds


class Sized:
    """What the controller decides about batches, as the loop takes it; executors go where its `drive` leads.

    Example::

        RunSettings("shop", shaping, load=Sized(Controller(LoadTargets(freshness_seconds=60))))
    """

    def __init__(self, controller: Controller) -> None:
        self.controller = controller
        self._ended: float | None = None

    def next(self, last: Round | None) -> Setting:
        """The setting of the next round, after the last one was observed."""
        now = time.monotonic()
        if last is not None:
            lag = last.lag
            late = (lag.newest - lag.oldest).total_seconds() if lag.newest and lag.oldest else 0.0
            self.controller.next(
                Observed(
                    seconds=last.seconds - last.polling,
                    rows=last.rows,
                    lag_rows=lag.behind if lag.unit == "rows" else None,
                    lag_seconds=max(late, 0.0),
                    since_seconds=None if self._ended is None else max(now - self._ended, 1e-3),
                    executors=self.controller.setting.executors,
                )
            )
        self._ended = now
        setting = self.controller.setting
        return Setting(setting.most_rows, min(setting.interval_seconds, _LONGEST_POLL_SECONDS))
