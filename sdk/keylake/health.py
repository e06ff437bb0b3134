"""How a table is doing: what `health()` gives back. Small frozen values, a picture, and a page."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from keylake._display.html_table import ShownFields, ShownTable, html_table
from keylake._display.pictures import Bar, Event, Measure, health_figure, health_page
from keylake._maintenance.compaction import BucketPicture, CompactionPlan, shown_bytes
from keylake._maintenance.maintenance import MaintenanceEntry

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from keylake._display.figures import Picture

MOST_READ_AMPLIFICATION = 4.0
MOST_STORAGE_AMPLIFICATION = 3.0
MOST_SKEW = 3.0
MOST_SHOWN = 100


@dataclass(frozen=True)
class StreamHealth(ShownFields):
    """What one stream has written lately, and how far it is complete in event time."""

    stream: str | None
    commits: int
    rows: int
    last_commit_at: datetime.datetime
    watermark: datetime.datetime | None
    late_by: datetime.timedelta | None  # how far the watermark lies behind the moment of the look; None without one


@dataclass(frozen=True)
class ReadHealth(ShownFields):
    """How a read of all columns takes the table, in bytes of its files.

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


@dataclass(frozen=True, repr=False)
class Health(ShownTable):
    """How a table or branch is doing: layout, reads, storage, streams, maintenance, and what to do."""

    table: str
    at: datetime.datetime
    buckets: CompactionPlan
    reads: ReadHealth
    kept_bytes: int  # of all data files that snapshots need, those of the newest included
    streams: tuple[StreamHealth, ...]
    commits: tuple[Event, ...]  # the newest of the history, the newest first
    maintenance: tuple[MaintenanceEntry, ...]  # what the server has done here since it started
    bucket_advice: str | None  # what is wrong with the number of buckets

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
        """What is wrong and what to do, a sentence each; empty where all is well."""
        return tuple(self._to_do())

    def _to_do(self) -> Iterator[str]:
        merges = len(self.buckets.merges) + len(self.buckets.settlements)
        if merges:
            yield f"{merges} buckets want to be compacted by the table's policy: compact()."
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
        return f"{self.table}: {'; '.join(self.to_do) or 'all is well'}"

    def _rows(self) -> list[tuple[object, ...]]:
        return [(each.name, each.value, each.remark) for each in self.measures]

    def plot(self) -> Figure:
        """Draw sizes and runs of buckets, how reads take them, commits and freshness by stream; needs matplotlib.

        Example::

            profiles.health().plot().savefig("health.png")
        """
        return self._figure()

    def _figure(self, *, in_page: bool = False) -> Picture:
        ages = {each.stream or "": self.at - each.last_commit_at for each in self.streams}
        bars = [Bar(bucket.bucket, tuple(run.bytes for run in bucket.runs)) for bucket in self.buckets]
        title = "" if in_page else self.table
        return health_figure(title, bars, vars(self.reads), self.commits, ages)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write a page of all of it, which stands in one file and needs nothing else; needs matplotlib.

        Example::

            profiles.health().report("health.html")
        """
        buckets = map(_bucket_cells, self.buckets[:MOST_SHOWN])
        tables = (
            html_table("buckets", ("bucket", "files", "runs", "size", "merge"), buckets),
            html_table("streams", [each.name for each in fields(StreamHealth)], map(_cells, self.streams)),
            html_table("maintenance", [each.name for each in fields(MaintenanceEntry)], map(_cells, self.maintenance)),
        )
        picture = self._figure(in_page=True)
        where = Path(path)
        where.write_text(health_page(self.table, self.at, self.measures, self.to_do, picture, tables), encoding="utf-8")
        return where


def _bucket_cells(bucket: BucketPicture) -> tuple[object, ...]:
    return (bucket.bucket, bucket.files, len(bucket.runs), shown_bytes(bucket.bytes), bucket.because)


def _cells(of: StreamHealth | MaintenanceEntry) -> tuple[object, ...]:
    """Times without fractions, the rest as it is."""
    cells = (getattr(of, each.name) for each in fields(of))
    return tuple(f"{cell:%Y-%m-%d %H:%M:%S}" if isinstance(cell, datetime.datetime) else cell for cell in cells)
