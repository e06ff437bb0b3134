"""Values of rows that were read, as Python has them.

Spark and Arrow give some types in another form: a uuid as text, a map as a list of pairs, a struct as a Spark row, a
time in the zone of the session.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterable, Mapping
from typing import cast

from pyiceberg.types import (
    BinaryType,
    FixedType,
    IcebergType,
    ListType,
    MapType,
    StructType,
    TimestamptzType,
    UUIDType,
)

_READ_OTHERWISE = (BinaryType, FixedType, ListType, MapType, StructType, TimestamptzType, UUIDType)


def python_value(type_: IcebergType, value: object) -> object:
    """The Python value of a type, from whatever form it was read in.

    >>> python_value(UUIDType(), "00000000-0000-0000-0000-000000000007")
    UUID('00000000-0000-0000-0000-000000000007')
    >>> from pyiceberg.types import TimestamptzType
    >>> noon = datetime.datetime.fromisoformat("2026-01-01T12:00:00-03:30")
    >>> python_value(TimestamptzType(), noon)
    datetime.datetime(2026, 1, 1, 15, 30, tzinfo=datetime.timezone.utc)
    """
    if value is None:
        return None
    if isinstance(type_, UUIDType) and not isinstance(value, uuid.UUID):
        return uuid.UUID(bytes=value) if isinstance(value, bytes) else uuid.UUID(str(value))
    if isinstance(type_, ListType):
        return [python_value(type_.element_type, element) for element in cast("Iterable[object]", value)]
    if isinstance(type_, MapType):
        pairs = value.items() if isinstance(value, Mapping) else cast("Iterable[tuple[object, object]]", value)
        return {python_value(type_.key_type, k): python_value(type_.value_type, v) for k, v in pairs}
    if isinstance(type_, StructType):
        of = (
            value
            if isinstance(value, Mapping)
            else dict(zip(_names(value), cast("Iterable[object]", value), strict=True))
        )
        return {field.name: python_value(field.field_type, of.get(field.name)) for field in type_.fields}
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.timezone.utc)
    if isinstance(value, bytearray):
        return bytes(value)
    return value


def is_read_as_it_is(type_: IcebergType) -> bool:
    """Spark and Arrow give the values of a type as Python has them.

    >>> from pyiceberg.types import LongType
    >>> is_read_as_it_is(LongType()), is_read_as_it_is(UUIDType())
    (True, False)
    """
    return not isinstance(type_, _READ_OTHERWISE)


def python_values(type_: IcebergType, values: list[object]) -> list[object]:
    """The Python values of a type, from whatever form they were read in."""
    return values if is_read_as_it_is(type_) else [python_value(type_, value) for value in values]


def _names(row: object) -> list[str]:
    return list(row.__fields__)  # type: ignore[attr-defined]  # a Spark row; named here so that Spark is not imported
