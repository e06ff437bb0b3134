"""An interval of event time, as a value."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from keylake._display.html_table import ShownFields


@dataclass(frozen=True)
class Interval(ShownFields):
    """A stretch of event time that is complete: what a trigger is run for.

    `key` belongs to this trigger, table and interval, and to no other: given to a write as `idempotency_key=`, it makes
    the write count once, however often it is repeated.

    >>> noon = datetime.datetime(2026, 11, 1, 12, tzinfo=datetime.timezone.utc)
    >>> print(Interval(noon, noon + datetime.timedelta(minutes=5), snapshot_id=17, key="..."))
    2026-11-01 12:00 to 12:05 UTC
    """

    start: datetime.datetime  # in UTC
    end: datetime.datetime  # the first moment that is not part of it
    snapshot_id: int  # of the first commit with which it was complete; of a later one with its late rows
    key: str
    late: bool = False  # it was run before, and rows came into it since then

    def __str__(self) -> str:
        same_day = self.start.date() == self.end.date()
        return f"{self.start:%Y-%m-%d %H:%M} to {self.end:{'%H:%M' if same_day else '%Y-%m-%d %H:%M'}} UTC"
