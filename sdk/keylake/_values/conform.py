"""Arrow arrays as files have them, or as Spark takes them -> arrays of the table's types.

Members of structs in files are found by field id, whatever their names, and narrower types are widened.
"""

# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

import uuid
from typing import Any

import pyarrow as pa
from pyiceberg.types import IcebergType, ListType, MapType, NestedField, StructType

from keylake._values.arrow_types import natural

_FIELD_ID = b"PARQUET:field_id"


def field_id(field: pa.Field) -> int | None:
    """The Iceberg field id of a field of a file."""
    told = (field.metadata or {}).get(_FIELD_ID)
    return None if told is None else int(told)


def conformed(array: Any, field: pa.Field, type_: IcebergType) -> Any:
    """The values of a field of a file, in Arrow's type of an Iceberg type."""
    return _converted(array, field, type_)


def of_spark(array: Any, type_: IcebergType) -> Any:
    """Values in the form that Spark takes, in Arrow's type of an Iceberg type."""
    return _converted(array, None, type_)


def _converted(array: Any, field: pa.Field | None, type_: IcebergType) -> Any:
    """The column as the type; `field` of a file says the ids of members, which otherwise have the names of the type."""
    wanted = natural(type_)
    if isinstance(type_, StructType):
        return _struct(array, field, type_)
    if isinstance(type_, ListType):
        inner = _converted(array.values, field and field.type.value_field, type_.element_type)
        return pa.ListArray.from_arrays(_offsets(array), inner, type=wanted, mask=_nulls(array))
    if isinstance(type_, MapType):
        keys = _converted(array.keys, field and field.type.key_field, type_.key_type)
        items = _converted(array.items, field and field.type.item_field, type_.value_type)
        return pa.MapArray.from_arrays(_offsets(array), keys, items, type=wanted, mask=_nulls(array))
    if array.type == wanted:
        return array
    if isinstance(wanted, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(wanted, _storage(array, wanted))
    return array.cast(wanted)


def _storage(array: Any, wanted: Any) -> Any:
    if pa.types.is_string(array.type):  # uuids, as Spark has them
        values = [None if text is None else uuid.UUID(text).bytes for text in array.to_pylist()]
        return pa.array(values, wanted.storage_type)
    storage = array.storage if isinstance(array.type, pa.BaseExtensionType) else array
    return storage.cast(wanted.storage_type)


def _struct(array: Any, field: pa.Field | None, type_: StructType) -> Any:
    places = {each.name if field is None else field_id(each): at for at, each in enumerate((field or array).type)}
    parts = array.flatten()  # what lies below a null struct is null, too
    members = []
    for member in type_.fields:
        at = places.get(member.name if field is None else member.field_id)
        found = None if at is None else _converted(parts[at], field and field.type.field(at), member.field_type)
        members.append(pa.nulls(len(array), natural(member.field_type)) if found is None else found)
    return pa.StructArray.from_arrays(members, fields=list(natural(type_)), mask=_nulls(array))


def _nulls(array: Any) -> Any:
    return array.is_null() if array.null_count else None


def _offsets(array: Any) -> Any:
    return array.offsets if array.offset == 0 else pa.array(array.offsets.to_numpy())


def with_id(column: NestedField) -> Any:
    """An Arrow field whose Parquet column, and those inside it, have Iceberg's ids."""
    return pa.field(
        column.name,
        _type_with_ids(column.field_type),
        nullable=not column.required,
        metadata={_FIELD_ID: str(column.field_id).encode()},
    )


def _type_with_ids(type_: IcebergType) -> Any:
    if isinstance(type_, StructType):
        return pa.struct([with_id(each) for each in type_.fields])
    if isinstance(type_, ListType):
        element = NestedField(type_.element_id, "element", type_.element_type, required=type_.element_required)
        return pa.list_(with_id(element))
    if isinstance(type_, MapType):
        key = NestedField(type_.key_id, "key", type_.key_type, required=True)
        value = NestedField(type_.value_id, "value", type_.value_type, required=type_.value_required)
        return pa.map_(with_id(key), with_id(value))
    return natural(type_)
