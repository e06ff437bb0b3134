"""Small writes as entries of a log: checked and put into the types of the table as those that are committed."""

# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import time
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from keylake._log.entries import Entry
from keylake._rows.intention import Intention
from keylake.local.layout import Layout
from keylake.local.writing.batch import Batch
from keylake.local.writing.datafiles import with_id
from keylake.local.writing.small_write import batch_of


def entry_of(name: str, layout: Layout, intention: Intention, rows: object) -> Entry:
    """The entry of a write of rows to a table."""
    batch, _ = batch_of(name, layout, intention, rows)
    return Entry(
        intention.verb,  # type: ignore[arg-type]
        time.time_ns() // 1000,
        intention.stream,
        batch.count,
        {layout.fields[n].field_id: (with_id(layout.fields[n]), _one(batch.rows.column(n))) for n in _names(batch)},
        None if batch.versions is None else pa.array(batch.versions),
        {
            layout.fields[column].field_id: flags
            for column, flags in batch.carried.items()
            if not pc.all(flags).as_py() and batch.count
        },
    )


def _names(batch: Batch) -> list[str]:
    return list(batch.rows.column_names)


def _one(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
