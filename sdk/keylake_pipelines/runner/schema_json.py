"""Schemas of source tables and their changes as JSON, for the tables in which a pipeline keeps its state.

SourceSchema ── schema_to_json ── text ── schema_from_json ── SourceSchema
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pyiceberg.schema import Schema
from pyiceberg.types import NestedField, StructType

from keylake.types import numbered
from keylake_pipelines.source.tables import (
    ColumnAdded,
    ColumnDropped,
    ColumnModified,
    ColumnRenamed,
    KeyChanged,
    SourceColumn,
    SourceSchema,
    SourceTable,
    TableChange,
    TableCreated,
    TableDropped,
    TableRefused,
    TableRenamed,
    TableReread,
    TableTruncated,
)

_CHANGES: dict[str, type[TableChange]] = {
    each.__name__: each
    for each in (
        TableCreated,
        ColumnAdded,
        ColumnDropped,
        ColumnRenamed,
        ColumnModified,
        TableTruncated,
        TableDropped,
        TableRenamed,
        KeyChanged,
        TableRefused,
        TableReread,
    )
}


def schema_to_json(schema: SourceSchema) -> str:
    """A schema as text.

    >>> from pyiceberg.types import LongType
    >>> schema = SourceSchema(SourceTable(("shop", "orders")), (SourceColumn("id", LongType()),), ("id",))
    >>> schema_from_json(schema_to_json(schema)) == schema
    True
    """
    return json.dumps(_schema(schema), separators=(",", ":"))


def schema_from_json(text: str) -> SourceSchema:
    """The schema of a text."""
    return _schema_of(json.loads(text))


def change_to_json(change: TableChange) -> str:
    """A change of a table as text.

    >>> change = ColumnRenamed(SourceTable(("shop", "orders")), "a", "b")
    >>> change_from_json(change_to_json(change)) == change
    True
    """
    return json.dumps({"change": type(change).__name__, **{k: _plain(v) for k, v in vars(change).items()}})


def change_from_json(text: str) -> TableChange:
    """The change of a text."""
    said = json.loads(text)
    kind: Any = _CHANGES[said.pop("change")]
    change: TableChange = kind(**{name: _value(name, value) for name, value in said.items()})
    return change


def _plain(value: object) -> object:
    if isinstance(value, SourceTable):
        return list(value.parts)
    if isinstance(value, SourceColumn):
        return _columns([value])
    return _schema(value) if isinstance(value, SourceSchema) else value


def _value(name: str, value: Any) -> Any:
    if name == "schema":
        return _schema_of(value)
    if name == "column":
        return _columns_of(value)[0]
    if name == "key":
        return tuple(value)
    return SourceTable(tuple(value)) if isinstance(value, list) else value


def _schema(schema: SourceSchema) -> dict[str, Any]:
    columns = _columns(schema.columns)
    said = {"table": list(schema.table.parts), "columns": columns, "key": list(schema.key), "comment": schema.comment}
    return said | ({"refused": schema.refused} if schema.refused else {})


def _schema_of(said: dict[str, Any]) -> SourceSchema:
    return SourceSchema(
        SourceTable(tuple(said["table"])),
        _columns_of(said["columns"]),
        tuple(said["key"]),
        said["comment"],
        said.get("refused", ""),
    )


def _columns(columns: Sequence[SourceColumn]) -> object:
    """Iceberg's own form of columns has their types and comments."""
    fields = [NestedField(0, c.name, c.type, required=False, doc=c.comment or None) for c in columns]
    struct = numbered(StructType(*fields))
    assert isinstance(struct, StructType)
    return json.loads(Schema(*struct.fields).model_dump_json())


def _columns_of(said: object) -> tuple[SourceColumn, ...]:
    fields = Schema.model_validate(said).fields
    return tuple(SourceColumn(field.name, field.field_type, field.doc or "") for field in fields)
