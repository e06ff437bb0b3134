"""Rows that lie in tables, read in ranges of blocks by several connections, all as of one place in the log.

    a slot that ends with its connection ──▶ its snapshot, and the place: exactly the commits before it are in there
                                                │
    connections ── a transaction for each range: SET TRANSACTION SNAPSHOT, FETCH, ends ──▶ ranges in order

The main slot has the log from before that place on, so that nothing lies between the two, and a row of the snapshot has
a version below every later commit. Nothing is locked longer than a range is read. When the reading begins again after a
break, what is left is read as of a later place: a row that has moved into a range that was read is in the log, whose
updates up to that place may lack large values that nothing else has. So the position behind the last range has that
place in it, and values of updates from before it are looked up.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet  # Python's own from 3.11 on
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, cast

import psycopg
from psycopg import sql

from keylake.errors import SourceFailed
from keylake_pipelines.postgres.positions import place, version_of_snapshot
from keylake_pipelines.postgres.rows import Layout, Row, Rows
from keylake_pipelines.postgres.server import Server
from keylake_pipelines.postgres.tables import END, StoredRows, Table
from keylake_pipelines.source.absence import SourceAway
from keylake_pipelines.source.source import Step
from keylake_pipelines.source.tables import TableRefused

if TYPE_CHECKING:
    from keylake_pipelines.postgres.server import Connection

BLOCKS_OF_A_RANGE = 512
_RANGES_AHEAD = 2  # of each connection
_FETCH = "FETCH 5000 FROM stored"
# What importing a snapshot fails with, by version of the server, when the connection that exported it is gone.
_GONE = (
    psycopg.errors.UndefinedObject,
    psycopg.errors.InvalidParameterValue,
    psycopg.errors.ObjectNotInPrerequisiteState,
)


@dataclass(frozen=True)
class Range:
    """Blocks of stored rows, from the first up to before the end."""

    stored: StoredRows
    table: Table
    first: int
    end: int


class Moved(Exception):  # noqa: N818 - no fault: the table has to be looked at again
    """Rows of a range cannot be read as of the snapshot: the table was rewritten, emptied, changed or dropped since."""

    def __init__(self, stored: StoredRows) -> None:
        super().__init__(stored.partition)
        self.stored = stored


class Unreadable(Exception):  # noqa: N818 - no fault either: other tables can be read
    """The server gives no rows of a range: they are damaged, or a limit of the server ends the statement."""

    def __init__(self, table: Table, why: SourceFailed) -> None:
        super().__init__(str(why))
        self.table = table

    @property
    def change(self) -> TableRefused:
        """The change that is told of the table."""
        return TableRefused(self.table.name, str(self))


def ranges_of(stored: StoredRows, table: Table, first: int) -> Iterator[Range]:
    """The ranges that are left to read from a block on; the last one has no end, for the table may have grown."""
    while first + BLOCKS_OF_A_RANGE < stored.blocks:
        yield Range(stored, table, first, first + BLOCKS_OF_A_RANGE)
        first += BLOCKS_OF_A_RANGE
    yield Range(stored, table, first, END)


class Snapshot:
    """One reading of stored rows. Steps come in order; `close` ends it at any time."""

    def __init__(self, server: Server, slot: str, ranges: Sequence[Range], connections: int) -> None:
        self._server = server
        self._left = deque(ranges)
        self._most_ahead = connections * _RANGES_AHEAD
        self._pool = ThreadPoolExecutor(connections, thread_name_prefix="keylake-postgres")
        self._idle: SimpleQueue[Connection] = SimpleQueue()
        self._opened: list[Connection] = []
        self._ahead: deque[Future[Step]] = deque()
        self._closed = False
        # The name of a slot has at most 63 signs.
        self._name = f"{slot[:40]}_rows_{os.getpid()}_{id(self) % 1_000_000}"
        self._exported = self._pool.submit(self._export)

    def _export(self) -> tuple[str, int]:
        """The name of a snapshot, and its place. Waits until transactions that run now have ended."""
        connection = self._open(self._server.replication())
        statement = f'CREATE_REPLICATION_SLOT "{self._name}" TEMPORARY LOGICAL pgoutput EXPORT_SNAPSHOT'
        row: Any = connection.execute(statement.encode()).fetchone()
        return str(row[2]), place(str(row[1]))

    def _open(self, connection: Connection) -> Connection:
        self._opened.append(connection)
        if self._closed:
            connection.close()
        return connection

    def ready(self, seconds: float) -> Step | None:
        """The next range as a step, None if it is not read in time; raises Moved, Unreadable and psycopg.Error."""
        try:
            name, consistent = self._exported.result(seconds)
        except NotYet:
            return None
        while self._left and len(self._ahead) < self._most_ahead:
            self._ahead.append(self._pool.submit(self._read, self._left.popleft(), name, consistent))
        if not self._ahead:
            return None
        try:
            step = self._ahead[0].result(seconds)
        except NotYet:
            return None
        self._ahead.popleft()
        return step

    @property
    def done(self) -> bool:
        """All ranges were given."""
        return not self._left and not self._ahead

    def _read(self, wanted: Range, name: str, consistent: int) -> Step:
        try:
            connection = self._idle.get_nowait()
        except Empty:
            connection = self._open(self._server.texts())
        stored = wanted.stored
        layout = Layout(wanted.table, wanted.table.columns)
        rows = Rows(stored.partition)
        version = version_of_snapshot(consistent)
        try:
            with connection.transaction(), connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                _import(cursor, name)
                cursor.execute(_cursor_of(wanted))
                while some := cursor.execute(_FETCH).fetchall():
                    rows.add_stored(layout, cast("list[Row]", some), version, wanted.first)
                # The range has a lock that keeps others from rewriting the table until the transaction ends.
                cursor.execute("SELECT pg_relation_filenode(%s::oid)::int8", (stored.number,))
                found: Any = cursor.fetchone()
        except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn):
            raise Moved(stored) from None
        except psycopg.Error as error:
            failure = self._server.failed(error, f"reading {stored.of}")
            if isinstance(failure, SourceAway):
                raise
            raise Unreadable(wanted.table, failure) from None
        if int(found[0]) != stored.file:
            raise Moved(stored)
        self._idle.put(connection)
        return rows.step({stored.partition: END + consistent if wanted.end == END else wanted.end})

    def close(self) -> None:
        """End all connections, and the snapshot with them."""
        self._closed = True
        for each in self._ahead:
            each.cancel()
        for connection in list(self._opened):
            # What runs there ends with an error in its own thread.
            with suppress(psycopg.Error):
                connection.cancel()
        self._pool.shutdown(wait=True, cancel_futures=True)
        for connection in self._opened:
            connection.close()


def _import(cursor: psycopg.Cursor[tuple[object, ...]], name: str) -> None:
    try:
        cursor.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(name))
    except _GONE:
        raise psycopg.OperationalError(f"the connection that exported snapshot {name} was cut") from None


def _cursor_of(wanted: Range) -> sql.Composed:
    """Rows of a range; the names of columns are those of now, which the log may still be behind."""
    stored = wanted.stored
    end = sql.SQL("") if wanted.end == END else sql.SQL(" AND ctid < {}::tid").format(f"({wanted.end},0)")
    return sql.SQL("DECLARE stored NO SCROLL CURSOR FOR SELECT {} FROM ONLY {} WHERE ctid >= {}::tid{}").format(
        sql.SQL(", ").join(sql.Identifier(each.name) for each in wanted.table.columns),
        sql.Identifier(stored.schema, stored.name),
        f"({wanted.first},0)",
        end,
    )
