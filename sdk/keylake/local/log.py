"""The log of a local table: writes that are durable at once, before somebody moves them to files of the table."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from keylake._definition.names import LOG_PROPERTY
from keylake._display.html_table import ShownFields
from keylake._log.definition import FileLog, KafkaLog
from keylake._log.entries import Entry, LoggedVerb
from keylake._log.locks import ProcessLock
from keylake._log.messages import Columns
from keylake._log.messages import entry_of as read_entry
from keylake._log.state import LogState
from keylake._log.store import Closed, LogStore
from keylake._log.stored_log import StoredLog, TablePlace, drop
from keylake._rows.intention import Intention
from keylake._rows.rows import Rows
from keylake._table.waiting import check_wait
from keylake.errors import DefinitionError, NothingToDo, OutcomeUnknown, SnapshotExpired, StoreFailed, check_type
from keylake.local.catalogs import loaded
from keylake.local.changes.logged import Base, EntryChanges
from keylake.local.fresh import FreshRows, moved_before, stored_log, table_of
from keylake.local.layout import Layout
from keylake.local.log_property import change_log
from keylake.local.parquet import ParquetFiles
from keylake.local.plans import Plans

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata

    from keylake.local.fresh import LoggedRows
    from keylake.local.plans import Plan

_COLUMNS_AGE = datetime.timedelta(seconds=1)
_LOOK_SECONDS = 0.01
_ATTEMPTS = 3
_MOST_KEPT_ROWS = 100_000  # of entries whose changes are told


@dataclass(frozen=True)
class Logged(ShownFields):
    """A write that is in a log: durable, seen by fresh reads, and not yet in files of the table.

    >>> print(Logged(number=17, rows=3, seconds=0.0021))
    entry 17 of the log: 3 rows, 0.002 s
    """

    number: int
    rows: int
    seconds: float

    def __str__(self) -> str:
        return f"entry {self.number} of the log: {self.rows:,} row{'' if self.rows == 1 else 's'}, {self.seconds:.3f} s"


@dataclass(frozen=True, eq=False)
class LogEntry:
    """A write as a log tells it: its number, verb, time and stream, and the rows with the columns that it wrote.

    `rows` is an Arrow table; `versions` has the version of each row, and is None where versions are commits. `changes`
    is None unless it was asked for: an Arrow table as `changes()` has it, without `_commit`, of the merged rows that
    the entry has inserted, updated or deleted.
    """

    number: int
    verb: LoggedVerb
    at: datetime.datetime
    stream: str | None
    rows: Any
    versions: Any
    changes: Any = None


class LocalLog:
    """`table.log`: writes that are durable in less time than a commit takes, and the entries of those writes."""

    def __init__(self, name: str, plans: Plans, kept: KeptLog, files: ParquetFiles) -> None:
        self._name = name
        self._plans = plans
        self._kept = kept
        self._files = files

    def __repr__(self) -> str:
        return f"LocalLog of {self._name}"

    def begin(self, log: FileLog | KafkaLog | None = None) -> LogState:
        """Give the table a log. Writes to it are `table.log.update(...)`; those of the table itself stay as they were.

        Raises `DefinitionError` if the table has a log, or its folder is there already, `Unsupported` for a table in an
        object store where no folder is given, and `StoreFailed` if the folder cannot be made.

        Example::

            profiles.log.begin(kl.FileLog())
        """
        table = loaded(self._plans.table, self._name)

        def keep(text: str) -> None:
            change_log(self._name, table, text)

        _place(self._name, table.metadata).begin(log, keep)
        self._plans.changed_here()
        return self.state()

    def drop(self, *, lost: bool = False) -> None:
        """End the log of the table, when all of its entries are in files. Its folder is deleted.

        With `lost=True` entries that are not in files are given up.

        Raises `NothingToDo` if the table has no log, and `DefinitionError` if entries are left to move.

        Example::

            profiles.log.drop()
        """
        table = loaded(self._plans.table, self._name)
        if _place(self._name, table.metadata).removes_left(lost):
            return
        rows = self._kept.of(table.metadata, self._name)

        def moved() -> int:
            before = rows.store.moved()
            return max(before, moved_before(loaded(table, self._name).metadata, rows.source))

        def forget() -> None:
            change_log(self._name, table, None)

        drop(rows.store, moved, forget, lost=lost)
        self._plans.changed_here()

    def state(self) -> LogState:
        """Tell how far the log has got, and how many entries are not in files yet.

        Raises `NothingToDo` if the table has no log, and `StoreFailed` if its folder is gone or damaged.

        Example::

            profiles.log.state().waiting
        """
        metadata = self._plans.metadata()
        log = self._kept.of(metadata, self._name)
        store = log.store
        moved = max(store.moved(), moved_before(metadata, log.source))
        return LogState(store.place, store.first(), moved, store.durable())

    def upsert(self, rows: Rows, *, version: str | int | None = None, stream: str | None = None) -> Logged:
        """Append a write of every value column of some rows, up to 10,000, to the log.

        It is durable when this returns: `get(fresh=True)` and `read(fresh=True)` see it from now on, and all other
        reads once it was moved. `version` is as with `table.upsert`.

        Raises `NothingToDo` if the table has no log, `SchemaMismatch`, `VersionMissing`, `BadRows` and `Unsupported` as
        `table.upsert` does, `Unavailable` if the disk is full, and `StoreFailed` if the log is gone or damaged.

        Example::

            profiles.log.upsert({"user_id": 7, "clicks": 4, "city": "Oslo"})
        """
        return self._append(rows, Intention("upsert", version, stream=stream))

    def update(self, rows: Rows, *, version: str | int | None = None, stream: str | None = None) -> Logged:
        """Append a write of the value columns that the rows have to the log.

        Raises the errors of `upsert`, such as `NothingToDo`, `SchemaMismatch`, `BadRows` and `Unavailable`.

        Example::

            profiles.log.update({"user_id": 7, "clicks": 5}, stream="web")
        """
        return self._append(rows, Intention("update", version, stream=stream))

    def delete(self, rows: Rows, *, version: str | int | None = None, stream: str | None = None) -> Logged:
        """Append a delete of some keys to the log.

        Raises the errors of `upsert`, such as `NothingToDo`, `SchemaMismatch`, `BadRows` and `Unavailable`.

        Example::

            profiles.log.delete({"user_id": 7})
        """
        return self._append(rows, Intention("delete", version, stream=stream))

    def entries(self, after: int | None = None, *, changes: bool = False) -> Iterator[LogEntry]:
        """The entries behind one by its number, in their order, up to now; without `after` all that are kept.

        With `changes` each has the merged rows before and after it, by the law of fresh reads: a late row that loses
        has changed nothing. They are merged upon the newest commit that has none of these entries; where moves were
        taken back by an undo or a rollback since, entries count as if they had not been.

        Raises `NothingToDo` if the table has no log, `SnapshotExpired` if the next entry is not kept any more, and
        `StoreFailed` if one is damaged.

        Example::

            [entry.number for entry in profiles.log.entries(after=16)]
        """
        yield from self._told(after, 0.0, changes, is_from_now=False)

    def follow(
        self, after: int | None = None, *, seconds: float | None = None, changes: bool = False
    ) -> Iterator[LogEntry]:
        """The entries behind one as they come, each once; without `after` those that come from now on.

        It ends when there was none for so many `seconds`; with None it ends only with the loop. A follower that has
        ended goes on with `after=` the last number that it was given. `changes` is that of `entries`.

        Raises `NothingToDo` if the table has no log, `SnapshotExpired` if the next entry is not kept any more,
        `DefinitionError` if `seconds` is no time, and `StoreFailed` if an entry is damaged.

        Example::

            for entry in profiles.log.follow(seconds=60):
                print(entry.number, entry.rows.to_pylist())
        """
        check_wait(seconds, False)
        return self._told(after, seconds, changes, is_from_now=True)

    def _append(self, rows: object, intention: Intention) -> Logged:
        check_type("version", intention.version, str | int | None, "a number, or the name of a column")
        check_stream(intention.stream)
        begun_at = time.perf_counter()
        # Services that only read do not wait for the writer.
        from keylake.local.writing.logged import entry_of

        appended = self._appended(rows, intention, entry_of, _COLUMNS_AGE) or self._appended(
            rows, intention, entry_of, None
        )
        if appended is None:
            raise NothingToDo(
                f"The log of {self._name} was ended, or somebody is about to end it. Nothing was appended; write to "
                "the table. If table.log.state() still tells of the log, table.log.drop() ends it, or opens it again."
            )
        number, count = appended
        return Logged(number, count, time.perf_counter() - begun_at)

    def _appended(
        self,
        rows: object,
        intention: Intention,
        entry_of: Callable[[str, Layout, Intention, object], Entry],
        max_age: datetime.timedelta | None,
    ) -> tuple[int, int] | None:
        """The number and the rows of the entry, in the log that the table has, or had within an age.

        None where that may be another log by now.
        """
        try:
            metadata = self._plans.metadata(max_age)
            log = self._kept.of(metadata, self._name)
            entry = entry_of(self._name, self._plans.layout(max_age), intention, rows)
            return log.store.write(entry.packed(), least=self._kept.moved_before(metadata)), entry.rows
        except Closed:
            return None
        except OutcomeUnknown:
            raise
        except (NothingToDo, StoreFailed):
            if max_age is None:
                raise
            return None

    def _told(
        self, after: int | None, seconds: float | None, has_changes: object, *, is_from_now: bool
    ) -> Iterator[LogEntry]:
        check_type("after", after, int | None, "the number of an entry")
        check_type("changes", has_changes, bool, "True or False")
        store = self._kept.of(self._plans.metadata(), self._name).store
        start = after + 1 if after is not None else store.durable() if is_from_now else store.first()
        return self._from(store, max(start, 0), seconds, has_changes=bool(has_changes))

    def _from(self, store: LogStore, start: int, seconds: float | None, *, has_changes: bool) -> Iterator[LogEntry]:
        reader = store.reader(start)
        changes = self._changes_from(store, start) if has_changes else None
        quiet_since = time.monotonic()
        while True:
            frames = reader.new()
            layout = self._plans.layout(_COLUMNS_AGE) if frames else None
            if layout is not None and changes is not None and self._is_past(changes, layout, frames[0].number):
                changes = self._changes_from(store, frames[0].number)
            for frame in frames:
                assert layout is not None
                entry = read_entry(frame.number, frame.entry, Columns(layout.spec, layout.fields))
                changed = None if changes is None else changes.by(entry, len(frame.entry))
                if entry.columns:
                    yield replace(_told(frame.number, entry, layout), changes=changed)
            if frames:
                quiet_since = time.monotonic()
            elif seconds is not None and time.monotonic() - quiet_since >= seconds:
                return
            else:
                time.sleep(_LOOK_SECONDS)

    def _changes_from(self, store: LogStore, number: int) -> EntryChanges:
        """The changes by entries from a number on, upon a commit that has none of them."""
        metadata = self._plans.metadata()
        base = Base.before(self._name, metadata, self._kept.of(metadata, self._name).source, number)
        plan = self._plans.of(metadata, base.snapshot, metadata.current_schema_id)
        changes = EntryChanges(self._name, plan, base, self._files, self._plans.table.io)
        columns = Columns(plan.layout.spec, plan.layout.fields)
        reader = store.reader(base.floor)
        while base.floor < number and (frames := reader.new()):
            for frame in frames:
                if frame.number >= number:
                    return changes
                changes.add(read_entry(frame.number, frame.entry, columns), len(frame.entry))
        return changes

    def _is_past(self, changes: EntryChanges, layout: Layout, number: int) -> bool:
        """Changes begin anew upon a later commit, where columns have changed, or many entries are kept."""
        if changes.layout is not layout and changes.layout.fields != layout.fields:
            return True
        if changes.rows < _MOST_KEPT_ROWS:
            return False
        metadata = self._plans.metadata(_COLUMNS_AGE)
        source = self._kept.of(metadata, self._name).source
        return Base.before(self._name, metadata, source, number).floor > changes.base.floor


def _told(number: int, entry: Entry, layout: Layout) -> LogEntry:
    """An entry with the names that columns have now."""
    return LogEntry(number, entry.verb, entry.at, entry.stream, table_of(entry, layout), entry.versions)


def _place(name: str, metadata: TableMetadata) -> TablePlace:
    return TablePlace(name, metadata.location, str(metadata.table_uuid), metadata.properties.get(LOG_PROPERTY))


def check_stream(stream: object) -> None:
    """Refuses what no commit could say of its stream."""
    check_type("stream", stream, str | None, "the name of a stream")
    if isinstance(stream, str) and any("\ud800" <= sign <= "\udfff" for sign in stream):
        raise DefinitionError(f"stream={stream!r} has a lone surrogate, which no text can have. Take it out.")


class KeptLog:
    """The log of a table as this process has opened it."""

    def __init__(self) -> None:
        self.known: FreshRows | None = None
        self._text = ""  # the property that it is of
        self._moved: tuple[TableMetadata | None, int] = (None, 0)
        self._lock = ProcessLock()

    def moved_before(self, metadata: TableMetadata) -> int:
        """The number before which all is in files, as metadata say that are those of many requests."""
        known, before = self._moved
        if known is not metadata and self.known is not None:
            before = moved_before(metadata, self.known.source)
            self._moved = metadata, before
        return before

    def of(self, metadata: TableMetadata, name: str) -> FreshRows:
        """The log that metadata say."""
        text = metadata.properties.get(LOG_PROPERTY)
        if text is None:
            raise NothingToDo(f"{name} has no log. Give it one: table.log.begin(kl.FileLog()).")
        with self._lock:
            if self.known is None or text != self._text:
                stored = StoredLog.from_json(text)
                store = stored.store(metadata.location, str(metadata.table_uuid))
                self.known, self._text = FreshRows(name, stored.source, store), text
            return self.known

    def fresh(self, name: str, plans: Plans) -> tuple[Plan, LoggedRows | None]:
        """The files of main as they are now, and the rows of the log that are not in them."""
        for attempt in range(_ATTEMPTS + 1):
            known = self.known
            before = 0 if known is None else known.store.moved()
            metadata = plans.metadata()
            plan = plans.of(metadata, metadata.current_snapshot(), metadata.current_schema_id)
            if stored_log(metadata) is None:
                return plan, None
            log = self.of(metadata, name)
            if log is not known:
                continue  # the folder says how far it was moved, and has to be asked before the table is
            floor = max(before, moved_before(metadata, log.source))
            try:
                return plan, log.behind(plan.layout, floor)
            except SnapshotExpired:  # they were moved and removed since metadata were read
                if attempt == _ATTEMPTS:
                    raise
        raise AssertionError("the last attempt returns or fails")
