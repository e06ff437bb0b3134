"""Small writes as entries of a log: checked and put into the types of the table as those that are committed."""

# pyright: reportAttributeAccessIssue=false, reportUnknownParameterType=false

from __future__ import annotations

import time
from functools import lru_cache

import pyarrow as pa

from keylake._log.entries import Entry
from keylake._rows.intention import Intention
from keylake._values.conform import with_id
from keylake.local.layout import Layout
from keylake.local.writing.small_write import batch_of


def entry_of(name: str, layout: Layout, intention: Intention, rows: object) -> Entry:
    """The entry of a write of rows to a table."""
    batch, _ = batch_of(name, layout, intention, rows)
    return Entry.of_rows(batch, _fields(layout), time.time_ns() // 1000, intention.stream)


@lru_cache(maxsize=16)
def _fields(layout: Layout) -> dict[str, tuple[int, pa.Field]]:
    """The id and the Arrow field of each column."""
    return {name: (each.field_id, with_id(each)) for name, each in layout.fields.items()}
