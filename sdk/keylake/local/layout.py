"""The layout of a keyed table in an Iceberg schema: the columns of its users, and the fields that hold versions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import NestedField, StructType

from keylake._definition.names import SPEC_PROPERTY
from keylake._definition.spec import TableSpec
from keylake._values.arrow_types import empty_table, natural
from keylake.errors import DefinitionError, NotKeyed, Unsupported
from keylake.local import names
from keylake.local.damage import damaged_definition, facts, first_line
from keylake.local.metadata_file import near

_MERGE_INFO = "_merge_info"
_HIDDEN = (_MERGE_INFO, "_bucket", "_group")
_PARTS = ("version", "written", "deleted", "columns", "states")


@dataclass(frozen=True, eq=False)
class Layout:
    """The definition of a table at one moment, with the field ids that its files are read by.

    `leaves` and `states` have the field ids in `_merge_info.columns` and `_merge_info.states` by value column.
    """

    spec: TableSpec
    fields: Mapping[str, NestedField]
    version: int
    written: int
    deleted: int
    leaves: Mapping[str, int]
    states: Mapping[str, int]
    key_order: int  # the id of the sort order that every file has
    bucket_counts: Mapping[int, int]  # by the id of a partition spec
    in_commit_order: bool  # whether the later commit has the larger versions
    group: NestedField | None = None  # the hidden column by which files are sorted before the key

    @property
    def key(self) -> tuple[NestedField, ...]:
        """The key columns."""
        return tuple(self.fields[name] for name in self.spec.key)

    @property
    def sort_key(self) -> tuple[NestedField, ...]:
        """The columns that files are sorted by."""
        return self.key if self.group is None else (self.group, *self.key)

    def empty(self, names: Sequence[str]) -> Any:
        """An Arrow table with some of the columns and no rows."""
        fields = [pa.field(name, natural(self.fields[name].field_type), name not in self.spec.key) for name in names]
        return empty_table(pa.schema(fields))

    @property
    def ordering(self) -> NestedField | None:
        """The ordering column."""
        return None if self.spec.ordering is None else self.fields[self.spec.ordering]


def layout_of(name: str, metadata: TableMetadata, schema: Schema) -> Layout:
    """The layout of a table with the columns of one of its schemas."""
    with facts(name):
        return _layout(name, metadata, schema)


def _layout(name: str, metadata: TableMetadata, schema: Schema) -> Layout:
    _check_known(name, metadata)
    present = metadata.properties[SPEC_PROPERTY]
    past = metadata.properties.get(f"{names.SPEC_OF_SCHEMA}{schema.schema_id}")
    told = present if past is None or schema.schema_id == metadata.current_schema_id else past
    hidden = _of_experiments(metadata.properties, schema.schema_id)
    shown = [field for field in schema.fields if field.field_id not in hidden and field.name not in _HIDDEN]
    identifiers = [each for each in schema.identifier_field_ids if each not in hidden]
    spec = _spec(name, Schema(*shown, identifier_field_ids=identifiers), told)
    parts = _parts(name, schema)
    leaves, states = _members(parts.get("columns")), _members(parts.get("states"))
    groups = {column: group.name for group in spec.column_groups for column in group.columns}
    leaf_of: dict[str, int] = {}
    for column in spec.value_columns:
        accumulates = spec.column(column).reducer.accumulates
        leaf = leaves.get(column if accumulates else groups.get(column, column))
        if leaf is None:
            raise damaged_definition(name, f"column {column!r} has no version field in {_MERGE_INFO}")
        leaf_of[column] = leaf
    of_states = {c: states[c] for c in spec.value_columns if c in states and spec.column(c).reducer.accumulates}
    return Layout(
        spec=spec,
        fields={field.name: field for field in shown},
        version=parts["version"].field_id,
        written=parts["written"].field_id,
        deleted=parts["deleted"].field_id,
        leaves=leaf_of,
        states=of_states,
        key_order=_key_order(name, metadata, schema, spec),
        bucket_counts=_bucket_counts(name, metadata, spec),
        in_commit_order=spec.versions == "commit" and names.VERSIONS_DECIDE not in metadata.properties,
        group=schema.find_field("_group") if spec.groups else None,
    )


def _spec(name: str, schema: Schema, told: str) -> TableSpec:
    """The stored definition, which keylake wrote: what it does not say, or says wrongly, is no fault of a caller."""
    try:
        return TableSpec.from_iceberg(schema, name=name, spec=told)
    except DefinitionError as error:
        raise damaged_definition(name, first_line(error)) from None


def same_definition(metadata: TableMetadata, schema: Schema) -> bool:
    """A schema is of the table as it is, and not of one that was replaced: the hidden column keeps its id."""
    ids = [next((f.field_id for f in s.fields if f.name == _MERGE_INFO), None) for s in (metadata.schema(), schema)]
    return ids[0] is not None and ids[0] == ids[1]


def _check_known(name: str, metadata: TableMetadata) -> None:
    if SPEC_PROPERTY not in metadata.properties:
        raise NotKeyed(f"{name} is a plain Iceberg table without a key. Read it with pyiceberg, or register it.")
    unknown = sorted(each for each in metadata.properties if not names.is_known(each))
    if unknown:
        raise Unsupported(
            f"{name} has the property {unknown[0]!r}, which this version does not know, so it may read rows wrongly. "
            "Upgrade keylake."
        )
    if metadata.format_version not in (2, 3):
        raise Unsupported(f"{name} has Iceberg's format version {metadata.format_version}. Use a table of 2 or 3.")


def _of_experiments(properties: Mapping[str, str], schema_id: int) -> set[int]:
    """The columns that main does not show, or did not show when a schema was the table's."""
    beside = (names.EXPERIMENT, names.DROPPED_EXPERIMENT)
    told = [
        json.loads(text) for name, text in properties.items() if name.startswith((*beside, names.PROMOTED_EXPERIMENT))
    ]
    of_then = [each for each in told if schema_id < each.get("shown_from_schema", schema_id + 1)]
    return {int(each) for experiment in of_then for each in experiment.get("added", [])}


def _parts(name: str, schema: Schema) -> dict[str, NestedField]:
    info = next((field for field in schema.fields if field.name == _MERGE_INFO), None)
    if info is None or not isinstance(info.field_type, StructType):
        raise damaged_definition(name, f"it has a spec but no struct column {_MERGE_INFO!r}")
    parts = {field.name: field for field in info.field_type.fields}
    unknown = [part for part in parts if part not in _PARTS]
    if unknown and near(unknown[0], _PARTS) is not None:
        raise damaged_definition(name, f"its field {_MERGE_INFO}.{unknown[0]} is a known one with one changed bit")
    if unknown:
        raise Unsupported(
            f"{name} has the field {_MERGE_INFO}.{unknown[0]}, which this version does not know. Upgrade keylake."
        )
    return parts


def _members(part: NestedField | None) -> dict[str, int]:
    if part is None or not isinstance(part.field_type, StructType):
        return {}
    return {field.name: field.field_id for field in part.field_type.fields}


def _key_order(name: str, metadata: TableMetadata, schema: Schema, spec: TableSpec) -> int:
    wanted = [schema.find_field(each).field_id for each in (*(("_group",) if spec.groups else ()), *spec.key)]
    for order in metadata.sort_orders:
        ascending = [f.source_id for f in order.fields if isinstance(f.transform, IdentityTransform) and _is_up(f)]
        if len(ascending) == len(order.fields) and ascending == wanted:
            return order.order_id
    raise damaged_definition(name, "it has no sort order by its key")


def _is_up(field: object) -> bool:
    return str(getattr(field, "direction", "")).upper().endswith("ASC")


def _bucket_counts(name: str, metadata: TableMetadata, spec: TableSpec) -> dict[int, int]:
    counts: dict[str, int] = json.loads(metadata.properties.get(names.BUCKET_COUNTS, "{}"))
    if not counts:
        counts["_bucket" if spec.has_bucket_column else f"{spec.bucket_by[0]}_bucket"] = spec.buckets
    found: dict[int, int] = {}
    for each in metadata.partition_specs:
        last = each.fields[-1] if each.fields else None
        if last is not None and last.name in counts:
            count = counts[last.name]
            transform = "identity" if spec.has_bucket_column else f"bucket[{count}]"
            if str(last.transform) == transform:
                found[each.spec_id] = count
    if metadata.default_spec_id not in found:
        raise damaged_definition(name, f"its partitions are not those of the {spec.buckets} buckets of its spec")
    return found
