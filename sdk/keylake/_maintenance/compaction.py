"""Compaction keeps the files of a table few: the policy, the plan with pictures, and a report of what was done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

from keylake._display.html_table import ShownFields, ShownTable
from keylake._maintenance.policy import Policy

_KIB = 1024


@dataclass(frozen=True)
class CompactionPolicy(Policy):
    """A policy of when the runs of a bucket are merged or settled; as JSON the table property `keylake.compaction`.

    Files from when the table had fewer buckets are divided, before anything else is done to them (`change_buckets`).
    Then four checks are made, in this order; the first that wants something gets it.

    1. *File count*: a bucket with more than `max_files` files below half the target size is merged, come what may.
    2. *Superseded rows*: neighbouring runs are merged when `superseded_share` of their rows would go.
    3. *Settling*: runs of whole rows that overlap are settled when `settle_share` of their rows are new since the last
       time, and their keys are a small part of them: superseded rows are recorded as Iceberg's own deletions, no data
       is written again, and reads need no merge any more. None: never.
    4. *Size tiers*: runs below `small_bytes` are tier 0, and each further tier reaches `tier_ratio` times as far; where
       `tier_runs` neighbouring runs share a tier, they are merged, if that frees at least `least_freed_share` of their
       rows. So runs are merged with their peers, and large ones are hardly ever written again.

    Checks 2 and 4 read at most `max_bytes` in one merge. Merged files have about `target_file_bytes`. Tombstones are
    kept for ever, unless `tombstone_seconds` says for how long late data must not bring a row back.

    Maintenance shows checks 2 to 4 no runs of the last `recent_seconds` that are below `small_bytes` altogether, so
    that `explain_row`, undo, feeds and reads of the past find the recent commits as they were written. A call of
    `compact` merges these, too.

    Late rows (`set_lateness`) lie in files of their own, which the checks look at apart. They become a run
    like others when they have `late_share` of the bytes of their bucket's other files, or when some are `late_seconds`
    old.

    >>> CompactionPolicy(tier_runs=8).to_json()[:14]
    '{"max_files": '
    """

    _CALLED = "compaction policy"

    max_files: int = 32
    tier_runs: int = 4
    tier_ratio: int = 4
    small_bytes: int = 1 << 20
    superseded_share: float = 0.5
    least_freed_share: float = 0.02
    settle_share: float | None = 0.05
    max_bytes: int = 64 << 30
    target_file_bytes: int = 512 << 20
    tombstone_seconds: int | None = None
    recent_seconds: int = 600
    late_share: float = 0.25
    late_seconds: int = 86_400


_SETTLE = "settle"  # the reason that is no merge
# Merges all there is; settles all there is, and merges nothing; leaves recent small runs, as maintenance does.
PolicyWord = Literal["full", "settle", "maintenance"]


@dataclass(frozen=True)
class RunPicture:
    """A run: what one commit, or one compaction, has left in a bucket."""

    age: int  # its place in the order of commits
    bytes: int
    rows: int


@dataclass(frozen=True)
class BucketPicture:
    """One bucket of a plan: its runs, the oldest first, and what the policy wants there, if anything."""

    bucket: str  # the values of its partition, the bucket's number last
    files: int
    depth: int  # how many runs a read merges at most
    bytes: int
    runs: tuple[RunPicture, ...]
    reason: str | None
    because: str | None
    merges_files: int
    merges_bytes: int

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> BucketPicture:
        """A bucket from a row of the procedure `compaction_plan`."""
        runs = zip(row["run_ages"], row["run_bytes"], row["run_rows"], strict=True)
        same = ("bucket", "files", "depth", "bytes", "reason", "because", "merges_files", "merges_bytes")
        return cls(runs=tuple(RunPicture(*run) for run in runs), **{name: row[name] for name in same})


@dataclass(frozen=True)
class Merge(ShownFields):
    """One merge that was carried out, or one bucket that was settled (`reason` says so).

    `lost` where another commit had taken its files meanwhile. Settling writes files that only say which rows are
    superseded, so its `rows_written` is 0.
    """

    bucket: str
    state: str  # committed | lost
    reason: str
    because: str
    files_merged: int
    files_written: int
    rows_merged: int
    rows_written: int
    rows_superseded: int
    bytes_merged: int
    bytes_written: int
    seconds: float


class CompactionPlan(ShownTable, Sequence[BucketPicture]):
    """The plan that a policy makes of a table as it stands. Nothing has been done yet.

    >>> row = {"bucket": "3", "files": 2, "depth": 2, "bytes": 5_300_000, "run_ages": [1, 2],
    ...        "run_bytes": [5_000_000, 300_000], "run_rows": [90, 9], "reason": None, "because": None,
    ...        "merges_files": 0, "merges_bytes": 0}
    >>> print(CompactionPlan("features.clicks", [BucketPicture.from_row(row)]))
    features.clicks: 1 bucket, nothing to merge
    bucket  runs (old to new)  depth  files  size     merge
    3       4.8 MiB, 293 KiB   2      2      5.1 MiB
    """

    _HEADER = ("bucket", "runs (old to new)", "depth", "files", "size", "merge")
    _SHOWN_RUNS = 8

    def __init__(self, table: str, buckets: Iterable[BucketPicture]) -> None:
        self._table = table
        self._buckets = tuple(buckets)

    @overload
    def __getitem__(self, index: int) -> BucketPicture: ...

    @overload
    def __getitem__(self, index: slice) -> CompactionPlan: ...

    def __getitem__(self, index: int | slice) -> BucketPicture | CompactionPlan:
        if isinstance(index, slice):
            return CompactionPlan(self._table, self._buckets[index])
        return self._buckets[index]

    def __len__(self) -> int:
        return len(self._buckets)

    @property
    def merges(self) -> tuple[BucketPicture, ...]:
        """The buckets in which the policy wants a merge."""
        return tuple(bucket for bucket in self._buckets if bucket.reason not in {None, _SETTLE})

    @property
    def settlements(self) -> tuple[BucketPicture, ...]:
        """The buckets that the policy wants settled; all others are settled with them."""
        return tuple(bucket for bucket in self._buckets if bucket.reason == _SETTLE)

    def _title(self) -> str:
        size = shown_bytes(sum(bucket.merges_bytes for bucket in self.merges))
        wanted = [f"{_count(len(self.merges), 'merge')} of {size}"] if self.merges else []
        wanted += [f"{len(self.settlements)} to settle"] if self.settlements else []
        return f"{self._table}: {', '.join([_count(len(self), 'bucket'), *(wanted or ['nothing to merge'])])}"

    def _rows(self) -> list[tuple[object, ...]]:
        return [
            (
                bucket.bucket,
                self._drawn(bucket.runs),
                bucket.depth,
                bucket.files,
                shown_bytes(bucket.bytes),
                self._wanted(bucket),
            )
            for bucket in self._buckets
        ]

    @staticmethod
    def _wanted(bucket: BucketPicture) -> str | None:
        if bucket.reason in {None, _SETTLE}:
            return None if bucket.reason is None else f"settle: {bucket.because}"
        return f"{bucket.merges_files} files: {bucket.because}"

    def _drawn(self, runs: tuple[RunPicture, ...]) -> str:
        sizes = [shown_bytes(run.bytes) for run in runs]
        if len(sizes) <= self._SHOWN_RUNS:
            return ", ".join(sizes)
        half = self._SHOWN_RUNS // 2
        between = f"... {len(sizes) - 2 * half} more ..."
        return ", ".join((*sizes[:half], between, *sizes[-half:]))


class CompactionReport(ShownTable, Sequence[Merge]):
    """The report of a compaction, merge by merge.

    >>> print(CompactionReport("features.clicks", []))
    features.clicks: nothing to merge
    bucket  state  files  rows  size  seconds  why
    """

    _HEADER = ("bucket", "state", "files", "rows", "size", "seconds", "why")

    def __init__(self, table: str, merges: Iterable[Merge]) -> None:
        self._table = table
        self._merges = tuple(merges)

    @overload
    def __getitem__(self, index: int) -> Merge: ...

    @overload
    def __getitem__(self, index: slice) -> CompactionReport: ...

    def __getitem__(self, index: int | slice) -> Merge | CompactionReport:
        if isinstance(index, slice):
            return CompactionReport(self._table, self._merges[index])
        return self._merges[index]

    def __len__(self) -> int:
        return len(self._merges)

    @property
    def bytes_written(self) -> int:
        """Bytes of all new files."""
        return sum(merge.bytes_written for merge in self._merges)

    def _title(self) -> str:
        if not self._merges:
            return f"{self._table}: nothing to merge"
        merges = [merge for merge in self._merges if merge.reason != _SETTLE]
        before = sum(merge.files_merged for merge in merges if merge.state == "committed")
        after = sum(merge.files_written for merge in merges)
        settled = len(self) - len(merges)
        done = [f"{_count(len(merges), 'merge')}, {before} files became {after}"] if merges else []
        done += [f"{_count(settled, 'bucket')} settled"] if settled else []
        return f"{self._table}: {'; '.join(done)}"

    @staticmethod
    def _rows_of(merge: Merge) -> str:
        if merge.reason == _SETTLE:
            return f"{merge.rows_superseded:,} of {merge.rows_merged:,} superseded"
        return f"{merge.rows_merged:,} to {merge.rows_written:,}"

    def _rows(self) -> list[tuple[object, ...]]:
        return [
            (
                merge.bucket,
                merge.state,
                f"{merge.files_merged} to {merge.files_written}",
                self._rows_of(merge),
                f"{shown_bytes(merge.bytes_merged)} to {shown_bytes(merge.bytes_written)}",
                f"{merge.seconds:.1f}",
                merge.because,
            )
            for merge in self._merges
        ]


def shown_bytes(count: float) -> str:
    """A size as people read it.

    >>> shown_bytes(5_000_000)
    '4.8 MiB'
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < _KIB:
            return f"{count:.1f} {unit}" if unit != "B" and count < 100 else f"{count:.0f} {unit}"
        count /= _KIB
    return f"{count:.1f} TiB"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
