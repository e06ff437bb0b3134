"""Verbs for incremental reads: what commits have written, how rows have changed, and who has read how far."""

from __future__ import annotations

from types import UnionType
from typing import TYPE_CHECKING, Literal

from keylake._definition.names import RelationOption
from keylake._definition.spec import Names
from keylake._rows.business_time import BusinessTime
from keylake._server.statements import Commits, Select, quoted
from keylake._table.handle import Handle, Namespace, Verbs, snapshot_id_of
from keylake._table.positions import Consumer, Positions
from keylake.errors import DefinitionError, check_count, check_type
from keylake.results import Commit, CommitInfo

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from keylake._server.conditions import Where


class ChangeVerbs(Verbs):
    """The verbs about the rows that changed between commits."""

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self._read_to: dict[str, tuple[int, int]] = {}  # by consumer: the range that was read last

    def changes(
        self,
        *,
        after: Commit | CommitInfo | int | None = None,
        until: Commit | CommitInfo | int | None = None,
        every_commit: bool = False,
        where: Where | None = None,
        consumer: str | None = None,
        as_of: BusinessTime | None = None,
    ) -> DataFrame:
        """The differences of merged rows between two commits: a row for each key that was inserted, updated or deleted.

        Beside the key it has `_change` (insert, update, delete), `_columns` (the names of those that an update
        changed), `_before` and `_after` (the other columns, as a struct; null where there is no row), and `_commit`. A
        key that was written with equal values has not changed, and compactions change nothing. With `every_commit` the
        changes of each commit are told, not the net changes of all. Without `after` the range begins with the first
        commit, without `until` it ends with the newest. With `as_of` it is read on the branch of that archived state.

        A `consumer` has a name and a position in the table: its range begins there, at `after` when it is new.
        `feed.acknowledge()` moves the position behind what was read; what a consumer has not read yet does not expire.

        Raises `SnapshotExpired` if a commit of the range is not kept any more, `DefinitionError` if its ends are in the
        wrong order or of two branches, `Unsupported` on an experiment and if files were taken out in the range after
        they had been merged, `CommitConflict` if another reader begins under the name of the `consumer` at the same
        time, and `ForeignCommit` if the range ends behind a commit of another engine.

        Example::

            profiles.changes(after=commit).where("_change = 'update'").select("user_id", "_before.clicks").show()
        """
        check_type("every_commit", every_commit, bool, "True or False")
        _check_consumer(consumer, str | None)
        read: Literal["changes", "changes of every commit"] = "changes of every commit" if every_commit else "changes"
        if consumer is not None:
            after = _position(self._handle, consumer, after)
        select = _over(self._handle, read, as_of, after, until, None)
        if consumer is not None and select.commits is not None:
            self._read_to[consumer] = (select.commits.after, select.commits.until)
        return self._handle.session.frame_of(select, where)


class Feed(Namespace):
    """`table.feed`: what commits have written, the change feed as a stream, and who has read how far."""

    _changes: ChangeVerbs

    def __init__(self, table: ChangeVerbs) -> None:
        super().__init__(table)
        self.__dict__["_changes"] = table

    def appended(
        self,
        *,
        after: Commit | CommitInfo | int | None = None,
        until: Commit | CommitInfo | int | None = None,
        columns: Names | None = None,
        where: Where | None = None,
        as_of: BusinessTime | None = None,
    ) -> DataFrame:
        """The rows that the commits in (after, until] have written: keys, and the columns written there, late ones too.

        The incremental read: it opens only files that these commits added, and merges them among themselves. A column
        that no commit of the range wrote is null, and a key that was deleted has `_deleted` set. Compactions in the
        range neither add nor hide rows. Without `after` the range begins with the first commit, without `until` it ends
        with the newest. With `as_of` it is read on the branch of that archived state.

        Raises `SnapshotExpired` if a commit of the range is not kept any more, `DefinitionError` if its ends are in the
        wrong order or of two branches, `SchemaMismatch` for a column that the table does not have, `TableNotFound` for
        an unknown archived state, `Unsupported` on an experiment, and `ForeignCommit` if the range ends behind a commit
        of another engine.

        Example::

            profiles.feed.appended(after=commit).where("NOT _deleted").show()
        """
        if columns is None:
            names = self._current().column_names
        else:
            wanted = columns
            names = self._knowing(lambda: self._handle.columns(wanted))
        return self._handle.session.frame_of(
            _over(self._handle, "appended", as_of, after, until, (*names, "_deleted")), where
        )

    def stream(
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

        Raises `SnapshotExpired` if `after` is not kept any more, `DefinitionError` for an `after` that is no commit or
        a count that is not above 0, and `Unsupported` on an experiment.

        Example::

            feed = profiles.feed.stream(after=commit).writeStream.format("parquet")
            feed.option("checkpointLocation", "checkpoint").option("path", "changes").trigger(availableNow=True).start()
        """
        check_type("every_commit", every_commit, bool, "True or False")
        _check_consumer(consumer, str | None)
        if max_commits_per_batch is not None:
            check_count("max_commits_per_batch", max_commits_per_batch, least=1)
        self._handle.check_no_experiment("changes")
        begin, _ = self._handle.range_of(after)
        options = {
            RelationOption.AFTER: begin,
            RelationOption.EVERY_COMMIT: every_commit,
            RelationOption.MAX_COMMITS_PER_BATCH: max_commits_per_batch,
            RelationOption.CONSUMER: consumer,
        }
        given = {name: value for name, value in options.items() if value is not None}
        return self._handle.session.stream_of(self._handle.path, "changes", given)

    def undo(
        self,
        *,
        after: Commit | CommitInfo | int | None = None,
        until: Commit | CommitInfo | int | None = None,
        where: Where | None = None,
    ) -> DataFrame:
        """The rows for an online store to go back over the commits in (after, until]: one for each changed key.

        It has the key, `_op` and the value columns: a key that was inserted is to be deleted (`_op` is delete, the
        other columns are null), one that was updated or deleted gets its previous row (`_op` is upsert). Later
        commits do not count: a store that follows an `undo`, which keeps them, reads `changes` over the undo's commit.

        Raises the errors of `changes`: `SnapshotExpired` if a commit of the range is not kept any more,
        `DefinitionError` if its ends are in the wrong order or of two branches, `Unsupported` on an experiment, and
        `ForeignCommit` if the range ends behind a commit of another engine.

        Example::

            profiles.feed.undo(after=good, until=bad).write.format("noop").mode("append").save()
        """
        changes = self._changes.changes(after=after, until=until, where=where)
        spec = self._current()
        values = ["_before.*"] if spec.value_columns else []
        op = "IF(_change = 'insert', 'delete', 'upsert') AS _op"
        return changes.selectExpr(*map(quoted, spec.key), op, *values)

    def consumers(self) -> tuple[Consumer, ...]:
        """The readers of the change feed by name, the position of each, and the number of commits that it is behind.

        Raises `TableNotFound` if the table, or this branch of it, is not there any more.

        Example::

            profiles.feed.consumers()[0].commits_behind
        """
        found = self._handle.session.fetch(Select(self._handle.path, part="consumers")).to_pylist()
        return tuple(Consumer(**row) for row in found)

    def acknowledge(self, consumer: str, *, until: Commit | CommitInfo | int | None = None) -> None:
        """Move a consumer's position behind what it has last read with `changes`, or to a commit.

        Raises `DefinitionError` if nothing was read here and `until` is not given, `CommitConflict` if another reader
        has moved the consumer meanwhile, and `TableNotFound` if it was dropped meanwhile.

        Example::

            profiles.changes(consumer="store").write.parquet("changes")
            profiles.feed.acknowledge("store")
        """
        _check_consumer(consumer)
        read_to = self._changes._read_to  # pyright: ignore[reportPrivateUsage]
        before, end = read_to.get(consumer, (None, None))
        end = end if until is None else snapshot_id_of("until", until)
        if end is None:
            raise DefinitionError(
                f"Nothing was read here with changes(consumer={consumer!r}). Read first, or say until=."
            )
        before = _positions(self._handle).all().get(consumer) if before is None else before
        _positions(self._handle).move(consumer, before=before, to=end)
        read_to.pop(consumer, None)

    def drop_consumer(self, consumer: str) -> None:
        """Forget a consumer, so that it holds back no expiry.

        Raises `TableNotFound` if the table has no such consumer, and `CommitConflict` if another reader has moved it
        meanwhile.

        Example::

            profiles.feed.drop_consumer("store")
        """
        _check_consumer(consumer)
        _positions(self._handle).move(consumer, before=_positions(self._handle).all().get(consumer), to=None)


def _positions(handle: Handle) -> Positions:
    return Positions(handle.session, handle.path, "consumer")


def _position(handle: Handle, consumer: str, after: object) -> int:
    """The position of a consumer; a new one is made known at once, so that nothing expires under it."""
    known = _positions(handle).all().get(consumer)
    if known is None:
        known, _ = handle.range_of(after)
        _positions(handle).move(consumer, before=None, to=known)
    return known


def _over(
    table: Handle,
    read: Literal["appended", "changes", "changes of every commit"],
    as_of: BusinessTime | None,
    after: object,
    until: object,
    columns: tuple[str, ...] | None,
) -> Select:
    table.check_no_experiment("changes")
    handle = table.at_state(as_of)
    begin, end = handle.range_of(after, until)
    return Select(handle.path, columns, commits=Commits(read, begin, end))


def _check_consumer(consumer: object, types: type | UnionType = str) -> None:
    check_type("consumer", consumer, types, "text such as 'store'")
