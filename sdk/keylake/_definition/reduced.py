"""Which types a reducer takes: the same rules as the server's, so that a definition fails where it is written."""

from __future__ import annotations

from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
)

from keylake._definition.columns import Column
from keylake.errors import DefinitionError
from keylake.reducers import (
    ArraySum,
    BitmapOr,
    BoolAnd,
    BoolOr,
    Collect,
    Count,
    Daily,
    Hll,
    Kll,
    MapMerge,
    Max,
    Min,
    Reducer,
    Sum,
    Theta,
)

_NUMBERS = (IntegerType, LongType, FloatType, DoubleType, DecimalType)
_ORDERED = (*_NUMBERS, BooleanType, DateType, TimestampType, TimestamptzType, StringType, BinaryType)
_NUMBER = "int, long, float, double or decimal"


def check_reduced_type(column: Column) -> None:
    """A column of a type that its reducer takes.

    >>> check_reduced_type(Column("page", StringType(), reducer=Sum()))
    Traceback (most recent call last):
    keylake.errors.DefinitionError: Column 'page' has the reducer Sum() and is of type string. The column must be \
int, long, float, double or decimal.
    """
    missing = _missing_type(column.reducer, column.type)
    if missing is not None:
        raise DefinitionError(
            f"Column {column.name!r} has the reducer {column.reducer!r} and is of type {column.type}. "
            f"The column must be {missing}."
        )


def _missing_type(reducer: Reducer, of: IcebergType) -> str | None:
    """What the column must be of; None where its type fits."""
    fits, wanted = True, ""
    if isinstance(reducer, Sum):
        fits, wanted = isinstance(of, _NUMBERS), _NUMBER
    elif isinstance(reducer, Min | Max):
        fits, wanted = isinstance(of, _ORDERED), "a number, boolean, date, timestamp, string or binary"
    elif isinstance(reducer, Count):
        fits, wanted = isinstance(of, LongType), "long"
    elif isinstance(reducer, BoolAnd | BoolOr):
        fits, wanted = isinstance(of, BooleanType), "boolean"
    elif isinstance(reducer, Collect):
        return _missing_element(reducer, of)
    elif isinstance(reducer, ArraySum):
        fits = isinstance(of, ListType) and isinstance(of.element_type, _NUMBERS)
        wanted = f"a list whose elements are {_NUMBER}"
    elif isinstance(reducer, MapMerge):
        fits = isinstance(of, MapType) and isinstance(of.key_type, _ORDERED)
        wanted = "a map whose keys are numbers, booleans, dates, timestamps, strings or binary"
    elif isinstance(reducer, BitmapOr | Hll | Theta | Kll):
        fits, wanted = isinstance(of, BinaryType), "binary"
    elif isinstance(reducer, Daily):
        fits, wanted = _is_daily(of), f"a struct of a date 'day' and a list 'values' of {_NUMBER}"
    return None if fits else wanted


def _is_daily(of: IcebergType) -> bool:
    if not isinstance(of, StructType) or [field.name for field in of.fields] != ["day", "values"]:
        return False
    day, values = (field.field_type for field in of.fields)
    return isinstance(day, DateType) and isinstance(values, ListType) and isinstance(values.element_type, _NUMBERS)


def _missing_element(reducer: Collect, of: IcebergType) -> str | None:
    if not isinstance(of, ListType):
        return "a list"
    if reducer.distinct and _has_map(of.element_type):
        return "a list whose elements have no map in them, since maps cannot be compared"
    return None


def _has_map(of: IcebergType) -> bool:
    if isinstance(of, ListType):
        return _has_map(of.element_type)
    if isinstance(of, StructType):
        return any(_has_map(field.field_type) for field in of.fields)
    return isinstance(of, MapType)
