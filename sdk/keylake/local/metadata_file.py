"""A check that the metadata of a table is as it was written, by what its parts say of each other.

The file has no checksum unless it is compressed. A changed bit in a number or a path mostly shows where it is used; one
in a name makes a field one that nobody knows, which is passed over as one of a newer version, and its value is missed.
So names are compared with those that are known: one that differs from a known name in a single bit is damaged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata, TableMetadataV3
from pyiceberg.table.refs import SnapshotRef
from pyiceberg.table.snapshots import MetadataLogEntry, Snapshot, SnapshotLogEntry
from pyiceberg.table.sorting import SortField, SortOrder
from pyiceberg.table.statistics import BlobMetadata, PartitionStatisticsFile, StatisticsFile
from pyiceberg.types import ListType, MapType, NestedField, StructType

from keylake.local import names

_MODELS: tuple[type[BaseModel], ...] = (
    *(TableMetadataV3, Schema, NestedField, StructType, ListType, MapType, PartitionSpec, PartitionField),
    *(SortOrder, SortField, Snapshot, SnapshotLogEntry, MetadataLogEntry, SnapshotRef),
    *(StatisticsFile, BlobMetadata, PartitionStatisticsFile),
)
_FIELDS = frozenset(field.alias or name for model in _MODELS for name, field in model.model_fields.items())
_OF_USERS = ("properties", "summary", "refs")  # objects whose names are no fields
_PROPERTIES = frozenset(each for each in names.KNOWN if not each.endswith("."))
_FAMILIES = tuple(each for each in names.KNOWN if each.endswith("."))


def check_metadata(said: Mapping[str, Any], metadata: TableMetadata) -> None:
    """Raises ValueError where the metadata, as JSON and as it was read, contradicts itself."""
    _check_heads(metadata)
    for name in _fields_of(said):
        _check_name(name, _FIELDS, "field")
    properties, summaries = said.get("properties") or {}, (each.get("summary") or {} for each in said["snapshots"])
    for name in properties:
        _check_name(name, _PROPERTIES, "property")
        for beginning in _FAMILIES:
            _check_name(name[: len(beginning)], (beginning,), "property that begins with")
    for name in set().union(*summaries):
        _check_name(name, names.OF_SUMMARIES, "part of a summary")
    _check_ids(metadata)


def _check_heads(metadata: TableMetadata) -> None:
    """The places that name the newest commit agree: the table would have no rows."""
    current, main = metadata.current_snapshot_id, metadata.refs.get("main")
    if main is not None and main.snapshot_id != current:
        raise ValueError(f"its branch main is at snapshot {main.snapshot_id}, and its current snapshot is {current}")
    if current is not None and metadata.snapshot_by_id(current) is None:
        raise ValueError(f"its current snapshot {current} is none of its snapshots")
    schemas = {each.schema_id for each in metadata.schemas}
    for each in metadata.snapshots:
        if each.schema_id is not None and each.schema_id not in schemas:
            raise ValueError(f"its snapshot {each.snapshot_id} has the schema {each.schema_id}, which is not there")


def _check_ids(metadata: TableMetadata) -> None:
    """The ids of columns are those that were given, each once, and what names columns names some of them."""
    given: set[int] = set()
    for schema in metadata.schemas:
        ids = [each for field in schema.fields for each in _ids(field)]
        if len(set(ids)) < len(ids) or not all(0 < each <= metadata.last_column_id for each in ids):
            raise ValueError(f"the columns of its schema {schema.schema_id} have wrong ids")
        given.update(ids)
    sources = [(field.source_id, "partition") for spec in metadata.partition_specs for field in spec.fields]
    sources += [(field.source_id, "sort order") for order in metadata.sort_orders for field in order.fields]
    for source, what in sources:
        if source not in given:
            raise ValueError(f"a {what} is of column {source}, which is in no schema")


def _ids(field: NestedField) -> Iterator[int]:
    yield field.field_id
    match field.field_type:
        case StructType(fields=inner):
            members = inner
        case ListType() as of_list:
            members = (of_list.element_field,)
        case MapType() as of_map:
            members = (of_map.key_field, of_map.value_field)
        case _:
            members = ()
    for each in members:
        yield from _ids(each)


def _fields_of(said: Mapping[str, Any]) -> set[str]:
    """All names of fields, at any depth."""
    found: set[str] = set()
    waiting: list[Any] = [said]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            found.update(each)
            for name, value in each.items():
                if name == "refs" and isinstance(value, dict):
                    waiting.extend(value.values())
                elif name not in _OF_USERS and isinstance(value, dict | list):
                    waiting.append(value)
        else:
            waiting.extend(part for part in each if isinstance(part, dict | list))
    return found


def _check_name(name: str, known: Iterable[str], what: str) -> None:
    if name not in known and (meant := near(name, known)) is not None:
        raise ValueError(f"it has the {what} {name!r}, which is {meant!r} with one changed bit")


def near(name: str, known: Iterable[str]) -> str | None:
    """The known name that differs from a name in a single bit.

    >>> near("last-cohumn-id", ["last-column-id"]), near("next-row-id", ["last-column-id"])
    ('last-column-id', None)
    """
    return next((each for each in known if len(each) == len(name) and _is_one_bit_away(name, each)), None)


def _is_one_bit_away(one: str, other: str) -> bool:
    differing = [ord(a) ^ ord(b) for a, b in zip(one, other, strict=True) if a != b]
    return len(differing) == 1 and differing[0].bit_count() == 1
