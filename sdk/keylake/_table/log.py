"""The log of a table beside a server: it begins and ends here, and its entries are moved to files of the table.

    keylake.local: table.log.update(rows)  ──▶  entries  ──  table.log.move()  ──▶  one commit with their offsets

A move is a write with offsets, so that each entry counts once, however many move at the same time, and however often
one of them dies. Entries that were taken back by an undo or a rollback stay so: their offsets are given again, without
rows.
"""

# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
from pyiceberg.schema import Schema

from keylake._display.html_table import ShownFields
from keylake._log.definition import FileLog, KafkaLog
from keylake._log.entries import Entry
from keylake._log.messages import Columns, entry_of
from keylake._log.state import LogState
from keylake._log.store import LogStore
from keylake._log.stored_log import StoredLog, TablePlace, drop
from keylake._log.written import COLUMNS_FROM, OP, ROW_ORDER, VERSION, written_rows
from keylake._rows.intention import offsets_in_json
from keylake._server.statements import Write
from keylake._table.handle import Handle, Namespace, Verbs
from keylake.errors import BadRows, DefinitionError, NothingToDo, StoreFailed, check_count, check_type
from keylake.results import Commit

MOST_ROWS, MOST_BYTES = 100_000, 64 << 20  # of a commit
_ENDLESS = 2**63 - 1


@dataclass(frozen=True)
class Moved(ShownFields):
    """A move of a log: how many entries and rows are in files now that were not, by how many commits.

    >>> print(Moved(entries=120, rows=118, commits=1, seconds=0.61))
    120 entries moved: 118 rows in 1 commit, 0.6 s
    """

    entries: int
    rows: int
    commits: int
    seconds: float

    def __str__(self) -> str:
        if not self.entries:
            return "no entry to move"
        many = "1 entry" if self.entries == 1 else f"{self.entries:,} entries"
        commits = "1 commit" if self.commits == 1 else f"{self.commits} commits"
        return f"{many} moved: {self.rows:,} row{'' if self.rows == 1 else 's'} in {commits}, {self.seconds:.1f} s"


@dataclass(frozen=True)
class _OpenLog:
    """The log of a table, with the entry at which its main goes on, and the one before which all were moved once."""

    stored: StoredLog
    store: LogStore
    schema: Schema
    next: int
    gap_end: int  # the entry from which entries are there again behind the next one
    moved: int


class Log(Namespace):
    """`table.log`: the log of the table, to which `keylake.local` appends writes: it begins, ends and is moved here.

    A log in files is on a disk, which this process has to share with those that append.
    """

    def begin(self, log: FileLog | KafkaLog | None = None) -> LogState:
        """Give the table a log, to which `keylake.local` appends writes that are durable at once.

        Raises `DefinitionError` if the table has a log, or its folder is there already, `Unsupported` for a table in an
        object store where no folder is given, and `StoreFailed` if the folder cannot be made.

        Example::

            profiles.log.begin(kl.FileLog())
        """
        main = self._handle.on_main
        _place(main, _said(main)).begin(log, lambda text: main.call("set_log", definition=text))
        return self.state()

    def drop(self, *, lost: bool = False) -> None:
        """End the log of the table, when all of its entries are in files. Its folder is deleted.

        With `lost=True` entries that are not in files are given up.

        Raises `NothingToDo` if the table has no log, and `DefinitionError` if entries are left to move.

        Example::

            profiles.log.drop()
        """
        main = self._handle.on_main
        said = _said(main)
        if _place(main, said).removes_left(lost):
            return
        _, store = self._stored(said)
        drop(store, lambda: self._opened().moved, lambda: main.call("set_log"), lost=lost)

    def state(self) -> LogState:
        """Tell how far the log has got, and how many entries are not in files yet.

        Raises `NothingToDo` if the table has no log, and `StoreFailed` if its folder is gone or damaged.

        Example::

            profiles.log.state().waiting
        """
        opened = self._opened()
        store = opened.store
        return LogState(store.place, store.first(), opened.moved, store.durable())

    def move(self) -> Moved:
        """Move the entries that are durable now to files of the table: up to 100,000 rows a commit, each entry once.

        Several may move at once, and any of them may die: an entry counts once. No answer of a fresh read changes.
        Entries that were moved are deleted when the log need not keep them any more.

        Raises `NothingToDo` if the table has no log, `StoreFailed` if its folder is gone or an entry is damaged, and
        otherwise the errors of `apply_changes`, such as `CommitConflict` and `ForeignCommit`.

        Example::

            profiles.log.move()
        """
        begun_at = time.perf_counter()
        entries = rows = commits = 0
        opened = self._opened()
        until = opened.store.durable()
        while True:
            opened = self._passed_over(opened)
            opened.store.say_moved(opened.moved)
            batch = self._batch(opened, until)
            if not batch:
                break
            begin, end = batch[0][0], batch[-1][0] + 1
            made = self._written(opened, batch, begin, end)
            if made is not None:
                entries, rows, commits = entries + len(batch), rows + made.rows, commits + 1
            opened = self._opened()
        opened.store.remove(opened.moved, older_than=opened.stored.log.keep.total_seconds())
        return Moved(entries, rows, commits, time.perf_counter() - begun_at)

    def skip(self, *, until: int) -> None:
        """Leave out the entries before a number that were not moved, such as damaged ones: they are lost.

        Raises `NothingToDo` if the table has no log, or such entries are in files already, and `DefinitionError` for a
        number that the log has not come to.

        Example::

            profiles.log.skip(until=18)
        """
        check_count("until", until)
        opened = self._opened()
        end = max(opened.store.durable(), opened.store.first())
        if until > end:
            raise DefinitionError(f"until={until} is behind the end of the log: its next entry is {end}.")
        if until <= opened.moved:
            raise NothingToDo(f"The entries before {until} are in files: the log was moved up to {opened.moved}.")
        opened = self._passed_over(opened)
        opened.store.leave_out(until)
        self._written(opened, (), opened.next, until)
        opened.store.say_moved(until)

    # ------------------------------------------------------------------------------------------------------ inside

    def _stored(self, said: Mapping[str, Any]) -> tuple[StoredLog, LogStore]:
        """The log that the server says."""
        if said["definition"] is None:
            raise NothingToDo(f"{self._handle.path} has no log. Give it one: table.log.begin(kl.FileLog()).")
        return _kept(said["definition"], said["location"], said["table_uuid"])

    def _opened(self) -> _OpenLog:
        """The log as the server says it now."""
        said = _said(self._handle.on_main)
        stored, store = self._stored(said)
        schema = Schema.model_validate_json(said["schema"])
        gap_end = _ENDLESS if said["gap_end"] is None else said["gap_end"]
        moved = max(said["moved_before"], store.moved())
        return _OpenLog(stored, store, schema, said["next_offset"], gap_end, moved)

    def _passed_over(self, opened: _OpenLog) -> _OpenLog:
        """The log, where entries that were moved and taken back since are passed over: their offsets get no rows."""
        while opened.next < opened.moved:
            self._written(opened, (), opened.next, min(opened.gap_end, opened.moved))
            before, opened = opened, self._opened()
            if opened.next <= before.next:
                raise BadRows(
                    f"The log of {self._handle.path} goes on at entry {opened.next}, and entries up to {opened.moved} "
                    "were moved and taken back. Undo the other moves, too, or end the log: table.log.drop(lost=True)."
                )
        return opened

    def _written(self, opened: _OpenLog, batch: Sequence[tuple[int, Entry]], begin: int, end: int) -> Commit | None:
        """Commit entries with their offsets; None where somebody else has moved some of them."""
        begun_at = time.perf_counter()
        offsets = {opened.stored.source: (begin, end)}
        write_id = str(uuid.uuid4())
        options = {
            "verb": "apply_changes",
            "op": OP,
            "columns_from": COLUMNS_FROM,
            "row_order": ROW_ORDER,
            "version": None if self.spec.versions == "commit" else VERSION,
            "stream": _stream_of(batch),
            "writer": self._handle.session.writer,
            "write_id": write_id,
            "offsets": offsets_in_json(offsets),
        }
        said = tuple((name, value) for name, value in options.items() if value is not None)
        main = self._handle.on_main
        try:
            with main.session.local_frame(self._frame(opened, batch)) as frame:
                main.session.write(Write(main.path, said), frame, None)
        except BadRows:
            if self._opened().next == opened.next:
                raise
            return None
        found = main.call("commits", write_id=write_id)
        return Commit.from_row(found[0], time.perf_counter() - begun_at) if found else None

    def _batch(self, opened: _OpenLog, until: int) -> list[tuple[int, Entry]]:
        """The entries of one commit; those before one that cannot be read are a commit of their own."""
        batch: list[tuple[int, Entry]] = []
        try:
            for number, entry in _entries(opened, until, self._columns(opened)):
                batch.append((number, entry))
        except StoreFailed:
            if not batch:
                raise
        return batch

    def _columns(self, opened: _OpenLog) -> Columns:
        return Columns(self._current(), {field.name: field for field in opened.schema.fields})

    def _frame(self, opened: _OpenLog, batch: Sequence[tuple[int, Entry]]) -> pa.Table:
        columns = self._columns(opened)
        spec = columns.spec
        key, values = ([columns.fields[name] for name in names] for names in (spec.key, spec.value_columns))
        written = [entry for _, entry in batch if entry.columns]
        return written_rows(written, key, values, has_versions=spec.versions != "commit")


@lru_cache(maxsize=64)
def _kept(definition: str, location: str, table_uuid: str) -> tuple[StoredLog, LogStore]:
    """A log as this process has opened it: moves of many follow each other."""
    stored = StoredLog.from_json(definition)
    return stored, stored.store(location, table_uuid)


def see_log(table: Verbs, handle: Handle, fresh: object, **said: object) -> None:
    """Move what a fresh read of a table has to see, if it has a log; `said` are the words of other moments."""
    check_type("fresh", fresh, bool, "True or False")
    if not fresh:
        return
    for name, value in said.items():
        if value is not None:
            raise DefinitionError(f"fresh=True reads main as it is now. Leave {name}={value!r} out, or fresh=True.")
    if handle.path.branch is not None or handle.experiment is not None:
        raise DefinitionError(f"fresh=True reads main, and this is {handle.path}. Leave it out.")
    if _said(handle.on_main)["definition"] is not None:
        Log(table).move()


def _said(main: Handle) -> dict[str, Any]:
    return main.call("log")[0]


def _place(main: Handle, said: dict[str, Any]) -> TablePlace:
    return TablePlace(str(main.path), said["location"], said["table_uuid"], said["definition"])


def _stream_of(batch: Sequence[tuple[int, Entry]]) -> str | None:
    streams = {entry.stream for _, entry in batch}
    return streams.pop() if len(streams) == 1 else None


def _entries(opened: _OpenLog, until: int, columns: Columns) -> Iterator[tuple[int, Entry]]:
    """The entries that come next, as many as one commit takes."""
    reader = opened.store.reader(opened.next)
    rows = size = 0
    while frames := reader.new():
        for frame in frames:
            entry = entry_of(frame.number, frame.entry, columns)
            size += len(frame.entry)
            is_full = rows > 0 and (rows + entry.rows > MOST_ROWS or size > MOST_BYTES)
            if frame.number >= until or is_full:
                return
            rows += entry.rows
            yield frame.number, entry
