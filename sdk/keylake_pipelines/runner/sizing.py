"""Rounds of the loop that are sized by a controller."""

from __future__ import annotations

import time

from keylake_pipelines.rate_control.controller import Controller
from keylake_pipelines.rate_control.rounds import Observed
from keylake_pipelines.runner.settings import Round, Setting

_LONGEST_POLL_SECONDS = 1.0  # what others want of the pipeline is asked between two polls


class Sized:
    """The decisions of the controller about batches, as the loop takes them; executors go where its `drive` leads.

    Example::

        RunSettings("shop", shaping, load=Sized(Controller(LoadTargets(freshness_seconds=60))))
    """

    def __init__(self, controller: Controller) -> None:
        self.controller = controller
        self._ended: float | None = None  # when the last round was observed, or the first one began

    def next(self, last: Round | None) -> Setting:
        """The setting of the next poll, after the last round was observed."""
        now = time.monotonic()
        began = self._ended
        if last is not None or began is None:
            self._ended = now
        if last is not None:
            lag = last.lag
            late = (lag.newest - lag.oldest).total_seconds() if lag.newest and lag.oldest else 0.0
            self.controller.next(
                Observed(
                    seconds=last.seconds - last.polling,
                    rows=last.rows,
                    lag_rows=lag.behind if lag.unit == "rows" else None,
                    lag_seconds=max(late, 0.0),
                    since_seconds=None if began is None else max(now - began, 1e-3),
                    files=last.tables,  # one each, at least
                    executors=self.controller.setting.executors,
                )
            )
        setting = self.controller.setting
        seconds = min(setting.interval_seconds, _LONGEST_POLL_SECONDS)
        return Setting(setting.most_rows, seconds, setting.interval_seconds)
