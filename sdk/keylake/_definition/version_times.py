"""Versions as people read them: the times of an ordering column that is a date or a time."""

from __future__ import annotations

import datetime
from collections.abc import Callable

from pyiceberg.types import DateType, TimestampType, TimestamptzType

from keylake._definition.spec import TableSpec

_DAY_0, _MICROSECOND_0 = datetime.date(1970, 1, 1), datetime.datetime(1970, 1, 1)


def version_text(spec: TableSpec) -> Callable[[int], str]:
    """The text of versions of a table: a time in UTC where its versions are times, else the number.

    >>> import pyarrow as pa
    >>> schema = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", tz="UTC"))])
    >>> shown = version_text(TableSpec.from_arrow(schema, name="a.b", key="id", ordering="at"))
    >>> shown(1767225600000000), shown(1767225600000001), shown(2**63 - 1)
    ('2026-01-01 00:00:00', '2026-01-01 00:00:00.000001', '9223372036854775807')
    """
    type_ = None if spec.ordering is None else spec.column(spec.ordering).type
    if isinstance(type_, DateType):
        return _date
    return _time if isinstance(type_, TimestampType | TimestamptzType) else str


def _date(days: int) -> str:
    try:
        return str(_DAY_0 + datetime.timedelta(days=days))
    except OverflowError:  # no time that Python has
        return str(days)


def _time(microseconds: int) -> str:
    try:
        return str(_MICROSECOND_0 + datetime.timedelta(microseconds=microseconds))
    except OverflowError:
        return str(microseconds)
