"""The triggers of a lake: registered, run when they are due, by hand or by a thread that looks again and again."""

from __future__ import annotations

import contextlib
import datetime
import threading
from collections import deque
from collections.abc import Callable

from keylake._display.html_table import ShownTable
from keylake._outcomes.commits import CommitEvent
from keylake._outcomes.intervals import Interval
from keylake._server.session import Session
from keylake._table.handle import Handle, Verbs, snapshot_id_of
from keylake._triggers.trigger import EveryCommit, EveryInterval, Fired, Trigger
from keylake.errors import DefinitionError, KeylakeError, TriggerFailed, check_count, check_type
from keylake.results import Commit, CommitInfo

_KEPT_ENTRIES = 1000


class Triggers(ShownTable):
    """`lake.triggers`: what is to be run for every closed interval of event time, or for every commit.

    Triggers are registered by each process that is to run them; how far each has come is kept in its table under its
    name, so that a process that starts again goes on where the last one stopped.

    Example::

        lake.triggers.every(5, clicks, "INSERT INTO lake.features.hot SELECT ...", name="hot")
        lake.triggers.start()
    """

    _HEADER = ("trigger", "table", "done up to", "due", "last error")

    def __init__(self, session: Session) -> None:
        self._session = session
        self._registered: dict[str, Trigger] = {}
        self._entries: deque[Fired] = deque(maxlen=_KEPT_ENTRIES)
        self._one_at_a_time = threading.RLock()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    # ----------------------------------------------------------------------------------------------------- register

    def every(
        self,
        minutes: int,
        table: Verbs,
        run: Callable[[Interval], object] | str,
        *,
        name: str,
        stream: str | None = None,
        since: datetime.datetime | None = None,
        corrections: bool = False,
    ) -> Trigger:
        """Run a function, or a statement of SQL, for each interval of so many minutes of event time once it is closed.

        An interval is closed when the table's watermark has come to its end: that of one `stream`, or the lowest of
        all streams that have one. The first is the one that `since` is in, or without it the one that the watermark is
        in now, or comes into with the first write that says one. A name that is known in the table goes on where it
        stands. Intervals are run in their order.

        With `corrections`, an interval is run again when rows have come into it after its run, by the versions of a
        table whose ordering column is a timestamp: `interval.late` is true then, and `interval.snapshot_id` a commit
        that has them. So are intervals before the first one. A run should say all of its interval anew: what adds to a
        sum would count rows twice.

        A function gets the `Interval`. SQL has its `:start` and `:end` as timestamps, its `:snapshot_id` as text, for
        VERSION AS OF, and `:late`, and runs in a copy of the session `lake.spark`, which has its views and settings.

        What "exactly once" rests on: the position in the table moves behind an interval when it has been run, and only
        from where it was. A run that raises is tried again; one whose process dies before the move is run a second
        time, as is one that two processes begin at once under one name. What is written under the interval's key counts
        once nevertheless: a function passes it on as `idempotency_key=interval.key`, an INSERT into a keyed table
        always has it. What a function does elsewhere, it may do twice.

        Raises `DefinitionError` for minutes that do not fill a day, a name that is taken, an empty statement, what
        cannot be called, and corrections of a table without event times, and `TableNotFound` if the table is not there
        any more.

        Example::

            def count(interval: kl.Interval) -> None:
                rows = clicks.read(at=interval.snapshot_id, where=f"at >= '{interval.start}' AND at < '{interval.end}'")
                hourly.upsert([{"hour": interval.start, "clicks": rows.count()}], idempotency_key=interval.key)

            lake.triggers.every(60, clicks, count, name="hourly")
        """
        handle = self._checked(table, name)
        check_type("stream", stream, str | None, "the name of a stream")
        check_type("corrections", corrections, bool, "True or False")
        if isinstance(run, str) and not run.strip():
            raise DefinitionError("The statement of SQL that is to be run is empty.")
        trigger = EveryInterval(handle, name, run, minutes=minutes, stream=stream, corrections=corrections)
        trigger.begin_at(since)
        self._registered[name] = trigger
        return trigger

    def on_commit(
        self,
        table: Verbs,
        send: Callable[[CommitEvent], object],
        *,
        name: str,
        after: Commit | CommitInfo | int | None = None,
    ) -> Trigger:
        """Send an event for each commit of a table or branch, the oldest first: to anything that can be called with it.

        It begins with the next commit, or with the one that follows `after`; 0 is before the first. A name that is
        known in the table goes on where it stands. The trigger is a consumer of the table: what was not sent yet does
        not expire.

        An event is sent again if sending it raised, or if the process died before the position in the table had moved
        behind it: by `event.key`, a receiver knows what it has already.

        Raises `DefinitionError` for a name that is taken, an `after` that is no commit and what cannot be called, and
        `SnapshotExpired` if `after` is not kept any more.

        Example::

            lake.triggers.on_commit(clicks, events.append, name="list")

            def send(event: kl.CommitEvent) -> None:  # to Kafka: the commits of a table stay in their order
                producer.send("commits", key=event.table.encode(), value=event.to_json().encode()).get()

            lake.triggers.on_commit(clicks, send, name="kafka")
        """
        trigger = EveryCommit(self._checked(table, name), name, send)
        trigger.begin_after(snapshot_id_of("after", after))
        self._registered[name] = trigger
        return trigger

    def remove(self, name: str) -> None:
        """Forget a trigger, and the position it has in its table.

        Raises `DefinitionError` if there is no such trigger here, and `CommitConflict` if another process has moved its
        position meanwhile.

        Example::

            lake.triggers.remove("hourly")
        """
        check_type("The name of a trigger", name, str, "text such as 'hourly'")
        if name not in self._registered:
            known = ", ".join(map(repr, self._registered)) or "none"
            raise DefinitionError(f"There is no trigger {name!r} here. Registered: {known}.")
        trigger = self._registered.pop(name)
        with self._one_at_a_time:
            trigger.forget()

    def _checked(self, table: Verbs, name: str) -> Handle:
        """The table or branch of a new trigger."""
        check_type("table", table, Verbs, "a keyed table, such as lake.table('namespace.table')")
        check_type("The name of a trigger", name, str, "text such as 'hourly'")
        if name in self._registered:
            raise DefinitionError(
                f"There is a trigger {name!r} already: {self._registered[name]!r}. Take another name, or remove it."
            )
        return table._handle  # pyright: ignore[reportPrivateUsage]

    # ---------------------------------------------------------------------------------------------------------- run

    def run_due(self) -> tuple[Fired, ...]:
        """Run all that is due now, and tell what was run. A trigger that fails keeps none of the others from running.

        Raises the first error when all that is due has been tried: `TriggerFailed` for what a trigger has run, whose
        cause is what was raised, and `SnapshotExpired` if commits that were not sent have expired.

        Example::

            lake.triggers.run_due()
        """
        fired, failures = self._run(threading.Event())
        if failures:
            raise failures[0]
        return fired

    def start(self, *, seconds: float = 5) -> None:
        """Run what is due, now and every so many seconds, in a thread of its own; `log()` tells what became of it.

        Raises `DefinitionError` for a time that is not above 0. What fails afterwards is told by `log()`.

        Example::

            lake.triggers.start(seconds=1)
        """
        check_type("seconds", seconds, int | float, "a number of seconds, more than 0")
        if not seconds > 0:
            raise DefinitionError(f"seconds={seconds!r} is no time between two looks. Take more than 0.")
        self.stop()
        self._ending = ending = threading.Event()

        def look_again_and_again() -> None:
            while not ending.is_set():
                self._run(ending)
                ending.wait(seconds)

        self._thread = threading.Thread(target=look_again_and_again, name="keylake triggers", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End what `start` began, once the run that is under way has come to its end. `lake.close()` does so, too.

        Example::

            lake.triggers.stop()
        """
        thread, self._thread = self._thread, None
        self._ending.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    @property
    def is_started(self) -> bool:
        """A thread looks for what is due."""
        return self._thread is not None and self._thread.is_alive()

    def log(self, *, at_most: int = 100) -> tuple[Fired, ...]:
        """The runs of triggers in this process, and their errors, the newest first.

        Raises `DefinitionError` if `at_most` is no count.

        Example::

            lake.triggers.log()[0].error
        """
        check_count("at_most", at_most)
        return tuple(self._entries)[:at_most]

    def _run(self, ending: threading.Event) -> tuple[tuple[Fired, ...], list[KeylakeError]]:
        """Run what is due, of each trigger in turn, so that one that lags behind does not hold up the others."""
        fired: list[Fired] = []
        failures: list[KeylakeError] = []
        with self._one_at_a_time:
            waiting = deque((trigger, trigger.fire()) for trigger in tuple(self._registered.values()))
            while waiting and not ending.is_set():
                trigger, runs = waiting.popleft()
                began_at = datetime.datetime.now(datetime.timezone.utc)
                try:
                    done = next(runs, None)
                except Exception as error:  # noqa: BLE001 - whatever it is, the others run, and the log tells it
                    if self._is_registered(trigger):
                        failure = error if isinstance(error, KeylakeError) else _unexpected(trigger, error)
                        failures.append(failure)
                        self._entries.appendleft(_failed(trigger, began_at, failure))
                    continue
                if done is not None:
                    fired.append(done)
                    self._entries.appendleft(done)
                if done is not None and self._is_registered(trigger):
                    waiting.append((trigger, runs))
        return tuple(fired), failures

    def _is_registered(self, trigger: Trigger) -> bool:
        """A trigger is registered: it may have been removed while it ran."""
        return self._registered.get(trigger.name) is trigger

    # -------------------------------------------------------------------------------------------------------- shown

    def __len__(self) -> int:
        return len(self._registered)

    def _title(self) -> str:
        state = "started" if self.is_started else "not started"
        return f"{len(self)} trigger{'' if len(self) == 1 else 's'}, {state}"

    def _rows(self) -> list[tuple[object, ...]]:
        return [(trigger.name, trigger.table, *self._standing(trigger)) for trigger in self._registered.values()]

    def _standing(self, trigger: Trigger) -> tuple[object, ...]:
        last = next((entry for entry in self.log() if entry.trigger == trigger.name), None)
        error = None if last is None else last.error
        with contextlib.suppress(KeylakeError):
            return trigger.position(), trigger.lag(), error
        return None, None, error


def _unexpected(trigger: Trigger, error: Exception) -> TriggerFailed:
    failure = TriggerFailed(
        f"Trigger {trigger.name!r} of {trigger.table} failed outside of what it runs: {type(error).__name__}: {error}. "
        "Its position is as before, and the next run tries again."
    )
    failure.__cause__ = error
    return failure


def _failed(trigger: Trigger, began_at: datetime.datetime, error: KeylakeError) -> Fired:
    what = error.what if isinstance(error, TriggerFailed) else None
    seconds = (datetime.datetime.now(datetime.timezone.utc) - began_at).total_seconds()
    return Fired(trigger.name, trigger.table, what, began_at, seconds, str(error))
