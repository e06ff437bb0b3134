"""The binary log as transactions: rows of the tables that are read, and what statements did to tables.

    place ── events ──▶ (table map, rows)*, commit ──▶ Transaction
                        statement on tables       ──▶ Transaction without rows

mysql-replication speaks the protocol and takes events apart; images of rows are decoded by `images`, since its own
decoding loses values (sets lose their order, zero years and times after 2038 change) and takes several times longer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from keylake._captured.tables import TableChange
from keylake._mysql.gtids import Gtid
from keylake._mysql.known import KnownTables, Outcome
from keylake._mysql.maps import TableMap, table_map
from keylake._mysql.places import BEGINNING_OF_FILE, place_of, version_of
from keylake._mysql.rows import Rows, row_json
from keylake._mysql.server import Server, notice_silence, other_log
from keylake._mysql.statements import statement_of
from keylake._mysql.words import Name
from keylake.errors import SourceFailed

_COMPRESSED = (40, *range(165, 172))  # transactions of MySQL, statements and rows of MariaDB
_ROWS_IN_STATEMENTS = re.compile(r"\s*(?:INSERT|UPDATE|DELETE|REPLACE|LOAD)\b", re.IGNORECASE)
_ENDS = ("COMMIT", "ROLLBACK")
_STATUS = "_read_status_vars_value_for_key"


@dataclass
class Transaction:
    """What was committed at once, and the place behind it."""

    rows: Rows
    end: int = 0
    at: int | None = None
    gtid: Gtid | None = None  # where no rows are read
    before: list[TableChange] = field(default_factory=list)  # hold for its own rows
    outcome: Outcome = field(default_factory=Outcome)


def read_newer_statements() -> None:
    """Lets mysql-replication (1.0.17) pass over what MariaDB 11 writes in front of a statement, which it refuses."""
    from pymysqlreplication.event import QueryEvent

    def pass_over(event: Any, _key: int) -> None:
        event.packet.advance(event.status_vars_length - 1)

    setattr(QueryEvent, _STATUS, pass_over)


class _Connections:
    """Connections for mysql-replication, which has an old name of an argument that warns.

    One of them, without a database, is the stream, and is made once: where the library would make it anew after a cut,
    it would go on within a transaction, whose first rows are forgotten then.
    """

    def __init__(self) -> None:
        self._has_stream = False

    def __call__(self, db: str | None = None, **settings: Any) -> Any:
        import pymysql
        from pymysql.constants import CR

        if db is None and self._has_stream:
            raise pymysql.err.OperationalError(CR.CR_SERVER_LOST, "the connection was cut")
        self._has_stream = self._has_stream or db is None
        connection = pymysql.connect(database=db, **settings)
        notice_silence(connection)
        return connection


class _Watched:
    """Tables whose columns mysql-replication takes apart: it fails at types of tables that nobody reads.

    It asks for the name of a table, and then for that of its database.
    """

    def __init__(self, tables: KnownTables) -> None:
        self._tables = tables
        self._asked = ""

    def names(self) -> Container[str]:
        return _Answers(self._any)

    def databases(self) -> Container[str]:
        return _Answers(lambda database: self._tables.watches((database, self._asked)))

    def _any(self, table: str) -> bool:
        self._asked = table
        return True


@dataclass(frozen=True)
class _Answers:
    """A container of what a question is answered with yes for."""

    question: Callable[[str], bool]

    def __contains__(self, name: object) -> bool:
        return self.question(str(name))


class BinaryLog:
    """Reads from a place on, in transactions, until there are no more."""

    def __init__(
        self, server: Server, number: int, charsets: dict[int, str], tables: KnownTables, with_rows: bool = True
    ) -> None:
        self._with_rows = with_rows
        self._server = server
        self._number = number
        self._charsets = charsets
        self._tables = tables
        self._stream: Any = None
        self._is_first_file = True  # of those that the stream comes to
        self._maps: dict[int, TableMap | None] = {}
        self._begins = 0  # the place where the transaction begins that is being read
        self.begun: int | None = None  # when the file began that was read last, in seconds
        self._found: list[TableChange] = []  # in a transaction that did not end yet
        self.again: set[Name] = set()  # tables of which a changed key came without the other columns
        self.unclear: set[Name] = set()  # tables with other columns than the statements on them say

    def close(self) -> None:
        if self._stream is not None:
            with suppress(Exception):  # what is let go of may be gone already
                self._stream.close()
            self._stream = None

    @property
    def is_open(self) -> bool:
        return self._stream is not None

    def open(self, file: str, byte: int) -> None:
        from pymysqlreplication import BinLogStreamReader
        from pymysqlreplication.event import (
            FormatDescriptionEvent,
            GtidEvent,
            MariadbGtidEvent,
            NotImplementedEvent,
            QueryEvent,
            XAPrepareEvent,
            XidEvent,
        )
        from pymysqlreplication.row_event import (
            DeleteRowsEvent,
            PartialUpdateRowsEvent,
            TableMapEvent,
            UpdateRowsEvent,
            WriteRowsEvent,
        )

        read_newer_statements()
        self._maps = {}
        self._found = []
        self._begins = place_of(file, byte)
        self._is_first_file = True
        watched = _Watched(self._tables)
        self._stream = BinLogStreamReader(
            self._server.settings(),
            server_id=self._number,
            log_file=file,
            log_pos=byte,
            resume_stream=True,
            blocking=False,
            freeze_schema=True,  # a table that changes gets another number, so each number is described once
            filter_non_implemented_events=False,
            only_tables=watched.names(),
            only_schemas=watched.databases(),
            enable_logging=False,
            pymysql_wrapper=_Connections(),
            only_events=[
                DeleteRowsEvent,
                FormatDescriptionEvent,
                NotImplementedEvent,
                PartialUpdateRowsEvent,
                QueryEvent,
                TableMapEvent,
                UpdateRowsEvent,
                WriteRowsEvent,
                XAPrepareEvent,
                XidEvent,
                *([] if self._with_rows else [GtidEvent, MariadbGtidEvent]),
            ],
        )

    def when_begun(self, file: str) -> int:
        """The second in which a file began."""
        self.open(file, BEGINNING_OF_FILE)
        with self._server.asked(f"reading {file}"):
            seconds: int = self._stream.fetchone().timestamp
        self.close()
        return seconds

    def transactions(self) -> Iterator[Transaction]:
        """One after the other; what is not asked for stays in the stream. At the end of the log the stream closes."""
        current = Transaction(Rows(self._server.name))
        while self._stream is not None:
            with self._server.asked("reading its log"):
                event = self._stream.fetchone()
            if event is None:
                self.close()
                return
            kind = type(event).__name__
            if kind == "FormatDescriptionEvent":
                goes_on = not self._is_first_file
                self._file_begins(event.timestamp)
                current = Transaction(Rows(self._server.name))  # a server that was killed wrote no end of its last one
                if goes_on:
                    self._begins = self._place()  # as where reading begins again here
                    yield Transaction(Rows(self._server.name), self._begins)  # a place and when its file began
            elif self._takes_part(event, kind, current):
                current.end = self._place()
                current.at = event.timestamp
                current.before, self._found = self._found, []
                self._begins = current.end
                done, current = current, Transaction(Rows(self._server.name))
                yield done

    def _place(self) -> int:
        return place_of(self._stream.log_file, self._stream.log_pos)

    def _file_begins(self, seconds: int) -> None:
        opened, self._is_first_file = self._is_first_file, False
        if opened and self.begun is not None and self.begun != seconds:
            file = self._stream.log_file
            self.close()
            raise other_log(self._server, file)
        self.begun = seconds
        self._maps = {}
        self._stream.table_map.clear()

    def _takes_part(self, event: Any, kind: str, current: Transaction) -> bool:
        """Adds what an event has to a transaction; True if the transaction ends with it."""
        if kind == "TableMapEvent":
            self._describe(event)
        elif kind in ("WriteRowsEvent", "UpdateRowsEvent", "DeleteRowsEvent"):
            self._rows(event, kind, current.rows)
        elif kind == "XidEvent":
            return True
        elif kind == "MariadbGtidEvent":
            current.gtid = (str(event.domain_id), event.gtid_seq_no)
        elif kind == "GtidEvent":
            current.gtid = (event.gtid.partition(":")[0], event.gno)
        elif kind == "QueryEvent":
            return self._statement(event, current)
        elif kind == "XAPrepareEvent":
            if len(current.rows):
                raise SourceFailed(
                    f"The log of {self._server.name} has an XA transaction, which cannot be read. Commit without XA."
                )
        elif kind == "PartialUpdateRowsEvent":
            raise SourceFailed(
                f"The log of {self._server.name} has parts of JSON values."
                " Run: SET GLOBAL binlog_row_value_options = ''"
            )
        elif event.event_type in _COMPRESSED:
            raise SourceFailed(
                f"The log of {self._server.name} is compressed (event {event.event_type})."
                " Run: SET GLOBAL log_bin_compress = OFF (MySQL: binlog_transaction_compression),"
                " and begin with a new snapshot."
            )
        return False

    def _describe(self, event: Any) -> None:
        name: Name = (event.schema, event.table)
        if not self._tables.watches(name):
            self._maps[event.table_id] = None
            return
        described = table_map(
            event, self._charsets, lambda column: self._tables.definition(name, column), self._server.name
        )
        found = self._tables.observe(name, described.columns, described.key)
        self._found.extend(found)
        if found:
            self.unclear.add(name)
        schema = self._tables.schema(name)
        described.key = schema.key if schema else described.key
        self._maps[event.table_id] = described if self._tables.takes(name) else None

    def _statement(self, event: Any, current: Transaction) -> bool:
        word = event.query.strip().upper()
        if word in ("BEGIN", "START TRANSACTION") or word.startswith("SAVEPOINT"):
            return False
        if word in _ENDS:
            if word == "ROLLBACK":
                current.rows = Rows(self._server.name)
            return True
        database = event.schema.decode() if isinstance(event.schema, bytes) else event.schema
        if _ROWS_IN_STATEMENTS.match(event.query) and any(name[0] == database for name in self._tables.schemas()):
            raise SourceFailed(
                f"The log of {self._server.name} has a statement instead of rows in database {database!r}:"
                " a session has another binlog_format than ROW. End that session, and begin with a new snapshot."
            )
        statement = statement_of(event.query, database)
        if statement is not None:
            current.outcome = self._tables.follow(statement)
        return True

    def _rows(self, event: Any, kind: str, rows: Rows) -> None:
        described = self._maps.get(event.table_id)
        if described is None or not self._with_rows:
            return
        packet = event.packet
        data: bytes = packet.read(event.event_size - packet.read_bytes)
        read = described.image(event.columns_present_bitmap)
        seconds: int = event.timestamp
        table, key = ".".join(described.name), described.key
        at = 0
        if kind != "UpdateRowsEvent":
            op = "c" if kind == "WriteRowsEvent" else "d"
            while at < len(data):
                values, at = read(data, at)
                version = self._version(rows)
                if not key:
                    rows.add(table, None, row_json(values), version, self._begins, seconds, _NO_KEY.format(table))
                    continue
                if op == "d":
                    values = {name: values[name] for name in key}
                rows.add(table, op, row_json(values), version, self._begins, seconds)
            return
        read_after = described.image(event.columns_present_bitmap2)
        while at < len(data):
            before, at = read(data, at)
            after, at = read_after(data, at)
            self._update(described, before, after, rows, self._version(rows), seconds)

    def _version(self, rows: Rows) -> int:
        rows.images += 1
        return version_of(self._begins, rows.images - 1)

    def _update(
        self, table: TableMap, before: dict[str, str], after: dict[str, str], rows: Rows, version: int, seconds: int
    ) -> None:
        name = ".".join(table.name)
        if not table.key:
            rows.add(name, None, row_json(after), version, self._begins, seconds, _NO_KEY.format(name))
            return
        old = {column: before[column] for column in table.key}
        new = {column: after.get(column, old[column]) for column in table.key}
        if old == new:
            rows.add(name, "u", row_json({**new, **after}), version, self._begins, seconds)
            return
        rows.add(name, "d", row_json(old), version, self._begins, seconds)
        whole = {**before, **after}
        rows.add(name, "c", row_json(whole), version + 1, self._begins, seconds)
        if len(whole) < len(table.columns):
            self.again.add(table.name)


_NO_KEY = "Table {} has no primary key. Give it one, or name its key in the definition of the source."
