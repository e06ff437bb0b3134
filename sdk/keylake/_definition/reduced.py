"""The types that a reducer takes: the same rules as the server's, so that a definition fails where it is written."""

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
    Average,
    BitmapOr,
    BoolAnd,
    BoolOr,
    Collect,
    Count,
    Daily,
    Hll,
    Kll,
    LatestN,
    MapMerge,
    Max,
    Min,
    Moments,
    Own,
    Python,
    Reducer,
    Struct,
    Sum,
    Theta,
    TopN,
)

_NUMBERS = (IntegerType, LongType, FloatType, DoubleType, DecimalType)
_ORDERED = (*_NUMBERS, BooleanType, DateType, TimestampType, TimestamptzType, StringType, BinaryType)
_ORDERED_TEXT = "a number, boolean, date, timestamp, string or binary"
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


def has_state(reducer: Reducer, of: IcebergType) -> bool:
    """A table keeps a state beside the values of a column: what these do not say of their contributions.

    >>> has_state(Sum(), LongType()), has_state(Count(), LongType())
    (True, False)
    """
    if isinstance(reducer, Daily):
        return isinstance(reducer.of, Sum)
    if isinstance(reducer, MapMerge):
        return isinstance(of, MapType) and reducer.of is not None and has_state(reducer.of, of.value_type)
    if isinstance(reducer, Struct):
        members = _members(of)
        return any(has_state(each, members[name]) for name, each in reducer.members.items())
    return isinstance(reducer, Sum | ArraySum | Average | Moments | LatestN | Own | Python)


def _missing_type(reducer: Reducer, of: IcebergType) -> str | None:
    """The types that the reducer takes, as words of an error; None where the column has one of them."""
    for rules in (_missing_value, _missing_collection):
        missing = rules(reducer, of)
        if missing is not None:
            return missing
    return None


def _missing_value(reducer: Reducer, of: IcebergType) -> str | None:
    fits, wanted = True, ""
    if isinstance(reducer, Sum):
        fits, wanted = isinstance(of, _NUMBERS), _NUMBER
    elif isinstance(reducer, Min | Max):
        fits, wanted = isinstance(of, _ORDERED), _ORDERED_TEXT
    elif isinstance(reducer, Count):
        fits, wanted = isinstance(of, LongType), "long"
    elif isinstance(reducer, BoolAnd | BoolOr):
        fits, wanted = isinstance(of, BooleanType), "boolean"
    elif isinstance(reducer, BitmapOr | Hll | Theta | Kll):
        fits, wanted = isinstance(of, BinaryType), "binary"
    elif isinstance(reducer, Average):
        sums = _members(of)
        fits = sums.keys() == {"sum", "count"} and isinstance(sums["sum"], _NUMBERS) and sums["count"] == LongType()
        wanted = f"a struct of 'sum', which is {_NUMBER}, and a long 'count'"
    elif isinstance(reducer, Moments):
        fits = _members(of) == {"count": LongType()} | dict.fromkeys(("sum", "sum2", "sum3", "sum4"), DoubleType())
        wanted = "a struct of the doubles 'sum', 'sum2', 'sum3', 'sum4' and a long 'count'"
    return None if fits else wanted


def _missing_collection(reducer: Reducer, of: IcebergType) -> str | None:
    fits, wanted = True, ""
    if isinstance(reducer, Collect):
        return _missing_element(reducer, of)
    if isinstance(reducer, MapMerge):
        return _missing_map(reducer, of)
    if isinstance(reducer, TopN):
        return _missing_top(reducer, of)
    if isinstance(reducer, Struct):
        return _missing_struct(reducer, of)
    if isinstance(reducer, LatestN):
        fits, wanted = isinstance(of, ListType), "a list"
    elif isinstance(reducer, ArraySum):
        fits = isinstance(of, ListType) and isinstance(of.element_type, _NUMBERS)
        wanted = f"a list whose elements are {_NUMBER}"
    elif isinstance(reducer, Daily):
        fits, wanted = _is_daily(of), f"a struct of a date 'day' and a list 'values' of {_NUMBER}"
    return None if fits else wanted


def _is_daily(of: IcebergType) -> bool:
    if not isinstance(of, StructType) or [field.name for field in of.fields] != ["day", "values"]:
        return False
    day, values = (field.field_type for field in of.fields)
    return isinstance(day, DateType) and isinstance(values, ListType) and isinstance(values.element_type, _NUMBERS)


def _members(of: IcebergType) -> dict[str, IcebergType]:
    return {field.name: field.field_type for field in of.fields} if isinstance(of, StructType) else {}


def _missing_map(reducer: MapMerge, of: IcebergType) -> str | None:
    wanted = "a map whose keys are numbers, booleans, dates, timestamps, strings or binary"
    if not isinstance(of, MapType) or not isinstance(of.key_type, _ORDERED):
        return wanted
    missing = None if reducer.of is None else _missing_type(reducer.of, of.value_type)
    return missing and f"{wanted}, and whose values are each {missing}"


def _missing_top(reducer: TopN, of: IcebergType) -> str | None:
    by = _members(of.element_type).get(reducer.by) if isinstance(of, ListType) else None
    if isinstance(by, _ORDERED):
        return None
    return f"a list of structs with a member {reducer.by!r} that is {_ORDERED_TEXT}"


def _missing_struct(reducer: Struct, of: IcebergType) -> str | None:
    found = _members(of)
    missing = {name: _missing_type(part, found[name]) for name, part in reducer.members.items() if name in found}
    if found.keys() == reducer.members.keys() and not any(missing.values()):
        return None
    wanted = [f"{name!r}, which is {missing[name]}" if missing.get(name) else f"{name!r}" for name in reducer.members]
    return "a struct of exactly the members " + ", and ".join(wanted)


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
