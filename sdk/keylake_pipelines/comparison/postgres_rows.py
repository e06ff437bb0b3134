"""Rows of PostgreSQL as a check reads them: as a snapshot does, by ranges of keys, without a slot."""

# pyright: reportUnknownParameterType=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

import psycopg
import pyarrow as pa
from psycopg import sql
from pyiceberg.types import (
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    TimestampType,
    TimestamptzType,
)

from keylake_pipelines.comparison.rows import BATCH_ROWS, KeyRange
from keylake_pipelines.postgres.catalog import Looks
from keylake_pipelines.postgres.positions import commit_of, place, place_text
from keylake_pipelines.postgres.rereads import Rereads
from keylake_pipelines.postgres.rows import Layout, Rows
from keylake_pipelines.postgres.server import Server
from keylake_pipelines.postgres.tables import END, Table
from keylake_pipelines.postgres.transactions import LOG
from keylake_pipelines.source.tables import SourceSchema, SourceTable

_RANGED = (IntegerType, LongType, DecimalType, DateType, TimestampType, TimestamptzType)
_PENDING = (
    "SELECT 1 FROM pg_logical_slot_peek_binary_changes(%s, %s::pg_lsn, 10000, 'proto_version', '1',"
    " 'publication_names', %s) WHERE get_byte(data, 0) NOT IN (66, 67) LIMIT 1"  # begins and ends of transactions
)
_SENT = (
    "SELECT r.sent_lsn::text FROM pg_replication_slots s JOIN pg_stat_replication r ON r.pid = s.active_pid"
    " WHERE s.slot_name = %s"
)


class PostgresRows:
    """The tables of a database that a source selects.

    `seconds` is how long a pipeline may keep changes before it writes them.
    """

    partition = LOG

    def __init__(
        self,
        address: str,
        tables: Callable[[SourceTable], bool],
        *,
        slot: str,
        publication: str,
        keys: Mapping[str, Sequence[str]],
        as_text: Sequence[str],
        snapshot: bool,
        seconds: float,
    ) -> None:
        self._server = Server(address)
        self._slot, self._publication = slot, publication
        self._keys, self._has_rows, self._seconds = dict(keys), snapshot, seconds
        self._sent: dict[int, float] = {}  # when the server had sent its log up to a place
        with self._asked("connecting"):
            self._connection = self._server.sql()
            database: Any = self._connection.execute("SELECT current_database()").fetchone()
            self._catalog = Looks(database[0], tables, keys, as_text).look(self._connection, None)

    def tables(self) -> tuple[SourceSchema, ...]:
        return self._catalog.schemas

    def is_ranged(self, schema: SourceSchema) -> bool:
        first = next(each for each in schema.columns if each.name == schema.key[0])
        return isinstance(first.type, _RANGED) and ".".join(schema.table.parts[1:]) not in self._keys

    def end_of_range(self, schema: SourceSchema, low: object | None, rows: int) -> object | None:
        column = sql.Identifier(schema.key[0])
        statement = sql.SQL("COPY (SELECT {} FROM {} WHERE {} ORDER BY {} LIMIT 1 OFFSET {}) TO STDOUT").format(
            column, self._named(schema), _within(column, KeyRange(low)), column, sql.Literal(rows - 1)
        )
        with (
            self._asked(f"looking for ranges of keys of {schema.table}"),
            self._connection.cursor() as cursor,
            cursor.copy(statement) as copy,
        ):
            found = [row[0] for row in copy.rows()]
        table = self._table(schema)
        form = next(each.form for each in table.columns if each.name == schema.key[0])
        return json.loads(form.json(str(found[0]))) if found else None

    def read(self, schema: SourceSchema, within: KeyRange) -> Iterator[pa.Table]:
        table = self._table(schema)
        layout = Layout(table, table.columns)
        columns = sql.SQL(", ").join(sql.Identifier(each.name) for each in table.columns)
        for stored in self._catalog.rows[table.number]:
            statement = sql.SQL("COPY (SELECT {} FROM ONLY {} WHERE {}) TO STDOUT").format(
                columns,
                sql.Identifier(stored.schema, stored.name),
                _within(sql.Identifier(schema.key[0]), within),
            )
            with (
                self._asked(f"reading {schema.table}"),
                self._connection.cursor() as cursor,
                cursor.copy(statement) as copy,
            ):
                while some := [*islice(copy.rows(), BATCH_ROWS)]:
                    rows = Rows("check")
                    rows.add_stored(layout, some, 0, 0)
                    yield rows.step({}).rows

    def end(self) -> int:
        with self._asked("asking for the end of its log"):
            row: Any = self._connection.execute("SELECT pg_current_wal_insert_lsn()::text").fetchone()
        return place(row[0])

    def is_read(self, schema: SourceSchema, positions: Mapping[str, int]) -> bool:
        table = self._table(schema)
        rows = Rereads(positions).applied(self._catalog).rows[table.number]
        return not self._has_rows or all(positions.get(each.partition, 0) >= END for each in rows)

    def is_passed(self, place: int, positions: Mapping[str, int], *, runs: bool) -> bool:
        if commit_of(positions.get(LOG, 0)) >= place:
            return True
        with self._asked("asking for what was read of its log"):
            if not runs:  # the slot has what a pipeline that does not run will read
                wanted = (self._slot, place_text(place), self._publication)
                return self._connection.execute(_PENDING, wanted).fetchone() is None
            row: Any = self._connection.execute(_SENT, (self._slot,)).fetchone()
        if row is None or row[0] is None or _number(row[0]) < place:
            return False
        return time.monotonic() - self._sent.setdefault(place, time.monotonic()) > self._seconds

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _asked(self, doing: str) -> Generator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise self._server.failed(error, doing) from None

    def _table(self, schema: SourceSchema) -> Table:
        return next(each for each in self._catalog.tables.values() if each.name == schema.table)

    def _named(self, schema: SourceSchema) -> sql.Composable:
        table = self._table(schema)
        stored = self._catalog.rows[table.number]
        name = sql.Identifier(*schema.table.parts[1:])
        is_alone = [each.number for each in stored] == [table.number]  # else its partitions have the rows
        return sql.SQL("ONLY {}").format(name) if is_alone else name


def _number(text: str) -> int:
    return place(text)


def _within(column: sql.Identifier, within: KeyRange) -> sql.Composable:
    bounds = [(sql.SQL("{} > {}"), within.low), (sql.SQL("{} <= {}"), within.high)]
    used = [text.format(column, sql.Literal(str(value))) for text, value in bounds if value is not None]
    return sql.SQL(" AND ").join(used) if used else sql.SQL("true")
