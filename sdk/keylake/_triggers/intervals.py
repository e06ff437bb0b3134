"""Intervals of event time: half-open, of one length, counted from 1970 in UTC."""

from __future__ import annotations

import datetime

from keylake._rows.business_time import zoned
from keylake.errors import DefinitionError

_MINUTES_OF_A_DAY = 24 * 60
_MICROS_OF_A_MINUTE = 60_000_000
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def length_micros(minutes: int) -> int:
    """The length of intervals, which have to fill a day.

    >>> length_micros(5)
    300000000
    """
    if type(minutes) is not int or minutes <= 0 or _MINUTES_OF_A_DAY % minutes:
        raise DefinitionError(
            f"Intervals of {minutes!r} minutes do not fill a day. Take a whole number that divides it: 1, 5, 60."
        )
    return minutes * _MICROS_OF_A_MINUTE


def start_micros(micros: int, length: int) -> int:
    """The beginning of the interval that a moment is in; both are in microseconds since 1970.

    >>> start_micros(7, 5), start_micros(10, 5), start_micros(-1, 5)
    (5, 10, -5)
    """
    return micros // length * length


def micros_of(name: str, moment: datetime.datetime) -> int:
    """Microseconds since 1970, in which positions are kept; a time without a zone is an error.

    >>> micros_of("since", datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.timezone.utc))
    1000000
    """
    return (zoned(name, moment) - _EPOCH) // datetime.timedelta(microseconds=1)


def moment_of(micros: int) -> datetime.datetime:
    """The moment so many microseconds after 1970 began in UTC.

    >>> moment_of(1_500_000).isoformat()
    '1970-01-01T00:00:01.500000+00:00'
    """
    return _EPOCH + datetime.timedelta(microseconds=micros)
