"""The check of all files that a table needs, in this process: the result is the one that the server's check gives.

    metadata -> the manifest list of each snapshot -> each manifest once -> the files that live entries name, once each

What cannot be read is a finding, and the walk goes on with the others. A store that refuses or does not answer says
nothing about a file, so that its error ends the check.
"""

# pyright: reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pyarrow.parquet as pq
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestContent, ManifestFile
from pyiceberg.table import Table as IcebergTable
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.snapshots import Snapshot

from keylake.checks import CheckedFiles, CheckLevel, CheckReport, Damage
from keylake.local.damage import first_line, size_in_store
from keylake.local.footers import check_name, read_footer
from keylake.local.manifests import entries_of, live, manifests_of
from keylake.local.moments import summary_of

_KINDS = ("metadata", "manifest_list", "manifest", "data", "deletes", "statistics")
_READERS = 8  # files that are read at once
_OF_THE_PAST = "Only older snapshots need it, which expire."
_NEXT = "Take its bytes from a backup, or go through Spark: repair_plan() says what can be had back."


@dataclass
class _Needed:
    """A file that snapshots need."""

    kind: str
    path: str
    bytes: int
    rows: int = 0
    bucket: str | None = None
    is_parquet: bool = False
    snapshots: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class _Finding:
    """The damage of a file, or of one column of it."""

    kind: str
    detail: str
    column: str | None = None
    row_group: int | None = None


class Walk:
    """A walk through the files of a table."""

    def __init__(self, name: str, table: IcebergTable) -> None:
        self._name, self._io, self._metadata = name, table.io, table.metadata
        self._needed: dict[str, _Needed] = {}
        self._manifests: dict[str, ManifestFile] = {}
        self._found: list[tuple[_Needed, _Finding]] = []
        metadata = _Needed("metadata", table.metadata_location, 0)
        self._needed[metadata.path] = metadata
        metadata.bytes = self._guarded(metadata, lambda: size_in_store(metadata.path, self._io)) or 0

    def report(self, level: CheckLevel) -> CheckReport:
        """Reads everything, and says what is damaged."""
        for snapshot in reversed(self._metadata.snapshots):
            self._list(snapshot)
        for manifest in self._manifests.values():
            self._manifest(manifest)
        for each in (*self._metadata.statistics, *self._metadata.partition_statistics):
            needed = _Needed("statistics", each.statistics_path, each.file_size_in_bytes)
            self._needed.setdefault(needed.path, needed)
        files = [each for each in self._needed.values() if each.kind in ("data", "deletes", "statistics")]
        with ThreadPoolExecutor(_READERS) as threads:
            for needed, findings in zip(files, threads.map(lambda each: self._file(each, level), files), strict=True):
                self._found.extend((needed, each) for each in findings)
        buckets = {each.bucket for each in files if each.kind == "data" and each.bucket is not None}
        return CheckReport(
            self._name,
            level,
            tuple(amount for kind in _KINDS if (amount := self._amount(kind)).files),
            tuple(self._damage(needed, finding) for needed, finding in self._found),
            tuple(sorted(buckets)),
        )

    def _list(self, snapshot: Snapshot) -> None:
        needed = _Needed("manifest_list", snapshot.manifest_list, 0, snapshots=[snapshot.snapshot_id])
        self._needed[needed.path] = needed
        needed.bytes = self._guarded(needed, lambda: size_in_store(needed.path, self._io)) or 0
        listed = self._guarded(needed, lambda: manifests_of(snapshot, self._io)) or [] if needed.bytes else []
        said = summary_of(snapshot).get("total-data-files")
        named = sum(_live_files(each) for each in listed if each.content == ManifestContent.DATA)
        if listed and said is not None and said != str(named):
            detail = f"it names {named} data files, and the summary of snapshot {snapshot.snapshot_id} says {said}"
            self._found.append((needed, _Finding("counts", detail)))
        for manifest in listed:
            self._manifests.setdefault(manifest.manifest_path, manifest)
            of_manifest = _Needed("manifest", manifest.manifest_path, manifest.manifest_length)
            self._needed.setdefault(manifest.manifest_path, of_manifest).snapshots.append(snapshot.snapshot_id)

    def _manifest(self, manifest: ManifestFile) -> None:
        needed = self._needed[manifest.manifest_path]
        if finding := self._of_length(needed):
            self._found.append((needed, finding))
            return
        for entry in self._guarded(needed, lambda: live(entries_of(manifest, self._io))) or []:
            file = entry.data_file
            kind = "data" if file.content == DataFileContent.DATA else "deletes"
            made = _Needed(
                *(kind, file.file_path, file.file_size_in_bytes, file.record_count),
                bucket=_bucket(self._metadata, file),
                is_parquet=file.file_format == FileFormat.PARQUET,
            )
            self._needed.setdefault(made.path, made).snapshots.extend(needed.snapshots)

    def _guarded(self, needed: _Needed, reading: Callable[[], Any]) -> Any:
        """The result of a reading; None where it shows damage, which is noted."""
        try:
            return reading()
        except Exception as error:  # noqa: BLE001  # what decoders of garbled bytes raise is of many kinds
            self._found.append((needed, self._shown(needed.path, error, "unreadable")))
            return None

    def _shown(self, path: str, error: Exception, kind: str) -> _Finding:
        """The finding of a file that could not be read; raises the store's error where it is the store."""
        try:
            size_in_store(path, self._io)
        except FileNotFoundError:
            return _Finding("missing", "it is not there")
        said = first_line(error)
        detail = said.partition(" is damaged: ")[2].partition(". Restore the file")[0] or said
        return _Finding("checksum" if "checksum" in detail or "CRC" in detail else kind, detail)

    def _of_length(self, needed: _Needed) -> _Finding | None:
        try:
            there = size_in_store(needed.path, self._io)
        except FileNotFoundError:
            return _Finding("missing", "it is not there")
        if there == needed.bytes:
            return None
        kind = "truncated" if there < needed.bytes else "wrong_size"
        return _Finding(kind, f"it has {there} bytes, and the table says {needed.bytes}")

    def _file(self, needed: _Needed, level: CheckLevel) -> list[_Finding]:
        if finding := self._of_length(needed):
            return [finding]
        if not needed.is_parquet:
            return []
        try:
            with self._io.new_input(needed.path).open() as stream:
                footer = read_footer(stream, needed.bytes)
                rows = sum(footer.row_group(at).num_rows for at in range(footer.num_row_groups))
                if footer.num_rows != needed.rows or rows != needed.rows:
                    return [_Finding("counts", f"it has {rows} rows, and its manifest says {needed.rows}")]
                try:
                    check_name(footer, needed.path)
                except ValueError as error:
                    return [_Finding("other_file", str(error))]
                return list(self._pages(needed.path, stream, footer)) if level == "pages" else []
        except Exception as error:  # noqa: BLE001  # as above
            return [self._shown(needed.path, error, "footer")]

    def _pages(self, path: str, stream: Any, footer: Any) -> Iterator[_Finding]:
        """Every column of every row group, one at a time."""
        file: Any = pq.ParquetFile(stream, metadata=footer, page_checksum_verification=True)
        for leaf in range(footer.num_columns):
            for group in range(footer.num_row_groups):
                try:
                    file.reader.read_row_groups([group], column_indices=[leaf], use_threads=False)
                except Exception as error:  # noqa: BLE001  # as above
                    finding = self._shown(path, error, "unreadable")
                    column = footer.schema.column(leaf).path
                    yield _Finding(finding.kind, finding.detail, column, group)
                    break  # of one column, the first

    def _amount(self, kind: str) -> CheckedFiles:
        found = [each for each in self._needed.values() if each.kind == kind]
        return CheckedFiles(kind, len(found), sum(each.bytes for each in found), sum(each.rows for each in found))

    def _damage(self, needed: _Needed, finding: _Finding) -> Damage:
        ids = set(needed.snapshots) or {each.snapshot_id for each in self._metadata.snapshots}
        refs = {name: ref for name, ref in self._metadata.refs.items() if ref.snapshot_id in ids}
        branches = sorted(n for n, ref in refs.items() if ref.snapshot_ref_type == SnapshotRefType.BRANCH)
        tags = sorted(n for n, ref in refs.items() if ref.snapshot_ref_type == SnapshotRefType.TAG)
        return Damage(
            kind=finding.kind,
            file_kind=needed.kind,
            path=needed.path,
            column=finding.column,
            row_group=finding.row_group,
            page=None,
            detail=finding.detail,
            rows=needed.rows,
            buckets=() if needed.bucket is None else (needed.bucket,),
            branches=tuple(branches),
            tags=tuple(tags),
            snapshots=tuple(_newest_first(self._metadata, ids)),
            next_step=_NEXT if refs else _OF_THE_PAST,
        )


def _newest_first(metadata: TableMetadata, ids: Iterable[int]) -> list[int]:
    wanted = set(ids)
    return [each.snapshot_id for each in reversed(metadata.snapshots) if each.snapshot_id in wanted]


def _live_files(manifest: ManifestFile) -> int:
    return (manifest.added_files_count or 0) + (manifest.existing_files_count or 0)


def _bucket(metadata: TableMetadata, file: DataFile) -> str:
    """The values of the partition and the bucket, as in "2026-11-01/3"."""
    spec = metadata.specs()[file.spec_id]
    schema = metadata.schema()
    texts = []
    for at, each in enumerate(spec.fields):
        source = schema.find_field(each.source_id).field_type
        texts.append(each.transform.to_human_string(source, file.partition[at]))
    return "/".join(texts)
