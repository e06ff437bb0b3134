"""The policy for a table's past, and the result of a cleaning."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TypeVar, cast

from keylake._display.html_table import ShownFields
from keylake._maintenance.policy import Policy

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class _Default:
    """A value that was not given: it depends on those that were."""

    value: object

    def __repr__(self) -> str:
        return repr(self.value)


def _default(value: _Value) -> _Value:
    return cast("_Value", _Default(value))


@dataclass(frozen=True)
class RetentionPolicy(Policy):
    """A policy that says which snapshots and files are kept; as JSON it is the table property `keylake.retention`.

    Tags and branches keep what they stand on, whatever is said here.

    What was the newest snapshot of its branch within the last `days` is kept, so that the table can be read as of any
    moment since then, and its commits can be undone; all snapshots are where it is None. Of them at most
    `max_snapshots` of a branch are kept, as each commit writes the list of them again: 1,000 are a week of commits
    every ten minutes. A policy with `days` or `snapshots` and without `max_snapshots` has no such limit.
    The newest `snapshots` of each branch are kept however old they are. Files that no snapshot knows, left by writes
    that never came to a commit, are deleted when they are older than `orphan_days`; younger ones may belong to a write
    that is still at work. Archived states whose
    business time is at most `history_days` ago are kept, all of them where it is None; of the older ones the last of
    each month, for `history_months` months. What a consumer of the change feed has not read is kept, too.
    The idempotency key of a commit is known for `idempotency_days`, also after its snapshot has expired.

    >>> RetentionPolicy(days=30, snapshots=100, max_snapshots=20_000).idempotency_days
    30
    >>> RetentionPolicy().max_snapshots, RetentionPolicy(days=30).max_snapshots
    (1000, None)
    """

    _CALLED = "retention policy"

    days: float | None = _default(7)
    snapshots: int = _default(1)
    max_snapshots: int | None = _default(1000)
    orphan_days: float = 3
    history_days: float | None = None
    history_months: int = 0
    idempotency_days: float = 30

    def __post_init__(self) -> None:
        unsaid = {field.name: value for field in fields(self) if isinstance(value := vars(self)[field.name], _Default)}
        says_what_is_kept = not {"days", "snapshots"} <= unsaid.keys()
        for name, default in unsaid.items():
            is_without_limit = name == "max_snapshots" and says_what_is_kept
            object.__setattr__(self, name, None if is_without_limit else default.value)


@dataclass(frozen=True)
class Cleaned(ShownFields):
    """The result of a cleaning: what it has removed.

    >>> print(Cleaned(snapshots_expired=3, files_deleted=14, orphans_deleted=0, manifests_rewritten=False))
    3 snapshots expired, 14 files and 0 orphans deleted

    Metadata files of earlier commits are deleted beyond the 50 newest (`write.metadata.previous-versions-max`).

    Where it cannot be proven which files are the table's own, as another table lies inside its folder, orphans are
    left, and `orphans_left_because` says why.
    """

    snapshots_expired: int
    files_deleted: int  # data files, manifests and their lists, of expired snapshots
    orphans_deleted: int
    manifests_rewritten: bool
    states_dropped: int = 0  # archived ones
    orphans_left_because: str | None = None  # why orphans were not looked for; None where they were
    metadata_files_deleted: int = 0  # of earlier commits, beyond the number that is kept

    def __str__(self) -> str:
        return (
            f"{self.snapshots_expired} snapshots expired, {self.files_deleted} files and {self.orphans_deleted} "
            "orphans deleted"
            f"{f', {self.metadata_files_deleted} old metadata files' if self.metadata_files_deleted else ''}"
            f"{', manifests rewritten' if self.manifests_rewritten else ''}"
            f"{f', {self.states_dropped} archived states dropped' if self.states_dropped else ''}"
            f"{f'; orphans were left: {self.orphans_left_because}' if self.orphans_left_because else ''}"
        )
