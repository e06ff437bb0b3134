"""A server of MariaDB or MySQL as a source of a pipeline.

    tables ── chunks, several connections ──┐
                                            ├──▶ steps; versions are places of the log, so any order will do
    binary log ── transactions ─────────────┘

Partitions: `mysql:HOST:PORT` is the log, its offset the place where a transaction begins (`places`); with `/begun`
behind it, when the file of that place began, by which another log is noticed. `shop.orders/snapshot` is the snapshot of
a table (`keys` says what its offset is). `shop.orders/snapshot@NUMBER` goes on with it after a restart, or is another
one, which a statement made necessary: it filled columns of rows that the log does not have. Where rows may be gone,
too, `shop.orders/since@NUMBER` is the place since which the log knows of all others, and `shop.orders/stale` the place
of the last change of a parent that a snapshot under way has missed. `shop._orders_gho/ghost` is where a ghost was made,
so that its statements are known after a restart in the middle of a migration.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from keylake.errors import DefinitionError
from keylake_pipelines.mysql.cascades import Cascades, cascades_of
from keylake_pipelines.mysql.catalog import catalog, tables_without_log
from keylake_pipelines.mysql.keys import DONE
from keylake_pipelines.mysql.known import KnownTables, Selection
from keylake_pipelines.mysql.log import BinaryLog
from keylake_pipelines.mysql.places import place_of
from keylake_pipelines.mysql.readings import Readings
from keylake_pipelines.mysql.rows import Rows
from keylake_pipelines.mysql.server import (
    LogFiles,
    Server,
    charsets,
    check_log,
    check_place,
    log_end,
    log_files,
    other_log,
)
from keylake_pipelines.mysql.snapshot import ChunkReader, what_locks
from keylake_pipelines.mysql.starts import Start, place_of_start
from keylake_pipelines.mysql.transactions import Transaction
from keylake_pipelines.mysql.words import Name, name_of
from keylake_pipelines.source.absence import Absence, SourceAway
from keylake_pipelines.source.source import Lag, Step
from keylake_pipelines.source.tables import (
    SourceSchema,
    SourceTable,
    TableChange,
    TableCreated,
    TableRefused,
    TableRenamed,
)

_GHOST = "/ghost"
_PAUSE_SECONDS = 0.05
_SECONDS_BETWEEN_LOOKS = 5.0  # at what locks rows
_SECONDS_BETWEEN_READINGS = 5.0  # of a table whose parents change
LOG = logging.getLogger("keylake")


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
        self._readings: Readings | None = None
        self._tables = KnownTables(self._selection, {})
        self._told = False  # where the log and snapshots begin, and
        self._lost: list[TableChange] = []  # tables that cannot be read, or not any more
        self._first_ends: dict[str, int] = {}
        self._ghosts: dict[Name, int] = {}  # where each was made
        self._absence = Absence()
        self._waits: str | None = None  # for locks of others
        self._looked = 0.0

    def begin(self, positions: Mapping[str, int], schemas: Sequence[SourceSchema] = ()) -> None:
        """Go on at positions; where they have no log, `start` says what is read."""
        self.close()
        control = self._control = self._server.connect()
        check_log(self._server, control)
        files = log_files(self._server, control)
        known_now = catalog(self._server, control)
        with self._server.asked("asking for the end of its log"):
            end = place_of(*log_end(control))
        tables = self._tables = KnownTables(self._selection, known_now, end)
        found = positions.get(self._server.name)
        if found is None:
            self._place = place_of_start(self._server, control, files, self._start, lambda: self._without_rows(control))
        else:
            self._place = found
            tables.remember(schemas)
        file, _ = check_place(self._server, files, self._place)
        for name, reason in tables_without_log(self._server, control).items():
            if name in tables.schemas():
                tables.refuse(name, reason)
        log = self._log = BinaryLog(self._server, self._number, charsets(self._server, control), tables)
        log.begun = log.when_begun(file)  # also of a log that is not read yet: a later one is another
        if positions.get(f"{self._server.name}/begun", log.begun) != log.begun:
            raise other_log(self._server, file)
        self._ghosts = {}
        self._remember_ghosts(positions, files)
        reader = ChunkReader(self._server, self._connections, self._chunk_rows)
        self._readings = Readings(tables, reader, self._connections, _SECONDS_BETWEEN_READINGS)
        self._tell_cascades()
        self._first_ends = {}
        if self._start == "snapshot" or found is not None:
            every = self._start == "snapshot"
            self._first_ends = self._readings.go_on(positions, self._place, all_tables=every)
        self._told = False
        known = {schema.table for schema in schemas}
        self._lost = [
            TableRefused(each.table, each.refused) if each.table in known else TableCreated(each)
            for each in tables.refused()
        ]

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

    def _tell_cascades(self) -> None:
        """Names in the log those tables whose rows change with others by a foreign key: InnoDB logs nothing of it."""
        log, _ = self._begun()
        before = set(log.cascades.keys)  # the catalog is ahead of the log: it may lack what holds there
        found = cascades_of(self._server, self._connection(), self._tables.schemas().keys())
        log.cascades = Cascades(tuple(before | set(found.keys)))
        for key in set(found.keys) - before:
            if key.child in self._tables.schemas():
                LOG.info(
                    "Rows of %s change with those of %s by a foreign key, and the log of %s has no word of it."
                    " The table is read once more after such changes.",
                    *(".".join(key.child), ".".join(key.parent), self._server.name),
                )

    def schemas(self) -> tuple[SourceSchema, ...]:
        """The tables as they are now. A log that is behind has changes of them that it tells when it comes there."""
        return (*self._tables.offered(), *self._tables.refused())

    def reread(self, table: SourceTable) -> bool:
        """Read all rows of a table once more: a snapshot from the place on up to which the log was read."""
        name = name_of(table)
        _, readings = self._begun()
        if name in self._tables.schemas():
            self._first_ends |= readings.again(name, self._place)
        return True

    def poll(self, most_rows: int, seconds: float) -> tuple[Step, ...]:
        """Steps of the log and of snapshots; connections that break are made anew."""
        if not self._told:  # alone: who writes rows of the log knows then where it began, whatever happens to them
            self._told = True
            return (Step(None, {**self._ends(), **self._begun()[1].begun()}, tuple(self._lost)),)
        until = time.monotonic() + seconds
        while True:
            steps: list[Step] = []  # those of before a connection is lost count
            try:
                self._log_steps(most_rows, steps)
                self._begun()[1].steps(self._place, self._ends(), most_rows, self._connection(), steps)
                self._absence.over()
            except SourceAway as error:
                self._absence.lost(error)
                self._forget_connections()
            if steps:
                return tuple(steps)
            if time.monotonic() >= until:
                self._absence.check()
                return (Step(None, {}),) if self._absence.lasts or self._readings else ()
            time.sleep(_PAUSE_SECONDS)

    def written(self, positions: Mapping[str, int]) -> None:
        """The server keeps its log as long as its settings say."""

    def lag(self) -> Lag:
        """Bytes of the log that were not read, and the time of the last change that was."""
        try:
            behind = log_files(self._server, self._connection()).behind(self._place)
            self._look_at_locks()
        except SourceAway:
            self._forget_connections()
            return Lag(None, "bytes", snapshots=bool(self._readings), waits=self._waits)
        newest, oldest = (None, self._last) if behind else (self._last, None)
        return Lag(behind, "bytes", newest, oldest, snapshots=bool(self._readings), waits=self._waits)

    def _look_at_locks(self) -> None:
        """Tell of rows that are locked, once for each sentence."""
        locked, before = self._begun()[1].locked, self._waits
        if not locked:
            self._waits = None
        elif before is None or time.monotonic() > self._looked + _SECONDS_BETWEEN_LOOKS:
            self._looked = time.monotonic()
            self._waits = what_locks(self._connection(), locked)
            if self._waits != before:
                LOG.warning("%s: %s", self._server.name, self._waits)

    def close(self) -> None:
        if self._readings is not None:
            self._readings.close()
            self._readings = None
        self._forget_connections()

    def _forget_connections(self) -> None:
        if self._log is not None:
            self._log.close()
        if self._readings is not None:
            self._readings.forget_connections()
        if self._control is not None:
            self._control.close() if self._control.open else None
            self._control = None

    def _connection(self) -> Any:
        if self._control is None:
            self._control = self._server.connect()
        return self._control

    def _begun(self) -> tuple[BinaryLog, Readings]:
        if self._log is None or self._readings is None:
            raise DefinitionError("The source was not begun. Call begin() with the positions that were kept.")
        return self._log, self._readings

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
        """The positions of the log: every step has them, since a snapshot counts from the place where its log began."""
        log, _ = self._begun()
        ends = {self._server.name: self._place}
        first, self._first_ends = self._first_ends, {}
        return {**ends, **first} if log.begun is None else {**ends, **first, f"{self._server.name}/begun": log.begun}

    def _follow(
        self, transaction: Transaction, log: BinaryLog, begins: int
    ) -> tuple[list[TableChange], dict[str, int]]:
        """The changes of tables by a transaction, and the positions of snapshots that follow from them."""
        outcome = transaction.outcome
        _, readings = self._begun()
        ends: dict[str, int] = {}
        for change in outcome.changes:
            if isinstance(change, TableRenamed):
                ends |= readings.rename(name_of(change.table), name_of(change.to))
        for name in outcome.touched:
            ends |= readings.touch(name, transaction.end)
        for change in outcome.changes:
            if isinstance(change, TableCreated):
                ends |= readings.created(name_of(change.schema.table))
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
                ends |= readings.again(name, transaction.end if name in reread else None)
        if transaction.refers:
            self._tell_cascades()
        stale, log.stale = log.stale & self._tables.schemas().keys(), set()
        for name in stale:
            ends |= readings.stale(name, transaction.end)
        return outcome.changes, ends
