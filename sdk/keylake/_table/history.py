"""The commits of a table or branch: what they were, what they wrote and changed, and the way back to one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from keylake._definition.spec import Names, TableSpec, names_of
from keylake._server.session import Session
from keylake._server.statements import Call, Commits, Select, TablePath, Watermark, quoted
from keylake._table.business_time import BusinessTime, utc_of, zoned
from keylake._table.positions import Consumer, Positions
from keylake.errors import DefinitionError, SchemaMismatch
from keylake.results import Commit, CommitInfo, History, Undone

if TYPE_CHECKING:
    import datetime

    from pyspark.sql import Column, DataFrame


class TableHistory:
    """What a table can be asked about its commits; a `KeyedTable` is one."""

    def __init__(self, session: Session, spec: TableSpec, path: TablePath) -> None:
        self._session = session
        self._path = path
        self._read_to: dict[str, tuple[int, int]] = {}  # by consumer: the range that was read last
        self.spec = spec

    def history(self, *, at_most: int | None = None) -> History:
        """The commits of the table or branch, newest first: what they wrote, how much, and who.

        profiles.history()[0].stream
        """
        return History(str(self._path), self._commits(at_most=at_most))

    def appended(
        self,
        *,
        after: Commit | CommitInfo | int | None = None,
        until: Commit | CommitInfo | int | None = None,
        columns: Names | None = None,
        where: str | Column | None = None,
        as_of: BusinessTime | None = None,
    ) -> DataFrame:
        """What the commits in (after, until] have written: the keys, with the columns written there, late ones too.

        The incremental read: it opens only files that these commits added, and merges them among themselves. A column
        that no commit of the range wrote is null, and a key that was deleted has `_deleted` set. Compactions in the
        range neither add nor hide rows. Without `after` the range begins with the first commit, without `until` it ends
        with the newest. With `as_of` it is read on the branch of that archived state.

            profiles.appended(after=commit).where("NOT _deleted").show()
        """
        names = None if columns is None else names_of(columns)
        if names is not None:
            self._check_columns(names)
        wanted = (*(self.spec.column_names if names is None else names), "_deleted")
        return self._session.frame_of(self._over("appended", self._at(as_of), after, until, wanted), where)

    def changes(
        self,
        *,
        after: Commit | CommitInfo | int | None = None,
        until: Commit | CommitInfo | int | None = None,
        every_commit: bool = False,
        where: str | Column | None = None,
        consumer: str | None = None,
        as_of: BusinessTime | None = None,
    ) -> DataFrame:
        """How the merged rows differ between two commits: a row for each key that was inserted, updated or deleted.

        Beside the key it has `_change` (insert, update, delete), `_columns` (the names of those that an update
        changed), `_before` and `_after` (the other columns, as a struct; null where there is no row), and `_commit`. A
        key that was written with equal values has not changed, and compactions change nothing. With `every_commit` the
        changes of each commit are told, not the net changes of all. Without `after` the range begins with the first
        commit, without `until` it ends with the newest. With `as_of` it is read on the branch of that archived state.

        A `consumer` has a name and a position in the table: its range begins there, at `after` when it is new.
        `acknowledge()` moves the position behind what was read; what a consumer has not read yet does not expire.

            profiles.changes(after=commit).where("_change = 'update'").select("user_id", "_before.clicks").show()
        """
        read: Literal["changes", "changes of every commit"] = "changes of every commit" if every_commit else "changes"
        if consumer is not None:
            after = self._position(consumer, after)
        select = self._over(read, self._at(as_of), after, until, None)
        if consumer is not None and select.commits is not None:
            self._read_to[consumer] = (select.commits.after, select.commits.until)
        return self._session.frame_of(select, where)

    def acknowledge(self, consumer: str, *, until: Commit | CommitInfo | int | None = None) -> None:
        """Move a consumer's position behind what it has last read with `changes`, or to a commit.

        profiles.changes(consumer="store").write.parquet("changes")
        profiles.acknowledge("store")
        """
        before, end = self._read_to.get(consumer, (None, None))
        end = end if until is None else snapshot_id_of("until", until)
        if end is None:
            raise DefinitionError(
                f"Nothing was read here with changes(consumer={consumer!r}). Read first, or say until=."
            )
        before = self._positions.all().get(consumer) if before is None else before
        self._positions.move(consumer, before=before, to=end)
        self._read_to.pop(consumer, None)

    def consumers(self) -> tuple[Consumer, ...]:
        """Who reads the change feed by name, how far each has come, and how many commits it is behind.

        profiles.consumers()[0].commits_behind
        """
        return tuple(Consumer(**row) for row in self._session.fetch(Select(self._path, part="consumers")).to_pylist())

    def drop_consumer(self, consumer: str) -> None:
        """Forget a consumer, so that it holds back no expiry.

        profiles.drop_consumer("store")
        """
        self._positions.move(consumer, before=self._positions.all().get(consumer), to=None)

    @property
    def _positions(self) -> Positions:
        return Positions(self._session, self._path, "consumer")

    def _position(self, consumer: str, after: object) -> int:
        """Where a consumer stands; a new one is made known at once, so that nothing expires under it."""
        known = self._positions.all().get(consumer)
        if known is None:
            known, _ = self._range(self._path, after)
            self._positions.move(consumer, before=None, to=known)
        return known

    def undo_feed(
        self,
        *,
        after: Commit | CommitInfo | int | None = None,
        until: Commit | CommitInfo | int | None = None,
        where: str | Column | None = None,
    ) -> DataFrame:
        """What an online store has to apply to go back over the commits in (after, until]: a row for each changed key.

        It has the key, `_op` and the value columns: a key that was inserted is to be deleted (`_op` is delete, the
        other columns are null), one that was updated or deleted gets its previous row (`_op` is upsert).

            profiles.undo_feed(after=good, until=bad).write.format("noop").mode("append").save()
        """
        changes = self.changes(after=after, until=until, where=where)
        values = ["_before.*"] if self.spec.value_columns else []
        op = "IF(_change = 'insert', 'delete', 'upsert') AS _op"
        return changes.selectExpr(*map(quoted, self.spec.key), op, *values)

    def stream_changes(
        self,
        *,
        after: Commit | CommitInfo | int | None = None,
        every_commit: bool = False,
        max_commits_per_batch: int | None = None,
        consumer: str | None = None,
    ) -> DataFrame:
        """The change feed as a stream, for `writeStream`: each batch has the changes since the batch before.

        Its columns are those of `changes()`. A query that starts again goes on where its checkpoint says, whatever
        `after` is. A batch has the net changes of all commits that are there, or of at most `max_commits_per_batch`;
        with `every_commit` the changes of each. A `consumer` has a position in the table, behind the batch before the
        last, and what lies after it does not expire.

            feed = profiles.stream_changes(after=commit).writeStream.format("parquet")
            feed.option("checkpointLocation", "checkpoint").option("path", "changes").trigger(availableNow=True).start()
        """
        begin, _ = self._range(self._path, after)
        options = {
            "after": begin,
            "every-commit": every_commit,
            "max-commits-per-batch": max_commits_per_batch,
            "consumer": consumer,
        }
        given = {name: value for name, value in options.items() if value is not None}
        return self._session.stream_of(self._path, "changes", given)

    def rollback(self, *, to: Commit | CommitInfo | int) -> CommitInfo:
        """Make the table, or the branch, stand at one of its commits again; gives that commit.

        No file is touched. What was committed later can be read by its snapshot id until it expires.

            profiles.rollback(to=commit)
        """
        rows = self._session.call(Call.of("rollback", self._path, to=snapshot_id_of("to", to))).to_pylist()
        return CommitInfo.from_row(rows[0])

    def undo(
        self, *, after: Commit | CommitInfo | int | None = None, until: Commit | CommitInfo | int | None = None
    ) -> Undone:
        """Take back the writes in (after, until], as if they had never been made; later ones keep their effect.

        A commit of its own, so that history keeps both. Where the files are still there as they were written, only
        metadata changes; buckets that were compacted meanwhile are merged anew, without these writes. Versions that
        were taken back hold nothing back. Without `until` the range ends with the newest commit.

        `undo_plan` says what would be done, and which columns are concerned; `undo_feed` over the same range lists the
        keys, with their rows from before it. `changes()` over the commit that took them back says what it has changed.

            profiles.undo(after=good, until=bad)
        """
        return self._undo("undo", after, until)

    def undo_plan(
        self, *, after: Commit | CommitInfo | int | None = None, until: Commit | CommitInfo | int | None = None
    ) -> Undone:
        """What `undo` would do now. Nothing is done.

        profiles.undo_plan(after=good, until=bad).metadata_only
        """
        return self._undo("undo_plan", after, until)

    def _undo(self, procedure: str, after: object, until: object) -> Undone:
        ends = ends_of(after, until)
        done = self._session.call(Call.of(procedure, self._path, **ends)).to_pylist()[0]
        return Undone(**done | {"columns": tuple(done["columns"])})

    def _over(
        self,
        read: Literal["appended", "changes", "changes of every commit"],
        path: TablePath,
        after: object,
        until: object,
        columns: tuple[str, ...] | None,
    ) -> Select:
        begin, end = self._range(path, after, until)
        return Select(path, columns, commits=Commits(read, begin, end))

    def _at(self, as_of: BusinessTime | None) -> TablePath:
        """Where the state of a business time is; here where none is asked for."""
        if as_of is None:
            return self._path
        at = utc_of(as_of).isoformat()
        found = self._session.call(Call.of("history_branch", TablePath(self._path.name), business_time=at))
        return TablePath(self._path.name, str(found.column(0)[0]))

    def watermarks(self) -> dict[str, datetime.datetime]:
        """How far each stream is complete in event time, as its writes have said; "" is the stream without a name.

        profiles.watermarks()["clicks"]
        """
        rows = self._session.call(Call.of("watermarks", self._path)).to_pylist()
        return {row["stream"]: row["watermark"] for row in rows}

    def _at_watermark(self, watermark: Watermark) -> int:
        at = zoned("the watermark", watermark.time).isoformat()
        call = Call.of("commit_at_watermark", self._path, watermark=at, stream=watermark.stream)
        return int(self._session.call(call).column(0)[0].as_py())

    def _range(self, path: TablePath, after: object, until: object = None) -> tuple[int, int]:
        """The ends of a range of commits, as snapshot ids, once the server has found all of them."""
        ends = ends_of(after, until)
        found = self._session.call(Call.of("commit_range", path, **ends)).to_pylist()[0]
        return found["after"], found["until"]

    def _commits(self, **which: str | int | None) -> tuple[CommitInfo, ...]:
        rows = self._session.call(Call.of("commits", self._path, **which)).to_pylist()
        return tuple(map(CommitInfo.from_row, rows))

    def _check_columns(self, names: tuple[str, ...]) -> None:
        known = {name.lower() for name in self.spec.column_names}
        for name in names:
            if name.lower() not in known and not name.startswith("_"):
                raise SchemaMismatch(f"{self._path} has no column {name!r}. {self.spec.hint(name)}")


def snapshot_id_of(name: str, commit: object) -> int | None:
    """The snapshot that an argument of this name says: what a write returned, or a snapshot id.

    >>> snapshot_id_of("after", 17)
    17
    """
    if commit is None or isinstance(commit, Commit | CommitInfo):
        return None if commit is None else commit.snapshot_id
    if isinstance(commit, bool) or not isinstance(commit, int):
        raise DefinitionError(f"{name}={commit!r} is no commit. Give what a write returned, or a snapshot id.")
    return commit


def ends_of(after: object, until: object) -> dict[str, int | None]:
    """The ends of a range of commits as arguments of a call.

    >>> ends_of(17, None)
    {'after': 17, 'until': None}
    """
    return {"after": snapshot_id_of("after", after), "until": snapshot_id_of("until", until)}
