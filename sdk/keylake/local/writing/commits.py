"""Commits of small writes: one append upon the newest commit of the branch, again where another one came first.

What a commit says of itself, and carries on of those before it, is what the server's say; see the format. pyiceberg
makes the manifests and asks the catalog; it is told anew for each attempt what the commit says, as its parent is
another one then.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from pyiceberg.exceptions import BadRequestError, CommitFailedException, ForbiddenError
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table as IcebergTable
from pyiceberg.table import Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import AddSnapshotUpdate, AssertTableUUID, SetSnapshotRefUpdate, TableUpdate

from keylake.errors import CommitConflict, StoreFailed, TableNotFound, Unsupported
from keylake.local import names
from keylake.local.catalogs import scrubbed
from keylake.local.damage import facts, writing
from keylake.local.layout import same_definition
from keylake.local.manifests import present_manifests
from keylake.local.moments import check_lineage, is_first, summary_of
from keylake.local.writing.attempts import Attempt, Attempts, pause

MOST_ATTEMPTS = 30
MOST_UNANSWERED = 5
_CONFLICTS = (CommitFailedException, ValueError)  # a ValueError: it does not fit what is there by now
_REFUSALS = (BadRequestError, ForbiddenError)  # sending it again would not help


@dataclass(frozen=True)
class Facts:
    """The facts that the commits of a branch say and the next one has to carry on."""

    taken_in: str
    highest_version: int | None
    watermarks: Mapping[str, int]
    settled: Mapping[str, str]
    is_first: bool

    @classmethod
    def of(cls, name: str, head: Snapshot | None) -> Facts:
        """The facts of a branch that stands at a snapshot; each commit of keylake says all that is known."""
        if head is None:
            return cls("", None, {}, {}, is_first=True)
        said = summary_of(head)
        if names.VERB not in said or names.TAKEN_IN not in said:
            raise _not_carried(name, head)
        versions = [int(said[key]) for key in (names.MAX_VERSION, names.HIGHEST_VERSION) if key in said]
        known = said[names.TAKEN_IN]
        own = [str(head.sequence_number), said.get(names.SAME_AS, ""), known.removeprefix("?")]
        return cls(
            ("?" if known.startswith("?") else "") + _union(own),
            max(versions, default=None),
            json.loads(said.get(names.WATERMARKS, "{}")),
            {key: value for key, value in said.items() if key in names.SETTLED},
            is_first=False,
        )

    @classmethod
    def of_empty(cls, head: Snapshot) -> Facts:
        """The facts of a branch that was made where there was no commit: Iceberg makes an empty one for it."""
        return cls(("" if is_first(head) else "?") + str(head.sequence_number), None, {}, {}, is_first=True)


def _not_carried(name: str, commit: Snapshot) -> Unsupported:
    return Unsupported(
        f"Commit {commit.snapshot_id} of {name} does not say what commits before it said: another engine made it, or "
        "an older keylake. Write once through Spark, kl.connect(); from then on, writes without Spark are possible."
    )


def _union(texts: Iterable[str]) -> str:
    """The union of sets of numbers, each written as ranges such as `1-120,125`.

    >>> _union(["7", "", "1-3,5,6"])
    '1-3,5-7'
    """
    ranges = [part.partition("-") for text in texts for part in text.split(",") if part]
    joined: list[tuple[int, int]] = []
    for first, last in sorted((int(first), int(last or first)) for first, _, last in ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(joined[-1][1], last)
        else:
            joined.append((first, last))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in joined)


@dataclass(frozen=True)
class Said:
    """The facts that a write says of itself, but for its versions."""

    verb: str
    rows: int
    columns: tuple[str, ...]
    stream: str | None
    writer: str | None
    write_id: str
    watermark_micros: int | None
    late_rows: int = 0

    def summary(self, facts: Facts, versions: tuple[int, int] | None) -> dict[str, str]:
        """The properties of the snapshot."""
        marks = dict(facts.watermarks)
        if self.watermark_micros is not None:
            stream = self.stream or ""
            marks[stream] = max(marks.get(stream, self.watermark_micros), self.watermark_micros)
        highest = max(
            (each for each in (facts.highest_version, versions and versions[1]) if each is not None), default=None
        )
        is_plain = facts.is_first and self.verb not in ("delete", "apply_changes")
        said = {
            **facts.settled,
            names.VERB: self.verb,
            names.ROWS: str(self.rows),
            names.MIN_VERSION: None if versions is None else str(versions[0]),
            names.MAX_VERSION: None if versions is None else str(versions[1]),
            names.COLUMNS: _json(sorted(self.columns)),
            names.STREAM: self.stream,
            names.LATE_ROWS: str(self.late_rows) if self.late_rows else None,
            names.WRITER: self.writer,
            names.WRITE_ID: self.write_id,
            names.PLAIN_READS: "safe" if is_plain else "unmerged",
            names.FOREIGN_COMMITS: "none",
            names.WATERMARKS: _json(dict(sorted(marks.items()))) if marks else None,
            names.TAKEN_IN: facts.taken_in,
            names.HIGHEST_VERSION: None if highest is None else str(highest),
        }
        return {name: value for name, value in said.items() if value is not None}


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def versions_of(commit: Snapshot) -> tuple[int, int] | None:
    """The lowest and the highest version of the rows of a commit."""
    said = summary_of(commit)
    if names.MIN_VERSION not in said:
        return None
    return int(said[names.MIN_VERSION]), int(said[names.MAX_VERSION])


def facts_of(name: str, table: IcebergTable, branch: str) -> Facts:
    """The facts that the next commit of a branch has to carry on, if keylake has made all that is there."""
    metadata = table.metadata
    head = metadata.snapshot_by_name(branch)
    if head is None:
        if branch != "main":
            raise TableNotFound(
                f"{name} has no branch {branch!r}. It has: {', '.join(sorted(metadata.refs)) or 'none'}."
            )
        return Facts.of(name, None)
    may_be_empty = head.parent_snapshot_id is None and names.VERB not in summary_of(head)
    if may_be_empty and not present_manifests(name, head, table.io):
        return Facts.of_empty(head)
    schema = next((each for each in metadata.schemas if each.schema_id == head.schema_id), metadata.schema())
    if not same_definition(metadata, schema) or not check_lineage(name, metadata, head, table.io):
        raise _not_carried(name, head)
    with facts(name):
        return Facts.of(name, head)


def append(
    attempts: Attempts,
    branch: str,
    files: Callable[[Facts], tuple[list[DataFile], dict[str, str]]],
) -> Snapshot:
    """Appends files to a branch, and gives the snapshot; `files` says for each attempt what is appended, and said.

    The data files are the caller's: while `attempts.may_stand` the table may have them. Raises CommitConflict where
    nothing was committed.
    """
    name, table = attempts.name, attempts.table
    unanswered = 0
    for number in range(MOST_ATTEMPTS):
        facts = facts_of(name, table, branch)
        appended, summary = files(facts)
        transaction = _Append(table)
        update = transaction.update_snapshot(snapshot_properties=summary, branch=branch).fast_append()
        for file in appended:
            update.append_data_file(file)
        updates, requirements = _prepared(name, table, branch, update)
        updates = tuple(_completed(each, table.metadata) for each in updates)
        same_table = AssertTableUUID(uuid=table.metadata.table_uuid)  # two empty ones look alike
        snapshot = next(each.snapshot for each in updates if isinstance(each, AddSnapshotUpdate))
        attempts.add(Attempt(snapshot, _paths_of(update)))
        try:
            _sent(table, (*requirements, same_table), updates)
        except Exception as error:  # noqa: BLE001  # whatever it was, the table is asked
            if (taken := attempts.taken()) is not None:
                return taken
            if not isinstance(error, _CONFLICTS):
                unanswered += 1
                if isinstance(error, _REFUSALS) or unanswered == MOST_UNANSWERED:
                    said = scrubbed(error, table.catalog.properties)
                    raise attempts.unknown(
                        f"the catalog did not say that it took them: {said}; "
                        "when it was asked afterwards, they were not there yet"
                    ) from None
            pause(number)
        else:
            attempts.forget_refused()
            return snapshot
    raise CommitConflict(
        f"The commit to branch {branch!r} of {name} lost against other commits {MOST_ATTEMPTS} times. Nothing was "
        "written; write again."
    )


def _prepared(name: str, table: IcebergTable, branch: str, update: Any) -> tuple[Any, Any]:
    """The updates and requirements for the catalog; the manifests are written, and the list of present ones is read."""
    head = table.metadata.snapshot_by_name(branch)
    try:
        with writing(f"the manifests of {name}"):
            updates, requirements = update._commit()
    except StoreFailed:
        if head is not None:
            present_manifests(name, head, table.io)  # an error where these were the reason
        raise
    return updates, requirements


class _Append(Transaction):
    """A transaction of one update: pyiceberg's copies all snapshots whenever it looks at the metadata."""

    @property
    def table_metadata(self) -> TableMetadata:
        """The metadata of the table as it is."""
        return self._table.metadata


def _completed(update: TableUpdate, metadata: TableMetadata) -> TableUpdate:
    """The update with a snapshot that is newer than the table, and a branch that keeps what it retains.

    Iceberg's Java reads no table whose commits go back in time, whatever the clock of this machine says; pyiceberg
    would write one, and forgets for how long a branch is kept.
    """
    if isinstance(update, AddSnapshotUpdate) and update.snapshot.timestamp_ms <= metadata.last_updated_ms:
        snapshot = update.snapshot.model_copy(update={"timestamp_ms": metadata.last_updated_ms + 1})
        return AddSnapshotUpdate(snapshot=snapshot)
    if isinstance(update, SetSnapshotRefUpdate) and (branch := metadata.refs.get(update.ref_name)) is not None:
        names_of_retention = ("min_snapshots_to_keep", "max_snapshot_age_ms", "max_ref_age_ms")
        return update.model_copy(update={name: getattr(branch, name) for name in names_of_retention})
    return update


def _sent(table: IcebergTable, requirements: Any, updates: Any) -> None:
    cast("Any", table)._do_commit(requirements=requirements, updates=updates)


def _paths_of(update: Any) -> tuple[str, ...]:
    return (*update._written_manifests, *update._written_manifest_lists)
