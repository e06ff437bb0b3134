"""Commits, as the history lists them and as events for whoever wants to be told of them."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from keylake._display.html_table import ShownFields

VersionRange = tuple[int, int]


def versions_of(row: Mapping[str, Any]) -> VersionRange | None:
    """The versions of the rows of a commit, as a server tells them; None where it had no rows."""
    low, high = row.get("min_version"), row.get("max_version")
    return None if low is None or high is None else (low, high)


@dataclass(frozen=True)
class CommitInfo(ShownFields):
    """One commit of a table's history: what it wrote, when, and who wrote it."""

    snapshot_id: int
    parent_id: int | None
    committed_at: datetime.datetime
    verb: str | None  # None where the commit is no write of ours
    rows: int | None
    versions: VersionRange | None
    columns: tuple[str, ...]
    stream: str | None
    writer: str | None
    write_id: str | None
    idempotency_key: str | None
    files: int | None
    undone: bool = False  # a later commit has taken its rows back
    watermark: datetime.datetime | None = None  # the event time up to which its stream is complete, where it is known
    held: int = 0  # rows that failed a check of the write and were held back, in `table.quarantine`
    late: int = 0  # of its rows, those that came later than the table allows: `table.layout.lateness()`

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> CommitInfo:
        """A commit from a row of the procedure `commits`.

        >>> at = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
        >>> row = {"snapshot_id": 17, "committed_at": at, "verb": "update", "rows": 3, "columns": ["clicks"],
        ...        "min_version": 5, "max_version": 9, "stream": "web", "files": 1}
        >>> CommitInfo.from_row(row).versions
        (5, 9)
        """
        return cls(
            snapshot_id=row["snapshot_id"],
            parent_id=row.get("parent_id"),
            committed_at=row["committed_at"],
            verb=row.get("verb"),
            rows=row.get("rows"),
            versions=versions_of(row),
            columns=tuple(row.get("columns") or ()),
            stream=row.get("stream"),
            writer=row.get("writer"),
            write_id=row.get("write_id"),
            idempotency_key=row.get("idempotency_key"),
            files=row.get("files"),
            undone=bool(row.get("undone")),
            watermark=row.get("watermark"),
            held=row.get("held_rows") or 0,
            late=row.get("late_rows") or 0,
        )


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
