"""The load and the cost of a row, as the rounds so far tell them.

    seconds of a round = overhead + rows * row_seconds / slots          slots: tasks that run at once

What a round took more or less than that says is blamed on the two parts by their shares: a round of few rows says what
a round costs, one of many what a row costs. Both are always above zero, and a steady load leaves both as they are.
Before the first round of many rows the cost of a row is not known, and nothing is decided by it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from keylake_pipelines.rate_control.rounds import Observed, Setting
from keylake_pipelines.rate_control.targets import LoadTargets

_FIRST_OVERHEAD = 2.0
_JUMP = 1.25  # a rate that is so many times larger is taken at once
_UP, _DOWN = 0.5, 0.3  # how much of a smaller change of a rate one round brings
_FILES = 0.3
_SKEWED = 3.0  # times the median task
_MANY_ROWS = 10_000  # of a round, whose time says what a row costs
_LEAST_ROWS_A_SECOND = 1e-3  # below it, nothing comes


@dataclass(frozen=True)
class Estimates:
    """The load, as the last rounds have it."""

    rate: float = 0.0  # rows that come a second
    waiting: int = 0  # rows of the source at the end of the last round
    overhead: float = _FIRST_OVERHEAD  # seconds of a round without rows
    row_seconds: float | None = None  # of one task, for a row; None before the first round of many rows
    began: bool = False  # whether rows came
    files: float = 0.0  # of a batch
    straggler_seconds: float = 0.0  # by which one task was longer than the others, where that is much

    def after(self, observed: Observed, setting: Setting, targets: LoadTargets) -> Estimates:
        """The estimates with one more round, which was made with a setting."""
        passed = observed.since_seconds or max(setting.interval_seconds, observed.seconds)
        waiting = observed.lag_rows
        if waiting is None:
            waiting = round(observed.lag_seconds * self.rate)
        came = max(observed.rows + waiting - self.waiting, 0) / passed
        if not self.began:  # whatever waited before the first round came at no known rate
            came = observed.rows / passed
        straggler = _straggler(observed)
        return replace(
            self._with_cost(observed, slots(observed.executors, setting.shuffle_partitions, targets), straggler),
            rate=_smoothed(self.rate, came),
            began=self.began or observed.rows > 0,
            waiting=waiting,
            straggler_seconds=straggler,
            files=self.files + _FILES * (observed.files - self.files) if self.files else float(observed.files),
        )

    def _with_cost(self, observed: Observed, slots: int, straggler: float) -> Estimates:
        if observed.rows == 0:
            return self
        seconds = max(observed.seconds - straggler, 1e-3)
        if self.row_seconds is None and observed.rows < _MANY_ROWS:
            return replace(self, overhead=seconds)
        if self.row_seconds is None:
            overhead = min(self.overhead, seconds / 2)
            return replace(self, overhead=overhead, row_seconds=(seconds - overhead) * slots / observed.rows)
        of_rows = observed.rows * self.row_seconds / slots
        thought = self.overhead + of_rows
        blame = seconds / thought
        return replace(
            self,
            overhead=self.overhead * blame ** (self.overhead / thought),
            row_seconds=self.row_seconds * blame ** (of_rows / thought),
        )

    def work(self, rows: float) -> float:
        """Seconds of tasks for so many rows."""
        return rows * (self.row_seconds or 0.0)


def slots(executors: int, partitions: int, targets: LoadTargets) -> int:
    """The number of tasks of a shuffle that run at once."""
    return max(min(executors * targets.cores, partitions), 1)


def _straggler(observed: Observed) -> float:
    slowest, median = observed.slowest_task_seconds, observed.median_task_seconds
    is_one = 0 < median * _SKEWED < slowest and slowest > observed.seconds / 2
    return min(slowest - median, observed.seconds) if is_one else 0.0


def _smoothed(rate: float, came: float) -> float:
    if came > rate * _JUMP:
        return came
    rate += (_UP if came > rate else _DOWN) * (came - rate)
    return rate if rate >= _LEAST_ROWS_A_SECOND else 0.0
