"""Python objects as the Arrow type in which Spark takes in a column: exactly, or not at all.

Objects are sorted by what they are, each kind becomes the Arrow array that says it exactly, and that is fitted. They
never go straight to the column's type, because Arrow would make 2 of 2.5 and a date of a datetime on the way; but for
columns of one plain class, of which it cannot.
"""

# pyright: reportAttributeAccessIssue=false
# Arrow makes most of its compute functions when it is imported, out of sight of a checker.

from __future__ import annotations

import datetime
import decimal
import enum
import os
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel
from pyiceberg.types import (
    BooleanType,
    DoubleType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    StringType,
    StructType,
)

from keylake._texts.values import is_time, value_of
from keylake._values import arrow_types
from keylake._values.exact import first
from keylake._values.fit import fit
from keylake._values.misfit import Misfit
from keylake._values.nested import list_of, map_of, match_fields, struct_of
from keylake._values.read import python_value
from keylake.errors import BadRows

Array = Any  # Arrow carries no types for a checker
Values = Sequence[object]

# What Arrow raises when it cannot make an array of objects, NumPy's reasons among them.
_INEXACT = (pa.ArrowException, ArithmeticError, TypeError, ValueError)
_FINER = ("ns", "ps", "fs", "as")  # units below microseconds
_NULLS = ("NoneType", "NAType", "NaTType")  # the last two are pandas', which need not be there
_KINDS: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("boolean", (bool, np.bool_)),
    ("datetime64", (np.datetime64,)),
    ("timedelta", (datetime.timedelta, np.timedelta64)),  # numpy's is an integer to Python
    ("integer", (int, np.integer)),
    ("float", (float, np.floating)),
    ("decimal", (decimal.Decimal,)),
    ("string", (str,)),
    ("binary", (bytes, bytearray, memoryview)),
    ("datetime", (datetime.datetime,)),
    ("date", (datetime.date,)),
    ("time", (datetime.time,)),
    ("uuid", (uuid.UUID,)),
    ("struct", (BaseModel, Mapping)),
    ("list", (list, tuple, np.ndarray)),
)


def fit_objects(values: Values, type_: IcebergType) -> Array:
    """The objects as a column's type.

    >>> from pyiceberg.types import DoubleType, LongType
    >>> fit_objects([1, 2.0, None], LongType()).to_pylist()
    [1, 2, None]
    >>> fit_objects([{"a": 1}], MapType(1, arrow_types.StringType(), 2, DoubleType(), False)).to_pylist()
    [[('a', 1.0)]]
    """
    array = _plain(values, type_)
    if array is not None:
        return array
    parts = [_fit_kind(kind, part, type_) for kind, part in by_kind(values).items()]
    if not parts:
        return pa.nulls(len(values), arrow_types.for_spark(type_))
    return parts[0] if len(parts) == 1 else pc.coalesce(*parts)


# Classes of Python whose values Arrow takes exactly as they are, and refuses where they are too large.
_PLAIN: dict[type[IcebergType], tuple[set[type], Any]] = {
    BooleanType: ({bool, type(None)}, pa.bool_()),
    IntegerType: ({int, type(None)}, pa.int32()),
    LongType: ({int, type(None)}, pa.int64()),
    DoubleType: ({float, type(None)}, pa.float64()),
    StringType: ({str, type(None)}, pa.string()),
}


def _plain(values: Values, type_: IcebergType) -> Array | None:
    """The column of most rows; None where a look at each value is needed, if only for the sentence of an error."""
    classes, of_arrow = _PLAIN.get(type(type_), (set(), None))
    if of_arrow is None or not classes.issuperset(map(type, values)):
        return None
    try:
        return pa.array(values, of_arrow)
    except _INEXACT:
        return None


def fitted_value(name: str, type_: IcebergType, value: object) -> object:
    """One value of a column that is never null, as Python has it once the table holds it.

    >>> from pyiceberg.types import DecimalType
    >>> fitted_value("price", DecimalType(9, 2), decimal.Decimal("14.2"))
    Decimal('14.20')
    """
    return python_value(type_, fitted_column(name, type_, [value])[0].as_py())


def fitted_column(name: str, type_: IcebergType, values: Values) -> Array:
    """The objects as a column that is never null; an error names the row, where there are several."""
    try:
        fitted = fit_objects(values, type_)
    except Misfit as misfit:
        raise BadRows(misfit.sentence(name, None if len(values) == 1 else misfit.position)) from None
    if fitted.null_count:
        row = "" if len(values) == 1 else f" in row {first(fitted.is_null())}"
        raise BadRows(f"Column {name!r} is null{row}, and it never may be. Give it a value.")
    return fitted


def by_kind(values: Values) -> dict[str, Values]:
    """The values by their kind; in each part, None stands where a value is of another kind.

    >>> by_kind([1, 2.5, None])
    {'float': [None, 2.5, None], 'integer': [1, None, None]}
    """
    if any(issubclass(kind, enum.Enum) for kind in set(map(type, values))):
        values = [value.value if isinstance(value, enum.Enum) else value for value in values]
    kinds = {kind: _kind(kind) for kind in set(map(type, values))}
    found = sorted({name for name in kinds.values() if name is not None})
    parts: dict[str, Values] = {}
    for name in found:
        alone = len(found) == 1 and all(name is not None or kind is type(None) for kind, name in kinds.items())
        parts[name] = values if alone else [value if kinds[type(value)] == name else None for value in values]
    if "datetime" in parts:
        datetimes = cast("Sequence[datetime.datetime | None]", parts.pop("datetime"))
        zoned = [value if value is not None and value.tzinfo is not None else None for value in datetimes]
        if any(value is not None for value in zoned):
            parts["timestamptz"] = zoned
        if any(value is not None and value.tzinfo is None for value in datetimes):
            parts["timestamp"] = [value if value is not None and value.tzinfo is None else None for value in datetimes]
    return parts


def _kind(type_: type) -> str | None:
    if type_.__name__ in _NULLS:
        return None
    return next((name for name, classes in _KINDS if issubclass(type_, classes)), type_.__name__)


def _fit_kind(kind: str, values: Values, type_: IcebergType) -> Array:
    if isinstance(type_, ListType) and kind == "list":
        lists = cast("Sequence[Sequence[object] | None]", values)
        return list_of(_lengths(lists), partial(fit_objects, _chained(lists), type_.element_type), type_)
    if isinstance(type_, MapType) and kind in ("struct", "list"):
        return _fit_maps(values, type_)
    if isinstance(type_, StructType) and kind == "struct":
        return _fit_structs(values, type_)
    if kind == "string" and is_time(type_):
        return fit_objects(_of_texts(cast("Sequence[str | None]", values), type_), type_)
    exactly = _EXACTLY.get(kind)
    if exactly is None or isinstance(type_, ListType | MapType | StructType):
        raise _misfit(_first(values), values, type_, "it is another kind of value")
    try:
        array = exactly(values)
    except _INEXACT:
        array = None
    return _one_by_one(values, exactly, type_) if array is None else fit(array, type_)


def _of_texts(values: Sequence[str | None], type_: IcebergType) -> Values:
    """The times that texts stand for. Text of base64 is left as it is: words such as "text" would be bytes, too."""
    found: list[object] = []
    for position, text in enumerate(values):
        try:
            found.append(None if text is None else value_of(text, type_))
        except ValueError as error:
            raise _misfit(position, values, type_, str(error)) from None
    return found


def _one_by_one(values: Values, exactly: Callable[[Values], Array], type_: IcebergType) -> Array:
    """Finds the value that has no exact Arrow form, whatever the reason, or fits all of them after all."""
    arrays: list[Array] = []
    for position, value in enumerate(values):
        try:
            arrays.append(fit(exactly([value]), type_))
        except (Misfit, *_INEXACT) as error:
            why = error.why if isinstance(error, Misfit) else "it has no exact form there"
            raise _misfit(position, values, type_, why) from None
    return pa.concat_arrays(arrays)


def _first(values: Values) -> int:
    return next(position for position, value in enumerate(values) if value is not None)


def _misfit(position: int, values: Values, type_: IcebergType, why: str) -> Misfit:
    value = values[position]
    return Misfit(position, value, type(value).__name__, type_, why)


# ----------------------------------------------------------------------------------------------------- plain values


def _of_type(type_: Any) -> Callable[[Values], Array]:
    return lambda values: pa.array(values, type_)


def _integers(values: Values) -> Array:
    for type_ in (pa.int64(), pa.uint64()):
        with suppress(OverflowError):
            return pa.array(values, type_)
    return pa.array([None if value is None else decimal.Decimal(int(cast("int", value))) for value in values])


def _timestamps(values: Values, zone: str | None) -> Array:
    # pandas' timestamps may have nanoseconds, which Arrow would drop.
    fine = any(getattr(value, "nanosecond", 0) for value in values)
    if zone is not None and os.environ.get("PYARROW_IGNORE_TIMEZONE"):
        # pandas-on-Spark and pandera set it when they are imported: Arrow would take the time of day in another zone.
        times = cast("Sequence[datetime.datetime | None]", values)
        values = [None if each is None else each.astimezone(datetime.timezone.utc) for each in times]
    return pa.array(values, pa.timestamp("ns" if fine else "us", tz=zone))


def _datetimes64(values: Values) -> Array:
    """Numpy's times, whatever their unit; a time that is none is null."""
    times = cast("Sequence[np.datetime64 | None]", values)
    is_fine = any(each is not None and np.datetime_data(each.dtype)[0] in _FINER for each in times)
    unit = "ns" if is_fine else "us"
    found: list[int | None] = []
    for each in times:
        if each is None or np.isnat(each):
            found.append(None)
            continue
        exact = each.astype(f"datetime64[{unit}]")
        if exact.astype(each.dtype) != each:
            raise ValueError("it has no exact form there")
        found.append(int(exact.astype(np.int64)))
    return pa.array(found, pa.timestamp(unit))


def _times(values: Values) -> Array:
    if any(isinstance(value, datetime.time) and value.tzinfo is not None for value in values):
        raise ValueError("a time with a zone has no Arrow form")
    return pa.array(values, pa.time64("us"))


def _uuids(values: Values) -> Array:
    raw = [value.bytes if isinstance(value, uuid.UUID) else None for value in values]
    return pa.ExtensionArray.from_storage(pa.uuid(), pa.array(raw, pa.binary(16)))


_EXACTLY: dict[str, Callable[[Values], Array]] = {
    "boolean": _of_type(pa.bool_()),
    "integer": _integers,
    "float": _of_type(pa.float64()),
    "decimal": _of_type(None),
    "string": _of_type(pa.string()),
    "binary": _of_type(pa.binary()),
    "timestamp": partial(_timestamps, zone=None),
    "timestamptz": partial(_timestamps, zone="UTC"),
    "datetime64": _datetimes64,
    "date": _of_type(pa.date32()),
    "time": _times,
    "uuid": _uuids,
}


# ----------------------------------------------------------------------------------------------------- nested values


def _lengths(values: Sequence[Sequence[object] | Mapping[Any, object] | None]) -> Any:
    lengths = np.fromiter((0 if value is None else len(value) for value in values), np.int64, len(values))
    return np.ma.masked_array(lengths, mask=[value is None for value in values])


def _chained(values: Iterable[Iterable[object] | None]) -> list[object]:
    return list(chain.from_iterable(value for value in values if value is not None))


def _fit_maps(values: Values, type_: MapType) -> Array:
    pairs: list[Sequence[tuple[object, object]] | None] = []
    for position, value in enumerate(values):
        if isinstance(value, Mapping):
            pairs.append(list(value.items()))
        elif value is None or (isinstance(value, list | np.ndarray) and all(_is_pair(item) for item in value)):
            pairs.append(cast("list[tuple[object, object]] | None", value))
        else:
            raise _misfit(position, values, type_, "a map is a dict, or a list of pairs")
    flat = cast("list[tuple[object, object]]", _chained(pairs))
    keys, items = [pair[0] for pair in flat], [pair[1] for pair in flat]
    parts = partial(fit_objects, keys, type_.key_type), partial(fit_objects, items, type_.value_type)
    return map_of(_lengths(pairs), *parts, type_)


def _is_pair(value: object) -> bool:
    return isinstance(value, list | tuple) and len(cast("Sequence[object]", value)) == 2


def _fit_structs(values: Values, type_: StructType) -> Array:
    structs = [_as_mapping(value) for value in values]
    names = dict.fromkeys(_chained(structs))
    text = [str(name) for name in names]
    found = match_fields(text, type_, lambda: next(n for n, each in enumerate(structs) if each))
    types = {field.name: field.field_type for field in type_.fields}
    keys = list(names)
    parts = {
        name: partial(fit_objects, [None if each is None else each.get(keys[place]) for each in structs], types[name])
        for name, place in found.items()
    }
    return struct_of(np.fromiter((each is None for each in structs), np.bool_, len(structs)), parts, type_)


def _as_mapping(value: object) -> Mapping[Any, object] | None:
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        return {field.alias or name: getattr(value, name) for name, field in fields.items()}
    return cast("Mapping[Any, object] | None", value)
