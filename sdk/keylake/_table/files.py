"""The metadata of a table as frames, and changes of whole files that touch nothing but metadata."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from keylake._display.html_table import ShownFields
from keylake._server.conditions import required_text
from keylake._table.handle import Namespace, required_snapshot_id_of, snapshot_id_of
from keylake.conditions import Condition
from keylake.errors import check_type
from keylake.results import Commit, CommitInfo

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class FilesChanged(ShownFields):
    """Files that were dropped, moved or restored, or would be."""

    snapshot_id: int | None  # of the commit on this branch; None where that was only planned
    files: int
    rows: int  # as stored, superseded ones and tombstones included
    bytes: int
    buckets: int
    columns: tuple[str, ...]  # the value columns that the files carry


class Files(Namespace):
    """`table.files`: what a table can be asked about its files, and changes of whole files."""

    def __call__(self, *, at: Commit | CommitInfo | int | None = None) -> DataFrame:
        """The data files of the table or branch, now or at a commit: a row for each.

        `path`, `partition` (where the table has any) and `bucket`; `commit_order` and `committed_at` of the commit, of
        a merged file those of the youngest; `rows`, `live_rows` (without those that are recorded as superseded),
        `bytes`; the key range `lower` to `upper`, `min_version`, `max_version` (null where the file does not say);
        `columns`, the value columns that it carries, and `has_tombstones`. In SQL it is the table `keyed_files` beside
        the table.

        Raises `SnapshotExpired` if `at` is a commit that is not kept any more, `DefinitionError` if it is no commit,
        and `TableNotFound` if the table, or this branch of it, is not there any more.

        Example::

            profiles.files().where("bucket = 7 AND array_contains(columns, 'clicks')").show()
        """
        return self._handle.part("keyed_files", snapshot_id_of("at", at))

    def runs(self) -> DataFrame:
        """The runs of each bucket, as compaction sees them: the files of one commit, or of one merge.

        Raises `TableNotFound` if the table, or this branch of it, is not there any more. After a commit of another
        engine the frame raises `ForeignCommit` when it is run.

        Example::

            profiles.files.runs().groupBy("bucket").count().show()
        """
        return self._handle.part("runs")

    def sections(self) -> DataFrame:
        """The sections of each bucket, as a read of all columns takes them: ranges of keys in which runs overlap.

        `reading` says what a read does with it: `passed_through`, `settled` (no merge is needed either), or `merged`.

        Raises `TableNotFound` if the table, or this branch of it, is not there any more. After a commit of another
        engine the frame raises `ForeignCommit` when it is run.

        Example::

            profiles.files.sections().where("reading = 'merged'").agg({"bytes": "sum"}).show()
        """
        return self._handle.part("sections")

    def drop(self, where: str | Condition) -> FilesChanged:
        """Take files out of the table or branch, as if they had never been written; a commit of its own.

        `where` is SQL over the columns of `files()`. No data file is opened or written, and earlier commits still have
        the files until they expire. `drop_plan` says what would go.

        Raises `TableNotFound` if no file is chosen, `SchemaMismatch` for a column that `files()` does not have,
        `DefinitionError` for a `where` that cannot be read, `Unsupported` if rows would be missing that a merged file
        was made without, and `CommitConflict` if other commits come first.

        Example::

            profiles.files.drop("committed_at < TIMESTAMP '2025-01-01 00:00:00Z' AND NOT has_tombstones")
        """
        return self._change("drop_files", where)

    def drop_plan(self, where: str | Condition) -> FilesChanged:
        """The result that `drop` would have now. Nothing is done.

        Raises `TableNotFound`, `SchemaMismatch`, `DefinitionError` and `Unsupported` where `drop` does.

        Example::

            profiles.files.drop_plan("bucket = 7").rows
        """
        return self._change("drop_files_plan", where)

    def move(self, where: str | Condition, *, to: str) -> FilesChanged:
        """Take files out of this branch and add them to another one, both at once or not at all.

        There they count as the newest commit; those that it has already stay as they are. Moving them from main to a
        branch keeps them apart from what everybody reads.

        Raises `TableNotFound` if no file is chosen or there is no branch `to`, `DefinitionError` if it is this one, and
        otherwise the errors of `drop`, such as `SchemaMismatch`, `Unsupported` and `CommitConflict`.

        Example::

            profiles.files.move("commit_order = 17", to="tmp_suspicious")
        """
        return self._change("move_files", where, to=to)

    def move_plan(self, where: str | Condition, *, to: str) -> FilesChanged:
        """The result that `move` would have now. Nothing is done.

        Raises `TableNotFound`, `SchemaMismatch`, `DefinitionError` and `Unsupported` where `move` does.

        Example::

            profiles.files.move_plan("commit_order = 17", to="tmp_suspicious").files
        """
        return self._change("move_files_plan", where, to=to)

    def restore(self, where: str | Condition, *, at: Commit | CommitInfo | int) -> FilesChanged:
        """Add files again that a commit had and the table or branch has not any more, as the newest commit.

        `where` is SQL over the columns of `files(at=...)`. A file that was merged into another since is one that the
        table has not: its rows come back as newly written, with the versions that they have.

        Raises `SnapshotExpired` if the commit is not kept any more, `TableNotFound` if no file is chosen,
        `SchemaMismatch` for a column that `files()` does not have, `DefinitionError` for a `where` that cannot be read,
        `ForeignCommit` if the files are of another engine, and `CommitConflict` if other commits come first.

        Example::

            profiles.files.restore("bucket = 7", at=commit)
        """
        return self._change("restore_files", where, at=required_snapshot_id_of("at", at))

    def restore_plan(self, where: str | Condition, *, at: Commit | CommitInfo | int) -> FilesChanged:
        """The result that `restore` would have now. Nothing is done.

        Raises `SnapshotExpired`, `TableNotFound`, `SchemaMismatch`, `DefinitionError` and `ForeignCommit` where
        `restore` does.

        Example::

            profiles.files.restore_plan("bucket = 7", at=commit).files
        """
        return self._change("restore_files_plan", where, at=required_snapshot_id_of("at", at))

    def _change(self, procedure: str, where: str | Condition, **more: str | int) -> FilesChanged:
        text = required_text(where, "a condition in SQL over the columns of files(), such as 'bucket = 7'")
        if "to" in more:
            check_type("to", more["to"], str, "the name of a branch, such as 'tmp_suspicious'")
        row = self._handle.call(procedure, where=text, **more)[0]
        return FilesChanged(**row)
