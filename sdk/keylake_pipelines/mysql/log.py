"""The binary log as transactions: rows of the tables that are read, and what statements did to tables.

    place ── events ──▶ (table map, rows)*, commit ──▶ Transaction
                        statement on tables       ──▶ Transaction without rows

mysql-replication speaks the protocol and takes events apart; images of rows are decoded by `images`, since its own
decoding loses values (sets lose their order, zero years and times after 2038 change) and takes several times longer.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from keylake.errors import DefinitionError, KeylakeError, SourceFailed
from keylake_pipelines.mysql.cascades import Cascades, foreign_keys
from keylake_pipelines.mysql.catalog import columns_with_defaults
from keylake_pipelines.mysql.known import KnownTables
from keylake_pipelines.mysql.maps import TableMap, WatchedTables, rows_event, table_map
from keylake_pipelines.mysql.places import BEGINNING_OF_FILE, place_of
from keylake_pipelines.mysql.rows import Rows
from keylake_pipelines.mysql.server import Server, StreamConnections, other_log, read_newer_statements
from keylake_pipelines.mysql.statements import Alter, Create, Renames, Truncate, changes_rows, statement_of
from keylake_pipelines.mysql.transactions import (
    BACK_TO,
    ROLLBACK_ALTER,
    SAVEPOINT,
    STANDALONE,
    START_ALTER,
    Prepared,
    Transaction,
    events_that_are_read,
    is_of_temporary_tables,
    loading,
    phase_of_alter,
)
from keylake_pipelines.mysql.unlogged import Unlogged
from keylake_pipelines.mysql.words import Name, Xid, names_of, with_escapes, xa_of
from keylake_pipelines.source.tables import TableChange

_COMPRESSED = (40, *range(165, 172))  # transactions of MySQL, statements and rows of MariaDB
_OF_FOREIGN_KEYS = re.compile(r"\bREFERENCES\b|\bRENAME\b", re.IGNORECASE)
_OF_SEQUENCES = (
    *("next_not_cached_value", "minimum_value", "maximum_value", "start_value", "increment", "cache_size"),
    *("cycle_option", "cycle_count"),
)
_ENDS = ("COMMIT", "ROLLBACK")
_INCIDENT = 26  # an event that says that others are lost
_HAS_CHECKSUMS, _CRC32 = "_BinLogStreamReader__use_checksum", 1
_NO_BACKSLASH_ESCAPES = 1 << 20  # of its sql_mode
_STRICT = 3 << 21  # for tables with transactions, and for all


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
        self._is_open = False  # a transaction was begun: a statement of no table does not end it
        self._is_undecided = False  # an ALTER was announced, or taken back (binlog_alter_two_phase)
        self.begun: int | None = None  # when the file began that was read last, in seconds
        self._found: list[TableChange] = []  # in a transaction that did not end yet
        self.again: set[Name] = set()  # tables of which a changed key came without the other columns
        self.unclear: set[Name] = set()  # tables with other columns than the statements on them say
        self._watched = WatchedTables(self._decodes)
        self._refused: set[Name] = set()
        self.cascades = Cascades()
        self.stale: set[Name] = set()  # tables whose rows change with those that were changed
        self._prepared: dict[Xid, Prepared] = {}
        self._unlogged = Unlogged(server, tables)
        self._with_defaults: dict[Name, frozenset[str]] = {}  # columns that have some; asked again after a statement

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

        read_newer_statements()
        self._maps = {}
        self._found = []
        self._begins = place_of(file, byte)
        self._is_first_file = True
        self._is_open = self._is_undecided = False
        watched = self._watched = WatchedTables(self._decodes)
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
            pymysql_wrapper=StreamConnections(),
            only_events=events_that_are_read(with_gtids=not self._with_rows),
        )

    def when_begun(self, file: str) -> int:
        """The second in which a file began."""
        self.open(file, BEGINNING_OF_FILE)
        with self._server.asked(f"reading {file}"):
            seconds: int = self._stream.fetchone().timestamp
        self.close()
        return seconds

    def transactions(self) -> Iterator[Transaction]:
        """The transactions, one after the other; others stay in the stream, which closes at the end of the log."""
        current = Transaction(Rows(self._server.name))
        while self._stream is not None:
            event = self._next()
            if event is None:
                place = self._place()
                self.close()
                if not self._is_open and place > self._begins:  # behind events of no transaction
                    self._begins = place
                    yield Transaction(Rows(self._server.name), place)
                return
            kind = type(event).__name__
            if kind == "FormatDescriptionEvent":
                goes_on = not self._is_first_file
                # Each file says whether its events have checksums; the library asks for the setting of now.
                setattr(self._stream, _HAS_CHECKSUMS, event.checksum_algorithm == _CRC32)
                self._file_begins(event.timestamp)
                current = Transaction(Rows(self._server.name))  # a server that was killed wrote no end of its last one
                if goes_on:
                    self._begins = self._place()  # as where reading begins again here
                    yield Transaction(Rows(self._server.name), self._begins)  # a place and when its file began
            elif self._takes_part(event, kind, current):
                current.end = self._place()
                current.at = event.timestamp
                current.before, self._found = self._found, []
                self._is_undecided = False
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
        self._is_open = False
        self._maps = {}
        self._stream.table_map.clear()

    def _takes_part(self, event: Any, kind: str, current: Transaction) -> bool:
        """Adds what an event has to a transaction; True if the transaction ends with it."""
        if kind == "TableMapEvent":
            self._describe(event)
        elif kind in ("WriteRowsEvent", "UpdateRowsEvent", "DeleteRowsEvent"):
            self._rows(event, kind, current)
        elif kind == "XidEvent":
            return self._ended()
        elif kind in ("MariadbGtidEvent", "GtidEvent"):
            self._number_of(event, kind, current)
        elif kind == "QueryEvent":
            return self._statement(event, current)
        elif kind == "ExecuteLoadQueryEvent":
            self.stale |= self._unlogged.by_statement(*loading(event), self.cascades)
        elif kind == "XAPrepareEvent":
            if not event.one_phase:
                self._prepare((event.xid_format_id, event.xid_gtrid, event.xid_bqual), current)
            return self._ended()
        else:
            return self._is_another(event, kind)
        return False

    def _number_of(self, event: Any, kind: str, current: Transaction) -> None:
        """The GTID of what follows; MariaDB's also says whether that is a transaction or one statement."""
        if kind == "GtidEvent":
            current.gtid = (event.gtid.partition(":")[0], event.gno)
            return
        current.gtid = (str(event.domain_id), event.gtid_seq_no)
        self._is_open = not event.flags & STANDALONE
        self._is_undecided = bool(phase_of_alter(event) & (START_ALTER | ROLLBACK_ALTER))

    def _is_another(self, event: Any, kind: str) -> bool:
        """An event that has no rows which can be read; True if it stands alone."""
        if kind == "PartialUpdateRowsEvent":
            raise SourceFailed(
                f"The log of {self._server.name} has parts of JSON values."
                " Run: SET GLOBAL binlog_row_value_options = '', and begin with a new snapshot:"
                " keylake resnapshot, with the name of the pipeline."
            )
        if event.event_type == _INCIDENT:
            self.stale |= self._unlogged.lost()
            return not self._is_open
        if event.event_type in _COMPRESSED:
            raise SourceFailed(
                f"The log of {self._server.name} is compressed. Run: SET GLOBAL log_bin_compress = OFF (MySQL:"
                " binlog_transaction_compression), and begin with a new snapshot: keylake resnapshot, with the name of"
                " the pipeline."
            )
        return False

    def _decodes(self, name: Name) -> bool:
        if name in self._refused:  # of a parent, what has changed is not known
            columns = self.cascades.referenced(name)
            self.stale |= self.cascades.changed(name, None) | self.cascades.changed(name, columns)
            return False
        return self._tables.watches(name) or name in self.cascades.parents

    def _refuse(self, name: Name, reason: str) -> None:
        """Rows of a table cannot be read."""
        if self._tables.watches(name):
            self._found.append(self._tables.refuse(name, reason))
        self._refused.add(name)
        self._decodes(name)

    def _next(self) -> Any:
        """The next event; None at the end. A table whose columns cannot be taken apart is refused."""
        while True:
            self._watched.begin()
            try:
                with self._server.asked("reading its log"):
                    return self._stream.fetchone()
            except KeylakeError:
                raise
            except Exception as error:
                name = self._watched.asked
                if name is None:
                    raise SourceFailed(
                        f"The log of {self._server.name} has an event that cannot be read:"
                        f" {type(error).__name__}: {error}. Begin with a new snapshot: keylake resnapshot, with the"
                        " name of the pipeline."
                    ) from error
                self._refuse(
                    name,
                    f"The log has columns of {'.'.join(name)} in a form that cannot be read, such as COMPRESSED."
                    " Change their types, or leave the table out.",
                )

    def _describe(self, event: Any) -> None:
        name: Name = (event.schema, event.table)
        if not self._decodes(name):
            self._maps[event.table_id] = None
            return
        try:
            described = table_map(
                event, self._charsets, lambda column: self._tables.definition(name, column), self._server.name
            )
        except DefinitionError as error:
            self._maps[event.table_id] = None
            self._refuse(name, str(error))
            return
        if not self._tables.watches(name):
            self._maps[event.table_id] = described
            return
        if tuple(each.name for each in described.columns) == _OF_SEQUENCES:
            self._maps[event.table_id] = None
            return
        described.leave_out(self._tables.period(name, [each.name for each in described.columns], described.key))
        found = self._tables.observe(name, described.columns, described.key)
        self._found.extend(found)
        if found:
            self.unclear.add(name)
        schema = self._tables.schema(name)
        described.key = schema.key if schema else described.key
        self._maps[event.table_id] = described if self._tables.takes(name) or name in self.cascades.parents else None

    def _statement(self, event: Any, current: Transaction) -> bool:
        query = with_escapes(event.query) if event.sql_mode & _NO_BACKSLASH_ESCAPES else event.query
        ends = self._of_transactions(query.strip(), current)
        if ends is not None:
            return ends
        database = event.schema.decode() if isinstance(event.schema, bytes) else event.schema
        if changes_rows(query):
            self.stale |= self._unlogged.by_statement(query, database, self.cascades)
            return False
        if self._is_undecided:
            return True
        statement = statement_of(query, database)
        if isinstance(statement, Alter | Renames | Truncate) and is_of_temporary_tables(event):
            if isinstance(statement, Renames) and len(statement.renames) > 1:  # others may be among them
                self.stale |= self._tables.schemas().keys() & names_of(query, database)
            statement = None
        if statement is None and self._is_open:
            return False
        if statement is not None:
            self._with_defaults = {}
            is_strict = bool(event.sql_mode & _STRICT)
            current.outcome = self._tables.follow(statement, at=self._begins, is_strict=is_strict)
        if isinstance(statement, Create) and statement.selects:  # a log of rows has the columns alone, and then rows
            self.stale |= self._unlogged.by_statement(query, database, self.cascades)
        current.refers = bool(_OF_FOREIGN_KEYS.search(query))
        if current.refers and isinstance(statement, Alter | Create):  # by the time of the catalog they may be gone
            found = foreign_keys(statement.table, query)
            self.cascades = Cascades(tuple({*self.cascades.keys, *found}))
        return True

    def _of_transactions(self, query: str, current: Transaction) -> bool | None:
        """A statement that begins or ends a transaction or a part of it: whether it ends it; None for another one."""
        word = query.upper()
        if word in ("BEGIN", "START TRANSACTION"):
            self._is_open = True
            return False
        if saved := SAVEPOINT.fullmatch(query):
            current.save(saved["name"])
            return False
        if back := BACK_TO.fullmatch(query):
            if not current.roll_back_to(back["name"]):
                self.stale |= current.tables
            return False
        if word in _ENDS:
            if word == "ROLLBACK":
                current.rows = Rows(self._server.name)
            return self._ended()
        if not word.startswith("XA "):
            return None
        verb, xid = xa_of(word)
        self._is_open = verb == "START" or (self._is_open and verb not in _ENDS)
        if verb in _ENDS:
            self._end_prepared(xid, current, commits=verb == "COMMIT")
        return verb in _ENDS

    def _ended(self) -> bool:
        self._is_open = False
        return True

    def _prepare(self, xid: Xid, current: Transaction) -> None:
        """Keeps what a transaction has until it is committed: its rows are locked meanwhile."""
        self._prepared[xid] = Prepared(current.rows, self._begins, current.tables, self.again, self.stale)
        current.rows, self.again, self.stale = Rows(self._server.name), set(), set()

    def _end_prepared(self, xid: Xid, current: Transaction, *, commits: bool) -> None:
        """Gives what was prepared. Tables are read once more where it is not known, or has too many rows."""
        prepared = self._prepared.pop(xid, None)
        if not commits:
            return
        if prepared is None:
            self.stale |= self._tables.schemas().keys()
            return
        self.again |= prepared.again
        self.stale |= prepared.stale
        rows = prepared.committed(self._begins, self._place())
        if rows is None:
            self.stale |= prepared.tables
        else:
            current.rows = rows

    def _rows(self, event: Any, kind: str, current: Transaction) -> None:
        described = self._maps.get(event.table_id)
        if described is None or not self._with_rows:
            return
        name, seconds = described.name, event.timestamp
        gives, parent = self._tables.takes(name), name in self.cascades.parents
        if gives:
            current.tables.add(name)
        try:
            rows = rows_event(event, kind, described)
            if parent:
                for before, after in rows.images():
                    self._cascade(described, before, after)
            lacking = rows.lacking
            if gives and (current.rows.take(rows, self._begins, seconds) or (lacking and self._fills(name, lacking))):
                self.again.add(name)
        except (ValueError, LookupError, struct.error) as error:
            self._maps[event.table_id] = None
            self._refuse(
                name,
                f"The log has a row of {'.'.join(name)} that cannot be read: {error}. Leave the table out, or mend the"
                " value and have the table read once more: keylake resnapshot, with the names of the pipeline and of"
                " the keyed table.",
            )

    def _fills(self, name: Name, lacking: frozenset[str]) -> bool:
        """Rows that were inserted have values in columns that the log lacks: the constants that are their defaults."""
        if name not in self._with_defaults:
            self._with_defaults[name] = columns_with_defaults(self._server, name)
        return bool(lacking & self._with_defaults[name])

    def _cascade(self, table: TableMap, before: dict[str, str] | None, after: dict[str, str] | None) -> None:
        """Note the other tables whose rows change with a row."""
        if before is not None and (after is None or table.ends(before, after)):
            self.stale |= self.cascades.changed(table.name, None)
        elif before is not None and after is not None:
            referenced = self.cascades.referenced(table.name)
            columns = {each.lower() for each in after if before.get(each) != after[each]} & referenced
            if columns:
                self.stale |= self.cascades.changed(table.name, frozenset(columns))
