"""Verbs about the commits of a table or branch: what they were, and the way back to one of them."""

from __future__ import annotations

import datetime
from typing import Literal

from keylake._definition.version_times import version_text
from keylake._table.handle import Handle, Namespace, Verbs, ends_of, required_snapshot_id_of, snapshot_id_of
from keylake.errors import DefinitionError, check_count, check_type
from keylake.results import Commit, CommitInfo, History, Undone

MOST_BRANCHES, MOST_COMMITS = 8, 1000  # in the picture of a history


class HistoryVerbs(Verbs):
    """The verbs about the commits of a table."""

    def history(self, at_most: int | None = None, *, compactions: bool = False) -> History:
        """The commits of the table or branch, newest first: what they wrote, how much, and who.

        Compactions change no row and come whenever maintenance makes them, so `compactions=True` has to ask for them.

        Raises `DefinitionError` if `at_most` is no count, and `TableNotFound` if the table, or this branch of it, is
        not there any more.

        Example::

            profiles.history()[0].stream
        """
        if at_most is not None:
            check_count("at_most", at_most)
        check_type("compactions", compactions, bool, "True or False")
        on_main = self._handle.path.branch is None
        commits = self._handle.commits(at_most=at_most, compactions=compactions)
        branches = self._commits_of_branches if on_main else None
        return History(str(self._handle.path), commits, branches, version_text(self.spec))

    def _commits_of_branches(self) -> dict[str, tuple[CommitInfo, ...]]:
        """The commits of the newest branches that main has not."""
        named = self._handle.part("branches").where("type = 'branch' AND name <> 'main'")
        rows = named.orderBy("committed_at", ascending=False).select("name").limit(MOST_BRANCHES).collect()
        on_main = {commit.snapshot_id for commit in self._handle.commits()}
        found: dict[str, tuple[CommitInfo, ...]] = {}
        for row in rows:
            commits = self._handle.on_branch(row["name"]).commits(at_most=MOST_COMMITS)
            found[row["name"]] = tuple(commit for commit in commits if commit.snapshot_id not in on_main)
        return found

    def undo(
        self,
        commit: Commit | CommitInfo | Undone | int | None = None,
        *,
        after: Commit | CommitInfo | int | None = None,
        until: Commit | CommitInfo | int | None = None,
        everything: bool = False,
    ) -> Undone:
        """Take back the write of one commit, or of those in (after, until], as if they had never been made.

        Later writes keep their effect. Without `until` the range ends with the newest commit; `everything=True` begins
        it with the first. A range needs a beginning, so that nobody empties a table by leaving an argument away.

        A commit of its own, so that history keeps both. Where the files are still there as they were written, only
        metadata changes; buckets that were compacted meanwhile are merged anew, without these writes. Versions that
        were taken back hold nothing back.

        An undo can be undone, too: what it took back counts again, wherever that lies. A write counts unless an undo
        takes it back that counts itself. It is refused only where files have expired that it needs.

        `commits.undo_plan` says what would be done, and which columns are concerned; `feed.undo` over the same range
        lists the keys, with their rows from before it. `changes()` over the commit that took them back says what it has
        changed.

        Raises `SnapshotExpired` if files that it needs have expired, `NothingToDo` if no commit of the range has
        written anything, `DefinitionError` if the range has no beginning, or its ends are in the wrong order or of two
        branches, `ForeignCommit` after a commit of another engine, and `CommitConflict` if other commits come first
        again and again.

        Example::

            profiles.undo(bad)
            profiles.undo(after=good, until=worse)
        """
        return _undo(self._handle, "undo", _undone(commit, after, until, everything))


class Commits(Namespace):
    """`table.commits`: what commits have said of their sources, and what is done with single ones."""

    def watermarks(self) -> dict[str, datetime.datetime]:
        """The event time up to which each stream is complete, as its writes have said; "" is the stream without a name.

        Raises `SnapshotExpired` if the commits that said it have expired after one of another engine.

        Example::

            profiles.commits.watermarks()["clicks"]
        """
        rows = self._handle.call("watermarks")
        return {row["stream"]: row["watermark"] for row in rows}

    def offsets(self) -> dict[str, int]:
        """The offset at which each source goes on, as writes with `offsets=` have said: the first that is missing.

        Raises `SnapshotExpired` if the commits that said it have expired after one of another engine.

        Example::

            profiles.commits.offsets()["clicks-0"]
        """
        return self._handle.next_offsets()

    def rollback(self, *, to: Commit | CommitInfo | int) -> CommitInfo:
        """Make the table, or the branch, stand at one of its commits again; gives that commit.

        No file is touched. What was committed later can be read by its snapshot id until it expires, and
        `rollback(to=)` such a commit goes forward again, if nothing was committed meanwhile.

        Raises `SnapshotExpired` if the commit is not kept any more, `DefinitionError` if it is of another branch,
        `NothingToDo` if the table has no commit, `ForeignCommit` if the commit itself is of another engine, and
        `CommitConflict` if other commits come first.

        Example::

            profiles.commits.rollback(to=commit)
        """
        rows = self._handle.call("rollback", to=required_snapshot_id_of("to", to))
        return CommitInfo.from_row(rows[0])

    def adopt(
        self,
        commit: CommitInfo | int,
        *,
        rule: Literal["upsert"],
        version: str | int | None = None,
    ) -> CommitInfo:
        """Take in the rows that another engine appended; gives the commit of keylake that has them.

        `history()` shows a foreign commit without a verb, and `ForeignCommit` names it. The rule "upsert": each
        appended row sets all columns of its key, at the version that its ordering column has, or `version=` (a column
        or an int), or the commit of the adoption, as `upsert` would. The rows are written again, and the foreign files
        are removed in the same commit. A commit that deleted or rewrote files is not adopted: roll it back.

        Raises `TableNotFound` if the commit is no foreign one of this branch, `DefinitionError` for another rule,
        `Unsupported` if it deleted or rewrote files, `BadRows` if its rows have null keys, `VersionMissing` if they
        have no version, and `CommitConflict` if another commit comes first.

        Example::

            profiles.commits.adopt(profiles.history()[0], rule="upsert", version=17)
        """
        check_type("rule", rule, str, "the name of a rule: 'upsert'")
        check_type("version", version, str | int | None, "the name of a column, or a whole number")
        rows = self._handle.call(
            "adopt_commit",
            snapshot_id=required_snapshot_id_of("commit", commit),
            rule=rule,
            version=version if isinstance(version, str) else None,
            version_value=None if isinstance(version, str) else version,
        )
        return CommitInfo.from_row(rows[0])

    def undo_plan(
        self,
        commit: Commit | CommitInfo | Undone | int | None = None,
        *,
        after: Commit | CommitInfo | int | None = None,
        until: Commit | CommitInfo | int | None = None,
        everything: bool = False,
    ) -> Undone:
        """The result that `undo` would have now. Nothing is done.

        Raises `SnapshotExpired`, `NothingToDo`, `DefinitionError` and `ForeignCommit` where `undo` does.

        Example::

            profiles.commits.undo_plan(bad).metadata_only
        """
        return _undo(self._handle, "undo_plan", _undone(commit, after, until, everything))


def _undone(commit: object, after: object, until: object, everything: bool) -> dict[str, int | bool | None]:
    """The commits that an undo takes back, as arguments of its call."""
    check_type("everything", everything, bool, "True or False")
    if commit is not None and (after is not None or until is not None or everything):
        raise DefinitionError(
            f"commit={snapshot_id_of('commit', commit)} is a range of one commit. "
            "Leave after, until and everything away."
        )
    if after is not None and everything:
        raise DefinitionError(
            f"after={snapshot_id_of('after', after)} begins behind a commit, everything=True at the first one. "
            "Give one of both."
        )
    if commit is None and after is None and not everything:
        raise DefinitionError(
            "The range of commits has no beginning. Give a commit to take back that one, after= for those behind one, "
            "or everything=True for all of them."
        )
    return {"commit": snapshot_id_of("commit", commit), **ends_of(after, until), "everything": everything}


def _undo(handle: Handle, procedure: str, undone: dict[str, int | bool | None]) -> Undone:
    return Undone(**handle.call(procedure, **undone)[0])
