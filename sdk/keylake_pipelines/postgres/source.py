"""`PostgresSource`: tables of a PostgreSQL database as a source of pipelines."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import psycopg

from keylake_pipelines.postgres.catalog import Looks
from keylake_pipelines.postgres.differences import aligned, changed_meanwhile, changes_of_tables
from keylake_pipelines.postgres.leaves import Leaves
from keylake_pipelines.postgres.lookups import CHANGED_MEANWHILE, filled
from keylake_pipelines.postgres.messages import Begin, Relation, decoded
from keylake_pipelines.postgres.positions import commit_of, version_of_part, version_of_snapshot
from keylake_pipelines.postgres.publications import Publication
from keylake_pipelines.postgres.rereads import Rereads
from keylake_pipelines.postgres.rows import Layout, count_of
from keylake_pipelines.postgres.server import Server
from keylake_pipelines.postgres.slots import admitted, check_server, end_of_log, start_of_slot
from keylake_pipelines.postgres.snapshot import Moved, Range, Snapshot, Unreadable, ranges_of
from keylake_pipelines.postgres.stream import LogStream
from keylake_pipelines.postgres.tables import END, Catalog, moved_positions, numbers_read
from keylake_pipelines.postgres.transactions import LOG, Pending, Transactions
from keylake_pipelines.source.absence import Absence, SourceAway
from keylake_pipelines.source.source import Lag, Step
from keylake_pipelines.source.tables import (
    SourceSchema,
    SourceTable,
    TableChange,
    TableTruncated,
)

if TYPE_CHECKING:
    from keylake_pipelines.postgres.server import Connection

_SECONDS_BETWEEN_LOOKS = 10.0
_SECONDS_BETWEEN_TRIES = 0.3
_SECONDS_OF_A_POLL = 5.0  # of many changes that become few rows
_SECONDS_OF_A_WAIT = 0.05
_BYTES_OF_AN_EMPTY_STEP = 16 * 1024 * 1024
_EMPTY = Catalog({}, {})


class PostgresSource:
    """Tables of a PostgreSQL database: what lies in them, then how they change.

    `address` is a connection string or URL of libpq. `tables` says which tables are read, by their names with database
    and schema. `keys` are the keys of tables that have none and REPLICA IDENTITY FULL, by `schema.table`. Columns of
    `as_text`, such as `schema.table.column`, are read as text. Slot and publication are made where they are missing.
    `connections` read rows that lie in tables at once; without `snapshot`, only what the slot's log has is read.

    >>> PostgresSource("postgresql://reader:secret@db/shop", lambda table: table.parts[1] == "public")
    PostgresSource(PostgreSQL at db:5432)
    """

    def __init__(
        self,
        address: str,
        tables: Callable[[SourceTable], bool],
        *,
        slot: str = "keylake",
        publication: str = "keylake",
        keys: Mapping[str, Sequence[str]] | None = None,
        as_text: Sequence[str] = (),
        snapshot: bool = True,
        connections: int = 2,
    ) -> None:
        self._server = Server(address)
        self._tables = tables
        self._slot, self._publication = slot, Publication(self._server, publication, slot)
        self._keys, self._as_text = dict(keys or {}), tuple(as_text)
        self._wants_rows, self._connections = snapshot, connections
        self._looks: Looks | None = None
        self._catalog = _EMPTY
        self._looked = 0.0
        self._sql: Connection | None = None
        self._stream: LogStream | None = None
        self._snapshot: Snapshot | None = None
        self._rows_read: dict[str, int] = {}  # blocks by partition
        self._rereads = Rereads({})
        self._to_reread, self._unreadable = set[int](), set[int]()
        self._leaves = Leaves({})
        self._transactions = Transactions(self._describe, self._fill, self._emptied)
        self._unknown: tuple[TableChange, ...] = ()  # of tables that changed before `begin`
        self._renamed: dict[str, int] = {}  # positions under new names, which no step has told
        self._told = self._confirmed = 0
        self._absence = Absence()

    def __repr__(self) -> str:
        return f"PostgresSource({self._server})"

    # ------------------------------------------------------------------------------------------------- the contract

    def begin(self, positions: Mapping[str, int], schemas: Sequence[SourceSchema] = ()) -> None:
        """Go on at these positions; without one of the log, at the slot's, and with all rows of tables first."""
        self.close()
        self._rows_read = {name: at for name, at in positions.items() if name != LOG}
        self._rereads, self._leaves = Rereads(positions), Leaves(positions)
        self._to_reread, self._unreadable = set(), set()
        try:
            connection = self._connected()
            check_server(self._server, connection)
            database: Any = connection.execute("SELECT current_database()").fetchone()
            self._looks = Looks(database[0], self._tables, self._keys, self._as_text)
            looked = self._looks.look(connection, None)
            is_first = LOG not in positions
            found, added = admitted(self._server, connection, self._publication, looked, is_first=is_first)
            self._catalog = self._rereads.applied(found)
            kept = commit_of(positions[LOG]) if LOG in positions else None
            start = start_of_slot(self._server, connection, self._slot, kept)
            if not self._wants_rows and LOG not in positions:
                self._rows_read = dict.fromkeys(self._catalog.partitions, END)
        except psycopg.Error as error:
            raise self._server.failed(error, "beginning") from None
        self._looked = time.monotonic()
        self._told = self._confirmed = positions.get(LOG, version_of_part(start, 0))
        self._renamed = {} if LOG in positions else {LOG: self._told}  # so that a slot that goes is missed
        self._transactions.start_at(self._told)
        ours = [each for each in schemas if self._tables(each.table)]  # the others are not selected any more
        self._unknown = changed_meanwhile(self._catalog, self._rows_read, ours) if positions else ()
        self._to_reread |= self._rereads.replaced(self._catalog, self._rows_read, schemas)
        self._read_again(added)

    def reread(self, table: SourceTable) -> bool:
        """Read all rows of a table once more, as of a place behind what was read of the log."""
        self._to_reread |= {number for number, each in self._catalog.tables.items() if each.name == table}
        return True

    def schemas(self) -> tuple[SourceSchema, ...]:
        """The tables as the last look at the catalog found them."""
        return self._catalog.schemas

    def poll(self, most_rows: int, seconds: float) -> tuple[Step, ...]:
        """Rows of the log that are there, and of tables that are not read yet; connections that break are made anew."""
        until = time.monotonic() + seconds
        while True:
            steps: list[Step] = []
            try:
                self._poll(most_rows, steps)
                self._absence.over()
            except psycopg.Error as error:
                self._disconnect()
                failure = self._server.failed(error, "reading")
                if not isinstance(failure, SourceAway):
                    raise failure from None
                self._absence.lost(failure)
            if steps:
                return tuple(steps)
            if time.monotonic() >= until:
                self._absence.check()
                is_busy = self._snapshot is not None or self._rereads.wait(self._told)
                return (Step(None, {}),) if is_busy or self._absence.lasts else ()
            if self._absence.lasts:
                time.sleep(_SECONDS_BETWEEN_TRIES)

    def written(self, positions: Mapping[str, int]) -> None:
        """The server may forget the log before the position, which is told to it at once where a stream is open."""
        self._confirmed = max(self._confirmed, positions.get(LOG, 0))
        if self._stream is not None:
            # A stream that is broken begins where tables are: the next one tells the server.
            with suppress(psycopg.Error):
                self._stream.confirm(commit_of(self._confirmed))

    def lag(self) -> Lag:
        """Bytes of the log behind the last transaction that was polled, and when the next one was committed."""
        newest, oldest = self._transactions.newest, self._transactions.current
        try:
            end = end_of_log(self._connected())
            if oldest is None and self._stream is not None and self._stream.has_more(0):
                ahead = decoded(self._stream.messages[0])
                oldest = ahead if isinstance(ahead, Begin) else None
        except psycopg.Error:  # the next poll connects again, or says why not
            self._disconnect()
            return Lag(None, "bytes", snapshots=True)
        behind = max(end - commit_of(self._transactions.position), 0)
        newest_at, oldest_at = (each.at if each else None for each in (newest, oldest))
        return Lag(behind, "bytes", newest_at, oldest_at, bool(self._catalog.unread(self._rows_read, self._unreadable)))

    def close(self) -> None:
        """End all connections; the slot stays, and keeps the log from what was `written` on."""
        self._disconnect()

    def _connected(self) -> Connection:
        if self._sql is None:
            self._sql = self._server.sql()
        return self._sql

    def _streaming(self) -> LogStream:
        if self._stream is None:
            start, confirmed = commit_of(self._told), commit_of(self._confirmed)
            start_of_slot(self._server, self._connected(), self._slot, start)
            self._transactions.start_at(self._told)
            self._stream = LogStream(self._server, self._slot, self._publication.name, start, confirmed)
        return self._stream

    def _disconnect(self) -> None:
        for each in (self._snapshot, self._stream, self._sql):
            if each is not None:
                with suppress(psycopg.Error):
                    each.close()
        self._snapshot = self._stream = self._sql = None
        self._transactions.start_at(self._told)

    # ---------------------------------------------------------------------------------------------------------- polls

    def _poll(self, most_rows: int, steps: list[Step]) -> None:
        """Adds what is there to the steps, which count also if an error follows."""
        self._ask_for_rereads()
        if (ended := self._rereads.ended(self._catalog, self._rows_read, self._told)) is not None:
            steps.append(ended)
        if time.monotonic() - self._looked > _SECONDS_BETWEEN_LOOKS:
            steps += self._cut(self._look())
        if self._unknown or self._renamed:
            steps += self._cut(self._unknown)
            self._unknown = ()
        self._begin_rows()
        if self._snapshot is None:
            self._poll_log(most_rows, _SECONDS_OF_A_WAIT, steps)
            return
        self._poll_log(max(most_rows // 2, 1), 0, steps)
        while count_of(steps) < most_rows:
            step = self._polled_rows(0 if steps else _SECONDS_OF_A_WAIT)
            if step is None:
                break
            steps.append(step)

    def _poll_log(self, most_rows: int, wait: float, steps: list[Step]) -> None:
        stream = self._streaming()
        transactions = self._transactions
        is_empty = True
        until = time.monotonic() + _SECONDS_OF_A_POLL
        while count_of(steps) + len(transactions.rows) < most_rows and time.monotonic() < until:
            if not stream.has_more(wait if not steps and not transactions.rows else 0):
                break
            is_empty = False
            if changes := transactions.take_some(stream.messages, most_rows - count_of(steps)):
                steps += self._cut(changes)
        if transactions.rows or self._is_worth_a_step(commit_of(transactions.position)):
            steps += self._cut(())
        elif is_empty and transactions.between:
            steps += self._quiet(stream)

    def _cut(self, changes: tuple[TableChange, ...]) -> list[Step]:
        """The rows of the log so far, and changes of tables behind them, as a step."""
        position = self._transactions.position
        if not changes and not self._transactions.rows and not self._renamed and position == self._told:
            return []
        ends: dict[str, int] = {}
        if not any(isinstance(each, TableTruncated) for each in changes):  # whose place is in the log alone
            ends, self._renamed = self._renamed, {}
        if position > self._told:
            ends[LOG] = position
        self._told = position
        return [self._transactions.step(ends, changes)]

    def _is_worth_a_step(self, place: int) -> bool:
        return place - commit_of(self._told) > _BYTES_OF_AN_EMPTY_STEP

    def _quiet(self, stream: LogStream) -> list[Step]:
        """Others write to the log: the position moves from time to time, so that the server can forget theirs."""
        stream.tell(ask=True)
        if not self._is_worth_a_step(stream.sent) and not self._rereads.wait(self._told):
            return []
        self._transactions.move_to(stream.sent)
        return self._cut(())

    # --------------------------------------------------------------------------------------------- rows of tables

    def _is_read(self, table: int, begun: Begin) -> bool:
        """All rows of a table were read, the last ones as of a place before the transaction."""
        positions = [self._rows_read.get(each.partition, 0) for each in self._catalog.rows.get(table, ())]
        return all(END <= at <= END + begun.commit for at in positions)

    def _begin_rows(self) -> None:
        if self._snapshot is not None:
            return
        ranges: deque[Range] = deque()
        for stored in self._catalog.unread(self._rows_read, self._unreadable):
            ranges.extend(
                ranges_of(stored, self._catalog.tables[stored.table], self._rows_read.get(stored.partition, 0))
            )
        if ranges:
            self._snapshot = Snapshot(self._server, self._slot, ranges, self._connections)

    def _ask_for_rereads(self) -> None:
        if self._to_reread:
            self._unreadable -= self._to_reread
            since = version_of_snapshot(end_of_log(self._connected()))
            self._renamed |= self._rereads.ask(self._to_reread & self._catalog.tables.keys(), since)
            self._to_reread = set()
            self._catalog = self._rereads.applied(self._catalog)
            self._end_rows()

    def _polled_rows(self, seconds: float) -> Step | None:
        if (snapshot := self._snapshot) is None:
            return None
        try:
            step = snapshot.ready(seconds)
        except Moved:
            self._end_rows()
            self._looked = 0.0
            return None
        except Unreadable as error:
            self._end_rows()
            self._unreadable.add(error.table.number)
            return Step(None, {}, (error.change,))
        if step is not None:
            self._rows_read.update(step.ends)
        if snapshot.done:
            self._end_rows()
        return step

    def _end_rows(self) -> None:
        if self._snapshot is not None:
            self._snapshot.close()
            self._snapshot = None

    # ---------------------------------------------------------------------------------------------- changes of tables

    def _look(self) -> tuple[TableChange, ...]:
        """Changes since the last look; what waits for its step is laid out as tables are now."""
        assert self._looks is not None
        connection = self._connected()
        before, found = self._catalog, self._looks.look(connection, self._catalog)
        found, added = admitted(self._server, connection, self._publication, found, is_first=False)
        after = self._rereads.applied(found)
        self._looked = time.monotonic()
        changes = changes_of_tables(before, after)
        moved = moved_positions(before, after, self._rows_read)
        self._rows_read |= moved
        self._renamed |= moved
        self._catalog = after
        if before.tables != after.tables:
            self._transactions.laid_out_anew(self._layout)
        if before.tables != after.tables or before.partitions != after.partitions:
            self._end_rows()
        pairs = [(before.tables[number], after.tables[number]) for number in before.tables.keys() & after.tables]
        self._read_again({*added, *(new.number for old, new in pairs if new.renamed_labels(old))})
        self._ask_for_rereads()
        return changes

    def _read_again(self, tables: Iterable[int]) -> None:
        """Rows of tables with changes that are not in the log: of these tables, or of their partitions."""
        rows = self._catalog.rows
        leaves, changed = self._leaves.changed(self._catalog)
        self._renamed |= leaves
        tables, read = {*tables, *changed}, numbers_read(self._rows_read)
        self._to_reread |= {n for n in tables if any(each.number in read for each in rows.get(n, ()))}

    def _describe(self, relation: Relation) -> tuple[Layout | None, tuple[TableChange, ...]]:
        """The columns that values of a relation go to; looks at the catalog first, where it is not what is known."""
        table = self._catalog.tables.get(relation.number)
        logged = [(each.name, each.type, each.modifier) for each in relation.columns]
        known = table and [(each.name, each.type, each.modifier) for each in table.columns]
        changes = self._look() if logged != known else ()
        return self._layout(relation), changes

    def _layout(self, relation: Relation) -> Layout | None:
        table = self._catalog.tables.get(relation.number)
        if table is None or self._looks is None:
            return None
        columns, is_certain = aligned(relation.columns, table, self._looks.names.get(table.number, {}))
        has_key = {*table.key} <= {each.number for each in columns if each is not None}  # or its rows are from before
        if not has_key or not (is_certain or self._rereads.lie_ahead(table.number, self._transactions.position)):
            self._read_again([table.number])
        if not has_key:
            return None
        pairs = zip(relation.columns, columns, strict=True)
        # A value of another type than the column has now is left out: the change of the type has rewritten the table,
        # whose rows are read again.
        same = [
            column is None or self._looks.logged_json(column, each.type, each.modifier) is column.form.json
            for each, column in pairs
        ]
        return Layout(table, columns, same)

    def _emptied(self, relation: int) -> TableTruncated | None:
        """A table was emptied: ranges that were read before are not given any more."""
        table = self._catalog.tables.get(relation)
        if table is None:
            return None
        self._end_rows()
        self._looked = 0.0
        return TableTruncated(table.name)

    def _fill(self, begun: Begin, pending: Sequence[Pending]) -> None:
        """Values that neither the log nor the table has: of keys that changed, and of tables that are not read yet."""
        of_others = [each for each in pending if each.logged.relation.number not in self._unreadable]
        wanted = [each for each in of_others if each.moved or not self._is_read(each.logged.relation.number, begun)]
        if not wanted:
            return
        try:
            filled(self._connected(), begun, wanted)
        except CHANGED_MEANWHILE:
            self._looked = 0.0  # before the log is read again
            raise psycopg.OperationalError("a table has changed since it was looked at") from None
