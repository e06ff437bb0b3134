"""The commits after one and up to another, of one line of descent."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot

from keylake.errors import DefinitionError, SnapshotExpired
from keylake.local import names
from keylake.local.moments import check_definition, is_first, summary_of

_TIDYING = ("compact", "settle", "publish")  # change no answer


@dataclass(frozen=True)
class CommitRange:
    """Commits of keylake, oldest first; `before` is the one before them, None for the time before the first."""

    before: Snapshot | None
    commits: tuple[Snapshot, ...]

    @classmethod
    def of(cls, name: str, metadata: TableMetadata, after: int | None, until: Snapshot) -> CommitRange:
        """The range, if all of its commits are there; `after` is a snapshot, None for the time before the first."""
        before = None if after is None else there(name, metadata, after)
        for end in (before, until):
            if end is not None:
                check_definition(name, metadata, end)
        commits: list[Snapshot] = []
        each = until
        while each.snapshot_id != after:
            commits.append(each)
            if each.parent_snapshot_id is None:
                if not is_first(each):
                    raise SnapshotExpired(
                        f"The commits of {name} before commit {each.snapshot_id} have expired, and their files may be "
                        f"gone; the oldest that is kept is of {_time(each)}."
                    )
                if before is None:
                    break
                raise _unrelated(metadata, before, until)
            each = there(name, metadata, each.parent_snapshot_id)
        return cls(before, tuple(commit for commit in reversed(commits) if names.VERB in summary_of(commit)))

    @property
    def writes(self) -> tuple[Snapshot, ...]:
        """The commits that can have changed an answer."""
        return tuple(each for each in self.commits if summary_of(each)[names.VERB] not in _TIDYING)

    @property
    def last(self) -> Snapshot | None:
        """The newest commit."""
        return self.commits[-1] if self.commits else None

    def apart(self) -> Iterator[CommitRange]:
        """Each commit as a range of its own."""
        before = self.before
        for commit in self.commits:
            yield CommitRange(before, (commit,))
            before = commit


def there(name: str, metadata: TableMetadata, snapshot_id: int) -> Snapshot:
    """A snapshot, which has to be there."""
    found = metadata.snapshot_by_id(snapshot_id)
    if found is None:
        oldest = next(iter(metadata.snapshots), None)
        kept = "none" if oldest is None else f"{oldest.snapshot_id} of {_time(oldest)}"
        raise SnapshotExpired(
            f"Commit {snapshot_id} of {name} has expired, or never was, and its files may be gone; "
            f"the oldest that is kept is {kept}."
        )
    return found


def _time(snapshot: Snapshot) -> str:
    return datetime.datetime.fromtimestamp(snapshot.timestamp_ms / 1000, datetime.timezone.utc).isoformat()


def _unrelated(metadata: TableMetadata, after: Snapshot, until: Snapshot) -> DefinitionError:
    each: Snapshot | None = after
    while each is not None and each.snapshot_id != until.snapshot_id:
        each = None if each.parent_snapshot_id is None else metadata.snapshot_by_id(each.parent_snapshot_id)
    if each is not None:
        return DefinitionError(f"Commit {after.snapshot_id} comes after commit {until.snapshot_id}; exchange them.")
    return DefinitionError(
        f"Commit {after.snapshot_id} is not before commit {until.snapshot_id} but belongs to another branch; "
        "give two commits of one branch."
    )
