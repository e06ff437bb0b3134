"""Conditions as Spark takes them: columns of Spark, and conditions on columns as SQL."""

from __future__ import annotations

import datetime
import decimal
import math
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyiceberg.types import DecimalType, IcebergType

from keylake._server.statements import as_parameter, literal, quoted, sql_type
from keylake.conditions import Comparison, Condition, IsNull, Joined, Membership, Negated, Value
from keylake.errors import DefinitionError, check_type

if TYPE_CHECKING:
    from pyspark.sql import Column

    Where = str | Column | Condition

_MAY_BE = "a condition in Spark's SQL, such as 'clicks > 0', or on a column: kl.col(Profile.clicks) > 0"


def condition_text(where: object, may_be: str = _MAY_BE) -> str | None:
    r"""A condition in SQL: text as it is, and one on columns with its names and values quoted.

    >>> from keylake.conditions import col
    >>> condition_text(col("it`s") == "it's"), condition_text("clicks > 3")
    ("`it``s` = 'it\\'s'", 'clicks > 3')
    """
    check_type("where", where, str | Condition | None, may_be)
    return _in_sql(where) if isinstance(where, Condition) else None if where is None else str(where)


def required_text(where: object, may_be: str = _MAY_BE) -> str:
    """A condition in SQL where there has to be one."""
    text = condition_text(where, may_be)
    if text is None:
        raise DefinitionError(f"where is None. Use {may_be}.")
    return text


def column_or_text(where: object) -> str | Column | None:
    """A condition that a frame of Spark takes."""
    from pyspark.sql import Column

    return where if isinstance(where, Column) else condition_text(where, f"{_MAY_BE}, or a column of Spark")


def literal_of(type_: IcebergType, value: object) -> Column:
    """A value of a key column, of the type of the column."""
    from pyspark.sql.connect.functions import lit

    return lit(as_parameter(value)).cast(sql_type(type_))


def any_of(conditions: Sequence[Column]) -> Column:
    """Conditions joined by OR as a tree of equal halves: Spark walks expressions by recursion."""
    if len(conditions) == 1:
        return conditions[0]
    half = len(conditions) // 2
    return any_of(conditions[:half]) | any_of(conditions[half:])


def _in_sql(condition: Condition) -> str:
    match condition:
        case Comparison(column, sign, value):
            return f"{quoted(column)} {sign} {_value_in_sql(value)}"
        case Membership(column, values):
            listed = ", ".join(map(_value_in_sql, values))
            return f"{quoted(column)} IN ({listed})" if values else "false"
        case IsNull(column):
            return f"{quoted(column)} IS NULL"
        case Negated(part):
            return f"NOT ({_in_sql(part)})"
        case Joined(sign, parts):
            return f" {'AND' if sign == '&' else 'OR'} ".join(f"({_in_sql(part)})" for part in parts)
        case _:
            raise TypeError(type(condition))


def _decimal_type(value: int | decimal.Decimal) -> DecimalType:
    _, digits, exponent = decimal.Decimal(f"{decimal.Decimal(value):f}").as_tuple()
    scale = max(0, -int(exponent))
    return DecimalType(max(len(digits), scale), scale)


def _value_in_sql(value: Value) -> str:
    """A value as SQL has it, of exactly its type.

    >>> _value_in_sql(decimal.Decimal("1.50")), _value_in_sql(0.1), _value_in_sql(b"hi")
    ('1.50BD', '0.1D', "X'6869'")
    """
    match value:
        case bool():
            return str(value).lower()
        case int() | decimal.Decimal() if not -(2**63) <= value < 2**63:
            # To Spark, which looks at such a literal alone, a whole number that is null would be below it.
            return f"CAST('{decimal.Decimal(value):f}' AS {sql_type(_decimal_type(value))})"
        case int():
            return str(value)
        case float():
            return f"{value!r}D" if math.isfinite(value) else f"CAST('{value}' AS DOUBLE)"
        case decimal.Decimal():
            return f"{value:f}BD"
        case str():
            return literal(value)
        case bytes():
            return f"X'{value.hex()}'"
        case uuid.UUID():
            return literal(str(value))
        case datetime.datetime() if value.tzinfo is not None:
            return f"TIMESTAMP_LTZ {literal(value.astimezone(datetime.timezone.utc).isoformat(sep=' '))}"
        case datetime.datetime():
            return f"TIMESTAMP_NTZ {literal(value.isoformat(sep=' '))}"
        case datetime.date():
            return f"DATE {literal(value.isoformat())}"
