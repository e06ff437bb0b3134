"""Conditions on columns as values, where no table is asked: what they show, and what is refused."""

import datetime
import functools
import operator
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest

import keylake as kl
from keylake._server.conditions import condition_text

CLICKS: Any = kl.col("clicks")
WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "and": (lambda: CLICKS > 3 and CLICKS < 9, "neither true nor false before rows are read. Join conditions by &"),
    "not": (lambda: not (CLICKS > 3), "neither true nor false"),
    "a chain": (lambda: 3 < CLICKS < 9, "neither true nor false"),
    "membership in a list": (lambda: CLICKS in ["clicks", "city"], "neither true nor false"),
    "no brackets": (lambda: CLICKS > 3 & CLICKS, "in brackets"),
    "a column for a condition": (lambda: ~CLICKS, "is not of a condition"),
    "a text for a condition": (lambda: (CLICKS > 3) & "city = 'Oslo'", "in brackets"),
    "null": (lambda: CLICKS == None, r"Use kl.col\('clicks'\).is_null"),  # noqa: E711
    "pandas' null": (lambda: pd.NaT == CLICKS, "is_null"),
    "null in a list": (lambda: CLICKS.isin([1, None]), "is_null"),
    "a text for a list": (lambda: CLICKS.isin("Oslo"), r"such as \['Oslo'\]"),
    "a number for a list": (lambda: CLICKS.isin(3), "a list"),
    "another column": (lambda: kl.col("a") == kl.col("b"), "a condition in SQL"),
    "a list": (lambda: CLICKS == [1], "a condition in SQL"),
    "a number that no decimal is": (lambda: Decimal("Infinity") > CLICKS, r"Use float\('Infinity'\)"),
    "39 digits": (lambda: CLICKS < 10**38, "38 digits"),
    "nanoseconds": (lambda: pd.Timestamp("2026-01-01 00:00:00.000000001") > CLICKS, "microseconds"),
    "a number for a name": (lambda: kl.col(3), "an attribute of a class"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_condition_is_refused_with_a_sentence(case: str) -> None:
    call, words = WRONG[case]
    with pytest.raises(kl.DefinitionError, match=words):
        call()


def test_names_and_values_in_sql_are_quoted() -> None:
    at = datetime.datetime(2026, 11, 1, 12, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))
    condition = (kl.col("a`b") == "x' OR '1'='1\\") | (kl.col("at") < at) & ~kl.col("n").isin([1, Decimal("1.50")])
    assert condition_text(condition) == (
        r"(`a``b` = 'x\' OR \'1\'=\'1\\') OR ((`at` < TIMESTAMP_LTZ '2026-11-01 11:00:00+00:00') "
        r"AND (NOT (`n` IN (1, 1.50BD))))"
    )


def test_a_condition_of_thousands_is_no_deep_one() -> None:
    many = functools.reduce(operator.or_, [kl.col("n") == number for number in range(5000)])
    assert str(condition_text(many)).count(" OR ") == 4999
