"""The commits of a table behind the position of a consumer."""

from __future__ import annotations

from itertools import takewhile

from keylake._server.statements import Select
from keylake._table.handle import Handle
from keylake._table.positions import Consumer
from keylake.errors import SnapshotExpired
from keylake.results import CommitInfo

BEFORE_THE_FIRST = 0  # in place of a commit


def newer_commits(handle: Handle, name: str, at: int) -> list[CommitInfo]:
    """The commits behind the position of a consumer, the newest first."""
    rows = handle.session.fetch(Select(handle.path, part="consumers")).to_pylist()
    known = next((Consumer(**row) for row in rows if row["name"] == name), None)
    if known is None or known.commits_behind == 0:
        return []
    commits = handle.commits()
    newer = list(takewhile(lambda commit: commit.snapshot_id != at, commits))
    if at == BEFORE_THE_FIRST or len(newer) < len(commits):
        return newer
    if known.committed_at is None:
        raise SnapshotExpired(
            f"Commit {at}, up to which trigger {name!r} of {handle.path} has come, has expired. "
            "Remove the trigger, and register it again, with after= for one of commits."
        )
    # The table was rolled back to before the position: what is older was sent.
    return [commit for commit in commits if commit.committed_at > known.committed_at]
