"""Results of verbs: small frozen values.

A `Commit` is what a write tells; a `CommitInfo` is what the table still knows about it later, and a `History` is a
sequence of those, the newest first, that shows itself as a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from typing_extensions import Self

from keylake._display.html_table import ShownFields, ShownTable
from keylake._display.pictures import Event, history_figure, lanes_of
from keylake._outcomes.commits import CommitInfo, VersionRange, versions_of
from keylake._outcomes.lateness import LateHours

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Commit", "CommitInfo", "History", "Undone"]


@dataclass(frozen=True)
class Commit(ShownFields):
    """A write that is in the table: its snapshot, how many rows it stored, the range of their versions, its duration.

    >>> print(Commit(snapshot_id=17, rows=1200, versions=(5, 9), seconds=0.84))
    commit 17: 1,200 rows, versions 5 to 9, 0.8 s
    """

    snapshot_id: int
    rows: int
    versions: VersionRange | None  # None where there were no rows
    seconds: float
    undone: bool = False  # a commit with the same idempotency key was there, and its rows were taken back since
    repeated: bool = False  # the same idempotency key or offsets were there, so that nothing was written
    # Where each source goes on of which the same offsets were there.
    offsets: Mapping[str, int] = field(default_factory=dict, hash=False)
    # The snapshot before it: what `undo(after=)`, `read(at=)` and `rollback(to=)` take. None for a table's first.
    parent_id: int | None = None
    held: int = 0  # rows that failed a check and were held back, in `table.quarantine`
    late: int = 0  # of its rows, those that came later than the table allows: `table.layout.lateness()`

    @classmethod
    def from_row(
        cls, row: Mapping[str, Any], seconds: float, *, repeated: bool = False, offsets: Mapping[str, int] | None = None
    ) -> Self:
        """A commit as a server tells it: in the answer to a write, in its history, or beside those of other tables.

        >>> Commit.from_row({"snapshot_id": 17, "rows": 2, "min_version": 5, "max_version": 9}, 0.84).versions
        (5, 9)
        """
        return cls(
            row["snapshot_id"],
            row["rows"] or 0,
            versions_of(row),
            seconds,
            undone=bool(row.get("undone")),
            repeated=repeated,
            offsets=offsets or {},
            parent_id=row.get("parent_id"),
            held=row.get("held_rows") or 0,
            late=row.get("late_rows") or 0,
        )

    def __str__(self) -> str:
        versions = "no versions" if self.versions is None else f"versions {_span(self.versions)}"
        held = f", {self.held:,} held back in quarantine" if self.held else ""
        late = f", {self.late:,} late" if self.late else ""
        said = f"commit {self.snapshot_id}: {self.rows:,} rows{late}{held}, {versions}, {self.seconds:.1f} s"
        if self.repeated and not self.undone:
            same = "offsets" if self.offsets else "idempotency key"
            return f"{said}, made before with the same {same}: nothing was written"
        return f"{said}, undone since: write the rows with another idempotency key" if self.undone else said


@dataclass(frozen=True)
class Undone(ShownFields):
    """Writes that were taken back, or would be.

    >>> print(Undone(17, 2, 83, ("clicks", "spend"), buckets=8, files_removed=16, files_written=0, metadata_only=True))
    snapshot 17: 2 commits with 83 rows of clicks, spend are taken back in 8 buckets, 16 files removed and 0 written
    >>> print(Undone(None, 1, 7, ("clicks",), buckets=2, files_removed=3, files_written=0, metadata_only=False))
    plan: 1 commit with 7 rows of clicks is taken back in 2 buckets, some of which are merged again without it

    An undo has no rows of its own:

    >>> print(Undone(18, 1, 0, (), buckets=1, files_removed=1, files_written=0, metadata_only=True))
    snapshot 18: 1 commit is taken back in 1 bucket, 1 file removed and 0 written
    """

    snapshot_id: int | None  # of the commit that took them back; None where that was only planned
    commits: int  # that were taken back
    rows: int  # that these had written: no more keys than that are concerned
    columns: tuple[str, ...]  # that these had written
    buckets: int
    files_removed: int
    files_written: int
    metadata_only: bool  # no bucket has to be merged anew

    def __str__(self) -> str:
        one = self.commits == 1
        said = f"{self.commits} commit{'' if one else 's'} "
        if self.columns:
            said += f"with {self.rows:,} row{'' if self.rows == 1 else 's'} of {', '.join(self.columns)} "
        said += f"{'is' if one else 'are'} taken back in {self.buckets} bucket{'' if self.buckets == 1 else 's'}"
        if self.snapshot_id is None and not self.metadata_only:
            return f"plan: {said}, some of which are merged again without {'it' if one else 'them'}"
        begin = "plan" if self.snapshot_id is None else f"snapshot {self.snapshot_id}"
        return (
            f"{begin}: {said}, {self.files_removed:,} file{'' if self.files_removed == 1 else 's'} removed "
            f"and {self.files_written:,} written"
        )


Branches = Callable[[], Mapping[str, Sequence[CommitInfo]]]


class History(ShownTable, Sequence[CommitInfo]):
    """The commits of a table or branch, the newest first. It cannot be changed.

    Printed, versions are times in UTC where the ordering column of the table is a date or a time.

    >>> import datetime
    >>> at = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    >>> row = {"snapshot_id": 17, "committed_at": at, "verb": "update", "rows": 3, "columns": ["clicks"], "stream": "a"}
    >>> print(History("features.user_profile", [CommitInfo.from_row(row)]))
    features.user_profile: 1 commit
    snapshot  committed at         verb    rows  versions  columns  stream  writer
    17        2026-01-01 00:00:00  update  3               clicks   a
    """

    _HEADER = ("snapshot", "committed at", "verb", "rows", "versions", "columns", "stream", "writer")

    def __init__(
        self,
        table: str,
        commits: Iterable[CommitInfo],
        branches: Branches | None = None,
        version_text: Callable[[int], str] = str,
    ) -> None:
        self._table = table
        self._version_text = version_text
        self._commits = tuple(commits)
        self._branches = branches

    @overload
    def __getitem__(self, index: int) -> CommitInfo: ...

    @overload
    def __getitem__(self, index: slice) -> History: ...

    def __getitem__(self, index: int | slice) -> CommitInfo | History:
        if isinstance(index, slice):
            return History(self._table, self._commits[index], self._branches, self._version_text)
        return self._commits[index]

    def __len__(self) -> int:
        return len(self._commits)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, History) and self._commits == other._commits

    def __hash__(self) -> int:
        return hash(self._commits)

    def plot(self) -> Figure:
        """Draw the commits over time, a line for each stream, as large as their rows are many; needs matplotlib.

        Of main, the newest branches have lines of their own, with what they have and main has not; `plot` asks for
        these.

        Example::

            profiles.history().plot().savefig("history.png")
        """
        lanes = [*lanes_of(_events(self))]
        if self._branches is not None:
            lanes += [(f"branch {name}", _events(commits)) for name, commits in self._branches().items() if commits]
        return history_figure(self._table, lanes)

    def lateness(self) -> LateHours:
        """The rows of these commits that were late when they came, by stream and hour; `plot` draws it.

        Example::

            print(profiles.history(1000).lateness())
        """
        return LateHours.of(self._table, self._commits)

    def _title(self) -> str:
        return f"{self._table}: {len(self)} commit{'' if len(self) == 1 else 's'}"

    def _rows(self) -> list[tuple[object, ...]]:
        return [
            (
                commit.snapshot_id,
                f"{commit.committed_at:%Y-%m-%d %H:%M:%S}",
                commit.verb,
                None if commit.rows is None else f"{commit.rows:,}",
                None if commit.versions is None else _span(commit.versions, self._version_text),
                ", ".join(commit.columns),
                commit.stream,
                commit.writer,
            )
            for commit in self._commits
        ]


def _events(commits: Iterable[CommitInfo]) -> list[Event]:
    return [Event(each.committed_at, each.stream, each.verb, each.rows or 0) for each in commits]


def _span(versions: VersionRange, text: Callable[[int], str] = str) -> str:
    low, high = versions
    return text(low) if low == high else f"{text(low)} to {text(high)}"
