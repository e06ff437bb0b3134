"""Rows of MariaDB and MySQL as a check reads them: as a snapshot does, by ranges of keys, without locks."""

# pyright: reportUnknownParameterType=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa

from keylake.extension import quoted
from keylake_pipelines.comparison.rows import BATCH_ROWS, KeyRange
from keylake_pipelines.mysql.catalog import catalog
from keylake_pipelines.mysql.keys import DONE
from keylake_pipelines.mysql.known import KnownTables, Selection
from keylake_pipelines.mysql.places import place_of
from keylake_pipelines.mysql.rows import snapshot_rows
from keylake_pipelines.mysql.server import Server, log_end, rows_of
from keylake_pipelines.mysql.snapshot import as_json, described, quoted_table
from keylake_pipelines.mysql.values.forms import form_of
from keylake_pipelines.mysql.values.literals import FROM_TEXT
from keylake_pipelines.mysql.words import Name
from keylake_pipelines.source.tables import SourceSchema

_RANGED = ("number", "exact", "date", "datetime")


class MySqlRows:
    """The tables of a server that a source selects."""

    def __init__(self, server: Server, selection: Selection, *, snapshot: bool) -> None:
        self._server = server
        self._has_rows = snapshot  # whether the pipeline has read the rows from before it
        self._connection: Any = server.connect(server.rows_seconds)
        self._catalog = catalog(server, self._connection)
        self._known = KnownTables(selection, self._catalog)

    @property
    def partition(self) -> str:
        return self._server.name

    def tables(self) -> tuple[SourceSchema, ...]:
        return (*self._known.schemas().values(), *self._known.refused())

    def is_ranged(self, schema: SourceSchema) -> bool:
        columns, key, _ = self._catalog[_name(schema)]
        form = next((form_of(each.definition) for each in columns if each.name == schema.key[0]), None)
        return key == schema.key and form is not None and form.name in _RANGED and str(form.type) != "string"

    def end_of_range(self, schema: SourceSchema, low: object | None, rows: int) -> object | None:
        column = quoted(schema.key[0])
        where, values = _within(column, KeyRange(low))
        with self._server.asked(f"looking for ranges of keys of {schema.table}"):
            found = rows_of(
                self._connection,
                f"SELECT {column} FROM {quoted_table(_name(schema))} WHERE {where}"
                f" ORDER BY {column} LIMIT 1 OFFSET {rows - 1}",
                values,
            )
        if not found:
            return None
        columns, _, _ = self._catalog[_name(schema)]
        form = next(form_of(each.definition) for each in columns if each.name == schema.key[0])
        assert form is not None
        value: Any = json.loads(FROM_TEXT[form.name](found[0][0]))
        return Decimal(value) if form.name == "exact" else value  # a text would be compared as a double

    def read(self, schema: SourceSchema, within: KeyRange) -> Iterator[pa.Table]:
        from pymysql.cursors import SSCursor

        name = _name(schema)
        where, values = _within(quoted(schema.key[0]), within)
        with self._server.asked(f"reading {schema.table}"):
            columns, selected, forms = described(self._connection, name)
            with self._connection.cursor(SSCursor) as cursor:
                cursor.execute(
                    f"SELECT {', '.join(selected)} FROM {quoted_table(name)} WHERE {where}", tuple(values) or None
                )
                while found := cursor.fetchmany(BATCH_ROWS):
                    values = [pa.array(each, pa.large_binary()) for each in zip(*found, strict=True)]
                    yield snapshot_rows("check", str(schema.table), as_json(values, columns, forms), 0, 0)

    def end(self) -> int:
        with self._server.asked("asking for the end of its log"):
            return place_of(*log_end(self._connection))

    def is_read(self, schema: SourceSchema, positions: Mapping[str, int]) -> bool:
        first = f"{schema.table}/snapshot"
        again = [(int(each.rpartition("@")[2]), at) for each, at in positions.items() if each.startswith(f"{first}@")]
        last = max(again)[1] if again else positions.get(first, None if self._has_rows else DONE)
        return last == DONE

    def is_passed(self, place: int, positions: Mapping[str, int], *, runs: bool) -> bool:  # noqa: ARG002
        return positions.get(self.partition, -1) >= place

    def close(self) -> None:
        if self._connection.open:
            self._connection.close()


def _name(schema: SourceSchema) -> Name:
    return schema.table.parts[0], schema.table.parts[-1]


def _within(column: str, within: KeyRange) -> tuple[str, list[object]]:
    bounds = [(f"{column} > %s", within.low), (f"{column} <= %s", within.high)]
    used = [(text, value) for text, value in bounds if value is not None]
    return " AND ".join(text for text, _ in used) or "TRUE", [value for _, value in used]
