"""A pipeline by the clock, without rows: a load comes, rounds are made by a sizing, and every row's wait is known.

A round polls what waits, takes `overhead + rows * row_seconds / slots`, and commits at its end. Executors that are
asked for come a while later; those that are given back go at once. A pipeline that is stopped loses the round under
way, and begins again with a new sizing, which knows nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from keylake_pipelines.rate_control.controller import Controller
from keylake_pipelines.rate_control.rounds import Observed, Round, Setting

MIDNIGHT = datetime(2026, 11, 1, tzinfo=UTC)


class Sizing(Protocol):
    setting: Setting

    def next(self, observed: Observed, *, at: datetime | None = None) -> Setting: ...


class Fixed:
    """What does not change."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    def next(self, observed: Observed, *, at: datetime | None = None) -> Setting:
        return self.setting


@dataclass(frozen=True)
class Load:
    """What comes, and what writing it costs, second by second."""

    rates: NDArray[np.float64]  # rows
    row_seconds: NDArray[np.float64]  # of a task
    overhead: float = 3.0
    stops: Sequence[tuple[int, int]] = ()  # seconds at which the pipeline ends, and begins again
    start_seconds: float = 60.0  # of an executor
    buckets: int = 32
    noise: float = 0.0  # of the time of a round
    seed: int = 0
    parts: Callable[[float], dict[str, float]] | None = None  # shares of parts at a second


@dataclass
class Executors:
    """Those that run, and those that were asked for and come later."""

    running: int
    coming: list[tuple[float, int]] = field(default_factory=list[tuple[float, int]])
    seconds: float = 0.0
    _since: float = 0.0

    def pass_to(self, now: float) -> None:
        for at, count in sorted(self.coming):
            if at <= now:
                self._count(at)
                self.running = max(self.running, count)
                self.coming.remove((at, count))
        self._count(now)

    def want(self, count: int, now: float, start_seconds: float) -> None:
        self.coming = [(at, min(asked, count)) for at, asked in self.coming if min(asked, count) > self.running]
        if count < self.running:
            self.running = count
        elif count > max((asked for _, asked in self.coming), default=self.running):
            self.coming.append((now + start_seconds, count))

    def _count(self, now: float) -> None:
        self.seconds += self.running * max(now - self._since, 0.0)
        self._since = max(now, self._since)


@dataclass(frozen=True)
class Replayed:
    """What became of it."""

    rounds: tuple[Round, ...]
    commits: tuple[tuple[float, float], ...]  # the second of each, and all rows that were committed then
    executor_seconds: float
    files: int
    waits: NDArray[np.float64]  # of the rows of each second, in seconds
    rows: NDArray[np.float64]  # of each second

    def lag(self, share: float) -> float:
        """The wait that so large a share of all rows does not exceed, in seconds."""
        order = np.argsort(self.waits)
        passed = np.cumsum(self.rows[order])
        return float(self.waits[order][np.searchsorted(passed, share * passed[-1])])


def replay(load: Load, sizing: Callable[[], Sizing], executors: int) -> Replayed:
    """Every round until all rows are written; it begins with so many executors."""
    random = np.random.default_rng(load.seed)
    rates = np.round(load.rates)
    came: NDArray[np.float64] = np.concatenate(([0.0], np.cumsum(rates)))
    end = float(len(load.rates))

    def until(second: float) -> float:
        whole = min(int(second), len(came) - 1)
        rest = (second - whole) * rates[whole] if whole < len(rates) else 0.0
        return float(came[whole] + rest)

    def first_at(rows: float) -> float:
        return float(np.searchsorted(came, rows, side="right")) - 1

    now, done, files = 0.0, 0.0, 0
    at_work = Executors(executors)
    stops = list(load.stops)
    own = sizing()
    rounds: list[Round] = []
    commits: list[tuple[float, float]] = []
    ended = 0.0
    while now < end or done < came[-1]:
        setting = own.setting
        at_work.pass_to(now)
        second = min(int(now), len(load.rates) - 1)
        rows = int(min(until(now) - done, setting.most_rows))
        slots = max(min(at_work.running, setting.shuffle_partitions), 1)
        work = rows * float(load.row_seconds[second])
        seconds = (load.overhead + work / slots) * (1 + load.noise * random.uniform(-1, 1)) if rows else 0.1
        if stops and now + seconds > stops[0][0]:
            now = float(stops.pop(0)[1])
            own = sizing()
            ended = now
            continue
        ran = at_work.running
        finished = now + seconds
        done += rows
        if rows:
            written = min(load.buckets, rows)
            files += written
            commits.append((finished, done))
        shares = load.parts(now) if load.parts else {}
        observed = Observed(
            seconds=seconds,
            rows=rows,
            lag_rows=int(until(finished) - done),
            lag_seconds=max(finished - first_at(done), 0.0) if until(finished) - done >= 1 else 0.0,
            since_seconds=finished - ended,
            slowest_task_seconds=work / slots,
            median_task_seconds=work / slots,
            files=min(load.buckets, rows),
            executors=ran,
            parts={part: int(share * rows) for part, share in shares.items()},
        )
        ended = finished
        asked = own.next(observed, at=MIDNIGHT + timedelta(seconds=finished))
        rounds.append(Round(MIDNIGHT + timedelta(seconds=finished), observed, float(load.rates[second]), asked))
        at_work.pass_to(finished)
        at_work.want(asked.executors, finished, load.start_seconds)
        now = max(now + asked.interval_seconds, finished)
    at_work.pass_to(max(now, end))
    times = np.array([at for at, _ in commits])
    totals = np.array([rows for _, rows in commits])
    # A row of a second is committed with the first commit that has all that came until then.
    found = np.searchsorted(totals, came[1:] - 0.5)
    waits = times[np.minimum(found, len(times) - 1)] - np.arange(len(load.rates))
    return Replayed(tuple(rounds), tuple(commits), at_work.seconds, files, waits, rates)


def controlled(controller: Callable[[], Controller]) -> Callable[[], Sizing]:
    """The type that `replay` takes."""
    return controller
