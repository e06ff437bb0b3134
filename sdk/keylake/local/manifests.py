"""Manifest lists and manifests; a damaged one is told as such, and never read as fewer rows."""

from __future__ import annotations

from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestEntry, ManifestEntryStatus, ManifestFile
from pyiceberg.table.snapshots import Snapshot

from keylake.errors import StoreFailed
from keylake.local.avro_frames import ReadFile, check_frames
from keylake.local.damage import damaged, reading

_LIST, _MANIFEST = "Manifest list", "Manifest"


def manifests_of(snapshot: Snapshot, io: FileIO) -> list[ManifestFile]:
    """The manifests of a snapshot."""
    with reading(_LIST, snapshot.manifest_list, io):
        found = snapshot.manifests(_read(snapshot.manifest_list, io))
    summary = snapshot.summary
    if not found and summary is not None and summary.additional_properties.get("total-data-files", "0") != "0":
        raise damaged(_LIST, snapshot.manifest_list, "it has no manifest, and the snapshot has files")
    return found


def present_manifests(name: str, snapshot: Snapshot, io: FileIO) -> list[ManifestFile]:
    """The manifests of a snapshot of the newest metadata, which has to have them."""
    try:
        return manifests_of(snapshot, io)
    except FileNotFoundError:
        raise StoreFailed(
            f"{_LIST} {snapshot.manifest_list} of {name} is gone, and its snapshot is not. "
            "Restore the file, or roll the table back to a commit before it: kl.connect()."
        ) from None


def entries_of(manifest: ManifestFile, io: FileIO) -> list[ManifestEntry]:
    """The entries of a manifest, those of deleted files among them."""
    with reading(_MANIFEST, manifest.manifest_path, io, manifest.manifest_length):
        found = manifest.fetch_manifest_entry(_read(manifest.manifest_path, io), discard_deleted=False)
        for status, files, rows in (
            (ManifestEntryStatus.ADDED, manifest.added_files_count, manifest.added_rows_count),
            (ManifestEntryStatus.EXISTING, manifest.existing_files_count, manifest.existing_rows_count),
            (ManifestEntryStatus.DELETED, manifest.deleted_files_count, manifest.deleted_rows_count),
        ):
            of_status = [each.data_file.record_count for each in found if each.status == status]
            if (files is not None and files != len(of_status)) or (rows is not None and rows != sum(of_status)):
                raise damaged(
                    _MANIFEST,
                    manifest.manifest_path,
                    f"it has {len(of_status):,} files and {sum(of_status):,} rows of the status {status.name}, and the "
                    f"manifest list says {files} and {rows}",
                )
    return found


def _read(path: str, io: FileIO) -> FileIO:
    with io.new_input(path).open() as stream:
        content = stream.read()
    check_frames(content)
    return ReadFile(content)


def live(entries: list[ManifestEntry]) -> list[ManifestEntry]:
    """The entries of files that are still part of the snapshot."""
    return [each for each in entries if each.status != ManifestEntryStatus.DELETED]
