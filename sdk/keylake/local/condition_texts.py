"""Conditions as text, in the grammar of pyiceberg and with the meaning that they have in SQL.

Names may stand between backticks. Texts with a backslash, and patterns of LIKE other than 'text%', mean another thing
in SQL than to the parser: they are refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyiceberg import expressions as ice
from pyiceberg.expressions.parser import parse
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from keylake.conditions import Comparison, Condition, IsNull, Membership, Sign
from keylake.local.conditions import expression_of

_TEXT_OR_NAME = re.compile(r"'((?:[^'\\]|\\.)*)'|`((?:[^`]|``)+)`", flags=re.DOTALL)
_NOT_AS_IT_IS = re.compile(r"[\\\x00-\x1f]")
_LIKE = re.compile(r"\blike\s*$", flags=re.IGNORECASE)
_PLACE = "keylake_name_between_backticks_"
_SIGNS: dict[type[ice.BooleanExpression], Sign] = {
    ice.EqualTo: "=",
    ice.NotEqualTo: "<>",
    ice.LessThan: "<",
    ice.LessThanOrEqual: "<=",
    ice.GreaterThan: ">",
    ice.GreaterThanOrEqual: ">=",
}


def expression_of_text(text: str, fields: Mapping[str, NestedField]) -> ice.BooleanExpression:
    """The expression that a text says; `fields` have the columns' lower names. Raises ValueError for what is refused.

    >>> expression_of_text("NOT `my id` IN (3, 4)", {})
    And(left=NotEqualTo(term=Reference(name='my id'), ...
    """
    names: list[str] = []

    def placed(found: re.Match[str]) -> str:
        if found[2] is not None:
            names.append(found[2].replace("``", "`"))
            return f"{_PLACE}{len(names) - 1}"
        if sign := _NOT_AS_IT_IS.search(found[1]):
            what = "a backslash" if sign[0] == "\\" else "a sign that cannot be printed"
            raise ValueError(f"{found[0]!r} has {what}. Compare by kl.col(...), whose texts are as they are")
        if "_" in found[1] and _LIKE.search(text, 0, found.start()):
            raise ValueError(f"{found[0]} has the sign _, which is any letter in a pattern, and is not supported")
        return found[0]

    if '"' in _TEXT_OR_NAME.sub("", text):
        raise ValueError("\" begins a text in SQL. Put texts between ' and names between `")
    parsed = parse(_TEXT_OR_NAME.sub(placed, text))
    return _Reading(fields, names).expression(parsed, holds=True)


@dataclass(frozen=True)
class _Reading:
    """The columns of a table, and names that were between backticks."""

    fields: Mapping[str, NestedField]
    names: Sequence[str]

    def expression(self, parsed: ice.BooleanExpression, *, holds: bool) -> ice.BooleanExpression:
        """The expression for the rows of which one that was parsed holds, or does not."""
        if isinstance(parsed, ice.And | ice.Or):
            left, right = (self.expression(each, holds=holds) for each in (parsed.left, parsed.right))
            return ice.And(left, right) if isinstance(parsed, ice.And) == holds else ice.Or(left, right)
        if isinstance(parsed, ice.Not):
            return self.expression(parsed.child, holds=not holds)
        if not isinstance(parsed, ice.UnboundPredicate):
            return parsed if holds else ~parsed
        predicate: Any = parsed
        column = self._name(str(predicate.term.name))
        field = self.fields.get(column.lower())
        for each in getattr(predicate, "literals", None) or (getattr(predicate, "literal", None),):
            _check_literal(column, field, getattr(each, "value", None))
        condition: Condition
        match predicate:
            case ice.StartsWith() | ice.NotStartsWith():
                if field is not None and not isinstance(field.field_type, StringType):
                    raise ValueError(f"LIKE is for texts, and column {column!r} is {field.field_type}")
                return self._prefixed(column, predicate.literal, holds == isinstance(predicate, ice.StartsWith))
            case ice.IsNaN() | ice.NotNaN():
                is_nan: Any = ice.IsNaN if holds == isinstance(predicate, ice.IsNaN) else ice.NotNaN
                made: ice.BooleanExpression = is_nan(column)
                return made
            case ice.IsNull() | ice.NotNull():
                condition, holds = IsNull(column), holds == isinstance(predicate, ice.IsNull)
            case ice.In() | ice.NotIn():
                condition = Membership(column, tuple(each.value for each in predicate.literals))
                holds = holds == isinstance(predicate, ice.In)
            case _:
                condition = Comparison(column, _SIGNS[type(predicate)], predicate.literal.value)
        return expression_of(condition, self.fields, holds=holds)

    def _name(self, name: str) -> str:
        if not name.startswith(_PLACE):
            return name
        number, dot, _ = name.removeprefix(_PLACE).partition(".")
        if dot:
            raise ValueError("a member of a struct cannot be compared here")
        return self.names[int(number)]

    def _prefixed(self, column: str, prefix: Any, holds: bool) -> ice.BooleanExpression:
        kind: Any = ice.StartsWith if holds else ice.NotStartsWith
        made: ice.BooleanExpression = kind(column, prefix)
        return made if holds else ice.And(made, expression_of(IsNull(column), self.fields, holds=False))


def _check_literal(column: str, field: NestedField | None, value: object) -> None:
    """Refuses a literal that the parser takes for a value of the column, and SQL does not."""
    type_ = None if field is None else field.field_type
    if value is None or type_ is None or isinstance(type_, StringType | BinaryType | FixedType):
        return
    pattern = next((form for kinds, form in _FORMS.items() if isinstance(type_, kinds)), None)
    is_other = isinstance(value, bool) != isinstance(type_, BooleanType)
    is_number = not isinstance(value, str) and isinstance(type_, _OF_TEXTS)
    if is_other or is_number or (isinstance(value, str) and pattern is not None and not pattern.fullmatch(value)):
        raise ValueError(f"{value!r} is no value of column {column!r}, which is {type_}")


_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_FORMS: dict[tuple[type[IcebergType], ...], re.Pattern[str]] = {
    (IntegerType, LongType): re.compile(r"[+-]?[0-9]+"),
    (FloatType, DoubleType, DecimalType): _NUMBER,
    (DateType,): re.compile(_DATE),
    (TimestampType, TimestamptzType): re.compile(rf"{_DATE}(?:[T ][0-9:.]+)?(?:Z|[+-][0-9]{{2}}:[0-9]{{2}})?"),
    (UUIDType,): re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
}
_OF_TEXTS = (DateType, TimestampType, TimestamptzType, TimeType, UUIDType)
