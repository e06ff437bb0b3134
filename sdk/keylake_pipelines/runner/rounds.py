"""Rounds of a pipeline: polls that end with a write. When it is time for one, and what the last ones did.

poll, poll, ... ── it is time, or the batch is full ── write ── Round: for the load, the log, and `recent`
"""

from __future__ import annotations

import datetime
import json
import logging
import math
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass

from keylake.extension import sparklines
from keylake_pipelines.runner.settings import Round, Setting
from keylake_pipelines.source.source import Lag

LOG = logging.getLogger("keylake")
_KEPT = 60
_LAST_SECONDS = 0.5  # of the poll of a pipeline that ends


@dataclass(frozen=True)
class Recent:
    """A round that wrote rows, as the state of a pipeline keeps it."""

    at: datetime.datetime
    rows: int
    seconds: float
    polling: float  # seconds of that
    behind: int | None  # in the unit of the lag, None where that is not known


Series = Sequence[tuple[str, Sequence[float | None]]]


def series(recent: Sequence[Recent], unit: str) -> tuple[str, Series]:
    """Lag, rates and batches of rounds, and what they are called; `unit` is that of the lag."""
    times = f"{recent[0].at:%Y-%m-%d %H:%M:%S} to {recent[-1].at:%H:%M:%S} UTC"
    named: Series = (
        (f"lag, {unit}", [each.behind for each in recent]),
        ("rows a second", [each.rows / max(each.seconds, 1e-3) for each in recent]),
        ("rows of a batch", [each.rows for each in recent]),
        ("seconds of a batch", [each.seconds - each.polling for each in recent]),
    )
    return f"the last {len(recent)} rounds with rows, {times}", named


def picture(recent: Sequence[Recent], unit: str) -> tuple[str, ...]:
    """Lag, rates and batches of rounds as lines of text."""
    if not recent:
        return ()
    title, named = series(recent, unit)
    return (title, *sparklines(named))


class Rounds:
    """The rounds of one run; `recent` goes on with those of the runs before."""

    def __init__(self, name: str, recent: Iterable[Recent] = ()) -> None:
        self._name = name
        self._wrote_at = -math.inf
        self._last: Round | None = None
        self.count = 0
        self.recent = deque(recent, maxlen=_KEPT)
        self.begin_again()

    def take_last(self) -> Round | None:
        """The round that has ended since this was asked."""
        last, self._last = self._last, None
        return last

    def patience(self, setting: Setting, waiting: int, *, ends: bool) -> float:
        """The seconds that a poll may wait for rows: those that wait already are written in time."""
        left = self._wrote_at + setting.interval - time.monotonic()
        return min(setting.seconds, _LAST_SECONDS if ends else left if waiting and left > 0 else setting.seconds)

    def is_time(self, setting: Setting, waiting: int) -> bool:
        """The rows that wait are to be written: the last write is long enough ago, or they are a batch."""
        return waiting >= setting.rows or time.monotonic() >= self._wrote_at + setting.interval

    def polled(self, rows: int, written: int, tables: int, seconds: float, polling: float) -> None:
        """A poll, and what was written after it."""
        self._rows += rows
        self._written += written
        self._tables += tables
        self._seconds += seconds
        self._polling += polling
        if tables:
            self._wrote_at = time.monotonic() - seconds + polling

    def end(self, lag: Lag, waiting: int) -> None:
        """The round ends, with a write or since nothing came."""
        did = bool(self._rows or self._written)
        self.count += did
        self._last = Round(self.count, self._rows, self._written, self._tables, self._seconds, self._polling, lag)
        if did:
            seconds, polling = round(self._seconds, 3), round(self._polling, 3)
            now = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
            self.recent.append(Recent(now, self._written, seconds, polling, lag.behind))
            LOG.info(
                "%s: round %d, %d rows to %d tables in %.2f s (%.2f s polling), %d waiting, lag %s",
                self._name,
                self.count,
                self._written,
                self._tables,
                seconds,
                polling,
                waiting,
                shown(lag),
            )
        self.begin_again()

    def begin_again(self) -> None:
        """The rows that were polled and not written come again, and are counted anew."""
        self._rows = self._written = self._tables = 0
        self._seconds = self._polling = 0.0


def shown(lag: Lag) -> str:
    """A lag in words.

    >>> shown(Lag(1200, "rows")), shown(Lag(None, "bytes"))
    ('1,200 rows', 'unknown')
    """
    return "unknown" if lag.behind is None else f"{lag.behind:,} {lag.unit}"


def recent_to_json(recent: Iterable[Recent]) -> str:
    """Rounds as the table of pipelines has them, shortly."""
    return json.dumps([[int(each.at.timestamp()), *astuple(each)[1:]] for each in recent], separators=(",", ":"))


def recent_from_json(text: str | None) -> tuple[Recent, ...]:
    """The rounds of a text that `recent_to_json` has made.

    >>> text = "[[1793534400,100,1.5,0.25,7]]"
    >>> recent_to_json(recent_from_json(text)) == text
    True
    """
    rows: list[list[int]] = json.loads(text or "[]")
    return tuple(Recent(datetime.datetime.fromtimestamp(at, datetime.timezone.utc), *more) for at, *more in rows)
