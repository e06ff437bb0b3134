"""What of a table's past is kept, and what a cleaning has removed."""

from __future__ import annotations

from dataclasses import dataclass

from keylake._display.html_table import ShownFields
from keylake._maintenance.policy import Policy


@dataclass(frozen=True)
class RetentionPolicy(Policy):
    """Which snapshots and files are kept; as JSON it is the table property `keylake.retention`.

    Tags and branches keep what they stand on, whatever is said here.

    Snapshots younger than `days` are kept, all of them where it is None, and the newest `snapshots` of each branch
    however old they are. Files that no snapshot knows, left by writes that never came to a commit, are deleted when
    they are older than `orphan_days`; younger ones may belong to a write that is still at work. Archived states whose
    business time is at most `history_days` ago are kept, all of them where it is None; of the older ones the last of
    each month, for `history_months` months. What a consumer of the change feed has not read is kept, too.
    The idempotency key of a commit is known for `idempotency_days`, also after its snapshot has expired.

    >>> RetentionPolicy(days=7, snapshots=100).idempotency_days
    30
    >>> RetentionPolicy.from_json('{"days": 7}').snapshots
    1
    """

    _CALLED = "retention policy"

    days: float | None = None
    snapshots: int = 1
    orphan_days: float = 3
    history_days: float | None = None
    history_months: int = 0
    idempotency_days: float = 30


@dataclass(frozen=True)
class Cleaned(ShownFields):
    """What a cleaning has removed.

    >>> print(Cleaned(snapshots_expired=3, files_deleted=14, orphans_deleted=0, manifests_rewritten=False))
    3 snapshots expired, 14 files and 0 orphans deleted

    Where it cannot be proven which files are the table's own, as another table lies inside its folder, orphans are
    left, and `orphans_left_because` says why.
    """

    snapshots_expired: int
    files_deleted: int  # data files, manifests and their lists, of expired snapshots
    orphans_deleted: int
    manifests_rewritten: bool
    states_dropped: int = 0  # archived ones
    orphans_left_because: str | None = None  # why orphans were not looked for; None where they were

    def __str__(self) -> str:
        return (
            f"{self.snapshots_expired} snapshots expired, {self.files_deleted} files and {self.orphans_deleted} "
            f"orphans deleted{', manifests rewritten' if self.manifests_rewritten else ''}"
            f"{f', {self.states_dropped} archived states dropped' if self.states_dropped else ''}"
            f"{f'; orphans were left: {self.orphans_left_because}' if self.orphans_left_because else ''}"
        )
