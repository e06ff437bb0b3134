"""Arrow arrays as files have them -> arrays of the table's types: members by field id, narrower types widened."""

# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyiceberg.types import IcebergType, ListType, MapType, StructType

from keylake._values.arrow_types import natural

_FIELD_ID = b"PARQUET:field_id"


def field_id(field: pa.Field) -> int | None:
    """The Iceberg field id of a field of a file."""
    told = (field.metadata or {}).get(_FIELD_ID)
    return None if told is None else int(told)


def conformed(array: Any, field: pa.Field, type_: IcebergType) -> Any:
    """The values of a field of a file, in Arrow's type of an Iceberg type."""
    wanted = natural(type_)
    if isinstance(type_, StructType):
        return _struct(array, field, type_)
    if isinstance(type_, ListType):
        inner = conformed(array.values, field.type.value_field, type_.element_type)
        return pa.ListArray.from_arrays(_offsets(array), inner, type=wanted, mask=_nulls(array))
    if isinstance(type_, MapType):
        keys = conformed(array.keys, field.type.key_field, type_.key_type)
        items = conformed(array.items, field.type.item_field, type_.value_type)
        return pa.MapArray.from_arrays(_offsets(array), keys, items, type=wanted, mask=_nulls(array))
    if array.type == wanted:
        return array
    if isinstance(wanted, pa.BaseExtensionType):
        storage = array.storage if isinstance(array.type, pa.BaseExtensionType) else array
        return pa.ExtensionArray.from_storage(wanted, storage.cast(wanted.storage_type))
    return array.cast(wanted)


def _struct(array: Any, field: pa.Field, type_: StructType) -> Any:
    by_id = {field_id(each): at for at, each in enumerate(field.type)}
    members = []
    for member in type_.fields:
        at = by_id.get(member.field_id)
        told = None if at is None else conformed(array.field(at), field.type.field(at), member.field_type)
        members.append(pa.nulls(len(array), natural(member.field_type)) if told is None else told)
    return pa.StructArray.from_arrays(members, fields=list(natural(type_)), mask=_nulls(array))


def _nulls(array: Any) -> Any:
    return array.is_null() if array.null_count else None


def _offsets(array: Any) -> Any:
    return array.offsets if array.offset == 0 else pa.array(array.offsets.to_numpy())
