"""Large values that an update left as they were, looked up by key where nothing else has them.

The row may be newer by then, or gone: then the log has that change, too, and its version is larger.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import sql

from keylake_pipelines.postgres.messages import ABSENT, Begin
from keylake_pipelines.postgres.tables import Table

if TYPE_CHECKING:
    from keylake_pipelines.postgres.rows import Layout
    from keylake_pipelines.postgres.server import Connection
    from keylake_pipelines.postgres.transactions import Pending

CHANGED_MEANWHILE = (  # since the last look at the catalog
    psycopg.errors.UndefinedTable,
    psycopg.errors.UndefinedColumn,
    psycopg.errors.InsufficientPrivilege,
)
# The log has the lower 32 bits of a number; the whole one is the nearest to those of now.
_IS_SEEN = """
    WITH now AS (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::int8 + 2147483648 AS most)
    SELECT pg_visible_in_snapshot((most - mod(most - %(number)s, 4294967296))::text::xid8, pg_current_snapshot())
    FROM now"""
_KEYS_OF_A_LOOKUP = 500
_SECONDS_OF_A_COMMIT = 60.0  # standbys may hold it up


def filled(connection: Connection, begun: Begin, pending: Sequence[Pending]) -> None:
    """Put the values into rows that lack them."""
    _wait_until_seen(connection, begun)
    for _, group in groupby(pending, key=lambda each: id(each.logged)):
        rows = list(group)
        layout = rows[0].logged.layout
        assert layout is not None
        for first in range(0, len(rows), _KEYS_OF_A_LOOKUP):
            _fill(connection, layout, rows[first : first + _KEYS_OF_A_LOOKUP])


def _wait_until_seen(connection: Connection, begun: Begin) -> None:
    """A transaction is logged a moment before others see it."""
    until = time.monotonic() + _SECONDS_OF_A_COMMIT
    while connection.execute(_IS_SEEN, {"number": begun.transaction}).fetchone() != (True,):
        if time.monotonic() > until:
            raise psycopg.OperationalError(f"transaction {begun.transaction} is in the log and not committed")
        time.sleep(0.001)


def _fill(connection: Connection, layout: Layout, rows: Sequence[Pending]) -> None:
    key = [layout.numbers[at] for at in layout.key]
    lacking = sorted({at for each in rows for at, value in enumerate(each.values) if value is ABSENT})
    wanted = [at for at in lacking if layout.numbers[at] is not None]
    keys = [tuple(each.values[at] for at in layout.key) for each in rows]
    names = {each.number: each.name for each in layout.table.columns}
    columns = sql.SQL(", ").join(sql.Identifier(names[layout.numbers[at] or 0]) for at in [*layout.key, *wanted])
    statement = sql.SQL("COPY (SELECT {} FROM {} WHERE ({}) IN ({})) TO STDOUT").format(
        columns,
        _named(layout.table),
        sql.SQL(", ").join(sql.Identifier(names[number or 0]) for number in key),
        sql.SQL(", ").join(
            sql.SQL("({})").format(sql.SQL(", ").join(sql.Literal(each) for each in one)) for one in keys
        ),
    )
    found: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in copy.rows():
            found[tuple(row[: len(key)])] = tuple(row[len(key) :])
    for each, values in zip(rows, keys, strict=True):
        if (looked_up := found.get(values)) is not None:
            of = dict(zip(wanted, looked_up, strict=True))
            each.values = [of.get(at, value) if value is ABSENT else value for at, value in enumerate(each.values)]


def _named(table: Table) -> sql.Identifier:
    return sql.Identifier(*table.name.parts[1:])
