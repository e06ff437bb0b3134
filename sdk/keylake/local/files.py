"""The data files of a snapshot, with what manifests say of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyiceberg.conversions import from_bytes
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile, DataFileContent, ManifestContent, ManifestEntry, ManifestEntryStatus
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.types import LongType, NestedField, PrimitiveType

from keylake.errors import ForeignCommit, Unsupported
from keylake.local import names
from keylake.local.damage import reading
from keylake.local.lateness import ages_of, is_late, is_mixed
from keylake.local.layout import Layout
from keylake.local.manifests import entries_of, live, manifests_of
from keylake.local.moments import is_own_file, summary_of


@dataclass(frozen=True, eq=False)
class StoredFile:
    """A data file; the later of two equal versions wins, and of two files the one with the larger `age` is later.

    `lower` and `upper` are the bounds of each key column, as Iceberg stores them: dates and times are numbers, uuids
    are bytes. `version` is the one of all rows, whatever is stored. `never` and `always` are fields of `_merge_info`
    that are null in all rows, and zero in all rows.
    """

    path: str
    size: int
    rows: int
    age: int
    partition: tuple[object, ...]
    buckets: int
    lower: tuple[Any, ...]
    upper: tuple[Any, ...]
    version: int | None
    never: frozenset[int]
    always: frozenset[int]
    is_visible: bool
    present: frozenset[int] = frozenset()  # fields of which the file has values

    @property
    def bucket(self) -> int:
        """The bucket, if there are so many."""
        bucket = self.partition[-1]
        assert isinstance(bucket, int)
        return bucket

    def may_have(self, key: tuple[Any, ...]) -> bool:
        """A key lies between the bounds."""
        bounds = zip(key, self.lower, self.upper, strict=True)
        return all((low is None or low <= part) and (high is None or part <= high) for part, low, high in bounds)


class Listing:
    """Lists the files of snapshots of one table, and remembers what manifests say: they never change."""

    def __init__(self, name: str, layout: Layout) -> None:
        self._name = name
        self._layout = layout
        self._known: dict[str, tuple[StoredFile, ...]] = {}
        plain = (each.field_id for each in layout.fields.values() if isinstance(each.field_type, PrimitiveType))
        self._told = {layout.version, layout.written, layout.deleted, *layout.leaves.values(), *plain}

    def files(self, snapshot: Snapshot, io: FileIO, is_proven: bool) -> tuple[StoredFile, ...]:
        """The files in commit order, those of one commit by key; deletes that record superseded rows are left out."""
        found: list[StoredFile] = []
        known: dict[str, tuple[StoredFile, ...]] = {}
        for manifest in manifests_of(snapshot, io):
            path = manifest.manifest_path
            if path not in self._known:
                entries = live(entries_of(manifest, io))
                with reading("Manifest", path, io, manifest.manifest_length):
                    is_data = manifest.content == ManifestContent.DATA
                    files = tuple(self._stored(each) for each in entries) if is_data else self._superseded(entries)
                self._known[path] = files
            known[path] = self._known[path]
            found.extend(known[path])
        self._known = known
        if not is_proven:
            for each in found:
                if not is_own_file(each.path):
                    raise ForeignCommit(
                        f"File {each.path} of {self._name} was not written by keylake, and the commit that added it "
                        "has expired. Adopt it, or roll back to a commit before it, through Spark."
                    )
        if any(is_late(file.path) or is_mixed(file.path) for file in found):
            found = [file for several in by_bucket(found).values() for file in _as_they_count(several)]
        return tuple(sorted(found, key=lambda file: (file.age, *_sortable(file.lower))))

    def touched(self, commit: Snapshot, io: FileIO) -> tuple[StoredFile, ...]:
        """The files that a commit added or took away; foreign ones that it adopted are no rows."""
        wanted = {ManifestEntryStatus.ADDED}
        if names.ADOPTED not in summary_of(commit):
            wanted.add(ManifestEntryStatus.DELETED)
        return tuple(
            self._stored(entry)
            for manifest in manifests_of(commit, io)
            if manifest.content == ManifestContent.DATA and manifest.added_snapshot_id == commit.snapshot_id
            for entry in entries_of(manifest, io)
            if entry.status in wanted and entry.snapshot_id == commit.snapshot_id
        )

    def _superseded(self, entries: Iterable[ManifestEntry]) -> tuple[StoredFile, ...]:
        for entry in entries:
            file = entry.data_file
            settles = names.SETTLED_MARK in file.file_path.rpartition("/")[2]
            if file.content != DataFileContent.POSITION_DELETES or not settles:
                raise Unsupported(
                    f"Rows of {self._name} were deleted by {file.file_path}, which was not written by keylake and says "
                    "no version. Roll back to the snapshot before, through Spark."
                )
        return ()

    def _stored(self, entry: ManifestEntry) -> StoredFile:
        file, layout = entry.data_file, self._layout
        if file.sort_order_id != layout.key_order:
            raise Unsupported(
                f"File {file.file_path} of {self._name} is not sorted by key: something wrote it that does not know "
                "keyed tables. Roll back to the snapshot before, through Spark."
            )
        buckets = layout.bucket_counts.get(file.spec_id)
        if buckets is None:
            raise Unsupported(
                f"File {file.file_path} of {self._name} has the partition spec {file.spec_id}, which keylake did not "
                "make. Roll back to the snapshot before, through Spark."
            )
        lags = {layout.written, layout.deleted, *layout.leaves.values()}
        nulls, counts = file.null_value_counts or {}, file.value_counts or {}
        never = {each for each in (*lags, *layout.states.values()) if each in nulls and nulls[each] == counts.get(each)}
        return StoredFile(
            path=file.file_path,
            size=file.file_size_in_bytes,
            rows=file.record_count,
            age=entry.sequence_number or 0,
            partition=tuple(file.partition[at] for at in range(len(file.partition))),
            buckets=buckets,
            lower=_bounds(file.lower_bounds, layout.key),
            upper=_bounds(file.upper_bounds, layout.key),
            version=_only_version(file, layout.version),
            never=frozenset(never),
            always=frozenset(each for each in lags if nulls.get(each) == 0 and _is_zero(file, each)),
            is_visible=nulls.get(layout.written) == 0,
            present=frozenset(
                each for each in self._told & counts.keys() if nulls.get(each, counts[each]) < counts[each]
            ),
        )


def _bounds(bounds: Mapping[int, bytes] | None, key: tuple[NestedField, ...]) -> tuple[Any, ...]:
    return tuple(_bound(bounds or {}, field) for field in key)


def _bound(bounds: Mapping[int, bytes], field: NestedField) -> Any:
    told = bounds.get(field.field_id)
    return (
        from_bytes(field.field_type, told) if told is not None and isinstance(field.field_type, PrimitiveType) else None
    )


def _number(bounds: Mapping[int, bytes] | None, field_id: int) -> int | None:
    told = (bounds or {}).get(field_id)
    return None if told is None else int(from_bytes(LongType(), told))


def _only_version(file: DataFile, version: int) -> int | None:
    low, high = _number(file.lower_bounds, version), _number(file.upper_bounds, version)
    return low if low == high and (file.null_value_counts or {}).get(version) == 0 else None


def _is_zero(file: DataFile, field_id: int) -> bool:
    return _number(file.lower_bounds, field_id) == 0 == _number(file.upper_bounds, field_id)


def _sortable(bound: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple((part is not None, part) for part in bound) if None not in bound else ((False,),)


def _as_they_count(files: Sequence[StoredFile]) -> list[StoredFile]:
    """The files of a bucket, each with its age as it counts where some are late."""
    ages = ages_of([(file.path, file.age) for file in files])
    return [replace(file, age=age) for file, age in zip(files, ages, strict=True)]


def by_bucket(files: Sequence[StoredFile], count: int | None = None) -> dict[tuple[object, ...], list[StoredFile]]:
    """Files that can share a key, in commit order: those of each bucket, of so many.

    Without a count, of as many as there are where there are fewest.
    """
    coarsest = min((file.buckets for file in files), default=1) if count is None else count
    found: dict[tuple[object, ...], list[StoredFile]] = {}
    for file in files:
        found.setdefault((*file.partition[:-1], file.bucket % coarsest), []).append(file)
    return found
