"""Looks at PostgreSQL's catalog: the tables that the source reads, their columns, and where their rows lie."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from typing_extensions import LiteralString

from keylake.errors import DefinitionError
from keylake_pipelines.postgres.forms import TEXT, Form, PostgresType, form_of
from keylake_pipelines.postgres.tables import Catalog, Column, StoredRows, Table
from keylake_pipelines.source.tables import SourceSchema, SourceTable

if TYPE_CHECKING:
    from keylake_pipelines.postgres.server import Connection

_SECONDS_OF_A_DEFINITION = 15.0  # from CREATE TABLE to the statement that gives it a key

_TYPES = """
    SELECT t.oid::int8, t.typname, t.typtype, coalesce(e.oid, 0)::int8, t.typbasetype::int8, t.typtypmod,
           coalesce(e.typdelim, ','), e.oid IS NOT NULL
    FROM pg_type t LEFT JOIN pg_type e ON e.typarray = t.oid"""

_TABLES = """
    SELECT c.oid::int8, n.nspname, c.relname, coalesce(obj_description(c.oid, 'pg_class'), ''), c.relreplident,
           ARRAY(SELECT k FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS keys(k, place)
                 WHERE place <= i.indnkeyatts ORDER BY place)
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_index i ON i.indrelid = c.oid
         AND CASE WHEN c.relreplident = 'i' THEN i.indisreplident ELSE i.indisprimary AND i.indimmediate END
    WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p' AND NOT c.relispartition
      AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_%'
    ORDER BY 2, 3"""

_LABELS = """
    SELECT enumtypid::int8, oid::int8, enumlabel FROM pg_enum ORDER BY 1, 2"""

_PARTS = """
    SELECT t.oid::int8, a.atttypid::int8, a.attname || ' ' || format_type(a.atttypid, a.atttypmod), a.attnum
    FROM pg_type t JOIN pg_class c ON c.oid = t.typrelid JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relkind = 'c' AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL SELECT rngtypid::int8, rngsubtype::int8, '', 0 FROM pg_range
    UNION ALL SELECT rngmultitypid::int8, rngsubtype::int8, '', 0 FROM pg_range
    ORDER BY 1, 4"""

_COLUMNS = """
    SELECT a.attrelid::int8, a.attnum, a.attname, a.atttypid::int8, a.atttypmod, a.attndims,
           coalesce(col_description(a.attrelid, a.attnum), ''), a.attisdropped OR a.attgenerated <> ''
    FROM pg_attribute a WHERE a.attrelid::int8 = ANY(%s) AND a.attnum > 0 ORDER BY 1, 2"""

_ROWS = """
    WITH leaves AS (
        SELECT c.oid AS root, c.oid AS leaf FROM pg_class c WHERE c.oid::int8 = ANY(%(tables)s) AND c.relkind = 'r'
        UNION ALL
        SELECT c.oid, p.relid FROM pg_class c, pg_partition_tree(c.oid) p
        WHERE c.oid::int8 = ANY(%(tables)s) AND c.relkind = 'p' AND p.isleaf)
    SELECT l.root::int8, c.oid::int8, n.nspname, c.relname, pg_relation_filenode(c.oid)::int8,
           coalesce((SELECT max(attnum) FROM pg_attribute WHERE attrelid = c.oid AND atthasmissing), 0)::int8
               + 65536 * (SELECT coalesce(sum(attnum), 0) FROM pg_attribute
                          WHERE attrelid = c.oid AND attgenerated = 's' AND NOT attisdropped)::int8,
           pg_relation_size(c.oid) / current_setting('block_size')::int8,
           (SELECT coalesce(sum(xmin::text::int8), 0)::int8 FROM pg_inherits
            WHERE inhrelid IN (SELECT relid FROM pg_partition_ancestors(c.oid)))
    FROM leaves l JOIN pg_class c ON c.oid = l.leaf JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind = 'r' ORDER BY 1, 3, 4"""


class Looks:
    """The questions to the catalog: the tables that are wanted, by their names with the database.

    `keys` are those of tables that have none. Columns of `as_text` are read as text: `schema.table.column`, or without
    the schema, or the name alone.
    """

    def __init__(
        self,
        database: str,
        wanted: Callable[[SourceTable], bool],
        keys: Mapping[str, Sequence[str]],
        as_text: Sequence[str],
    ) -> None:
        self._database = database
        self._wanted = wanted
        self._keys = keys
        self._as_text = frozenset(as_text)
        self._types: dict[int, PostgresType] = {}
        self._labels: dict[int, tuple[tuple[int, str], ...]] = {}  # of enums, with their numbers
        self._parts: dict[int, tuple[tuple[int, str], ...]] = {}  # types inside of composite types and ranges
        self.names: dict[int, dict[int, frozenset[str]]] = {}  # of columns, that looks have seen, by table and number
        self._seen: dict[int, float] = {}  # since when, tables that cannot be read

    def look(self, connection: Connection, known: Catalog | None) -> Catalog:
        """The catalog as it is now. A table that cannot be read is refused, if it was known or the look is the first.

        Those that come later may get their key in a second statement, a moment later.
        """
        with connection.transaction():
            found = [
                row for row in _rows(connection, _TABLES) if self._wanted(SourceTable((self._database, row[1], row[2])))
            ]
            numbers = [row[0] for row in found]
            columns = _rows(connection, _COLUMNS, (numbers,))
            if not {row[3] for row in columns if row[3]} <= self._types.keys():
                self._types = {row[0]: PostgresType(*row) for row in _rows(connection, _TYPES)}
            labels = groupby(_rows(connection, _LABELS), key=lambda row: row[0])
            self._labels = {type_: tuple((row[1], row[2]) for row in rows) for type_, rows in labels}
            parts = groupby(_rows(connection, _PARTS), key=lambda row: row[0])
            self._parts = {type_: tuple((row[1], row[2]) for row in rows) for type_, rows in parts}
            of_tables = {table: list(rows) for table, rows in groupby(columns, key=lambda row: row[0])}
            stored = _rows(connection, _ROWS, {"tables": numbers})
        tables: dict[int, Table] = {}
        refused: dict[int, SourceSchema] = {}
        for row in found:
            try:
                tables[row[0]] = self._table(row, of_tables.get(row[0], []))
            except DefinitionError as error:
                seen = self._seen.setdefault(row[0], time.monotonic())
                was_known = known is None or row[0] in known.tables or row[0] in known.refused
                if was_known or time.monotonic() - seen > _SECONDS_OF_A_DEFINITION:
                    name = SourceTable((self._database, row[1], row[2]))
                    refused[row[0]] = SourceSchema(name, (), (), row[3], str(error))
        for table in tables.values():
            names = self.names.setdefault(table.number, {})
            for each in table.columns:
                names[each.number] = names.get(each.number, frozenset()) | {each.name}
        rows: dict[int, tuple[StoredRows, ...]] = dict.fromkeys(tables, ())
        for row in stored:
            root, (_, number, schema, name, file, filled, blocks, attached) = tables.get(row[0]), row
            if root is not None:
                of = ".".join(root.name.parts[1:])
                there = StoredRows(root.number, of, number, schema, name, file, filled, blocks, attached, root.names)
                rows[root.number] += (there,)
        return Catalog(tables, rows, refused)

    def _table(self, row: tuple[Any, ...], attributes: Sequence[tuple[Any, ...]]) -> Table:
        number, schema, name, comment, identity, key = row
        shown = f"{schema}.{name}"
        columns = tuple(
            Column(
                at,
                column,
                type_,
                modifier,
                about,
                self._form((schema, name, column), type_, modifier, dimensions),
                self._labels_of(type_),
            )
            for _, at, column, type_, modifier, dimensions, about, unpublished in attributes
            if not unpublished
        )
        _check_case(shown, [each.name for each in columns])
        wanted = self._keys.get(shown)
        if wanted is not None:
            if identity != "f":
                raise DefinitionError(
                    f"Table {shown} has its key from the source (keys), and its log does not have whole rows. "
                    f"Run ALTER TABLE {shown} REPLICA IDENTITY FULL."
                )
            numbers = {each.name: each.number for each in columns}
            if missing := [each for each in wanted if each not in numbers]:
                raise DefinitionError(
                    f"Table {shown} has no column {missing[0]!r}, which keys of the source name. It has {[*numbers]}."
                )
            key = [numbers[each] for each in wanted]
        if identity == "n":
            raise DefinitionError(
                f"Table {shown} has REPLICA IDENTITY NOTHING, so its log does not say which row is gone. "
                f"Run ALTER TABLE {shown} REPLICA IDENTITY DEFAULT, or leave the table out."
            )
        if not key:
            full = "" if identity == "f" else f"run ALTER TABLE {shown} REPLICA IDENTITY FULL and "
            raise DefinitionError(
                f"Table {shown} has no key whose rows the log names. Add a primary key that is not deferrable, or "
                f"{full}name its key in the source, keys: {{{shown}: column}} (keys= in Python), or in the pipeline "
                "(transform: primary-keys), or leave the table out."
            )
        unpublished = frozenset(each[1] for each in attributes if each[7])
        return Table(number, SourceTable((self._database, schema, name)), comment, columns, tuple(key), unpublished)

    def _form(self, parts: Sequence[str], type_: int, modifier: int, dimensions: int) -> Form:
        names = {".".join(parts[first:]) for first in range(len(parts))}
        return form_of(type_, modifier, dimensions, self._types) if self._as_text.isdisjoint(names) else TEXT

    def _labels_of(self, type_: int) -> tuple[tuple[int, str], ...]:
        """The labels of an enum, also of one in an array, a domain, a range or a composite type.

        What a composite type is made of is a label, too: its texts are others when an attribute comes or goes.
        """
        while (found := self._types.get(type_)) is not None and (below := found.element or found.base):
            type_ = below
        parts = self._parts.get(type_, ())
        made_of = ", ".join(text for _, text in parts if text)
        own = self._labels.get(type_, ()) + (((type_, made_of),) if made_of else ())
        return own + tuple(label for part, _ in parts for label in self._labels_of(part))

    def logged_json(self, column: Column, type_: int, modifier: int) -> object:
        """The form that makes JSON of a value as the log had it; the column may have had another type then."""
        if (type_, modifier) == (column.type, column.modifier):
            return column.form.json
        return form_of(type_, modifier, 0, self._types).json


def _check_case(table: str, columns: Sequence[str]) -> None:
    seen: dict[str, str] = {}
    for name in columns:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise DefinitionError(
                f"Table {table} has the columns {other!r} and {name!r}, which differ only in case; Spark cannot tell "
                "them apart. Rename one, or leave the table out."
            )


def _rows(connection: Connection, query: LiteralString, arguments: Any = None) -> list[Any]:
    return list(connection.execute(query, arguments))
