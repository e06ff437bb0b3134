"""Small writes as entries of a log: checked and put into the types of the table as those that are committed."""

# pyright: reportAttributeAccessIssue=false, reportUnknownParameterType=false

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any

import pyarrow as pa

from keylake._log.entries import Entry
from keylake._rows.intention import Intention
from keylake.local.layout import Layout
from keylake.local.writing.datafiles import with_id
from keylake.local.writing.small_write import batch_of


def entry_of(name: str, layout: Layout, intention: Intention, rows: object) -> Entry:
    """The entry of a write of rows to a table."""
    batch, _ = batch_of(name, layout, intention, rows)
    fields = _fields(layout)
    return Entry(
        intention.verb,  # type: ignore[arg-type]
        time.time_ns() // 1000,
        intention.stream,
        batch.count,
        {fields[name][0]: (fields[name][1], _one(batch.rows.column(name))) for name in batch.rows.column_names},
        None if batch.versions is None else pa.array(batch.versions),
        {fields[column][0]: flags for column, flags in batch.carried.items() if flags.true_count < batch.count},
    )


@lru_cache(maxsize=16)
def _fields(layout: Layout) -> dict[str, tuple[int, pa.Field]]:
    """The id and the Arrow field of each column."""
    return {name: (each.field_id, with_id(each)) for name, each in layout.fields.items()}


def _one(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
