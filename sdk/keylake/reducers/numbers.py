"""Accumulators of single values: numbers, truths, the first of all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from keylake.reducers.registers import Reducer


@dataclass(frozen=True)
class Sum(Reducer):
    """The sum of all contributions, of an int, long, float, double or decimal column.

    The sum is exact: one of floats and doubles is rounded once, when it is read, so that it does not depend on the
    order of the commits. One that does not fit the column's type is an error of the read, which names key and column.

    >>> Sum()
    Sum()
    """


@dataclass(frozen=True)
class Min(Reducer):
    """The smallest contribution: of numbers (NaN is the largest), booleans, dates, timestamps, texts, bytes.

    >>> Min().to_json()
    {'type': 'Min'}
    """


@dataclass(frozen=True)
class Max(Reducer):
    """The largest contribution: of numbers (NaN is the largest), booleans, dates, timestamps, texts, bytes.

    >>> Max().to_json()
    {'type': 'Max'}
    """


@dataclass(frozen=True)
class Count(Reducer):
    """The number of contributions that are not null, whatever their value; a long column, 0 without any.

    >>> Count().to_json()
    {'type': 'Count'}
    """


@dataclass(frozen=True)
class First(Reducer):
    """The contribution of the earliest version, of any type; of equal versions that of the earlier commit.

    >>> First().to_json()
    {'type': 'First'}
    """

    needs_versions: ClassVar[bool] = True


@dataclass(frozen=True)
class BoolAnd(Reducer):
    """The conjunction of all contributions: true if all of them are.

    >>> BoolAnd().to_json()
    {'type': 'BoolAnd'}
    """


@dataclass(frozen=True)
class BoolOr(Reducer):
    """The disjunction of all contributions: true if any of them is.

    >>> BoolOr().to_json()
    {'type': 'BoolOr'}
    """
