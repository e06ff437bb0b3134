"""Rows of several entries as the rows of one write, each with its version, its columns, and whether it deletes."""

# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import pyarrow as pa
from pyiceberg.types import NestedField

from keylake._log.entries import Entry
from keylake._values.arrow_types import for_spark
from keylake._values.conform import conformed
from keylake._values.fit import fit

# Columns that are none of the table; the server has them in statements, too.
VERSION, OP, COLUMNS_FROM, ROW_ORDER = (f"_merge_info:{n}" for n in ("version", "op", "columns_from", "row_order"))


def written_rows(
    entries: Sequence[Entry], key: Sequence[NestedField], values: Sequence[NestedField], *, has_versions: bool
) -> pa.Table:
    """The rows in the form that Spark takes, in the order of the log. Columns that no entry has are left out."""
    there = set(chain.from_iterable(entry.columns for entry in entries))
    fields = [*key, *(each for each in values if each.field_id in there)]
    columns = {field.name: _column(entries, field) for field in fields}
    names = {field.field_id: field.name for field in values}
    columns[OP] = pa.array(
        chain.from_iterable(["D" if e.verb == "delete" else "U"] * e.rows for e in entries), pa.string()
    )
    columns[COLUMNS_FROM] = pa.array(chain.from_iterable(_names(e, names) for e in entries), pa.list_(pa.string()))
    if has_versions:
        columns[VERSION] = pa.chunked_array([entry.versions for entry in entries], pa.int64())
    columns[ROW_ORDER] = pa.array(range(sum(entry.rows for entry in entries)), pa.int64())
    return pa.table(columns)


def _column(entries: Sequence[Entry], field: NestedField) -> Any:
    type_ = field.field_type
    pieces: list[Any] = []
    for entry in entries:
        found = entry.columns.get(field.field_id)
        if found is None:
            pieces.append(pa.nulls(entry.rows, for_spark(type_)))
        else:
            pieces.append(fit(conformed(found[1], found[0], type_), type_))
    return pa.chunked_array(pieces, for_spark(type_))


def _names(entry: Entry, names: Mapping[int, str]) -> list[list[str]]:
    """The columns that each row of an entry carries."""
    if entry.verb == "delete":
        return [[] for _ in range(entry.rows)]
    carried = [(names[id_], entry.carried.get(id_)) for id_ in entry.columns if id_ in names]
    if not entry.carried:
        return [[name for name, _ in carried]] * entry.rows
    flags = [(name, None if each is None else each.to_pylist()) for name, each in carried]
    return [[name for name, each in flags if each is None or each[row]] for row in range(entry.rows)]
