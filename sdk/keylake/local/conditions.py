"""Conditions on columns as expressions of pyiceberg, which compare as Spark does.

Negations go down to the comparisons: there, a null stays neither true nor false. To pyiceberg and Arrow a NaN is equal
to nothing and no number is below it; to Spark it is equal to itself and above all others.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from decimal import Context, Decimal, localcontext
from typing import Any

import numpy as np
from pyiceberg import expressions as ice
from pyiceberg.types import (
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NestedField,
    TimestampType,
    TimestamptzType,
)

from keylake.conditions import MOST_DIGITS, Comparison, Condition, IsNull, Joined, Membership, Negated, Sign, Value

_OPPOSITE: dict[Sign, Sign] = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_PREDICATES: dict[Sign, type[ice.BooleanExpression]] = {
    "=": ice.EqualTo,
    "<>": ice.NotEqualTo,
    "<": ice.LessThan,
    "<=": ice.LessThanOrEqual,
    ">": ice.GreaterThan,
    ">=": ice.GreaterThanOrEqual,
}


def expression_of(
    condition: Condition, fields: Mapping[str, NestedField], *, holds: bool = True
) -> ice.BooleanExpression:
    """The expression for the rows of which a condition holds, or does not; `fields` have the columns' lower names.

    Raises ValueError for a value that the column cannot be compared with.
    """
    match condition:
        case Comparison(column, sign, value):
            return _compared(column, sign if holds else _OPPOSITE[sign], value, fields.get(column.lower()))
        case Membership(column, values):
            equal: Sign = "=" if holds else "<>"
            every = [_compared(column, equal, value, fields.get(column.lower())) for value in dict.fromkeys(values)]
            return _joined(every, any_of=holds)
        case IsNull(column):
            return _predicate(ice.IsNull, column) if holds else _predicate(ice.NotNull, column)
        case Negated(part):
            return expression_of(part, fields, holds=not holds)
        case Joined(joint, parts):
            return _joined([expression_of(part, fields, holds=holds) for part in parts], any_of=(joint == "|") == holds)
        case _:
            raise TypeError(type(condition))


def _joined(parts: Sequence[ice.BooleanExpression], *, any_of: bool) -> ice.BooleanExpression:
    """Expressions joined as a tree of equal halves: pyiceberg walks them by recursion."""
    if not parts:
        return ice.AlwaysFalse() if any_of else ice.AlwaysTrue()
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    one, other = _joined(parts[:half], any_of=any_of), _joined(parts[half:], any_of=any_of)
    return ice.Or(one, other) if any_of else ice.And(one, other)


def _predicate(kind: Any, column: str, *value: object) -> ice.BooleanExpression:
    """A predicate of pyiceberg, whose classes take no arguments as far as a checker knows."""
    made: ice.BooleanExpression = kind(column, *value)
    return made


def _compared(column: str, sign: Sign, value: Value, field: NestedField | None) -> ice.BooleanExpression:
    type_ = None if field is None else field.field_type
    if isinstance(type_, IntegerType | LongType):
        return _whole_compared(column, sign, value, 31 if isinstance(type_, IntegerType) else 63)
    if isinstance(type_, DecimalType):
        fitted = _decimal(value, type_)
        if abs(fitted) >= Decimal(10) ** (type_.precision - type_.scale):
            return _beyond(column, sign, is_above=fitted > 0)
        return _predicate(_PREDICATES[sign], column, fitted)
    if isinstance(type_, FloatType | DoubleType):
        return _number_compared(
            column, sign, _number(value), np.float32 if isinstance(type_, FloatType) else np.float64
        )
    if isinstance(type_, TimestampType | TimestamptzType) and isinstance(value, datetime.datetime):
        has_zone = value.tzinfo is not None
        if isinstance(type_, TimestamptzType) != has_zone:
            raise ValueError(f"{value} has {'a' if has_zone else 'no'} zone, and column {column!r} is {type_}")
    return _predicate(_PREDICATES[sign], column, value)


def _whole_compared(column: str, sign: Sign, value: Value, bits: int) -> ice.BooleanExpression:
    if isinstance(value, float) and not math.isfinite(value):
        return _beyond(column, sign, is_above=not value < 0)
    if isinstance(value, float | Decimal) and value == int(value):
        value = int(value)
    if isinstance(value, int) and not -(2**bits) <= value < 2**bits:
        return _beyond(column, sign, is_above=value > 0)
    return _predicate(_PREDICATES[sign], column, value)


def _beyond(column: str, sign: Sign, *, is_above: bool) -> ice.BooleanExpression:
    """A comparison with a value that is above, or below, all that the column can have."""
    is_true = sign in (("<", "<=", "<>") if is_above else (">", ">=", "<>"))
    return _predicate(ice.NotNull, column) if is_true else ice.AlwaysFalse()


def _decimal(value: Value, type_: DecimalType) -> Decimal:
    exact = Decimal(str(value))
    with localcontext(Context(prec=2 * MOST_DIGITS)):  # Python's own context rounds to 28 digits
        fitted = round(exact, type_.scale) if exact.is_finite() else exact
    if fitted != exact:
        raise ValueError(f"{value!r} has more than the {type_.scale} digits behind the point of {type_}")
    return fitted


def _number(value: Value) -> float:
    if not isinstance(value, int | float | Decimal):
        raise ValueError(f"{value!r} is no number")
    return float(value)


def _number_compared(
    column: str, sign: Sign, value: float, kind: type[np.float32 | np.float64]
) -> ice.BooleanExpression:
    """A comparison with the order of Spark: -infinity, the finite numbers, infinity, NaN.

    Of a value that numbers of 4 bytes cannot have, the next one to it is compared. To pyiceberg infinity is no number
    of 4 bytes: the largest finite one is compared.
    """
    if math.isnan(value):
        return _of_nan(column, sign)
    with np.errstate(over="ignore"):
        near = float(kind(value))
    if near != value:
        if sign in ("=", "<>"):
            return ice.AlwaysFalse() if sign == "=" else _predicate(ice.NotNull, column)
        is_up = sign in (">", ">=")
        if is_up != (near > value):
            near = float(np.nextafter(kind(near), kind(math.inf if is_up else -math.inf)))
        sign = ">=" if is_up else "<="
    largest = float(np.finfo(kind).max)
    if math.isinf(near):
        if (sign == ">" and near > 0) or (sign == "<" and near < 0):
            return _of_nan(column, "=") if near > 0 else ice.AlwaysFalse()
        if (sign == "<=" and near > 0) or (sign == ">=" and near < 0):
            return _of_nan(column, "<") if near > 0 else _predicate(ice.NotNull, column)
        outside: dict[Sign, Sign] = {"=": ">", ">=": ">", "<": "<=", "<>": "<="}
        mirrored: dict[Sign, Sign] = {"=": "<", "<=": "<", ">": ">=", "<>": ">="}
        of_nan = sign in (">", ">=", "<>")
        sign, near = (outside[sign], largest) if near > 0 else (mirrored[sign], -largest)
    else:
        of_nan = sign in (">", ">=")
    compared = _predicate(_PREDICATES[sign], column, near)
    return ice.Or(compared, _of_nan(column, "=")) if of_nan else compared


def _of_nan(column: str, sign: Sign) -> ice.BooleanExpression:
    """A comparison with NaN."""
    match sign:
        case "=" | ">=":
            return _predicate(ice.IsNaN, column)
        case "<>" | "<":
            return ice.And(_predicate(ice.NotNaN, column), _predicate(ice.NotNull, column))
        case "<=":
            return _predicate(ice.NotNull, column)
        case ">":
            return ice.AlwaysFalse()
