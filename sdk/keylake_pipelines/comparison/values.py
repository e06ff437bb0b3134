"""Values of a column in one form, whether they come as JSON from a source or as Arrow from a keyed table."""

from __future__ import annotations

import datetime
import hashlib
import math
import struct
from base64 import b64decode
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

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
    ListType,
    LongType,
    MapType,
    StructType,
    TimestampType,
    TimestamptzType,
    UUIDType,
)

_UTC = datetime.timezone.utc
Form = Callable[[Any], object]


def from_json(type_: IcebergType) -> Form:
    """The function that turns a value of JSON into a comparable one; one that does not fit the type differs from all.

    >>> from_json(DecimalType(5, 2))("1.5") == from_arrow(DecimalType(5, 2))(Decimal("1.50"))
    True
    """
    convert = _of_json(type_)

    def form(value: Any) -> object:
        if value is None:
            return None
        try:
            return convert(value)
        except (ValueError, TypeError, ArithmeticError, AttributeError):
            return "does not fit", repr(value)

    return form


def from_arrow(type_: IcebergType) -> Form:
    """The function that turns a Python value of Arrow into a comparable one."""
    convert = _of_arrow(type_)
    return lambda value: None if value is None else convert(value)


def digest_of(values: Sequence[object]) -> bytes:
    """A hash of comparable values, equal for equal values.

    >>> digest_of([1, None, "a"]) == digest_of([1, None, "a"]), digest_of([1]) == digest_of([2])
    (True, False)
    """
    return hashlib.blake2b(repr(values).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _boolean(value: Any) -> object:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _decimal(value: Any) -> object:
    number = Decimal(str(value) if isinstance(value, float) else value)
    return format(number.normalize() if number else Decimal(0), "f")


def _parsed(text: str) -> datetime.datetime:
    whole, _, part = text.partition(".")
    return datetime.datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S").replace(microsecond=int(part.ljust(6, "0") or 0))


def _moment(value: datetime.datetime) -> object:
    return value.isoformat(timespec="microseconds")


_PLAIN_JSON: dict[type[IcebergType], Form] = {
    BooleanType: _boolean,
    IntegerType: int,
    LongType: int,
    DecimalType: _decimal,
    DateType: lambda text: datetime.date.fromisoformat(text).isoformat(),
    TimestampType: lambda text: _moment(_parsed(text)),
    TimestamptzType: lambda text: _moment(_parsed(text.removesuffix("Z"))),
    BinaryType: b64decode,
    FixedType: b64decode,
    UUIDType: lambda text: text.lower(),
}


def _of_json(type_: IcebergType) -> Form:
    match type_:
        case ListType():
            element = from_json(type_.element_type)
            return lambda value: tuple(element(each) for each in value)
        case MapType():
            key, item = from_json(type_.key_type), from_json(type_.value_type)
            return lambda value: _pairs((key(name), item(each)) for name, each in value.items())
        case StructType():
            fields = [(each.name, from_json(each.field_type)) for each in type_.fields]
            return lambda value: tuple(form(value.get(name)) for name, form in fields)
        case FloatType() | DoubleType():
            return _floating(single=isinstance(type_, FloatType))
        case _:
            return _PLAIN_JSON.get(type(type_), str)


def _of_arrow(type_: IcebergType) -> Form:
    match type_:
        case ListType():
            element = from_arrow(type_.element_type)
            return lambda value: tuple(element(each) for each in value)
        case MapType():
            key, item = from_arrow(type_.key_type), from_arrow(type_.value_type)
            return lambda value: _pairs(
                (key(name), item(each)) for name, each in (value.items() if isinstance(value, dict) else value)
            )
        case StructType():
            fields = [(each.name, from_arrow(each.field_type)) for each in type_.fields]
            return lambda value: tuple(form(value.get(name)) for name, form in fields)
        case FloatType() | DoubleType():
            return _floating(single=isinstance(type_, FloatType))
        case DecimalType():
            return _decimal
        case DateType():
            return lambda value: value.isoformat()
        case TimestampType():
            return _moment
        case TimestamptzType():
            return lambda value: _moment(value.astimezone(_UTC).replace(tzinfo=None))
        case BinaryType() | FixedType():
            return bytes
        case UUIDType():
            return lambda value: str(value).lower()
        case _:
            return lambda value: value


def _pairs(pairs: Any) -> object:
    return tuple(sorted(pairs, key=repr))


def _floating(*, single: bool) -> Form:
    def form(value: Any) -> object:
        number = float(value)
        if math.isnan(number):
            return "NaN"
        if single and math.isfinite(number):
            number = struct.unpack("f", struct.pack("f", number))[0]
        return number + 0.0  # which makes -0.0 0.0

    return form
