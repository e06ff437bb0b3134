"""Verbs that wait for commits: each commit is told once, in its order, soon after it was made."""

from __future__ import annotations

import time
from collections.abc import Iterator

from keylake._table.handle import Handle, Verbs, snapshot_id_of
from keylake.errors import DefinitionError, check_type
from keylake.results import Commit, CommitInfo

_MOST_SECONDS = 10.0  # of one call: a server goes on for as long when nobody hears its answer any more


class WaitVerbs(Verbs):
    """The verbs that wait for commits of a table."""

    def wait(
        self,
        after: Commit | CommitInfo | int | None = None,
        *,
        seconds: float | None = None,
        compactions: bool = False,
    ) -> tuple[CommitInfo, ...]:
        """Wait until the table or branch has commits behind one, whoever makes them; gives them, oldest first.

        `after` is what a write returned, or a snapshot id: the newest commit unless said, and 0 for the time before the
        first. There is nothing to wait for where such commits are there already. After `seconds` nothing is given; None
        waits for as long as it takes. `compactions=True` tells those, too, which change no row.

        A server looks for commits for all who wait for a table together: every 20 milliseconds, or less often where the
        catalog needs more than 2 to answer. A rollback is no commit; the `parent_id` of the next one says where it
        began.

        Raises `SnapshotExpired` if `after` is not kept any more, and `DefinitionError` if `seconds` is no time.

        Example::

            profiles.wait(commit, seconds=30)
        """
        check_wait(seconds, compactions)
        return _waited(self._handle, _beginning(self._handle, after), seconds, compactions)

    def watch(
        self,
        after: Commit | CommitInfo | int | None = None,
        *,
        seconds: float | None = None,
        compactions: bool = False,
    ) -> Iterator[CommitInfo]:
        """Each commit of the table or branch as it comes, oldest first, once: those behind `after` first of all.

        The arguments are those of `wait`: it ends when there was no commit for so many `seconds`; with None it ends
        only with the loop. A watch that fails is begun again with `after=` the last commit that it gave. What has to
        survive this process is a trigger: `lake.triggers.on_commit`.

        Raises `SnapshotExpired` if the commit that it stands at is not kept any more, and `DefinitionError` if
        `seconds` is no time.

        Example::

            for commit in profiles.watch(seconds=60):
                print(commit.stream, commit.rows, commit.watermark)
        """
        check_wait(seconds, compactions)
        return _watched(self._handle, _beginning(self._handle, after), seconds, compactions)


def check_wait(seconds: object, compactions: object) -> None:
    """Refuses what is no time to wait, and no choice of commits."""
    check_type("seconds", seconds, int | float | None, "a number of seconds, or None for as long as it takes")
    check_type("compactions", compactions, bool, "True or False")
    if isinstance(seconds, int | float) and not seconds >= 0:
        raise DefinitionError(f"seconds={seconds!r} is no time to wait. Take 0 or more, or None for no limit.")


def _beginning(handle: Handle, after: object) -> int:
    """The commit behind which others are waited for; the newest one where none is given."""
    given = snapshot_id_of("after", after)
    return handle.newest_commit() if given is None else given


def _waited(handle: Handle, after: int, seconds: float | None, compactions: bool) -> tuple[CommitInfo, ...]:
    ends_at = None if seconds is None else time.monotonic() + seconds
    while True:
        left = _MOST_SECONDS if ends_at is None else max(0.0, ends_at - time.monotonic())
        rows = handle.call(
            "wait_for_commits", after=after, seconds=float(min(left, _MOST_SECONDS)), compactions=compactions
        )
        if rows or left == 0:
            return tuple(map(CommitInfo.from_row, rows))


def _watched(handle: Handle, after: int, seconds: float | None, compactions: bool) -> Iterator[CommitInfo]:
    while commits := _waited(handle, after, seconds, compactions):
        yield from commits
        after = commits[-1].snapshot_id
