"""Commits as events, for whoever wants to be told of them: a callback, a queue, a Kafka topic."""

from __future__ import annotations

import datetime
import json
from dataclasses import asdict, dataclass

from keylake._display.html_table import ShownFields
from keylake.results import CommitInfo


@dataclass(frozen=True)
class CommitEvent(ShownFields):
    """A commit of a table, as a sink is told of it; compactions are told, too, and `commit.verb` says which it is.

    `key` belongs to this trigger, table and commit, and to no other: by it a receiver knows an event that was sent
    twice, and a write that has it as `idempotency_key=` counts once.
    """

    table: str
    branch: str | None  # None: main
    commit: CommitInfo
    key: str

    def __str__(self) -> str:
        return f"commit {self.commit.snapshot_id}"

    def to_json(self) -> str:
        """The event on one line, as the value of a message; all of the commit stands beside table, branch and key.

        >>> at = datetime.datetime(2026, 11, 1, tzinfo=datetime.timezone.utc)
        >>> commit = CommitInfo.from_row({"snapshot_id": 17, "committed_at": at, "verb": "delete", "rows": 3})
        >>> CommitEvent("features.clicks", None, commit, "...").to_json()[:76]
        '{"table": "features.clicks", "branch": null, "key": "...", "snapshot_id": 17'
        """
        said = {"table": self.table, "branch": self.branch, "key": self.key} | asdict(self.commit)
        return json.dumps(said, default=_in_json)


def _in_json(value: object) -> str:
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.timezone.utc).isoformat()
    raise TypeError(f"{value!r} has no form in JSON")
