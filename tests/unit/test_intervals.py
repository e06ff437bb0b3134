"""Intervals of event time: where they begin, how long they may be, and how they are told."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

import keylake as kl
from keylake._triggers.intervals import length_micros, moment_of, start_micros

MINUTE = 60_000_000


@given(st.integers(-(10**17), 10**17), st.sampled_from([1, 5, 60, 1440]))
def test_every_moment_is_in_one_interval(micros: int, minutes: int) -> None:
    length = length_micros(minutes)
    start = start_micros(micros, length)
    assert start <= micros < start + length
    assert start_micros(start, length) == start
    assert start_micros(start - 1, length) == start - length


@pytest.mark.parametrize("minutes", [1, 5, 60])
def test_intervals_begin_with_the_hour_in_utc_before_1970_too(minutes: int) -> None:
    for hour in (datetime(1969, 7, 20, 20, tzinfo=UTC), datetime(2026, 3, 29, 1, tzinfo=UTC)):
        micros = round(hour.timestamp()) * 1_000_000
        assert moment_of(start_micros(micros, length_micros(minutes))) == hour
        before = moment_of(start_micros(micros - 1, length_micros(minutes)))
        assert before == hour - timedelta(minutes=minutes)


@pytest.mark.parametrize("minutes", [0, -5, 7, 1441, 2.5, 5.0, True, "5", None])
def test_intervals_that_do_not_fill_a_day_are_refused(minutes: object) -> None:
    with pytest.raises(kl.DefinitionError, match=r"do not fill a day\. Take a whole number that divides it: 1, 5, 60"):
        length_micros(minutes)  # type: ignore[arg-type]


def test_an_interval_shows_its_ends() -> None:
    late = datetime(2026, 11, 1, 23, tzinfo=UTC)
    assert str(kl.Interval(late, late + timedelta(minutes=5), 1, "")) == "2026-11-01 23:00 to 23:05 UTC"
    assert str(kl.Interval(late, late + timedelta(hours=1), 1, "")) == "2026-11-01 23:00 to 2026-11-02 00:00 UTC"
