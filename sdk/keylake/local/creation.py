"""New tables without a server: the schema, partitions, sort order and properties that the server gives the same spec.

    TableSpec -> NewTable (pure: what the metadata of the table says) -> create (the namespaces, and the table)

Field ids follow from the order of the fields, as Iceberg numbers those of every new table. Tests compare the metadata
with that of tables that the server has made.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyiceberg.catalog import WAREHOUSE_LOCATION, Catalog
from pyiceberg.exceptions import NamespaceAlreadyExistsError, TableAlreadyExistsError
from pyiceberg.partitioning import PARTITION_FIELD_ID_START, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import SortField, SortOrder
from pyiceberg.transforms import BucketTransform, IdentityTransform, Transform
from pyiceberg.types import BinaryType, IntegerType, LongType, NestedField, StructType

from keylake._definition.grouping import HASHES
from keylake._definition.names import SPEC_PROPERTY
from keylake._definition.reduced import has_state
from keylake._definition.spec import TableSpec
from keylake._definition.table_names import name_parts
from keylake.errors import TableExists, Unsupported
from keylake.local.catalogs import asking, is_sql
from keylake.local.disk import is_on_disk, path_of
from keylake.local.first_commit import is_made
from keylake.reducers import MapMerge, Own, Python, Reducer, Struct

_PROPERTIES = {
    "format-version": "2",
    "write.parquet.compression-codec": "zstd",
    "write.parquet.row-group-size-bytes": str(16 << 20),
    "commit.retry.num-retries": "100",
    "commit.retry.min-wait-ms": "50",
    "commit.retry.max-wait-ms": "5000",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "50",
}
_ORDER_ID = 1


@dataclass(frozen=True)
class NewTable:
    """The schema, partitions, sort order and properties of a new table."""

    schema: Schema
    partitions: PartitionSpec
    order: SortOrder
    properties: dict[str, str]

    @classmethod
    def of(cls, spec: TableSpec) -> NewTable:
        """The table of a spec; one that only a server can try is refused."""
        _check_creatable(spec)
        schema = _schema(spec)
        comment = {"comment": spec.comment} if spec.comment else {}
        return cls(
            schema,
            _partitions(spec, schema),
            _order(spec, schema),
            _PROPERTIES | comment | {SPEC_PROPERTY: spec.property_json()},
        )


def create(catalog: Catalog, spec: TableSpec) -> None:
    """Creates the table of a spec, and its namespaces; `TableExists` where the name is taken."""
    new, parts = NewTable.of(spec), name_parts(spec.name)
    with asking(catalog.name, catalog.properties):
        if catalog.table_exists(parts):  # its metadata would be written first, and left over
            raise _exists(spec)
        _create_namespaces(catalog, parts[:-1])
        _create(catalog, spec, parts, new)


def _exists(spec: TableSpec) -> TableExists:
    return TableExists(
        f"Table {spec.name} exists already. Open it with create(..., if_exists='match'), or take another name."
    )


def _create(catalog: Catalog, spec: TableSpec, parts: tuple[str, ...], new: NewTable) -> None:
    try:
        creation = catalog.create_table_transaction(
            parts, new.schema, _location(catalog, parts), new.partitions, new.order, new.properties
        )
        if not is_made(catalog, parts, creation):
            raise _exists(spec)
    except TableAlreadyExistsError:  # nothing was sent yet
        raise _exists(spec) from None


def _create_namespaces(catalog: Catalog, parts: tuple[str, ...]) -> None:
    for count in range(1, len(parts) + 1):
        if not catalog.namespace_exists(parts[:count]):
            try:
                catalog.create_namespace(parts[:count])
            except NamespaceAlreadyExistsError:  # somebody else was quicker
                continue
            except Exception:  # its answer may be lost
                if not catalog.namespace_exists(parts[:count]):
                    raise


def _location(catalog: Catalog, parts: tuple[str, ...]) -> str | None:
    """The folder of the table; None: the catalog has a server, which chooses one.

    A dropped table leaves its files in its folder, so one that is taken gets another name, as on the server.
    """
    warehouse = catalog.properties.get(WAREHOUSE_LOCATION)
    if warehouse is None or not is_sql(catalog):
        return None
    place = "/".join((warehouse.rstrip("/"), *parts))
    is_free = is_on_disk(place) and not any((path_of(place) / "metadata").glob("*.metadata.json"))
    return place if is_free else f"{place}-{str(uuid.uuid4())[:8]}"


def _check_creatable(spec: TableSpec) -> None:
    if spec.hash is not None and spec.hash not in HASHES:
        raise Unsupported(
            f"{spec.name} is bucketed by the Java class {spec.hash}, which only a server can try. "
            "Create it through Spark: kl.connect()."
        )
    for column in spec.columns:
        if own := next((each for each in _parts(column.reducer) if isinstance(each, Own | Python)), None):
            raise Unsupported(
                f"Column {column.name!r} of {spec.name} has the reducer {own!r}, a class that only a server can try. "
                "Create the table through Spark: kl.connect()."
            )


def _parts(reducer: Reducer) -> Iterator[Reducer]:
    yield reducer
    if isinstance(reducer, MapMerge) and reducer.of is not None:
        yield from _parts(reducer.of)
    if isinstance(reducer, Struct):
        for member in reducer.members.values():
            yield from _parts(member)


def _schema(spec: TableSpec) -> Schema:
    """The user's columns and the hidden ones, with ids that differ; the catalog numbers them as Iceberg does."""
    columns = spec.iceberg_schema()
    ids = iter(range(columns.highest_field_id + 1, 1 << 31))
    fields = list(columns.fields)
    if spec.has_bucket_column:
        fields.append(NestedField(next(ids), "_bucket", IntegerType(), required=True, doc="Bucket of the row's key."))
    if spec.groups is not None:
        fields.append(NestedField(next(ids), "_group", IntegerType(), required=True, doc="Group of the row's key."))
    fields.append(_merge_info(spec, ids))
    return Schema(*fields, identifier_field_ids=columns.identifier_field_ids)


def _merge_info(spec: TableSpec, ids: Iterator[int]) -> NestedField:
    groups = {column: group.name for group in spec.column_groups for column in group.columns}
    values = [spec.column(name) for name in spec.value_columns]
    leaves = dict.fromkeys(c.name if c.reducer.accumulates else groups.get(c.name, c.name) for c in values)
    states = [column.name for column in values if has_state(column.reducer, column.type)]
    parts = [
        NestedField(next(ids), "version", LongType(), doc="Null: the ordering column's value."),
        NestedField(next(ids), "written", LongType(), doc="How far the newest write lies behind."),
        NestedField(next(ids), "deleted", LongType(), doc="How far the newest tombstone lies behind."),
        NestedField(
            next(ids),
            "columns",
            StructType(*(NestedField(next(ids), name, LongType()) for name in leaves)),
            doc="How far each value lies behind; null: absent.",
        ),
    ]
    if states:
        kept = StructType(*(NestedField(next(ids), name, BinaryType()) for name in states))
        parts.append(NestedField(next(ids), "states", kept, doc="What values of accumulators do not say."))
    return NestedField(next(ids), "_merge_info", StructType(*parts), doc="Versions of the row and its values.")


def _partitions(spec: TableSpec, schema: Schema) -> PartitionSpec:
    by: list[tuple[str, Transform[Any, Any], str]] = [(n, IdentityTransform(), n) for n in spec.partition_by]
    if spec.has_bucket_column:
        by.append(("_bucket", IdentityTransform(), "_bucket"))
    else:
        column = spec.bucket_by[0]
        by.append((column, BucketTransform(spec.buckets), f"{column}_bucket"))
    ids = {field.name: field.field_id for field in schema.fields}
    numbered = enumerate(by, PARTITION_FIELD_ID_START)
    return PartitionSpec(*(PartitionField(ids[source], id_, each, name) for id_, (source, each, name) in numbered))


def _order(spec: TableSpec, schema: Schema) -> SortOrder:
    ids = {field.name: field.field_id for field in schema.fields}
    by = ("_group", *spec.key) if spec.groups is not None else spec.key
    return SortOrder(*(SortField(ids[name], IdentityTransform()) for name in by), order_id=_ORDER_ID)
