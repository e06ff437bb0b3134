"""A server of MariaDB or MySQL as a source of a pipeline.

    tables ── chunks, several connections ──┐
                                            ├──▶ steps; versions are places of the log, so any order will do
    binary log ── transactions ─────────────┘

Partitions: `mysql:HOST:PORT` is the log, its offset the place where a transaction begins (`places`); with `/begun`
behind it, when the file of that place began, by which another log is noticed. `shop.orders/snapshot` is the snapshot of
a table (`keys` says what its offset is). `shop.orders/snapshot@NUMBER` goes on with it after a restart, or is another
one, which a statement made necessary: it filled columns of rows that the log does not have. Where rows may be gone,
too, `shop.orders/since@NUMBER` is the place since which the log knows of all others. `shop._orders_gho/ghost` is where
a ghost was made, so that its statements are known after a restart in the middle of a migration.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from keylake._captured.absence import Absence, SourceAway
from keylake._captured.source import Lag, Step
from keylake._captured.tables import SourceSchema, SourceTable, TableChange, TableCreated, TableRefused
from keylake._mysql.keys import DONE
from keylake._mysql.known import KnownTables, Selection
from keylake._mysql.log import BinaryLog, Transaction
from keylake._mysql.places import place_of
from keylake._mysql.rows import Rows
from keylake._mysql.server import (
    LogFiles,
    Server,
    catalog,
    charsets,
    check_log,
    check_place,
    log_end,
    log_files,
    tell_cascades,
)
from keylake._mysql.snapshot import Chunk, ChunkReader, Read, Snapshot
from keylake._mysql.starts import Start, place_of_start
from keylake._mysql.words import Name
from keylake.errors import DefinitionError

_GHOST = "/ghost"
_PAUSE_SECONDS = 0.05


class MySqlSource:
    """Tables of a server, from a snapshot on or from a place of its log.

    `tables` are regular expressions over `database.table`. `start` says what is read where positions say nothing:
    "snapshot" (all rows, then what changes), "latest" (what changes from now on), "earliest" (all that the log has), or
    a place of the log (`starts`).
    `keys` name the key columns of tables that have no primary key.
    """

    def __init__(
        self,
        *,
        host: str,
        user: str,
        password: str,
        tables: Sequence[str],
        port: int = 3306,
        start: Start = "snapshot",
        keys: Mapping[str, Sequence[str]] | None = None,
        connections: int = 4,
        chunk_rows: int = 20_000,
        server_id: int | None = None,
    ) -> None:
        patterns: list[re.Pattern[str]] = []
        for each in tables:
            try:
                patterns.append(re.compile(each))
            except re.error as error:
                raise DefinitionError(f"{each!r} is no regular expression over database.table: {error}.") from None
        if not patterns:
            raise DefinitionError("No tables are named. Give regular expressions over database.table.")
        self._server = Server(host, port, user, password)
        self._selection = Selection(tuple(patterns), {name: tuple(key) for name, key in (keys or {}).items()})
        self._start: Start = start
        self._connections = connections
        self._chunk_rows = chunk_rows
        # Readers of one server's log need different numbers.
        self._number = server_id or 1_000_000_000 + time.time_ns() % 1_000_000_000
        self._place = 0
        self._last: datetime | None = None
        self._control: Any = None
        self._log: BinaryLog | None = None
        self._chunks: ChunkReader | None = None
        self._tables = KnownTables(self._selection, {})
        self._snapshots: dict[Name, Snapshot] = {}
        self._touched: dict[Name, int] = {}
        self._told = False  # where the log and snapshots begin, and
        self._lost: list[TableRefused] = []  # tables that could be read before
        self._first_ends: dict[str, int] = {}
        self._ghosts: dict[Name, int] = {}  # where each was made
        self._count = 0
        self._absence = Absence()

    def begin(self, positions: Mapping[str, int], schemas: Sequence[SourceSchema] = ()) -> None:
        """Go on at positions; where they have no log, `start` says what is read."""
        self.close()
        control = self._control = self._server.connect()
        check_log(self._server, control)
        files = log_files(self._server, control)
        tables = self._tables = KnownTables(self._selection, catalog(self._server, control))
        tell_cascades(self._server, control, tables.schemas())
        found = positions.get(self._server.name)
        if found is None:
            self._place = place_of_start(self._server, control, files, self._start, lambda: self._without_rows(control))
        else:
            check_place(self._server, files, found)
            self._place = found
        self._log = BinaryLog(self._server, self._number, charsets(self._server, control), tables)
        self._log.begun = positions.get(f"{self._server.name}/begun")
        self._ghosts = {}
        self._remember_ghosts(positions, files)
        self._chunks = ChunkReader(self._server, self._connections, self._chunk_rows)
        self._first_ends = {}
        self._snapshots = self._unfinished(positions) if self._start == "snapshot" or found is not None else {}
        self._touched = {}
        self._told = False
        known = {schema.table for schema in schemas}
        self._lost = [TableRefused(each.table, each.refused) for each in tables.refused() if each.table in known]

    def _remember_ghosts(self, positions: Mapping[str, int], files: LogFiles) -> None:
        """Reads the statements of the log once more from where the oldest ghost was made that has not switched yet."""
        made = [at for partition, at in positions.items() if partition.endswith(_GHOST) and at != DONE]
        if not made or not files.first <= min(made) < self._place:
            return
        control = self._connection()
        earlier = KnownTables(self._selection, catalog(self._server, control))
        log = BinaryLog(self._server, self._number, charsets(self._server, control), earlier, with_rows=False)
        log.open(*check_place(self._server, files, min(made)))
        for transaction in log.transactions():
            if transaction.end >= self._place:
                break
        log.close()
        self._tables.take_ghosts(earlier)
        self._ghosts = {name: positions.get(f"{'.'.join(name)}{_GHOST}", min(made)) for name in earlier.ghosts()}

    def _without_rows(self, control: Any) -> BinaryLog:
        """A reader of places alone."""
        nothing = KnownTables(Selection(()), {})
        return BinaryLog(self._server, self._number, charsets(self._server, control), nothing, with_rows=False)

    def _unfinished(self, positions: Mapping[str, int]) -> dict[Name, Snapshot]:
        found: dict[Name, Snapshot] = {}
        for name in self._tables.schemas():
            first = f"{'.'.join(name)}/snapshot"
            again = [(int(each.rpartition("@")[2]), each) for each in positions if each.startswith(f"{first}@")]
            partition = max(again)[1] if again else first
            if partition not in positions and self._start != "snapshot":
                continue
            at = positions.get(partition)
            if at is None:
                found[name] = Snapshot(name, partition)
            elif at != DONE:
                # Chunks have other bounds now, so their offsets are not those of the same rows: another partition.
                found[name] = Snapshot(name, self._another(name), at, positions.get(_since(partition)))
                self._first_ends |= {**_told(found[name]), partition: DONE}
        return found

    def schemas(self) -> tuple[SourceSchema, ...]:
        """The tables as they are now. A log that is behind has changes of them that it tells when it comes there."""
        return (*self._tables.schemas().values(), *self._tables.refused())

    def reread(self, table: SourceTable) -> bool:
        """Read all rows of a table once more: a snapshot from the place on up to which the log was read."""
        name = (table.parts[0], table.parts[-1])
        if name not in self._tables.schemas():
            return False
        self._first_ends |= self._read_again(name, self._place)
        return True

    def poll(self, most_rows: int, seconds: float) -> tuple[Step, ...]:
        """Steps of the log and of snapshots; connections that break are made anew."""
        if not self._told:  # alone: who writes rows of the log knows then where it began, whatever happens to them
            self._told = True
            begun = {name: at for each in self._snapshots.values() for name, at in _told(each).items()}
            return (Step(None, {**self._ends(), **begun}, tuple(self._lost)),)
        until = time.monotonic() + seconds
        while True:
            steps: list[Step] = []  # those of before a connection is lost count
            try:
                self._log_steps(most_rows, steps)
                self._snapshot_steps(most_rows, steps)
                self._absence.over()
            except SourceAway as error:
                self._absence.lost(error)
                self._forget_connections()
            if steps:
                return tuple(steps)
            if time.monotonic() >= until:
                self._absence.check()
                return (Step(None, {}),) if self._absence.lasts or self._snapshots else ()
            time.sleep(_PAUSE_SECONDS)

    def written(self, positions: Mapping[str, int]) -> None:
        """The server keeps its log as long as its settings say."""

    def lag(self) -> Lag:
        """Bytes of the log that were not read, and the time of the last change that was."""
        try:
            behind = log_files(self._server, self._connection()).behind(self._place)
        except SourceAway:
            self._forget_connections()
            return Lag(None, "bytes", snapshots=bool(self._snapshots))
        newest, oldest = (None, self._last) if behind else (self._last, None)
        return Lag(behind, "bytes", newest, oldest, snapshots=bool(self._snapshots))

    def close(self) -> None:
        if self._chunks is not None:
            self._chunks.close()
            self._chunks = None
        self._forget_connections()

    def _forget_connections(self) -> None:
        if self._log is not None:
            self._log.close()
        if self._chunks is not None:
            self._chunks.forget()
        if self._control is not None:
            self._control.close() if self._control.open else None
            self._control = None

    def _connection(self) -> Any:
        if self._control is None:
            self._control = self._server.connect()
        return self._control

    def _begun(self) -> tuple[BinaryLog, ChunkReader]:
        if self._log is None or self._chunks is None:
            raise DefinitionError("The source was not begun. Call begin() with the positions that were kept.")
        return self._log, self._chunks

    # -------------------------------------------------------------------------------------------------------- the log

    def _log_steps(self, most_rows: int, steps: list[Step]) -> None:
        log, _ = self._begun()
        if not log.is_open:
            with self._server.asked("asking for the end of its log"):
                end = place_of(*log_end(self._connection()))
            if end == self._place:
                return
            log.open(*check_place(self._server, log_files(self._server, self._connection()), self._place))
        rows = Rows(self._server.name)
        reached = self._place
        for transaction in log.transactions():
            if transaction.before:
                steps.append(self._step(rows, reached, transaction.before))
                rows = Rows(self._server.name)
            rows.extend(transaction.rows)
            begins, reached = reached, transaction.end
            self._last = datetime.fromtimestamp(transaction.at, timezone.utc) if transaction.at else self._last
            changes, ends = self._follow(transaction, log, begins)
            if changes or ends:
                steps.append(self._step(rows, reached, changes, ends))
                rows = Rows(self._server.name)
            if len(rows) >= most_rows:
                break
        if len(rows) or reached != self._place:
            steps.append(self._step(rows, reached))

    def _step(
        self, rows: Rows, reached: int, changes: Sequence[TableChange] = (), more: Mapping[str, int] | None = None
    ) -> Step:
        self._place = reached
        return Step(rows.as_arrow() if len(rows) else None, {**self._ends(), **(more or {})}, tuple(changes), len(rows))

    def _ends(self) -> dict[str, int]:
        """Where the log is: every step says it, since a snapshot counts from the place on where its log began."""
        log, _ = self._begun()
        ends = {self._server.name: self._place}
        first, self._first_ends = self._first_ends, {}
        return {**ends, **first} if log.begun is None else {**ends, **first, f"{self._server.name}/begun": log.begun}

    def _follow(
        self, transaction: Transaction, log: BinaryLog, begins: int
    ) -> tuple[list[TableChange], dict[str, int]]:
        """What a transaction did to tables, and what that does to their snapshots."""
        outcome = transaction.outcome
        ends: dict[str, int] = {}
        for name in outcome.touched:
            self._touched[name] = transaction.end
            snapshot = self._snapshots.get(name)
            if snapshot is not None and self._tables.schema(name) is None:
                ends[self._snapshots.pop(name).partition] = DONE
        for change in outcome.changes:
            if isinstance(change, TableCreated):
                ends[f"{change.schema.table}/snapshot"] = DONE  # the log has all of its rows
        ghosts = self._tables.ghosts()
        for name in ghosts.keys() - self._ghosts.keys():
            self._ghosts[name] = ends[f"{'.'.join(name)}{_GHOST}"] = begins
        for name in self._ghosts.keys() - ghosts.keys():
            ends[f"{'.'.join(name)}{_GHOST}"] = DONE
            del self._ghosts[name]
        again, log.again = outcome.again | log.again, set()
        reread, log.unclear = outcome.reread | log.unclear, set()
        for name in again | reread:
            if name in self._tables.schemas():
                ends |= self._read_again(name, transaction.end if name in reread else None)
        return outcome.changes, ends

    def _read_again(self, name: Name, since: int | None) -> dict[str, int]:
        """Begins another snapshot of a table, which has what is left of one that is under way."""
        before = self._snapshots.pop(name, None)
        if before is not None and since is None:
            since = before.since
        snapshot = self._snapshots[name] = Snapshot(name, self._another(name), since=since)
        return _told(snapshot) | ({} if before is None else {before.partition: DONE})

    # ------------------------------------------------------------------------------------------------------ snapshots

    def _snapshot_steps(self, most_rows: int, steps: list[Step]) -> None:
        _, reader = self._begun()
        self._read_ahead(reader)
        given = 0
        for snapshot in list(self._snapshots.values()):
            while given < most_rows and snapshot.chunks:
                found = self._ready(reader, snapshot, snapshot.chunks[0])
                if found is None:
                    break
                steps.extend(self._given(snapshot, found))
                given += len(found.rows)
                if snapshot.name not in self._snapshots:
                    break

    def _read_ahead(self, reader: ChunkReader) -> None:
        """Keeps twice as many chunks as connections under way, of tables in their order."""
        under_way = sum(len(snapshot.chunks) for snapshot in self._snapshots.values())
        for snapshot in self._snapshots.values():
            schema = self._tables.schema(snapshot.name)
            while schema is not None and not snapshot.planned and under_way < 2 * self._connections:
                chunk = reader.plan(snapshot, schema.key, self._connection())
                if chunk is None:
                    break
                snapshot.chunks.append(chunk)
                reader.submit(snapshot, chunk, schema.key)
                under_way += 1

    def _ready(self, reader: ChunkReader, snapshot: Snapshot, chunk: Chunk) -> Read | None:
        """The rows of a chunk, if they may be given now."""
        schema = self._tables.schema(snapshot.name)
        if schema is None or chunk.read is None or not chunk.read.done():
            return None
        try:
            found = chunk.read.result()
        except SourceAway:
            reader.submit(snapshot, chunk, schema.key)
            raise
        if found is not None and self._place < found.place:
            return None  # the log comes there soon
        if found is None or self._touched.get(snapshot.name, 0) > found.place:
            reader.submit(snapshot, chunk, schema.key)
            return None
        return found

    def _given(self, snapshot: Snapshot, found: Read) -> list[Step]:
        schema = self._tables.schema(snapshot.name)
        own = {(each.name, each.type) for each in found.columns}
        if schema is not None and {(each.name, each.type) for each in schema.columns} != own:
            # The log was read up to the chunk, so its columns are right, and a statement was not understood.
            changes = self._tables.observe(snapshot.name, found.columns, schema.key)
            if changes:
                return [Step(None, {**self._ends(), **self._read_again(snapshot.name, self._place)}, changes, 0)]
        snapshot.take(found)
        begins, done = snapshot.at, snapshot.planned and not snapshot.chunks
        if done:
            snapshot.at = DONE
            del self._snapshots[snapshot.name]
        elif found.last is not None and found.offsets is not None:
            snapshot.at = found.offsets.after(begins, found.last)
        rows = Rows(snapshot.partition)
        table = ".".join(snapshot.name)
        for each in found.rows:
            rows.add(table, "r", each, found.place, begins, None)
        ends = {**self._ends(), snapshot.partition: snapshot.at}
        gone = snapshot.gone() if done else ()
        return [Step(rows.as_arrow() if len(rows) else None, ends, gone, len(rows))]

    def _another(self, name: Name) -> str:
        """The name of one more snapshot of a table, that no other had."""
        self._count += 1
        return f"{'.'.join(name)}/snapshot@{time.time_ns() + self._count}"


def _since(partition: str) -> str:
    """Where it is kept since when rows may be gone that a snapshot does not find."""
    return partition.replace("/snapshot@", "/since@")


def _told(snapshot: Snapshot) -> dict[str, int]:
    """The positions of a snapshot as it begins, or goes on."""
    since = {} if snapshot.since is None else {_since(snapshot.partition): snapshot.since}
    return {snapshot.partition: snapshot.at, **since}
