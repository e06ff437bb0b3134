"""Snapshots of tables in chunks, read by several connections while the log is read.

    key  ├── chunk ──┤├── chunk ──┤├── chunk ──┤    each in a transaction of its own: the place of the log, then rows

The rows of a chunk have the place of the log as of which the chunk was read as their version. What the log has of these
rows from before is older than that, what it has from after is newer, and the newest counts wherever it comes first, a
tombstone too: chunks need no lock on the table, and no comparison with the log. MariaDB says the place of a consistent
snapshot exactly. MySQL does not: there the end of the log is asked for first, and rows are then read with FOR SHARE,
which waits for transactions that are in the log and not yet in the table. One that is prepared and not committed may
keep its locks for days: after some seconds the reader gives up, tries again, and the source says what it waits for.

A chunk is given when the log was read up to its place, and only if no statement changed the table since: its rows then
have the columns that the table has at that place of the log. Otherwise it is read again.
"""

# pyright: reportUnknownParameterType=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

import pyarrow as pa

from keylake.errors import KeylakeError, SourceFailed
from keylake.extension import quoted
from keylake_pipelines.mysql.catalog import PERIOD
from keylake_pipelines.mysql.keys import BEGIN, KeyColumn, Offsets, after, up_to
from keylake_pipelines.mysql.places import place_of
from keylake_pipelines.mysql.server import Server, log_end, rows_of, values_of
from keylake_pipelines.mysql.values.forms import form_of
from keylake_pipelines.mysql.values.literals import column_literals, row_literals
from keylake_pipelines.mysql.words import Name
from keylake_pipelines.source.absence import SourceAway
from keylake_pipelines.source.tables import SourceColumn, SourceTable, TableReread

Found = TypeVar("Found")
_LOCKED = 1205  # a wait was too long
_MOVED = (1054, 1146, 1412, 1051, _LOCKED, 1213)  # the table has changed meanwhile, or is locked: read again
_LOCK_SECONDS = 5  # that a chunk waits for rows that are locked, before it is read again


class TableUnreadable(SourceFailed):
    """The server gives no rows of a table: it is damaged, or the user may not read it any more. Others may be read."""

    def __init__(self, name: Name, why: str) -> None:
        super().__init__(why)
        self.name = name


@dataclass(frozen=True)
class Read:
    """The result of a read of a chunk: rows as JSON, columns, the place of the log, and `sql` of the last row."""

    rows: pa.ChunkedArray
    columns: tuple[SourceColumn, ...]
    place: int
    last: str | None  # None: the chunk is empty, or the last one
    offsets: Offsets | None


@dataclass
class Chunk:
    """A range of keys, from behind `low` up to `high`; None: from the beginning, to the end."""

    low: tuple[object, ...] | None
    high: tuple[object, ...] | None
    including_low: bool = False
    read: Future[Read | None] | None = None
    waits: bool = False  # for rows that are locked


@dataclass
class Snapshot:
    """The state of the snapshot of a table: the offset that it has come to, and the chunks that are being read."""

    name: Name
    partition: str
    at: int = BEGIN
    since: int | None = None  # the place where rows of the table went without a word in the log
    chunks: list[Chunk] = field(default_factory=list[Chunk])
    high: tuple[object, ...] | None = None  # up to which chunks are planned
    planned: bool = False  # up to the end of the table
    begun: bool = False
    oldest: int | None = None  # the place of the first chunk
    begun_at: float = 0.0
    given: bool = False  # some of its rows
    not_before: float | None = None  # when it may begin, of one that is made since rows of parents changed
    stale: int | None = None  # the place where rows that were given have changed without a word in the log

    def __post_init__(self) -> None:
        self._is_resumed = self.at != BEGIN

    @property
    def waits(self) -> bool:
        """The next rows of the snapshot are locked by others."""
        return bool(self.chunks) and self.chunks[0].waits

    def take(self, read: Read) -> None:
        """The first chunk is given."""
        self.chunks.pop(0)
        self.given = True
        self.oldest = read.place if self.oldest is None else min(self.oldest, read.place)

    def gone(self) -> tuple[TableReread, ...]:
        """The change that removes rows which the snapshot did not find, as older than it; none without `since`."""
        if self.since is None:
            return ()
        before = self.since if self._is_resumed or self.oldest is None else max(self.since, self.oldest)
        return (TableReread(SourceTable(self.name), before),)


class ChunkReader:
    """Reads chunks with connections of its own, in threads."""

    def __init__(self, server: Server, connections: int, chunk_rows: int) -> None:
        self._server = server
        self._chunk_rows = chunk_rows
        self._threads = ThreadPoolExecutor(connections, thread_name_prefix="keylake-snapshot")
        self._idle: SimpleQueue[Any] = SimpleQueue()

    def close(self) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)
        self.forget()

    def forget(self) -> None:
        """End the connections that nobody uses: after a cut they are dead."""
        with suppress(Empty):
            while True:
                self._idle.get_nowait().close()

    def submit(self, snapshot: Snapshot, chunk: Chunk, key: tuple[str, ...]) -> None:
        chunk.read = self._threads.submit(
            self._with_connection, lambda held: self._read(held, snapshot.name, key, chunk)
        )

    def plan(self, snapshot: Snapshot, key: tuple[str, ...], connection: Any) -> Chunk | None:
        """The next range of keys of a snapshot, or None where the table has changed and the log does not say so yet."""
        return self._unmoved(connection, snapshot.name, lambda: self._plan(snapshot, key, connection))

    def _plan(self, snapshot: Snapshot, key: tuple[str, ...], connection: Any) -> Chunk | None:
        columns = self._key(connection, snapshot.name, key)
        low = snapshot.high
        including = False
        if not snapshot.begun:
            low = self._found_again(connection, snapshot, columns) if columns else None
            including = low is not None
        if not columns:
            snapshot.planned = True
            return Chunk(None, None)
        if low is not None and not including and len(low) != len(columns):
            return None  # the table has another key now
        if low is None:
            where, values = "TRUE", list[object]()
        elif including:  # of a key of several columns the first is known
            where, values = f"{columns[0].sql} >= %s", [low[0]]
        else:
            where, values = after(columns, low)
        names = ", ".join(column.sql for column in columns)
        order = ", ".join(quoted(column.name) for column in columns)
        table = quoted_table(snapshot.name)
        found = rows_of(
            connection,
            f"SELECT {names} FROM {table} WHERE {where} ORDER BY {order} LIMIT 1 OFFSET {self._chunk_rows - 1}",
            values,
        )
        snapshot.begun = True
        high = tuple(column.value(value) for column, value in zip(columns, found[0], strict=True)) if found else None
        snapshot.high, snapshot.planned = high, high is None
        return Chunk(low, high, including)

    def _found_again(self, connection: Any, snapshot: Snapshot, key: Sequence[KeyColumn]) -> tuple[object, ...] | None:
        """A first value of the key at or before the place where the snapshot was."""
        value, weight = Offsets(key).first_value(snapshot.at)
        if weight is None:
            return None if value is None else (value,)
        first = key[0]
        found = rows_of(
            connection,
            f"SELECT {first.sql} FROM {quoted_table(snapshot.name)} WHERE CAST({first.weight} AS UNSIGNED) >= %s"
            f" ORDER BY {quoted(first.name)} LIMIT 1",
            [weight],
        )
        return (first.value(found[0][0]),) if found else None

    def _key(self, connection: Any, name: Name, key: tuple[str, ...]) -> list[KeyColumn]:
        """The columns of the primary key, or none if the table is to be read as a whole."""
        found = rows_of(  # with a join of the two, MariaDB opens every table that it has
            connection,
            "SELECT column_name FROM information_schema.key_column_usage"
            " WHERE constraint_name = 'PRIMARY' AND table_schema = %s AND table_name = %s ORDER BY ordinal_position",
            name,
        )
        kinds = {
            column: (kind, collation)
            for column, kind, collation in rows_of(
                connection,
                "SELECT column_name, column_type, COALESCE(collation_name, '') FROM information_schema.columns"
                " WHERE table_schema = %s AND table_name = %s AND COALESCE(generation_expression, '') NOT IN %s",
                [*name, PERIOD],
            )
        }
        if tuple(column for (column,) in found if column in kinds) != key:
            return []
        columns: list[KeyColumn] = []
        for column in key:
            kind, collation = kinds[column]
            definition = kind.decode() if isinstance(kind, bytes) else kind
            form = form_of(definition)
            if form is None or form.name in ("float", "double"):
                return []
            columns.append(KeyColumn(column, form, definition, collation))
        return columns

    def _with_connection(self, work: Callable[[Any], Read | None]) -> Read | None:
        try:
            connection = self._idle.get_nowait()
        except Empty:
            connection = self._server.connect(self._server.rows_seconds)
        try:
            result = work(connection)
        except BaseException:
            with suppress(Exception):
                connection.close()
            raise
        self._idle.put(connection)
        return result

    def _read(self, connection: Any, name: Name, key: tuple[str, ...], chunk: Chunk) -> Read | None:
        """The rows of a chunk, or None if the table changed while it was read, or is locked."""
        return self._unmoved(connection, name, lambda: self._read_once(connection, name, key, chunk), chunk)

    def _unmoved(
        self, connection: Any, name: Name, read: Callable[[], Found | None], chunk: Chunk | None = None
    ) -> Found | None:
        """The result of a read of a table, or None if the table changed meanwhile."""
        import pymysql

        try:
            with self._server.asked(f"reading {'.'.join(name)}"):
                return read()
        except Exception as error:
            cause = error.__context__
            if isinstance(cause, pymysql.MySQLError) and cause.args and cause.args[0] in _MOVED:
                if chunk is not None:
                    chunk.waits = cause.args[0] == _LOCKED
                with self._server.asked(f"reading {'.'.join(name)}"):
                    connection.rollback()
                return None
            if isinstance(error, KeylakeError) and not isinstance(error, SourceAway):
                raise TableUnreadable(name, str(error)) from None
            raise

    def _read_once(self, connection: Any, name: Name, key: tuple[str, ...], chunk: Chunk) -> Read | None:
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        said = dict(rows_of(connection, "SHOW STATUS LIKE 'binlog_snapshot_%'"))
        reading = ""
        if said.get("Binlog_snapshot_file"):
            place = place_of(said["Binlog_snapshot_file"], int(said["Binlog_snapshot_position"]))
        else:
            connection.rollback()
            with connection.cursor() as cursor:
                cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
                cursor.execute(f"SET SESSION innodb_lock_wait_timeout = {_LOCK_SECONDS}")
            place = place_of(*log_end(connection))
            connection.begin()
            reading = " FOR SHARE"
        columns, selected, forms = described(connection, name)
        if not columns:
            connection.rollback()
            return None
        keys = self._key(connection, name, key)
        bounds = [None if chunk.including_low else chunk.low, chunk.high]
        if keys and any(bound is not None and len(bound) != len(keys) for bound in bounds):
            connection.rollback()
            return None  # the table has another key now
        where: list[str] = []
        values: list[object] = []
        if chunk.low is not None and keys:
            condition, used = (
                (f"{keys[0].sql} >= %s", [chunk.low[0]]) if chunk.including_low else after(keys, chunk.low)
            )
            where, values = [condition], used
        if chunk.high is not None and keys:
            condition, used = up_to(keys, chunk.high)
            where, values = [*where, condition], [*values, *used]
        offsets = Offsets(keys) if keys else None
        number = f", {offsets.sql}" if offsets else ""
        order = " ORDER BY " + ", ".join(quoted(column.name) for column in keys) if keys else ""
        found = values_of(
            connection,
            f"SELECT {', '.join(selected)}{number} FROM {quoted_table(name)}"
            f" WHERE {' AND '.join(where) or 'TRUE'}{order}{reading}",
            values,
        )
        connection.commit()
        rows: list[pa.Array] = []
        last: pa.Scalar | None = None
        for part in found:
            rows.append(as_json(part[: len(columns)], columns, forms))
            last = part[-1][-1]
        ends = None if last is None or chunk.high is None else last.as_py().decode()
        return Read(pa.chunked_array(rows, pa.string()), tuple(columns), place, ends, offsets)


def described(connection: Any, name: Name) -> tuple[list[SourceColumn], list[str], list[str]]:
    """The columns of a table as they are now, how each is selected, and the form of its values."""
    found = rows_of(
        connection,
        "SELECT column_name, column_type, column_comment FROM information_schema.columns"
        " WHERE table_schema = %s AND table_name = %s AND COALESCE(generation_expression, '') NOT IN %s"
        " ORDER BY ordinal_position",
        [*name, PERIOD],
    )
    columns: list[SourceColumn] = []
    selected: list[str] = []
    forms: list[str] = []
    for column, kind, comment in found:
        form = form_of(kind.decode() if isinstance(kind, bytes) else kind)
        if form is None:
            continue
        columns.append(SourceColumn(column, form.type, comment))
        forms.append(form.name)
        # A FLOAT in text has six digits only, as a double it has all.
        selected.append(f"({quoted(column)} * 1e0)" if form.name == "float" else quoted(column))
    return columns, selected, forms


def as_json(values: Sequence[pa.Array], columns: Sequence[SourceColumn], forms: Sequence[str]) -> pa.Array:
    """Rows of an answer as JSON objects, from its columns."""
    literals = [column_literals(form, each) for form, each in zip(forms, values, strict=True)]
    return row_literals([column.name for column in columns], literals)


def what_locks(connection: Any, names: Sequence[Name]) -> str:
    """A sentence about tables that wait for locks, and how these are let go."""
    import pymysql

    tables = ", ".join(".".join(name) for name in names)
    said = (
        f"Rows of {tables} are locked by a transaction that has not ended, and the reading of the table waits for it."
    )
    try:
        prepared = [_xid(*row) for row in rows_of(connection, "XA RECOVER CONVERT XID")]
    except pymysql.MySQLError:  # of a user who may not see them
        return (
            f"{said} Run XA RECOVER CONVERT XID as a user with XA_RECOVER_ADMIN, and XA COMMIT or XA ROLLBACK of what"
            " it names; where it names nothing, end the session that SHOW ENGINE INNODB STATUS names (KILL)."
        )
    if not prepared:
        return f"{said} No XA transaction is prepared: end the session that SHOW ENGINE INNODB STATUS names (KILL)."
    ways = " or ".join(f"XA {verb} {prepared[0]}" for verb in ("COMMIT", "ROLLBACK"))
    return f"{said} XA transactions are prepared and not committed: {'; '.join(prepared)}. Run {ways}."


def _xid(format_: object, name_bytes: object, branch_bytes: object, data: object) -> str:
    """An XA transaction, as statements name it."""
    digits = (data.decode() if isinstance(data, bytes) else str(data)).removeprefix("0x")
    end, until = 2 * int(str(name_bytes)), 2 * (int(str(name_bytes)) + int(str(branch_bytes)))
    branch = f",X'{digits[end:until]}',{format_}" if until > end or str(format_) != "1" else ""
    try:
        name = bytes.fromhex(digits[:end]).decode("ascii")
    except UnicodeDecodeError:
        name = ""
    plain = bool(name) and name.isprintable() and not set(name) & {"'", "\\"}
    return f"'{name}'{branch}" if plain else f"X'{digits[:end]}'{branch}"


def quoted_table(name: Name) -> str:
    """The name of a table in statements."""
    return f"{quoted(name[0])}.{quoted(name[1])}"
