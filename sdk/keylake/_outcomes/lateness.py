"""Late rows: the lateness that a table allows, and how many rows of each stream were late, hour by hour."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from typing_extensions import Self

from keylake._display.html_table import ShownFields, ShownTable
from keylake._display.pictures import lateness_figure
from keylake._outcomes.commits import CommitInfo
from keylake.errors import DefinitionError, check_type

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_TEXT = re.compile(r"\s*(\d{1,9})\s+(second|minute|hour|day)s?\s*", re.IGNORECASE)
_LONGEST = datetime.timedelta(days=36_525)
_HELP = (
    "Give a whole number of seconds, minutes, hours or days, such as '1 hour', or a timedelta, of at most a century."
)


def parsed(text: str) -> datetime.timedelta:
    """The lateness that a text says.

    >>> parsed("90 minutes")
    datetime.timedelta(seconds=5400)
    """
    found = _TEXT.fullmatch(text)
    lateness = None if found is None else datetime.timedelta(**{found[2].lower() + "s": int(found[1])})
    if lateness is None or lateness > _LONGEST:
        raise DefinitionError(f"lateness={text!r} is no length of time that a table takes. {_HELP}")
    return lateness


def text_of(lateness: str | datetime.timedelta) -> str:
    """The lateness as the property of a table.

    >>> text_of(datetime.timedelta(hours=1))
    '3600 seconds'
    """
    check_type("lateness", lateness, str | datetime.timedelta, "text such as '1 hour', or a timedelta")
    if isinstance(lateness, str):
        parsed(lateness)
        return lateness.strip().lower()
    if lateness < datetime.timedelta(0) or lateness.microseconds or lateness > _LONGEST:
        raise DefinitionError(f"lateness={lateness!r} is no length of time that a table takes. {_HELP}")
    return f"{int(lateness.total_seconds())} seconds"


@dataclass(frozen=True)
class Lateness(ShownFields):
    """The lateness that a table allows, and the late rows that lie in files of their own.

    A row is late if its event time lies before `late_before`, which is the watermark minus the lateness. It is None
    where the table allows any lateness, or has no watermark.

    >>> noon = datetime.datetime(2026, 11, 1, 12, tzinfo=datetime.timezone.utc)
    >>> print(Lateness.from_row({"lateness": "1 hour", "watermark": noon, "late_before": noon, "files": 2, "rows": 3}))
    late before 2026-11-01 12:00:00 UTC: 3 rows in 2 files
    """

    allowed: datetime.timedelta | None
    watermark: datetime.datetime | None
    late_before: datetime.datetime | None
    files: int
    rows: int
    bytes: int

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Lateness:
        """The lateness of a table from the row of the procedure `lateness`."""
        said = row.get("lateness")
        return cls(
            None if said is None else parsed(said),
            row.get("watermark"),
            row.get("late_before"),
            row["files"],
            row["rows"],
            row.get("bytes") or 0,
        )

    def __str__(self) -> str:
        rows, files = _counted(self.rows, "row"), _counted(self.files, "file")
        if self.allowed is None:
            return f"no row is late: the table allows any lateness; late rows of before: {rows} in {files}"
        if self.watermark is None:
            return f"no row is late yet: no write has said a watermark, and rows may lie {self.allowed} behind it"
        if self.late_before is None:
            return f"no row is late: there is no time {self.allowed} before the watermark; {rows} in {files}"
        return f"late before {self.late_before.replace(tzinfo=None)} UTC: {rows} in {files}"


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


@dataclass(frozen=True)
class LateHour(ShownFields):
    """The rows that a stream has written within an hour, and how many of them were late.

    >>> LateHour("web", datetime.datetime(2026, 11, 1, 12, tzinfo=datetime.timezone.utc), rows=40, late=10).share
    0.25
    """

    stream: str | None  # None: writes that say no stream
    hour: datetime.datetime  # the hour in which they were committed begins then, in UTC
    rows: int
    late: int

    @property
    def share(self) -> float:
        """The share of late rows, between 0 and 1."""
        return self.late / self.rows if self.rows else 0.0


class LateHours(ShownTable, Sequence[LateHour]):
    """The late rows of each stream, hour by hour, the newest first. It cannot be changed."""

    _HEADER = ("hour", "stream", "rows", "late", "share")

    def __init__(self, table: str, hours: Iterable[LateHour]) -> None:
        self._table = table
        self._hours = tuple(hours)

    @classmethod
    def of(cls, table: str, commits: Iterable[CommitInfo]) -> Self:
        """The rows of some commits by stream and hour; those that were undone do not count.

        >>> at = datetime.datetime(2026, 1, 1, 9, 30, tzinfo=datetime.timezone.utc)
        >>> row = {"snapshot_id": 17, "committed_at": at, "verb": "update", "rows": 8, "stream": "a", "late_rows": 2}
        >>> print(LateHours.of("features.user_profile", [CommitInfo.from_row(row)]))
        features.user_profile: 2 of 8 rows were late
        hour              stream  rows  late  share
        2026-01-01 09:00  a       8     2     25.0%
        """
        rows: Counter[tuple[datetime.datetime, str | None]] = Counter()
        late: Counter[tuple[datetime.datetime, str | None]] = Counter()
        for commit in commits:
            if commit.rows and not commit.undone:
                hour = commit.committed_at.astimezone(datetime.timezone.utc).replace(minute=0, second=0, microsecond=0)
                rows[hour, commit.stream] += commit.rows
                late[hour, commit.stream] += commit.late
        places = sorted(rows, key=lambda place: (place[0], place[1] or ""), reverse=True)
        return cls(table, (LateHour(place[1], place[0], rows[place], late[place]) for place in places))

    @overload
    def __getitem__(self, index: int) -> LateHour: ...

    @overload
    def __getitem__(self, index: slice) -> LateHours: ...

    def __getitem__(self, index: int | slice) -> LateHour | LateHours:
        return LateHours(self._table, self._hours[index]) if isinstance(index, slice) else self._hours[index]

    def __len__(self) -> int:
        return len(self._hours)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LateHours) and self._hours == other._hours

    def __hash__(self) -> int:
        return hash(self._hours)

    def plot(self) -> Figure:
        """Draw the share of late rows over time, a line for each stream; needs matplotlib.

        Example::

            profiles.history().lateness().plot().savefig("lateness.png")
        """
        streams = sorted({each.stream or "" for each in self._hours})
        shares = [
            (stream or "no stream", [(each.hour, each.share) for each in self._hours if (each.stream or "") == stream])
            for stream in streams
        ]
        return lateness_figure(self._table, shares)

    def _title(self) -> str:
        late, rows = (sum(getattr(each, name) for each in self._hours) for name in ("late", "rows"))
        return f"{self._table}: {late:,} of {_counted(rows, 'row')} were late"

    def _rows(self) -> list[tuple[object, ...]]:
        return [
            (f"{each.hour:%Y-%m-%d %H:%M}", each.stream, f"{each.rows:,}", f"{each.late:,}", f"{each.share:.1%}")
            for each in self._hours
        ]
