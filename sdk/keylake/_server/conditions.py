"""Conditions of reads as columns of Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyiceberg.types import IcebergType

from keylake._server.statements import as_parameter, sql_type
from keylake.errors import check_type

if TYPE_CHECKING:
    from pyspark.sql import Column


def check_condition(where: object) -> None:
    """Refuse what is no condition."""
    from pyspark.sql import Column

    check_type("where", where, str | Column | None, "a condition in Spark's SQL, such as 'clicks > 0', or a column")


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
