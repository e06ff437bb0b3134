"""The tables of a server as its catalog has them, and those of which its log does not have the rows."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from keylake_pipelines.mysql.server import Server, log_status, rows_of

if TYPE_CHECKING:
    from pymysql.connections import Connection

PERIOD = ("ROW START", "ROW END")  # by which the catalog knows columns of a period
HIDDEN_PERIOD = ("row_start", "row_end")  # of a table whose definition names none
_MOST_READINGS = 10
_WITHOUT_OWN_LOG = ("BLACKHOLE", "MRG_MYISAM", "FEDERATED", "CONNECT", "SPIDER")
_HIDDEN = ("information_schema", "mysql", "performance_schema", "sys")


@dataclass(frozen=True)
class CatalogColumn:
    """A column as the catalog has it now."""

    name: str
    definition: str
    comment: str
    period: bool = False  # whether it says from when or to when a row of a system-versioned table is current


CatalogTable = tuple[tuple[CatalogColumn, ...], tuple[str, ...], str]  # columns, key, comment


def catalog(server: Server, connection: Connection[Any]) -> dict[tuple[str, str], CatalogTable]:
    """All tables of the server as they are now.

    Tables may be renamed between the questions to the catalog: it is read until it says the same twice.
    """
    found = _catalog(server, connection)
    for _ in range(_MOST_READINGS):
        again = _catalog(server, connection)
        if again == found:
            break
        found = again
    return found


def columns_with_defaults(server: Server, name: tuple[str, str]) -> frozenset[str]:
    """The columns of a table that a row has a value in where an INSERT names none; constants are not in all logs."""
    with server.asked("asking for defaults of columns"), closing(server.connect()) as connection:
        rows = rows_of(
            connection,
            "SELECT column_name FROM information_schema.columns WHERE table_schema = %s AND table_name = %s"
            " AND (is_nullable = 'NO' OR coalesce(column_default, 'NULL') <> 'NULL')",
            name,
        )
    return frozenset(str(each) for (each,) in rows)


def tables_without_log(server: Server, connection: Connection[Any]) -> dict[tuple[str, str], str]:
    """Tables of which the log does not have what happens to their rows, and why."""
    with server.asked("asking for tables without a log"):
        _, _, *filters = log_status(connection)
        engines = rows_of(
            connection,
            "SELECT table_schema, table_name, engine FROM information_schema.tables WHERE table_schema NOT IN %s",
            [_HIDDEN],
        )
    logged, ignored = ({each for each in str(said or "").split(",") if each} for said in filters[:2])
    found: dict[tuple[str, str], str] = {}
    for database, table, engine in engines:
        if (logged and database not in logged) or database in ignored:
            found[database, table] = (
                f"binlog_do_db and binlog_ignore_db of {server.name} leave the database {database} out of its log."
                " Take them out of the settings of the server, or leave the table out."
            )
        elif str(engine).upper() in _WITHOUT_OWN_LOG:
            found[database, table] = (
                f"Table {database}.{table} has the engine {engine}, whose rows are not what the log says of them."
                " Give it another engine, or leave it out."
            )
    return found


def _catalog(server: Server, connection: Connection[Any]) -> dict[tuple[str, str], CatalogTable]:
    with server.asked("asking for its tables"), closing(connection.cursor()):
        named = rows_of(
            connection,
            "SELECT table_schema, table_name, table_comment, table_type FROM information_schema.tables"
            " WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') AND table_schema NOT IN %s",
            [_HIDDEN],
        )
        columns = rows_of(
            connection,
            "SELECT table_schema, table_name, column_name, column_type, column_comment,"
            " generation_expression FROM information_schema.columns WHERE table_schema NOT IN %s"
            " ORDER BY table_schema, table_name, ordinal_position",
            [_HIDDEN],
        )
        keys = rows_of(
            connection,
            "SELECT table_schema, table_name, column_name FROM information_schema.key_column_usage"
            " WHERE constraint_name = 'PRIMARY' AND table_schema NOT IN %s"
            " ORDER BY table_schema, table_name, ordinal_position",
            [_HIDDEN],
        )
    key: dict[tuple[str, str], list[str]] = {}
    for database, table, column in keys:
        key.setdefault((database, table), []).append(column)
    found: dict[tuple[str, str], list[CatalogColumn]] = {}
    for database, table, name, definition, comment, generated in columns:
        period = _as_text(generated) in PERIOD
        column = CatalogColumn(name, _as_text(definition), _as_text(comment), period)
        found.setdefault((database, table), []).append(column)
    for database, table, _, kind in named:
        known = found.get((database, table), [])
        if kind == "SYSTEM VERSIONED" and not any(column.period for column in known):
            known += [CatalogColumn(name, "timestamp(6)", "", True) for name in HIDDEN_PERIOD]
        known.sort(key=lambda column: column.period and column.name == key.get((database, table), [""])[-1])
    return {
        (database, table): (
            tuple(found.get((database, table), ())),
            tuple(key.get((database, table), ())),
            _as_text(comment),
        )
        for database, table, comment, _ in named
    }


def _as_text(value: str | bytes | None) -> str:
    return value.decode() if isinstance(value, bytes) else value or ""
