"""Business times: the moments whose states a table archives, always told in UTC.

A date is its midnight in UTC; a time needs a zone.
"""

from __future__ import annotations

import datetime

from keylake.errors import DefinitionError, check_type

BusinessTime = str | datetime.date | datetime.datetime

_DAY = datetime.timedelta(days=1)


def utc_of(business_time: BusinessTime) -> datetime.datetime:
    """The moment, in UTC.

    >>> utc_of("2026-11-01").isoformat()
    '2026-11-01T00:00:00+00:00'
    >>> utc_of("2026-11-01T09:30:00+05:30").isoformat()
    '2026-11-01T04:00:00+00:00'
    """
    check_type("business_time", business_time, BusinessTime, "a date, a datetime with a zone, or text: '2026-11-01'")
    said = _parsed(business_time) if isinstance(business_time, str) else business_time
    if isinstance(said, datetime.datetime):
        moment = zoned("the business time", said)
    else:
        moment = datetime.datetime.combine(said, datetime.time(), datetime.timezone.utc)
    if moment.microsecond:
        raise DefinitionError(f"The business time {moment.isoformat()} has a part of a second. Give whole seconds.")
    return moment


def step_of(business_time: BusinessTime, every: datetime.timedelta | None) -> int | None:
    """The seconds from one state to the next: what is said, or for a date one day; None for no next.

    >>> step_of("2026-11-01", None), step_of("2026-11-01T12:00Z", None), step_of("2026-11-01", datetime.timedelta(0))
    (86400, None, None)
    """
    check_type("every", every, datetime.timedelta | None, "a timedelta, such as timedelta(days=1)")
    if every is None:
        said = _parsed(business_time) if isinstance(business_time, str) else business_time
        every = datetime.timedelta(0) if isinstance(said, datetime.datetime) else _DAY
    if every < datetime.timedelta(0) or every % datetime.timedelta(seconds=1):
        raise DefinitionError(f"every={every} is no step from one time to the next. Give whole seconds, or 0 for none.")
    return int(every.total_seconds()) or None


def zoned(name: str, moment: datetime.datetime) -> datetime.datetime:
    """The time in UTC; one without a zone is an error.

    >>> zoned("watermark", datetime.datetime(2026, 11, 1, tzinfo=datetime.timezone.utc)).tzname()
    'UTC'
    """
    check_type(name, moment, datetime.datetime, "a datetime with a zone: tzinfo=datetime.timezone.utc")
    if moment.tzinfo is None:
        raise DefinitionError(f"{name} {moment} has no time zone, so it is no point in time. Give it one: tzinfo=UTC.")
    return moment.astimezone(datetime.timezone.utc)


def _parsed(text: str) -> datetime.date | datetime.datetime:
    try:
        return datetime.date.fromisoformat(text.strip())
    except ValueError:
        pass
    try:
        return datetime.datetime.fromisoformat(text.strip().replace("Z", "+00:00"))  # Python 3.10 knows no Z
    except ValueError:
        raise DefinitionError(
            f"{text!r} is no business time. Write 2026-11-01, or 2026-11-01T09:30:00+01:00."
        ) from None
