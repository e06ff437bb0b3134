"""Tables that are read once more: since which place, and whether that is done.

    again 16397 = since ── rows lie under other names of positions ── all read, and the log: TableReread, gone = since

`since` is the end of the log when they were asked for. Rows from before it that are not read again are gone.

The names are those of tables by number (OID), and their positions grow as the log does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from keylake_pipelines.postgres.tables import END, Catalog, newest_tables
from keylake_pipelines.source.source import Step
from keylake_pipelines.source.tables import SourceSchema, TableReread


class Rereads:
    """The positions of tables that are read once more."""

    def __init__(self, positions: Mapping[str, int]) -> None:
        self._since = _of(positions, "again")
        self._gone = _of(positions, "gone")

    def ask(self, tables: Iterable[int], since: int) -> dict[str, int]:
        """The positions that say that tables are read once more."""
        asked = dict.fromkeys(tables, since)
        self._since |= asked
        return {f"again {table}": at for table, at in asked.items()}

    def lie_ahead(self, table: int, position: int) -> bool:
        """A table is, or was, read once more as of a place behind this one."""
        return self._since.get(table, 0) > position

    def wait(self, position: int) -> bool:
        """The log was not read as far as rows that are read once more: older ones may still come."""
        return any(since > max(position, self._gone.get(table, 0)) for table, since in self._since.items())

    def replaced(self, catalog: Catalog, read: Mapping[str, int], known: Iterable[SourceSchema]) -> set[int]:
        """Tables that have the name of another one, whose rows were read last under it, and would stay.

        And those that have a name of before again, under which their keyed table is not any more. And those with an
        enum in their key that are read again, since they have changed: under another label a row has another key.
        """
        newest = newest_tables(read)
        stored = [each for rows in catalog.rows.values() for each in rows]
        found = {each.table for each in stored if newest.get(each.of, each.table) != each.table}
        names = {each.table for each in known}
        read_before = {each.table for each in stored if each.partition in read}
        found |= {each for each in read_before if names and catalog.tables[each].name not in names}
        by_label = {
            number
            for number, each in catalog.tables.items()
            if any(c.labels for c in each.columns if c.number in each.key)
        }
        found |= {
            each.table
            for each in stored
            if each.table in by_label and each.partition not in read and newest.get(each.of) == each.table
        }
        return {each for each in found if self._since.get(each, 0) <= self._gone.get(each, 0)}

    def applied(self, catalog: Catalog) -> Catalog:
        """The catalog, in which rows that are read once more have other names of positions."""
        rows = {
            number: tuple(replace(each, again=self._since.get(number, 0)) for each in stored)
            for number, stored in catalog.rows.items()
        }
        return replace(catalog, rows=rows)

    def ended(self, catalog: Catalog, read: Mapping[str, int], position: int) -> Step | None:
        """A step for tables that are read to their end, once the log is read to where that began; None without any."""
        done = {
            number: since
            for number, since in self._since.items()
            if number in catalog.tables
            and self._gone.get(number, 0) < since <= position
            and all(read.get(each.partition, 0) >= END for each in catalog.rows[number])
        }
        if not done:
            return None
        self._gone |= done
        changes = tuple(TableReread(catalog.tables[number].name, since) for number, since in done.items())
        return Step(None, {f"gone {number}": since for number, since in done.items()}, changes)


def _of(positions: Mapping[str, int], word: str) -> dict[int, int]:
    found = {name.partition(" ")[2]: at for name, at in positions.items() if name.startswith(f"{word} ")}
    return {int(number): at for number, at in found.items() if number.isdecimal()}
