"""The commits of a local table: those that were made, and those that come while somebody waits for them."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice

from keylake._table.handle import snapshot_id_of
from keylake._table.waiting import check_wait
from keylake.errors import check_count, check_type
from keylake.local.history import commits_of, commits_since
from keylake.local.moments import head_of
from keylake.local.plans import Plans
from keylake.results import Commit, CommitInfo, History

_PAUSES_PER_LOOK = 10
_SHORTEST, _LONGEST = 0.02, 1.0  # seconds


class HistoryReads:
    """The verbs of a local table about its commits."""

    _name: str
    _plans: Plans

    def history(self, at_most: int | None = None, *, branch: str | None = None, compactions: bool = False) -> History:
        """The commits of the table or a branch, newest first: what they wrote, how much, and who.

        Compactions change no row and come whenever maintenance makes them, so `compactions=True` has to ask for them.
        No file of rows is opened.

        Raises `DefinitionError` if `at_most` is no count, `TableNotFound` if the table or the branch is not there,
        `Unsupported` for an experiment, `ServerUnreachable` if the catalog does not answer, and `StoreFailed` if
        metadata cannot be read.

        Example::

            profiles.history()[0].stream
        """
        if at_most is not None:
            check_count("at_most", at_most)
        check_type("branch", branch, str | None, "the name of a branch")
        check_type("compactions", compactions, bool, "True or False")
        commits = commits_of(self._name, self._plans.metadata(), branch, compactions)
        return History(self._name, islice(commits, at_most))

    def wait(
        self,
        after: Commit | CommitInfo | int | None = None,
        *,
        seconds: float | None = None,
        branch: str | None = None,
        compactions: bool = False,
    ) -> tuple[CommitInfo, ...]:
        """Wait until the table or a branch has commits behind one, whoever makes them; gives them, oldest first.

        `after` is what a write returned, or a snapshot id: the newest commit unless said, and 0 for the time before the
        first. There is nothing to wait for where such commits are there already. After `seconds` nothing is given; None
        waits for as long as it takes. `compactions=True` tells those, too, which change no row.

        The catalog is asked every 20 milliseconds, or less often where it needs more than 2 to answer: looks take a
        tenth of the time. A rollback is no commit; the `parent_id` of the next one says where it began.

        Raises `SnapshotExpired` if `after` is not kept any more, `DefinitionError` if `seconds` is no time,
        `TableNotFound` if the table or the branch is not there, and `ServerUnreachable` if the catalog does not answer.

        Example::

            profiles.wait(commit, seconds=30)
        """
        look = self._look(after, seconds, branch, compactions)
        return next(_batches(look.begun(), seconds), ())

    def watch(
        self,
        after: Commit | CommitInfo | int | None = None,
        *,
        seconds: float | None = None,
        branch: str | None = None,
        compactions: bool = False,
    ) -> Iterator[CommitInfo]:
        """Each commit of the table or a branch as it comes, oldest first, once: those behind `after` first of all.

        The arguments are those of `wait`: it ends when there was no commit for so many `seconds`; with None it ends
        only with the loop. A watch that fails is begun again with `after=` the last commit that it gave. In asyncio,
        `awatch` leaves the event loop to others meanwhile.

        Raises `SnapshotExpired` if the commit that it stands at is not kept any more, and the errors of `wait`.

        Example::

            for commit in profiles.watch(seconds=60):
                print(commit.stream, commit.rows, commit.watermark)
        """
        look = self._look(after, seconds, branch, compactions)
        return chain.from_iterable(_batches(look.begun(), seconds))

    def awatch(
        self,
        after: Commit | CommitInfo | int | None = None,
        *,
        seconds: float | None = None,
        branch: str | None = None,
        compactions: bool = False,
    ) -> AsyncIterator[CommitInfo]:
        """The same as `watch` for `async for`: it asks the catalog in a thread of asyncio.

        Raises `SnapshotExpired` if the commit that it stands at is not kept any more, and the errors of `wait`.

        Example::

            async for commit in profiles.awatch(seconds=60):
                print(commit.stream, commit.rows, commit.watermark)
        """
        return _told(self._look(after, seconds, branch, compactions), seconds)

    def _look(self, after: object, seconds: object, branch: str | None, compactions: bool) -> _Look:
        check_wait(seconds, compactions)
        check_type("branch", branch, str | None, "the name of a branch")
        return _Look(self._name, self._plans, branch, compactions, snapshot_id_of("after", after))


@dataclass
class _Look:
    """Looks for commits behind those that it has found, and says when to look again."""

    name: str
    plans: Plans
    branch: str | None
    compactions: bool
    after: int | None
    pause: float = _SHORTEST

    def begun(self) -> _Look:
        """The same with the newest commit to begin behind, where none was given."""
        if self.after is None:
            head = head_of(self.name, self.plans.metadata(), self.branch)
            self.after = 0 if head is None else head.snapshot_id
        return self

    def commits(self) -> tuple[CommitInfo, ...]:
        began = time.monotonic()
        found = commits_since(self.name, self.plans.metadata(), self.branch, self.after or 0, self.compactions)
        self.pause = min(max((time.monotonic() - began) * _PAUSES_PER_LOOK, _SHORTEST), _LONGEST)
        if found:
            self.after = found[-1].snapshot_id
        return found


def _steps(look: _Look, seconds: float | None) -> Iterator[tuple[CommitInfo, ...] | float]:
    """The commits of each look that finds some, and seconds to pause; it ends when none found any for so long."""
    ends_at = _end(seconds)
    while True:
        if found := look.commits():
            yield found
            ends_at = _end(seconds)
        elif (left := ends_at - time.monotonic()) > 0:
            yield min(look.pause, left)
        else:
            return


def _batches(look: _Look, seconds: float | None) -> Iterator[tuple[CommitInfo, ...]]:
    for step in _steps(look, seconds):
        if isinstance(step, tuple):
            yield step
        else:
            time.sleep(step)


async def _told(look: _Look, seconds: float | None) -> AsyncIterator[CommitInfo]:
    """The same, commit by commit, without holding up the event loop."""
    await asyncio.to_thread(look.begun)
    steps = _steps(look, seconds)
    following: Callable[[], tuple[CommitInfo, ...] | float | None] = partial(next, steps, None)
    while (step := await asyncio.to_thread(following)) is not None:
        if isinstance(step, tuple):
            for commit in step:
                yield commit
        else:
            await asyncio.sleep(step)


def _end(seconds: float | None) -> float:
    return math.inf if seconds is None else time.monotonic() + seconds
