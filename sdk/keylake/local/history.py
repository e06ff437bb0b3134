"""The commits of a branch, read from its snapshots: what the server's procedure `commits` gives of them."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot

from keylake.local import names
from keylake.local.changes.ranges import there
from keylake.local.damage import facts
from keylake.local.moments import ancestors, head_of, summary_of
from keylake.results import CommitInfo

_TIDYING = ("compact", "settle")
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def commits_of(name: str, metadata: TableMetadata, branch: str | None, compactions: bool) -> Iterator[CommitInfo]:
    """The commits of a branch, newest first; `compactions`: with those that only tidied up."""
    undone: set[int] = set()
    for snapshot in ancestors(metadata, head_of(name, metadata, branch)):
        summary = summary_of(snapshot)
        is_undone = snapshot.snapshot_id in undone
        with facts(name):
            if not is_undone:  # an undo that was taken back has taken nothing back
                undone.update(json.loads(summary.get(names.UNDONE, "[]")))
            commit = _commit(snapshot, summary, is_undone)
        if compactions or commit.verb not in _TIDYING:
            yield commit


def commits_since(
    name: str, metadata: TableMetadata, branch: str | None, after: int, compactions: bool
) -> tuple[CommitInfo, ...]:
    """The commits that a branch has and another commit does not have behind it, oldest first.

    `after` is 0 for all that are kept. After a rollback there is none until the next commit.
    """
    before = None if after == 0 else there(name, metadata, after)
    head = head_of(name, metadata, branch)
    if head is None or head.snapshot_id == after:
        return ()
    newer: list[CommitInfo] = []
    for commit in commits_of(name, metadata, branch, compactions=True):
        if commit.snapshot_id == after:
            break
        newer.append(commit)
    else:  # `after` was rolled back, or is of another branch
        told = set() if before is None else {each.snapshot_id for each in ancestors(metadata, before)}
        newer = [commit for commit in newer if commit.snapshot_id not in told]
    return tuple(commit for commit in reversed(newer) if compactions or commit.verb not in _TIDYING)


def _commit(snapshot: Snapshot, summary: dict[str, str], is_undone: bool) -> CommitInfo:
    low, high = _number(summary, names.MIN_VERSION), _number(summary, names.MAX_VERSION)
    return CommitInfo(
        snapshot_id=snapshot.snapshot_id,
        parent_id=snapshot.parent_snapshot_id,
        committed_at=_EPOCH + datetime.timedelta(milliseconds=snapshot.timestamp_ms),
        verb=summary.get(names.VERB),
        rows=_number(summary, names.ROWS),
        versions=None if low is None or high is None else (low, high),
        columns=tuple(json.loads(summary.get(names.COLUMNS, "[]"))),
        stream=summary.get(names.STREAM),
        writer=summary.get(names.WRITER),
        write_id=summary.get(names.WRITE_ID),
        idempotency_key=summary.get(names.IDEMPOTENCY_KEY),
        files=_number(summary, "added-data-files") or 0,
        undone=is_undone,
        watermark=_watermark(summary),
        held=_number(summary, names.HELD_ROWS) or 0,
        late=_number(summary, names.LATE_ROWS) or 0,
    )


def _watermark(summary: dict[str, str]) -> datetime.datetime | None:
    """The event time up to which the stream of a commit is complete, as far as it said so."""
    micros = json.loads(summary.get(names.WATERMARKS, "{}")).get(summary.get(names.STREAM, ""))
    return None if micros is None else _EPOCH + datetime.timedelta(microseconds=micros)


def _number(summary: dict[str, str], name: str) -> int | None:
    text = summary.get(name)
    return None if text is None else int(text)
