"""The publication that the log is read by: it is made, tables are added, and what it leaves out of them is told.

    catalog ── what the publication has of its tables ── those that it has whole; those that came to it just now

A list of columns, a filter of rows, or a kind of change that is not published leaves no trace in the log. So such
tables are refused, and have to be read once more when their publication has all of them again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import sql

from keylake.errors import DefinitionError, SourceFailed
from keylake_pipelines.postgres.server import Server
from keylake_pipelines.postgres.tables import Catalog, Table

if TYPE_CHECKING:
    from keylake_pipelines.postgres.server import Connection

_PUBLICATION = """
    SELECT pubviaroot OR NOT EXISTS (SELECT 1 FROM pg_class WHERE relkind = 'p'),
           ARRAY(SELECT kind FROM (VALUES ('insert', pubinsert), ('update', pubupdate), ('delete', pubdelete),
                                          ('truncate', pubtruncate)) AS kinds(kind, has) WHERE NOT has)
    FROM pg_publication WHERE pubname = %s"""

# A server of version 14 has neither lists of columns nor filters.
_TABLES = """
    SELECT c.oid::int8, to_jsonb(t) ->> 'rowfilter',
           CASE WHEN to_jsonb(r) ->> 'prattrs' IS NOT NULL THEN to_jsonb(t) ->> 'attnames' END
    FROM pg_publication p
    JOIN pg_publication_tables t ON t.pubname = p.pubname
    JOIN pg_namespace n ON n.nspname = t.schemaname
    JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = t.tablename
    LEFT JOIN pg_publication_rel r ON r.prpubid = p.oid AND r.prrelid = c.oid
    WHERE p.pubname = %s"""
_EVERY_CHANGE = "'insert, update, delete, truncate'"
# A table that was dropped or renamed since the look, or is a partition now: the next look sees it.
_CHANGED_MEANWHILE = (
    psycopg.errors.UndefinedTable,
    psycopg.errors.InvalidSchemaName,
    psycopg.errors.DuplicateObject,
)
_READ_ONCE_MORE = "have it read once more: keylake resnapshot, with the pipeline and the keyed table"


class Publication:
    """The publication of a source, by its name."""

    def __init__(self, server: Server, name: str, slot: str) -> None:
        self._server = server
        self.name = name
        self._slot = slot

    def checked(self, connection: Connection, catalog: Catalog, *, is_first: bool) -> tuple[Catalog, frozenset[int]]:
        """The catalog, in which tables that are not published whole are refused; and the tables that were added.

        Where it is the `first` time, the publication is made, and one that leaves out changes of all tables is refused.
        """
        found: Any = connection.execute(_PUBLICATION, (self.name,)).fetchone()
        wanted = sorted(catalog.tables.values(), key=lambda table: table.name)
        if found is None:
            if not is_first:
                raise SourceFailed(
                    f"{self._server} has no publication {self.name} any more, and its log cannot be read without. "
                    f"Run SELECT pg_drop_replication_slot('{self._slot}'), then let keylake resnapshot, with the name "
                    "of the pipeline, read all tables once more: it makes both anew."
                )
            self._make(connection, wanted)
            return catalog, frozenset()
        if reason := self._leaves_out(*found):
            if is_first:
                raise DefinitionError(reason)
            return catalog.refusing(dict.fromkeys(catalog.tables, f"{reason} Then {_READ_ONCE_MORE}.")), frozenset()
        rows: Any = connection.execute(_TABLES, (self.name,)).fetchall()
        has = {number: (condition, columns) for number, condition, columns in rows}
        reasons = {
            table.number: reason
            for table in wanted
            if (reason := self._part_of(table, *has.get(table.number, (None, None)))) is not None
        }
        missing = [table for table in wanted if table.number not in has]
        added: set[int] = set()
        if missing and is_first:
            self._add(connection, missing)
        for table in () if is_first else missing:
            try:
                self._add(connection, [table])
                added.add(table.number)
            except SourceFailed as error:
                reasons[table.number] = str(error)
            except _CHANGED_MEANWHILE:
                continue
        return catalog.refusing(reasons), frozenset(added)

    def _leaves_out(self, has_roots: bool, left_out: list[str]) -> str | None:
        """The reason why no table can be read by the publication, or None."""
        said, settings = list[str](), list[str]()
        if left_out:
            said.append(
                f"does not publish {', '.join(left_out)}, so keyed tables would keep what is not there any more"
            )
            settings.append(f"publish = {_EVERY_CHANGE}")
        if not has_roots:
            said.append("gives rows of partitions under the names of these")
            settings.append("publish_via_partition_root = true")
        if not said:
            return None
        return (
            f"Publication {self.name} {', and '.join(said)}. "
            f"Run ALTER PUBLICATION {self.name} SET ({', '.join(settings)})."
        )

    def _part_of(self, table: Table, condition: str | None, columns: str | None) -> str | None:
        """The reason why a table cannot be read by it: only some of its rows or columns are published."""
        if condition is None and columns is None:
            return None
        shown = ".".join(table.name.parts[1:])
        names = "" if columns is None else f" has the columns {', '.join(json.loads(columns))} alone"
        where = "" if condition is None else f" has the rows WHERE {condition} alone"
        return (
            f"Publication {self.name}{' and'.join(filter(None, (names, where)))} of table {shown}, and the log does "
            f"not say what it leaves out. Run ALTER PUBLICATION {self.name} DROP TABLE {shown} and ALTER PUBLICATION "
            f"{self.name} ADD TABLE {shown}, and {_READ_ONCE_MORE}; or leave the table out."
        )

    def _make(self, connection: Connection, tables: Iterable[Table]) -> None:
        listed = _listed(tables)
        for_tables = sql.SQL(" FOR TABLE {}").format(listed) if tables else sql.SQL("")
        statement = sql.SQL("CREATE PUBLICATION {}{} WITH (publish_via_partition_root = true)")
        lacks = f"has no publication {self.name}, and does not let this user make it"
        may = "the owner of the tables who has CREATE on the database"
        self._run(connection, statement.format(sql.Identifier(self.name), for_tables), lacks, may)

    def _add(self, connection: Connection, tables: Iterable[Table]) -> None:
        statement = sql.SQL("ALTER PUBLICATION {} ADD TABLE {}")
        lacks = f"does not let this user add tables to publication {self.name}"
        may = "the owner of the tables and the publication"
        self._run(connection, statement.format(sql.Identifier(self.name), _listed(tables)), lacks, may)

    def _run(self, connection: Connection, statement: sql.Composed, lacks: str, may: str) -> None:
        try:
            connection.execute(statement)
        except psycopg.errors.InsufficientPrivilege as error:
            raise SourceFailed(
                f"{self._server} {lacks}: {error.diag.message_primary}. "
                f"Let a superuser, or {may}, run {statement.as_string(connection)}."
            ) from None


def _listed(tables: Iterable[Table]) -> sql.Composed:
    return sql.SQL(", ").join(sql.Identifier(*table.name.parts[1:]) for table in tables)
