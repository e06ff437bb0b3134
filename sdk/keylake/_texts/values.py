"""Texts that stand for values which JSON has no form of: times and dates in ISO form, bytes in base64.

A body of a request has such texts in the place of values; a text that is anything else is refused, as are more digits
than microseconds.
"""

from __future__ import annotations

import binascii
import datetime
import re
import uuid
from base64 import b64decode
from collections.abc import Callable

from pyiceberg.types import (
    BinaryType,
    DateType,
    FixedType,
    IcebergType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

_CLOCK = r"\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?"
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIME = re.compile(_CLOCK)
_DATETIME = re.compile(rf"({_DATE.pattern})[T ]({_CLOCK})(Z|[+-]\d\d:\d\d)?")


def value_of(text: str, type_: IcebergType) -> object:
    """The value that a text stands for in a column of a type; ValueError says what the text is not.

    >>> value_of("2026-11-01T12:00:00.5Z", TimestamptzType())
    datetime.datetime(2026, 11, 1, 12, 0, 0, 500000, tzinfo=datetime.timezone.utc)
    >>> value_of("aGk=", BinaryType())
    b'hi'
    >>> value_of("1793534400", DateType())
    Traceback (most recent call last):
    ValueError: it is no date in ISO form
    """
    parsed, what = _PARSERS[type(type_)]
    try:
        return parsed(text)
    except (ValueError, binascii.Error):
        raise ValueError(f"it is no {what}") from None


def is_time(type_: IcebergType) -> bool:
    """A type is one of times and dates, of which a text in ISO form is like nothing else."""
    return isinstance(type_, DateType | TimeType | TimestampType | TimestamptzType)


def _date(text: str) -> datetime.date:
    if not _DATE.fullmatch(text):
        raise ValueError(text)
    return datetime.date.fromisoformat(text)


def _time(text: str) -> datetime.time:
    if not _TIME.fullmatch(text):
        raise ValueError(text)
    clock, _, fraction = text.partition(".")
    return datetime.time.fromisoformat(f"{clock}.{fraction:0<6}" if fraction else clock)  # 3.10 takes 3 or 6 digits


def _datetime(text: str) -> datetime.datetime:
    match = _DATETIME.fullmatch(text)
    if match is None:
        raise ValueError(text)
    day, clock, zone = match.groups()
    found = datetime.datetime.combine(_date(day), _time(clock))
    if zone is None:
        return found
    offset = datetime.datetime.strptime(zone, "%z").tzinfo
    return found.replace(tzinfo=datetime.timezone.utc if zone == "Z" else offset)


def _bytes(text: str) -> bytes:
    return b64decode(text, validate=True)


_Parser = tuple[Callable[[str], object], str]
_TIMES: _Parser = (_datetime, "time in ISO form with at most six digits of a second")
_PARSERS: dict[type[IcebergType], _Parser] = {
    DateType: (_date, "date in ISO form"),
    TimeType: (_time, "time of day in ISO form with at most six digits of a second"),
    TimestampType: _TIMES,
    TimestamptzType: _TIMES,
    BinaryType: (_bytes, "base64"),
    FixedType: (_bytes, "base64"),
    UUIDType: (uuid.UUID, "text of a uuid"),
}
