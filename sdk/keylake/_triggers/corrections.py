"""Late rows of intervals that were run before they came: which intervals are to be run again.

    commits behind the position ── some have versions of closed intervals ── intervals of their rows ── run again ──┐
       ▲                           (no file is opened before)                (but not of rows they were run with)   │
       └──────────────────────────────────────────────────────────────────────────────────── position moved ───────┘

The position is that of a consumer, beside the trigger's own, so that commits do not expire before they were looked at.
"""

from __future__ import annotations

import contextlib
import datetime
from collections import defaultdict

from pyiceberg.types import TimestampType, TimestamptzType

from keylake._server.statements import Call
from keylake._table.changes import ChangeVerbs, Feed
from keylake._table.handle import Handle
from keylake._table.positions import Positions
from keylake._triggers.commits import BEFORE_THE_FIRST, newer_commits
from keylake._triggers.intervals import moment_of
from keylake.errors import CommitConflict, DefinitionError, TableNotFound
from keylake.results import CommitInfo

_LONGEST_NAME = 95

# The position passes over commits without late rows seldom: each move is a commit of metadata. They expire later.
_MOST_BEHIND = 50
_LONGEST_BEHIND = datetime.timedelta(hours=1)


class Corrections:
    """The late rows of a trigger's intervals, by a position of its own in the commits of the table."""

    def __init__(self, handle: Handle, trigger: str, length: int, stream: str | None) -> None:
        spec = handle.as_now().spec
        ordering = spec.ordering
        found = None if ordering is None else spec.column(ordering).type
        if not isinstance(found, TimestampType | TimestamptzType):
            said = "no ordering column" if found is None else f"the ordering column {ordering} of type {found}"
            raise DefinitionError(
                f"corrections=True needs the event time of rows, and {handle.path} has {said}. Create the table with "
                "an ordering column that is a timestamp, or leave corrections out."
            )
        if len(trigger) > _LONGEST_NAME:
            raise DefinitionError(
                f"The name of a trigger with corrections has at most {_LONGEST_NAME} letters, and {trigger!r} has "
                f"{len(trigger)}: its position in the commits is called {trigger}.late, and names have up to 100."
            )
        self._handle = handle
        self._name = f"{trigger}.late"
        self._length = length
        self._stream = stream

    @property
    def _positions(self) -> Positions:
        return Positions(self._handle.session, self._handle.path, "consumer")

    def begin(self, first_end: int | None) -> None:
        """Begin at the commit with which the first interval was complete, or at the newest; a known one goes on."""
        if self._positions.at(self._name) is not None:
            return
        complete = None if first_end is None else self._complete_with(first_end)
        with contextlib.suppress(CommitConflict):  # another process made it known just now
            self._positions.move(
                self._name, before=None, to=self._handle.newest_commit() if complete is None else complete
            )

    def forget(self) -> None:
        """Take the position out of the table."""
        self._positions.forget(self._name)

    def position(self) -> int:
        """The commit up to which late rows were looked for."""
        at = self._positions.at(self._name)
        if at is None:
            raise DefinitionError(
                f"{self._handle.path} has no position {self._name!r} any more, from which late rows are looked for: "
                "somebody removed it. Remove the trigger, and register it again."
            )
        return at

    def late(self, after: int, until: int, closed: int) -> list[int]:
        """The beginnings of intervals before `closed` that were run before commits of (after, until] had rows of them.

        Moves the position where it is far behind, and there are none.
        """
        commits = newer_commits(self._handle, self._name, after)
        behind = [each.snapshot_id for each in commits]
        commits = commits[behind.index(until) :] if until in behind else []
        if not any(each.versions is not None and each.versions[0] < closed for each in commits):
            if commits and self._is_long(commits):
                self.move(after, until)
            return []
        starts = self._starts(after, until, closed)
        if not any(each.watermark is not None for each in commits):  # all of them were complete before
            return sorted(starts)
        by_commit: defaultdict[int | None, set[int]] = defaultdict(set)
        for start in starts:
            by_commit[self._complete_with(start + self._length)].add(start)
        late: set[int] = set()
        for complete, of in by_commit.items():
            if complete is None or complete not in behind:
                late |= of
            elif complete in [each.snapshot_id for each in commits[1:]]:
                late |= of & self._starts(complete, until, closed)
        return sorted(late)

    def move(self, before: int, to: int) -> None:
        """Move the position behind commits that were looked at, unless another process was faster."""
        with contextlib.suppress(CommitConflict):
            self._positions.move(self._name, before=before, to=to)

    def _complete_with(self, end: int) -> int | None:
        """The first commit with which an interval was complete; None where its watermark was taken back."""
        call = Call.of(
            "commit_at_watermark", self._handle.path, watermark=moment_of(end).isoformat(), stream=self._stream
        )
        try:
            return int(self._handle.session.call(call).column(0)[0].as_py())
        except TableNotFound:
            return None

    def _starts(self, after: int, until: int, closed: int) -> set[int]:
        """The beginnings of the intervals that rows of some commits are in, as far as they are before `closed`."""
        first = None if after == BEFORE_THE_FIRST else after
        versions = Feed(ChangeVerbs(self._handle)).appended(after=first, until=until, columns=["_merge_info"])
        start = f"_merge_info.version - pmod(_merge_info.version, {self._length}L) AS start"
        rows = versions.where(f"_merge_info.version < {closed}L").selectExpr(start).distinct().toArrow()
        return set(rows["start"].to_pylist())

    @staticmethod
    def _is_long(commits: list[CommitInfo]) -> bool:
        age = datetime.datetime.now(datetime.timezone.utc) - commits[-1].committed_at
        return len(commits) >= _MOST_BEHIND or age > _LONGEST_BEHIND
