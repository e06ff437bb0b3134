"""A trigger looks what is due, runs that, and moves its position behind it, one after the other.

    position ── what is due, oldest first ── run ── position moved from where it was ──┐
       ▲                                      │ fails: the position stays              │
       └──────────────────────────────────────┴────────────────────────────────────────┘

The position lies in the table, so it survives every process. A process that dies between a run and the move leaves
work that is done and runs again, and so do two processes with a trigger of one name; only one of them moves the
position. A run is therefore made at least once, and what it writes under the key of its interval or event counts once.
"""

from __future__ import annotations

import contextlib
import datetime
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

from keylake._display.html_table import ShownFields
from keylake._outcomes.commits import CommitEvent
from keylake._outcomes.intervals import Interval
from keylake._server.session import Session
from keylake._server.statements import Call
from keylake._table.handle import Handle
from keylake._table.positions import Positions
from keylake._triggers.commits import newer_commits
from keylake._triggers.corrections import Corrections
from keylake._triggers.intervals import length_micros, micros_of, moment_of, start_micros
from keylake.errors import CommitConflict, DefinitionError, KeylakeError, TableNotFound, TriggerFailed
from keylake.results import CommitInfo

What = Interval | CommitEvent

_BEFORE_ALL = -(2**63)  # the position of a trigger that waits for the first watermark


@dataclass(frozen=True)
class Fired(ShownFields):
    """A run of a trigger, or what kept it from running."""

    trigger: str
    table: str
    what: What | None  # None where it could not be found out what is due
    at: datetime.datetime
    seconds: float
    error: str | None = None  # the position stays, and the next time tries again


class Trigger:
    """A trigger that `lake.triggers` runs: where it stands, and how much is due."""

    _kind: ClassVar[Literal["consumer", "trigger"]]

    def __init__(self, handle: Handle, name: str, run: Callable[[Any], object]) -> None:
        self._handle = handle
        self._session = handle.session
        self._path = handle.path
        self._run = run
        self.name = name

    @property
    def table(self) -> str:
        """The table whose event time or commits it follows, with the branch if that is not main."""
        return str(self._path)

    def position(self) -> datetime.datetime | int | None:
        """The place up to which all is done: a moment of event time, or a snapshot id; None before the first watermark.

        Example::

            hourly.position()
        """
        return self._shown(self._at())

    def lag(self) -> int:
        """The number of intervals or commits that are due.

        Example::

            hourly.lag()
        """
        return sum(1 for _ in self._due(self._at()))

    def fire(self) -> Iterator[Fired]:
        """Run what is due, the oldest first; each run is told once the position is behind it.

        Example::

            for fired in hourly.fire():
                print(fired.what)
        """
        at = self._at()
        for behind, what_is_due in self._due(at):
            fired = self._fired(what_is_due())
            if not self._moved(at, behind):
                yield from self.fire()
                return
            at = behind
            yield fired

    def _fired(self, what: What) -> Fired:
        began_at, began = datetime.datetime.now(datetime.timezone.utc), time.perf_counter()
        try:
            self._run(what)
        except (Exception, SystemExit) as error:  # sys.exit() would end the thread, and no other trigger would run
            raise TriggerFailed(
                f"Trigger {self.name!r} failed for {what} of {self.table}: {_told(error)} "
                "Its position stays before that, and the next run tries again.",
                what,
            ) from error
        return Fired(self.name, self.table, what, began_at, time.perf_counter() - began)

    def forget(self) -> None:
        """Take the position out of the table."""
        self._positions.forget(self.name)

    def _begin(self, at: Callable[[], int]) -> int:
        """The position of the trigger, which is made known in the table at once if it is new."""
        if self._positions.at(self.name) is None:
            with contextlib.suppress(CommitConflict):  # another process made it known just now
                self._positions.move(self.name, before=None, to=at())
        return self._at()

    @property
    def _positions(self) -> Positions:
        return Positions(self._session, self._path, self._kind)

    def _at(self) -> int:
        at = self._positions.at(self.name)
        if at is None:
            raise KeylakeError(
                f"{self.table} has no position of trigger {self.name!r} any more: somebody removed it, or the table is "
                "another one. Remove the trigger here, too, or register it again."
            )
        return at

    def _moved(self, before: int, to: int) -> bool:
        """Move the position behind what was run; False where another process was faster, and it is there."""
        try:
            self._positions.move(self.name, before=before, to=to)
        except (CommitConflict, TableNotFound):
            if self._positions.at(self.name) == before:
                raise
            return False
        return True

    def _key(self, of: str) -> str:
        return f"{self.name}/{self.table}/{of}"

    def _shown(self, at: int) -> datetime.datetime | int | None:
        raise NotImplementedError

    def _due(self, at: int) -> Iterator[tuple[int, Callable[[], What]]]:
        """The positions to come, and what is to be run before each."""
        raise NotImplementedError


class EveryInterval(Trigger):
    """Runs for every interval of event time that is complete."""

    _kind = "trigger"

    def __init__(
        self, handle: Handle, name: str, run: object, *, minutes: int, stream: str | None, corrections: bool
    ) -> None:
        super().__init__(
            handle, name, partial(_run_sql, handle.session, run) if isinstance(run, str) else _checked(run)
        )
        self._length = length_micros(minutes)
        self._minutes = minutes
        self._stream = stream
        self._corrections = Corrections(handle, name, self._length, stream) if corrections else None

    def begin_at(self, since: datetime.datetime | None) -> None:
        """Begin with the interval of a moment, or of the watermark; a trigger that is known goes on where it stands."""
        at = self._begin(lambda: self._first(since))
        if at != _BEFORE_ALL and at != start_micros(at, self._length):
            raise DefinitionError(
                f"Trigger {self.name!r} of {self.table} stands at {moment_of(at):%Y-%m-%d %H:%M} UTC, where no "
                f"interval of {self._minutes} minutes begins: it had another length. Keep that, or take another name."
            )
        if self._corrections is not None:
            self._corrections.begin(None if at == _BEFORE_ALL else at + self._length)

    def fire(self) -> Iterator[Fired]:
        """Run what is due, the oldest first, and then the intervals again that late rows came into."""
        if self._corrections is None:
            yield from super().fire()
            return
        # Before the watermark is read, so that what these commits closed has been run.
        until = self._handle.newest_commit()
        yield from super().fire()
        after = self._corrections.position()
        late = self._corrections.late(after, until, closed=self._at())
        for start in late:
            times = moment_of(start), moment_of(start + self._length)
            yield self._fired(Interval(*times, until, self._key_of(times, f"late/{until}"), late=True))
        if late:
            self._corrections.move(after, until)

    def forget(self) -> None:
        """Take the position out of the table, and that of its corrections."""
        super().forget()
        if self._corrections is not None:
            self._corrections.forget()

    def _first(self, since: datetime.datetime | None) -> int:
        reached, _ = self._watermarks() if since is None else (micros_of("since", since), None)
        return _BEFORE_ALL if reached is None else start_micros(reached, self._length)

    def _watermarks(self) -> tuple[int | None, int | None]:
        """The watermark of the stream, or the least one of all streams, and the watermark where they began."""
        rows = self._session.call(Call.of("watermarks", self._path)).to_pylist()
        ours = [row for row in rows if self._stream is None or row["stream"] == self._stream]
        ends = (min((micros_of(name, row[name]) for row in ours), default=None) for name in ("watermark", "first"))
        reached, first = ends
        return reached, first

    def _due(self, at: int) -> Iterator[tuple[int, Callable[[], What]]]:
        reached, first = self._watermarks()
        if reached is None or first is None:
            return
        end = self._length + (start_micros(first, self._length) if at == _BEFORE_ALL else at)
        for each in range(end, reached + 1, self._length):
            yield each, partial(self._interval, each)

    def _interval(self, end: int) -> Interval:
        reached = moment_of(end).isoformat()
        call = Call.of("commit_at_watermark", self._path, watermark=reached, stream=self._stream)
        snapshot_id = int(self._session.call(call).column(0)[0].as_py())
        times = moment_of(end - self._length), moment_of(end)
        return Interval(*times, snapshot_id, self._key_of(times))

    def _key_of(self, times: tuple[datetime.datetime, datetime.datetime], *more: str) -> str:
        return self._key("/".join([*(f"{time:%Y-%m-%dT%H:%MZ}" for time in times), *more]))

    def _shown(self, at: int) -> datetime.datetime | None:
        return None if at == _BEFORE_ALL else moment_of(at)

    def __repr__(self) -> str:
        of = "" if self._stream is None else f", stream {self._stream!r}"
        return f"Trigger({self.name!r}: every {self._minutes} min of {self.table}{of})"


class EveryCommit(Trigger):
    """Sends an event for every commit. As a consumer of the table, it keeps commits from expiring before that."""

    _kind = "consumer"

    def __init__(self, handle: Handle, name: str, send: object) -> None:
        super().__init__(handle, name, _checked(send))

    def begin_after(self, after: int | None) -> None:
        """Begin with the commit after one, or with the next that is made; a known one goes on where it stands."""
        self._begin(self._handle.newest_commit if after is None else lambda: self._handle.range_of(after)[0])

    def _due(self, at: int) -> Iterator[tuple[int, Callable[[], What]]]:
        for commit in reversed(newer_commits(self._handle, self.name, at)):
            yield commit.snapshot_id, partial(self._event, commit)

    def _event(self, commit: CommitInfo) -> CommitEvent:
        return CommitEvent(self._path.name, self._path.branch, commit, self._key(str(commit.snapshot_id)))

    def _shown(self, at: int) -> int:
        return at

    def __repr__(self) -> str:
        return f"Trigger({self.name!r}: every commit of {self.table})"


def _checked(run: object) -> Callable[[Any], object]:
    if not callable(run):
        raise DefinitionError(
            f"{run!r} cannot be run. Give a function of one argument, or to every() a statement of SQL."
        )
    return run


def _run_sql(session: Session, statement: str, interval: Interval) -> None:
    # As text, since VERSION AS OF takes no bigint where a parameter stands.
    snapshot_id = str(interval.snapshot_id)
    of = {"start": interval.start, "end": interval.end, "snapshot_id": snapshot_id, "late": interval.late}
    session.run_once([statement], of, interval.key)


def _told(error: BaseException) -> str:
    said = str(error) if isinstance(error, KeylakeError) else f"{type(error).__name__}: {error}"
    return said if said.endswith((".", "!", "?")) else f"{said}."
