"""Nested types, and the types that they have inside."""

from __future__ import annotations

from pyiceberg.types import IcebergType, ListType, MapType, StructType


def has_maps(type_: IcebergType) -> bool:
    """A type is a map, or has one inside, of which polars has had several forms.

    >>> from pyiceberg.types import LongType, StringType
    >>> has_maps(ListType(1, MapType(2, StringType(), 3, LongType()))), has_maps(LongType())
    (True, False)
    """
    if isinstance(type_, ListType):
        return has_maps(type_.element_type)
    if isinstance(type_, StructType):
        return any(has_maps(each.field_type) for each in type_.fields)
    return isinstance(type_, MapType)
