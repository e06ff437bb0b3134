"""The health of a table, which `health()` gives back. Small frozen values, a picture, and a page."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from keylake._display.html_table import ShownFields, ShownTable, html_table
from keylake._display.page import Measure, health_page
from keylake._display.pictures import Amplification, Bar, Condition, Event, Lags, Tier
from keylake._maintenance.compaction import BucketPicture, CompactionPlan, CompactionPolicy, shown_bytes
from keylake._maintenance.maintenance import MAINTENANCE_HEADER, MaintenanceEntry, maintenance_cells
from keylake.errors import StoreFailed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_READ_AMPLIFICATION = 4.0
MOST_STORAGE_AMPLIFICATION = 3.0
MOST_SKEW = 3.0
MOST_EXPIRABLE = 100  # snapshots, and metadata files, that a cleaning would remove
MOST_SNAPSHOTS = 1000
MOST_METADATA_BYTES = 256 << 20
MOST_SHOWN = 100


@dataclass(frozen=True)
class StreamHealth(ShownFields):
    """The health of one stream: what it has written lately, and how far it is complete in event time."""

    stream: str | None
    commits: int
    rows: int
    last_commit_at: datetime.datetime
    watermark: datetime.datetime | None
    late_by: datetime.timedelta | None  # how far the watermark lies behind the moment of the look; None without one
    # How long after its event time the latest row was committed; None where versions are no event times.
    latest_row_by: datetime.timedelta | None


@dataclass(frozen=True)
class ReadHealth(ShownFields):
    """The bytes of a read of all columns, by how it takes the table, in bytes of its files.

    >>> ReadHealth(passed_through=60, settled=20, merged=20, rows=10, live_rows=9, read_amplification=1.4).share_merged
    0.2
    """

    passed_through: int
    settled: int
    merged: int
    rows: int  # as stored
    live_rows: int  # without those that are recorded as superseded
    read_amplification: float  # how many runs a stored byte is read with, on average

    @property
    def bytes(self) -> int:
        """All bytes of the table's files."""
        return self.passed_through + self.settled + self.merged

    @property
    def share_merged(self) -> float:
        """The share of the bytes that has to be merged."""
        return self.merged / self.bytes if self.bytes else 0.0


@dataclass(frozen=True)
class PastHealth(ShownFields):
    """The past of a table with all of its branches: what is there, and what a cleaning would remove.

    >>> PastHealth(20, 0, 0, None, metadata_files=21, old_metadata_files=0, metadata_bytes=600_000,
    ...            newest_metadata_bytes=30_000).metadata_files
    21
    """

    snapshots: int
    expirable: int  # snapshots that the table's retention policy lets go
    held_by_consumers: int  # snapshots that would go, too, if all consumers had read everything
    slowest_consumer: str | None  # of the change feed
    metadata_files: int  # of the newest commit and those before it
    old_metadata_files: int  # beyond the number that is kept
    metadata_bytes: int  # of all metadata files
    newest_metadata_bytes: int  # of the newest one, which each commit writes anew


@dataclass(frozen=True)
class IndexHealth(ShownFields):
    """An index of values: how many of the files are older than it, and lack it."""

    column: str
    files: int
    older_files: int


@dataclass(frozen=True, repr=False)
class Health(ShownTable):
    """The health of a table or branch: layout, reads, storage, streams, maintenance, and what to do."""

    table: str
    at: datetime.datetime
    buckets: CompactionPlan
    policy: CompactionPolicy
    reads: ReadHealth
    kept_bytes: int  # of all data files that snapshots need, those of the newest included
    over_time: tuple[Amplification, ...]  # at the commits that snapshots keep, the oldest first
    streams: tuple[StreamHealth, ...]
    commits: tuple[Event, ...]  # the newest of the history, the newest first
    maintenance: tuple[MaintenanceEntry, ...]  # what the server has done here since it started
    bucket_advice: str | None  # what is wrong with the number of buckets
    past: PastHealth | None = None  # None for a branch: it is the table's
    indexes: tuple[IndexHealth, ...] = ()  # of values

    _HEADER = ("", "", "")

    @property
    def storage_amplification(self) -> float:
        """The bytes of all files that snapshots need, for each byte of the newest."""
        return self.kept_bytes / self.reads.bytes if self.reads.bytes else 1.0

    @property
    def skew(self) -> float:
        """The bytes of the largest bucket, for each byte of the mean one."""
        sizes = [bucket.bytes for bucket in self.buckets]
        return max(sizes) * len(sizes) / total if (total := sum(sizes)) else 1.0

    @property
    def to_do(self) -> tuple[str, ...]:
        """The things that are wrong and what to do, a sentence each; empty where all is well."""
        return tuple(self._to_do())

    def _to_do(self) -> Iterator[str]:
        merges = len(self.buckets.merges) + len(self.buckets.settlements)
        if merges:
            wants = "1 bucket wants" if merges == 1 else f"{merges} buckets want"
            yield f"{wants} to be compacted by the table's policy: compact()."
        if self.reads.read_amplification > MOST_READ_AMPLIFICATION:
            yield (
                f"A stored byte is read with {self.reads.read_amplification:.1f} runs on average: compact('full'), or "
                "give the table a policy that merges earlier."
            )
        if self.storage_amplification > MOST_STORAGE_AMPLIFICATION:
            yield (
                f"Snapshots keep {shown_bytes(self.kept_bytes)} for {shown_bytes(self.reads.bytes)} of the newest: let "
                "some expire, clean()."
            )
        if self.past is not None:
            yield from _of_the_past(self.past)
        for index in self.indexes:
            if index.older_files:
                yield (
                    f"The index of {index.column!r} lacks {index.older_files:,} of {index.files:,} files, which are "
                    "older than it, so that look-ups open them: compact('full')."
                )
        if self.bucket_advice is not None:
            yield f"{self.bucket_advice} See change_buckets()."
        if self.skew > MOST_SKEW:
            yield f"The largest bucket has {self.skew:.1f} times the bytes of the mean one: bucket by more columns."
        failed = [entry for entry in self.maintenance if entry.state in ("failed", "not cleaned")]
        if failed:
            yield f"The last maintenance that failed said: {failed[0].because}"

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The figures in words, as text and page show them."""
        files, deepest = sum(b.files for b in self.buckets), max((b.depth for b in self.buckets), default=0)
        reads = self.reads
        newest = max((each.last_commit_at for each in self.streams), default=None)
        return (
            Measure("size", shown_bytes(reads.bytes), f"{reads.rows:,} stored rows in {files:,} files"),
            Measure("buckets", f"{len(self.buckets):,}", f"the largest has {self.skew:.1f} times the mean"),
            Measure(
                "reads", f"{reads.share_merged:.0%} merged", f"{reads.read_amplification:.1f} runs, {deepest} at most"
            ),
            Measure(
                "storage",
                f"{self.storage_amplification:.1f} times",
                f"{shown_bytes(self.kept_bytes)} with old snapshots",
            ),
            *([] if self.past is None else [_measure(self.past)]),
            Measure(
                "newest write",
                "none" if newest is None else f"{newest:%Y-%m-%d %H:%M:%S}",
                f"{len(self.streams)} streams",
            ),
            Measure(
                "maintenance",
                f"{len(self.maintenance)} time{'' if len(self.maintenance) == 1 else 's'}",
                "since the server started",
            ),
        )

    def _title(self) -> str:
        return f"{self.table}: {' '.join(self.to_do) or 'all is well'}"

    def _rows(self) -> list[tuple[object, ...]]:
        return [(each.name, each.value, each.remark) for each in self.measures]

    @property
    def tiers(self) -> tuple[Tier, ...]:
        """The runs of all buckets by the policy's tiers of sizes, the smallest first, to the largest that has any."""
        sizes = [run.bytes for bucket in self.buckets for run in bucket.runs]
        tiers: list[Tier] = []
        below, reached = self.policy.small_bytes, 0
        while max(sizes, default=0) >= reached:
            own = [size for size in sizes if reached <= size < below]
            tiers.append(Tier(below, len(own), sum(own)))
            reached, below = below, below * max(self.policy.tier_ratio, 2)
        return tuple(tiers)

    def plot(self) -> Figure:
        """Draw runs of buckets, tiers, reads, amplification over time, commits, and lags of streams; needs matplotlib.

        Example::

            profiles.health().plot().savefig("health.png")
        """
        return self._condition().figure(self.table)

    def _condition(self) -> Condition:
        bars = [
            Bar(bucket.bucket, tuple(run.bytes for run in bucket.runs), bucket.reason is not None)
            for bucket in self.buckets
        ]
        lags = [self._lags(each) for each in self.streams]
        return Condition(bars, self.tiers, vars(self.reads), self.over_time, self.commits, lags)

    def _lags(self, stream: StreamHealth) -> Lags:
        late, latest = stream.late_by, stream.latest_row_by
        return Lags(
            stream.stream or "",
            (self.at - stream.last_commit_at).total_seconds(),
            None if late is None else late.total_seconds(),
            None if latest is None else latest.total_seconds(),
        )

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write a page of all of it, which stands in one file and needs nothing else; needs matplotlib.

        Example::

            profiles.health().report("health.html")
        """
        buckets = map(_bucket_cells, self.buckets[:MOST_SHOWN])
        tables = [
            html_table("buckets", ("bucket", "files", "runs", "size", "what compact() would do"), buckets),
            html_table("streams", [each.name for each in fields(StreamHealth)], map(_cells, self.streams)),
        ]
        if self.maintenance:
            tables.append(
                html_table("what maintenance did", MAINTENANCE_HEADER, map(maintenance_cells, self.maintenance))
            )
        pictures = self._condition().figures()
        page = health_page(self.table, self.at, self.measures, self.to_do, pictures, tables)
        where = Path(path)
        try:
            where.write_text(page, encoding="utf-8")
        except OSError as error:
            raise StoreFailed(
                f"The page {str(where)!r} cannot be written: {error.strerror}. Name a file in a folder that is there."
            ) from None
        return where


def _of_the_past(past: PastHealth) -> Iterator[str]:
    size = shown_bytes(past.newest_metadata_bytes)
    if past.expirable > MOST_EXPIRABLE or past.old_metadata_files > MOST_EXPIRABLE:
        yield (
            f"{past.expirable:,} of {past.snapshots:,} snapshots and {past.old_metadata_files:,} of "
            f"{past.metadata_files:,} metadata files are no longer wanted: clean(), or turn on the maintenance."
        )
    if past.held_by_consumers > MOST_EXPIRABLE:
        yield (
            f"Consumer {past.slowest_consumer!r} has {past.held_by_consumers:,} snapshots to read that would have "
            "expired: let it go on, or drop it, drop_consumer()."
        )
    elif past.snapshots - past.expirable > MOST_SNAPSHOTS * 2:
        yield (
            f"Each commit writes the list of {past.snapshots:,} snapshots again, {size}: give the table a "
            "RetentionPolicy with fewer days or max_snapshots, or drop branches that nobody needs."
        )
    elif past.metadata_bytes > MOST_METADATA_BYTES:
        yield (
            f"{past.metadata_files:,} metadata files have {shown_bytes(past.metadata_bytes)}: let fewer snapshots stay "
            "by the RetentionPolicy, or fewer files by the property write.metadata.previous-versions-max."
        )


def _measure(past: PastHealth) -> Measure:
    files = f"{past.metadata_files:,} metadata files have {shown_bytes(past.metadata_bytes)}"
    return Measure("past", f"{past.snapshots:,} snapshot{'' if past.snapshots == 1 else 's'}", files)


def _bucket_cells(bucket: BucketPicture) -> tuple[object, ...]:
    return (bucket.bucket, bucket.files, len(bucket.runs), shown_bytes(bucket.bytes), bucket.because)


def _cells(stream: StreamHealth) -> tuple[object, ...]:
    """Times without fractions, the rest as it is."""
    return tuple(_rounded(getattr(stream, each.name)) for each in fields(stream))


def _rounded(value: object) -> object:
    if isinstance(value, datetime.datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    return datetime.timedelta(seconds=round(value.total_seconds())) if isinstance(value, datetime.timedelta) else value
