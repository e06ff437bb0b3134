"""One data file of a small write: Parquet with Iceberg's field ids, and what the manifest says of it."""

# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet
from pyiceberg.conversions import to_bytes
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BinaryType,
    DoubleType,
    FloatType,
    IcebergType,
    LongType,
    NestedField,
    PrimitiveType,
    StringType,
    StructType,
)
from pyiceberg.utils.truncate import truncate_upper_bound_binary_string, truncate_upper_bound_text_string

from keylake._rows.small import as_versions
from keylake._values.conform import with_id
from keylake.local.footers import name_of, signed
from keylake.local.layout import Layout
from keylake.local.names import FILE
from keylake.local.writing.batch import Batch

_BOUND_LENGTH = 16  # of text and bytes that are no keys, as Iceberg has it unless said


@dataclass
class _Metrics:
    """The metrics that a manifest has of the columns of a file, by field id."""

    values: dict[int, int] = field(default_factory=dict)
    nulls: dict[int, int] = field(default_factory=dict)
    nans: dict[int, int] = field(default_factory=dict)
    lower: dict[int, bytes] = field(default_factory=dict)
    upper: dict[int, bytes] = field(default_factory=dict)

    def add(self, column: NestedField, array: Any, *, whole: bool) -> None:
        """Add the metrics of a column that the file has; of lists and maps, nothing is said."""
        type_ = column.field_type
        if isinstance(type_, StructType):
            for number, member in enumerate(type_.fields):
                self.add(member, pc.struct_field(array, [number]), whole=whole)
        elif isinstance(type_, PrimitiveType):
            self.values[column.field_id] = len(array)
            self.nulls[column.field_id] = array.null_count
            if isinstance(type_, FloatType | DoubleType):
                nan = pc.is_nan(array)
                self.nans[column.field_id] = pc.sum(nan).as_py() or 0
                array = array.filter(pc.fill_null(pc.invert(nan), False))
            self._bounds(column.field_id, type_, array, whole)

    def _bounds(self, id_: int, type_: PrimitiveType, array: Any, whole: bool) -> None:
        plain = array.storage if isinstance(array.type, pa.BaseExtensionType) else array
        if pa.types.is_date(plain.type) or pa.types.is_timestamp(plain.type):  # some are beyond those of Python
            plain = plain.cast(pa.int32() if pa.types.is_date(plain.type) else pa.int64())
        bounds = pc.min_max(plain).as_py()
        low: Any = bounds["min"]
        high: Any = bounds["max"]
        if low is None or high is None:
            return
        if isinstance(type_, FloatType | DoubleType):  # of the two zeros, the bounds have the outer ones
            low, high = (-0.0 if low == 0 else low), (0.0 if high == 0 else high)
        if not whole and isinstance(type_, StringType | BinaryType):
            low = low[:_BOUND_LENGTH]
            is_text = isinstance(type_, StringType)
            cut: Any = truncate_upper_bound_text_string if is_text else truncate_upper_bound_binary_string
            high = cut(high, _BOUND_LENGTH) if len(high) > _BOUND_LENGTH else high
        self.lower[id_] = to_bytes(type_, low)
        if high is not None:
            self.upper[id_] = to_bytes(type_, high)

    def add_absent(self, column: NestedField, rows: int) -> None:
        """Add the metrics of a field of versions that is null in all rows, which the file does not have."""
        if isinstance(column.field_type, StructType):
            for member in column.field_type.fields:
                self.add_absent(member, rows)
        elif isinstance(column.field_type, PrimitiveType):
            self.values[column.field_id] = self.nulls[column.field_id] = rows


@dataclass(frozen=True, eq=False)
class BatchFile:
    """The rows of a batch that lie in one bucket."""

    batch: Batch
    partition: Record
    bucket: int
    path: str

    def written(self, io: FileIO, layout: Layout, schema: Schema, version: int, spec_id: int) -> DataFile:
        """Writes the file; `version` is that of the commit, for rows that have none of their own."""
        columns = list(self._columns(layout, schema, version))
        rows = self.batch.count
        metrics = _Metrics()
        key = {each.field_id for each in layout.key}
        for stored, array in columns:
            metrics.add(stored, array, whole=stored.field_id in key or stored.name.startswith("_"))
        (info,) = (each for each in schema.fields if each.name == "_merge_info")
        (stored,) = (each for each, _ in columns if each.name == "_merge_info")
        _add_absent_members(metrics, info, stored, rows)
        form = pa.schema([with_id(stored) for stored, _ in columns], metadata={FILE: name_of(self.path)})
        table = pa.table([array for _, array in columns], schema=form)
        content = pa.BufferOutputStream()
        parquet.write_table(
            table,
            content,
            compression="zstd",
            store_decimal_as_integer=True,
            write_page_index=True,
            write_page_checksum=True,
            row_group_size=max(rows, 1),
        )
        output = io.new_output(self.path)
        with output.create() as stream:
            stream.write(signed(content.getvalue().to_pybytes()))
        return DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=self.path,
            file_format=FileFormat.PARQUET,
            partition=self.partition,
            record_count=rows,
            file_size_in_bytes=len(output),
            column_sizes={},
            value_counts=metrics.values,
            null_value_counts=metrics.nulls,
            nan_value_counts=metrics.nans,
            lower_bounds=metrics.lower,
            upper_bounds=metrics.upper,
            key_metadata=None,
            split_offsets=[4],
            equality_ids=None,
            sort_order_id=layout.key_order,
            spec_id=spec_id,
        )

    def _columns(self, layout: Layout, schema: Schema, version: int) -> Iterator[tuple[NestedField, Any]]:
        rows = self.batch.count
        for each in schema.fields:
            if each.name == "_merge_info":
                yield self._merge_info(each, layout, version)
            elif each.name == "_bucket":
                yield each, pa.array([self.bucket] * rows, pa.int32())
            elif each.name == "_group":
                assert self.batch.groups is not None
                yield each, pa.array(self.batch.groups, pa.int32())
            elif each.name in self.batch.rows.column_names and layout.fields[each.name].field_id == each.field_id:
                column = self.batch.rows.column(each.name)
                yield each, column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column

    def _merge_info(self, info: NestedField, layout: Layout, version: int) -> tuple[NestedField, Any]:
        batch, rows = self.batch, self.batch.count
        versions = np.full(rows, version, np.int64) if batch.versions is None else batch.versions
        zeros = pa.array(np.zeros(rows, np.int64))
        is_delete = batch.verb == "delete"
        said: dict[int, Any] = {layout.version: self._stored_version(layout, versions)}
        said[layout.deleted if is_delete else layout.written] = zeros
        for name in batch.columns:
            lag = pc.if_else(batch.carried[name], zeros, pa.scalar(None, pa.int64()))
            leaf = layout.leaves[name]
            said[leaf] = lag if leaf not in said else pc.coalesce(said[leaf], lag)
        stored, array = _struct(info, said)
        if stored is None:
            raise AssertionError("every row has a version")
        return stored, array

    def _stored_version(self, layout: Layout, versions: Any) -> Any:
        """The version as it is stored: null where the ordering column says it."""
        stored = pa.array(versions)
        ordering = layout.ordering
        if ordering is None or ordering.name not in self.batch.columns:
            return stored
        said = pa.array(as_versions(self.batch.rows.column(ordering.name)))
        return pc.if_else(pc.equal(stored, said), pa.scalar(None, pa.int64()), stored)


def _struct(info: NestedField, said: Mapping[int, Any]) -> tuple[NestedField | None, Any]:
    """A struct of the members that are said; no struct where there is none."""
    assert isinstance(info.field_type, StructType)
    members: list[tuple[NestedField, Any]] = []
    for member in info.field_type.fields:
        if isinstance(member.field_type, StructType):
            inner, array = _struct(member, said)
            # A row of deletes has no column; its struct has to be there, with one member.
            if inner is not None:
                members.append((inner, array))
        elif member.field_id in said:
            members.append((member, said[member.field_id]))
    if not members:
        return None, None
    fields = [with_id(member) for member, _ in members]
    array = pa.StructArray.from_arrays([array for _, array in members], fields=fields)
    return replaced(info, StructType(*(member for member, _ in members))), array


def replaced(column: NestedField, type_: IcebergType) -> NestedField:
    """The column with another type."""
    return NestedField(column.field_id, column.name, type_, doc=column.doc, required=column.required)


def _add_absent_members(metrics: _Metrics, whole: NestedField, stored: NestedField, rows: int) -> None:
    assert isinstance(whole.field_type, StructType)
    assert isinstance(stored.field_type, StructType)
    there = {each.field_id: each for each in stored.field_type.fields}
    for member in whole.field_type.fields:
        if member.field_id not in there:
            metrics.add_absent(member, rows)
        elif isinstance(member.field_type, StructType):
            _add_absent_members(metrics, member, there[member.field_id], rows)


def raised(file: DataFile, version_id: int, version: int) -> DataFile:
    """The file with the version that counts, where a later commit had a higher one than it stores."""
    bound = to_bytes(LongType(), version)
    file.lower_bounds[version_id] = file.upper_bounds[version_id] = bound
    return file
