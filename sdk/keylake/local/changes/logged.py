"""The changes of merged rows by the entries of a log: what a key was before an entry, and what it is after it.

files of a moment that have no entry from the first one on  +  entries before this one   ->  before
+  this entry                ->  after
"""

# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from pyiceberg.io import FileIO
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot

from keylake._log.entries import Entry
from keylake.errors import SnapshotExpired
from keylake.local.accumulators import check_accumulator
from keylake.local.changes.feed import COMMIT, Feed, State
from keylake.local.fresh import LoggedEntries, LoggedRows, moves_of
from keylake.local.lookups import Lookup, Sought
from keylake.local.parquet import ParquetFiles
from keylake.local.plans import Plan


@dataclass(frozen=True)
class Base:
    """A commit of main, None for the time before the first, and the first entry of a log that is not in its files."""

    snapshot: Snapshot | None
    floor: int

    @classmethod
    def before(cls, name: str, metadata: TableMetadata, source: str, number: int) -> Base:
        """The newest commit whose files have no entry from a number on.

        Raises `SnapshotExpired` where it is not kept any more.
        """
        moves = moves_of(metadata, source)
        floor = max((end for _, end in moves.values()), default=0)
        found = each = metadata.current_snapshot()
        while each is not None:
            begin, end = moves.get(each.snapshot_id, (0, 0))
            parent = each.parent_snapshot_id
            above = None if parent is None else metadata.snapshot_by_id(parent)
            if end > number:
                if parent is not None and above is None:
                    raise SnapshotExpired(
                        f"The rows of {name} before entry {number} of its log are not kept any more: the commit before "
                        f"{each.snapshot_id}, which moved it, has expired. Follow the log from a later entry on."
                    )
                found, floor = above, begin
            each = above
        return cls(found, floor)


class EntryChanges:
    """The changes by entries that are given one after the other, without a gap. It is of one thread."""

    def __init__(self, name: str, plan: Plan, base: Base, files: ParquetFiles, io: FileIO) -> None:
        layout = plan.layout
        for column in layout.spec.value_columns:
            reducer = layout.spec.column(column).reducer
            if reducer.accumulates:
                check_accumulator(name, layout.fields[column], reducer)
        self.layout = layout
        self.base = base
        self._plan = plan
        self._feed = Feed(Lookup(layout, files, io), layout.spec.value_columns)
        self._entries = LoggedEntries(base.floor)

    @property
    def rows(self) -> int:
        """The rows of entries that are kept."""
        return self._entries.rows

    def add(self, entry: Entry, size: int) -> None:
        """Take an entry whose changes nobody asks for."""
        self._entries.add(entry, size)

    def by(self, entry: Entry, size: int) -> Any:
        """The changes by the next entry: an Arrow table with the columns of a feed, without the commit."""
        rows_before = self._entries.rows
        self._entries.add(entry, size)
        given = [self._entries.key_of_last(field) for field in self.layout.key]
        sought = Sought.of(self.layout, given, self._plan.buckets.counts)
        found, owners = self._feed.lookup.found(self._plan.buckets, sought)

        def state(rows: int) -> State:
            behind, of_keys = LoggedRows(self.layout, self._entries, np.arange(rows)).found(sought)
            return self._feed.state([*found, behind], [*owners, of_keys], len(sought.keys))

        return self._feed.between(state(rows_before), state(self._entries.rows)).drop_columns([COMMIT])
