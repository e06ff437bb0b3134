"""The snapshot that a read is of, and the check that keylake made all that it holds."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestFile
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.snapshots import Snapshot

from keylake._rows.business_time import BusinessTime, utc_of, zoned
from keylake.errors import DefinitionError, ForeignCommit, SnapshotExpired, TableNotFound, Unsupported, check_type
from keylake.local import names
from keylake.local.damage import facts
from keylake.local.layout import same_definition
from keylake.local.manifests import manifests_of
from keylake.results import Commit, CommitInfo

At = Commit | CommitInfo | int | str | datetime.datetime

# As the writers of keylake name files; those of Iceberg for Spark have one part more.
_FILE = re.compile(
    r"([01]{8}-)?\d{5,}-\d+-([a-z]+(_m?\d+|_x)*-)*[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-\d{5,}\.parquet"
)


@dataclass(frozen=True)
class Moment:
    """A snapshot, and the schema that it is read with; no snapshot where nothing was committed yet."""

    snapshot: Snapshot | None
    schema: Schema


def moment_of(
    name: str, metadata: TableMetadata, branch: str | None, at: At | None, as_of: BusinessTime | None
) -> Moment:
    """The snapshot that `branch`, `at` and `as_of` say: at most one of them, but for a time on a branch."""
    if as_of is not None:
        if at is not None or branch is not None:
            raise DefinitionError("as_of= names a state by itself. Leave at= and branch= out.")
        branch = utc_of(as_of).strftime(names.HISTORY_BRANCH)
        if branch not in metadata.refs:
            raise TableNotFound(
                f"{name} has no archived state of {as_of}. Give as_of= a time that archive() was given."
            )
    check_type("at", at, At | None, "a commit, a snapshot id, a time with a zone, or the name of a tag or branch")
    if isinstance(at, Commit | CommitInfo):
        at = at.snapshot_id
    if isinstance(at, str):
        if branch is not None:
            raise DefinitionError(f"at={at!r} names a tag or branch by itself. Leave branch={branch!r} out.")
        return _named(name, metadata, at)
    head = head_of(name, metadata, branch)
    if at is None:
        return Moment(head, metadata.schema())
    if isinstance(at, int):
        found = metadata.snapshot_by_id(at)
        if found is None:
            raise SnapshotExpired(f"{name} has no snapshot {at}, or it has expired. Take one of history().")
        return _then(name, metadata, found)
    return _then(name, metadata, _at_time(name, metadata, branch, head, at))


def _named(name: str, metadata: TableMetadata, at: str) -> Moment:
    ref = metadata.refs.get(at)
    if ref is None:
        raise TableNotFound(
            f"{name} has no tag or branch {at!r}. "
            "Give at= a commit, a snapshot id, a datetime with a zone, or the name of a tag or branch."
        )
    if ref.snapshot_ref_type == SnapshotRefType.BRANCH:
        return Moment(head_of(name, metadata, at), metadata.schema())
    return _then(name, metadata, _known(name, metadata, ref.snapshot_id))


def head_of(name: str, metadata: TableMetadata, branch: str | None) -> Snapshot | None:
    """The newest snapshot of a branch; None where nothing was committed yet."""
    if branch is None or branch == "main":
        return metadata.current_snapshot()
    if branch.startswith(names.EXPERIMENT_BRANCH):
        raise Unsupported(f"{branch!r} of {name} is an experiment, which is read through Spark. Read main here.")
    ref = metadata.refs.get(branch)
    if ref is None or ref.snapshot_ref_type != SnapshotRefType.BRANCH:
        raise TableNotFound(f"{name} has no branch {branch!r}. It has: {', '.join(sorted(metadata.refs)) or 'none'}.")
    return _known(name, metadata, ref.snapshot_id)


def _known(name: str, metadata: TableMetadata, snapshot_id: int) -> Snapshot:
    found = metadata.snapshot_by_id(snapshot_id)
    if found is None:
        raise SnapshotExpired(f"Snapshot {snapshot_id} of {name} has expired. Take a later one.")
    return found


def _then(name: str, metadata: TableMetadata, snapshot: Snapshot) -> Moment:
    return Moment(snapshot, check_definition(name, metadata, snapshot))


def check_definition(name: str, metadata: TableMetadata, snapshot: Snapshot) -> Schema:
    """The columns of a snapshot; an error where the table was replaced since."""
    schema = next((each for each in metadata.schemas if each.schema_id == snapshot.schema_id), metadata.schema())
    if not same_definition(metadata, schema):
        raise Unsupported(
            f"Commit {snapshot.snapshot_id} of {name} is from before the table was replaced by one of another "
            "definition. Read it through Spark, or take a later commit."
        )
    return schema


def _at_time(
    name: str, metadata: TableMetadata, branch: str | None, head: Snapshot | None, at: datetime.datetime
) -> Snapshot:
    moment = zoned("at", at)
    millis = (moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)) // datetime.timedelta(
        milliseconds=1
    )
    if branch is None or branch == "main":
        before = [entry.snapshot_id for entry in metadata.snapshot_log if entry.timestamp_ms <= millis]
        if before:
            return _known(name, metadata, before[-1])
    else:
        for each in ancestors(metadata, head):
            if each.timestamp_ms <= millis:
                return each
    raise SnapshotExpired(
        f"{name} has no commit at or before {moment.isoformat()}, or it has expired. Take a later time."
    )


def ancestors(metadata: TableMetadata, snapshot: Snapshot | None) -> Iterator[Snapshot]:
    """A snapshot and those before it, newest first, as far as they are kept."""
    by_id = {each.snapshot_id: each for each in metadata.snapshots}
    while snapshot is not None:
        yield snapshot
        parent = snapshot.parent_snapshot_id
        snapshot = None if parent is None else by_id.get(parent)


def summary_of(snapshot: Snapshot) -> dict[str, str]:
    """The summary of a commit."""
    return {} if snapshot.summary is None else dict(snapshot.summary.additional_properties)


def check_lineage(name: str, metadata: TableMetadata, snapshot: Snapshot, io: FileIO) -> bool:
    """Refuses a snapshot with files that keylake did not make; False: that its files have to be asked, too.

    The walk goes from the newest commit to the oldest, and ends at the first one that says that all before are known.
    """
    adopted: set[int] = set()
    has_own, oldest = False, snapshot
    for each in ancestors(metadata, snapshot):
        oldest = each
        summary = summary_of(each)
        is_own = names.VERB in summary
        with facts(name):
            adopted.update(json.loads(summary.get(names.ADOPTED, "[]")))
        if not is_own and each.snapshot_id not in adopted and any(map(_changes, _own_manifests(each, io))):
            raise ForeignCommit(
                f"Commit {each.snapshot_id} of {name} was not made by keylake: it changed data files without versions, "
                "so rows cannot be merged. Roll back to the commit before it, or adopt it, through Spark."
            )
        has_own = has_own or (is_own and names.ADOPTED not in summary)
        replaces = is_own and summary.get(names.REPLACES) == "true" and names.COPIED_WHERE not in summary
        if summary.get(names.FOREIGN_COMMITS) == "none" or replaces:
            return True
    return has_own or is_first(oldest)


def is_first(commit: Snapshot) -> bool:
    """No commit was before this one.

    pyiceberg takes the parent away from a commit when it expires; what a branch had taken in before tells that.
    """
    if commit.parent_snapshot_id is not None:
        return False
    summary = summary_of(commit)
    taken_in = summary.get(names.TAKEN_IN)
    return not taken_in if taken_in is not None else names.VERB in summary or (commit.sequence_number or 0) <= 1


def _own_manifests(snapshot: Snapshot, io: FileIO) -> list[ManifestFile]:
    return [each for each in manifests_of(snapshot, io) if each.added_snapshot_id == snapshot.snapshot_id]


def _changes(manifest: ManifestFile) -> bool:
    return bool(manifest.added_files_count) or bool(manifest.deleted_files_count)


def is_own_file(path: str) -> bool:
    """A file is named as keylake names files.

    >>> is_own_file("s3://a/b/00000-1-aaaaaaaa-1111-2222-3333-444444444444-00001.parquet")
    True
    >>> is_own_file("s3://a/b/00000-1-timely_1793530800000000_12-aaaaaaaa-1111-2222-3333-444444444444-00001.parquet")
    True
    """
    return _FILE.fullmatch(path.rpartition("/")[2]) is not None
