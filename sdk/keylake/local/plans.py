"""The files that reads of a table open, planned from metadata and kept: a plan of a snapshot never changes."""

from __future__ import annotations

import datetime
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from pyiceberg.table import Table as IcebergTable
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot

from keylake._rows.business_time import BusinessTime
from keylake.errors import DefinitionError, KeylakeError, SnapshotExpired, StoreFailed, Unsupported, check_type
from keylake.local.catalogs import loaded
from keylake.local.changes.ranges import CommitRange, there
from keylake.local.damage import first_line
from keylake.local.files import Listing, StoredFile
from keylake.local.layout import Layout, layout_of
from keylake.local.lookups import BucketFiles
from keylake.local.moments import At, check_lineage, moment_of

_AT_MOST = 16
MOST_CHANGED_ROWS = 1_000_000


@dataclass(frozen=True, eq=False)
class Plan:
    """The files that a read of a snapshot opens."""

    layout: Layout
    files: tuple[StoredFile, ...]
    buckets: BucketFiles


@dataclass(frozen=True, eq=False)
class ChangedFiles:
    """The files of a table before and after some commits, those that these have touched, and the last of them."""

    before: Plan
    after: Plan
    touched: tuple[StoredFile, ...]
    commit: int


class Plans:
    """The plans of a table that were asked for last; threads may share it."""

    def __init__(self, table: IcebergTable, name: str) -> None:
        self._table = table
        self._name = name
        self._lock = threading.RLock()
        self._plans: OrderedDict[tuple[int | None, int], Plan] = OrderedDict()
        self._listings: dict[int, tuple[Layout, Listing]] = {}
        self._asked_at = self._changed_at = -math.inf  # of a clock that only goes on

    def metadata(self, max_age: datetime.timedelta | None = None) -> TableMetadata:
        """The metadata that the catalog has now, or that it had within an age. Threads ask side by side."""
        if max_age is not None:
            with self._lock:
                if self._is_within(max_age):
                    return self._table.metadata
        asked_at = time.monotonic()
        found = loaded(self._table, self._name)
        with self._lock:
            if asked_at >= self._asked_at:  # the answer to a later question may have come first
                self._table, self._asked_at = found, asked_at
        return found.metadata

    def _is_within(self, max_age: datetime.timedelta) -> bool:
        return self._asked_at > self._changed_at and time.monotonic() - self._asked_at <= max_age.total_seconds()

    def changed_here(self) -> None:
        """Notes that this process has committed, so that no age lets a read go without the commit."""
        with self._lock:
            self._changed_at = time.monotonic()

    @property
    def table(self) -> IcebergTable:
        """The table as it was asked for last."""
        return self._table

    def layout(self, max_age: datetime.timedelta | None = None) -> Layout:
        """The columns of the table now; no file is opened, and no commit of another engine is in the way."""
        metadata = self.metadata(max_age)
        with self._lock:
            return self._listing(metadata, metadata.current_schema_id)[0]

    def at(
        self,
        branch: str | None,
        at: At | None,
        as_of: BusinessTime | None,
        max_age: datetime.timedelta | None = None,
    ) -> Plan:
        """The plan of a moment."""
        check_type("branch", branch, str | None, "the name of a branch")
        _check_age(max_age)
        metadata = self.metadata(max_age)
        moment = moment_of(self._name, metadata, branch, at, as_of)
        return self.of(metadata, moment.snapshot, moment.schema.schema_id)

    def of(self, metadata: TableMetadata, snapshot: Snapshot | None, schema_id: int) -> Plan:
        """The plan of a snapshot with the columns of a schema; of no file where there is no snapshot."""
        with self._lock:
            layout, listing = self._listing(metadata, schema_id)
            place = (None if snapshot is None else snapshot.snapshot_id, id(layout))
            plan = self._plans.get(place)
            if plan is None:
                files = () if snapshot is None else self._files(metadata, snapshot, listing)
                plan = self._plans[place] = Plan(layout, files, BucketFiles(files))
                if len(self._plans) > _AT_MOST:
                    self._plans.popitem(last=False)
            self._plans.move_to_end(place)
            return plan

    def _files(self, metadata: TableMetadata, snapshot: Snapshot, listing: Listing) -> tuple[StoredFile, ...]:
        is_proven = self._check_lineage(metadata, snapshot)
        try:
            return listing.files(snapshot, self._table.io, is_proven)
        except FileNotFoundError as error:
            raise self._gone(snapshot, first_line(error)) from None

    def _check_lineage(self, metadata: TableMetadata, snapshot: Snapshot) -> bool:
        try:
            return check_lineage(self._name, metadata, snapshot, self._table.io)
        except FileNotFoundError as error:
            raise self._gone(snapshot, first_line(error)) from None

    def _gone(self, snapshot: Snapshot, file: str) -> KeylakeError:
        """The error of a manifest that is not there: expired since the catalog was asked, or lost."""
        if self.metadata().snapshot_by_id(snapshot.snapshot_id) is not None:
            return StoreFailed(
                f"A manifest that commit {snapshot.snapshot_id} of {self._name} needs is gone: {file}. Restore the "
                "file, or roll the table back to a commit before it: kl.connect()."
            )
        return SnapshotExpired(
            f"Commit {snapshot.snapshot_id} of {self._name} has expired meanwhile: its manifests are gone. Read again."
        )

    def changed(
        self, branch: str | None, as_of: BusinessTime | None, after: int | None, until: int | None, every_commit: bool
    ) -> tuple[Layout, list[ChangedFiles]]:
        """The files to read for the changes of a range of commits, and the columns of the table now."""
        check_type("branch", branch, str | None, "the name of a branch")
        metadata = self.metadata()
        head = moment_of(self._name, metadata, branch, None, as_of).snapshot
        layout, listing = self._listing(metadata, metadata.current_schema_id)
        after, end = after or None, head if until is None else there(self._name, metadata, until)
        if end is None:
            return layout, []
        whole = CommitRange.of(self._name, metadata, after, end)
        if end.snapshot_id != after:
            self._check_lineage(metadata, end)
        ranges = list(whole.apart()) if every_commit else [whole]
        found: list[ChangedFiles] = []
        touched = {commit.snapshot_id: self._touched(commit, listing) for commit in whole.writes}
        _check_size(self._name, whole, touched)
        for each in ranges:
            if each.writes:
                before = self.of(metadata, each.before, metadata.current_schema_id)
                now = self.of(metadata, each.last, metadata.current_schema_id)
                files = tuple(file for commit in each.writes for file in touched[commit.snapshot_id])
                found.append(ChangedFiles(before, now, files, each.writes[-1].snapshot_id))
        return layout, found

    def _touched(self, commit: Snapshot, listing: Listing) -> tuple[StoredFile, ...]:
        try:
            return listing.touched(commit, self._table.io)
        except FileNotFoundError as error:
            raise self._gone(commit, first_line(error)) from None

    def _listing(self, metadata: TableMetadata, schema_id: int) -> tuple[Layout, Listing]:
        """The layout of a schema, and what lists its files; kept as long as what they depend on is the same."""
        depends = hash(
            (
                schema_id,
                metadata.current_schema_id,
                tuple(sorted(metadata.properties.items())),
                len(metadata.partition_specs),
            )
        )
        if depends not in self._listings:
            schema = next(each for each in metadata.schemas if each.schema_id == schema_id)
            layout = layout_of(self._name, metadata, schema)
            if len(self._listings) >= _AT_MOST:
                self._listings.clear()
                self._plans.clear()
            self._listings[depends] = (layout, Listing(self._name, layout))
        return self._listings[depends]


def _check_age(max_age: datetime.timedelta | None) -> None:
    check_type("max_age", max_age, datetime.timedelta | None, "a timedelta, such as timedelta(seconds=5)")
    if max_age is not None and max_age < datetime.timedelta(0):
        raise DefinitionError(f"max_age is {max_age!r}. Use a timedelta of 0 or more.")


def _check_size(name: str, range_: CommitRange, touched: Mapping[int, tuple[StoredFile, ...]]) -> None:
    """Refuses a range that is too large for this process, and says where a smaller one ends."""
    rows, fitting = 0, None
    for commit in range_.commits:
        rows += sum(file.rows for file in touched.get(commit.snapshot_id, ()))
        if rows <= MOST_CHANGED_ROWS:
            fitting = commit
    if rows > MOST_CHANGED_ROWS:
        first = "Read them" if fitting is None else f"Read up to until={fitting.snapshot_id} first, or all"
        raise Unsupported(
            f"The commits of the range wrote {rows:,} rows of {name}, and changes() without Spark reads at most "
            f"{MOST_CHANGED_ROWS:,}. {first} through Spark: kl.connect()."
        )
