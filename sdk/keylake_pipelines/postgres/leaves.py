"""Partitions that tables had: one that is detached, dropped or emptied takes rows away without a word in the log.

    leaf 16397 16402.16402.741 = 1      a partition of table 16397, by its number, its file and the transaction that
                                        attached it; 2: it is gone; 3: there again

Rows of tables whose partitions are gone, or come again, are read once more. A partition that is new is read for itself.
One that is detached, changed and attached again between two looks is another one, by the transaction.
"""

from __future__ import annotations

from collections.abc import Mapping

from keylake_pipelines.postgres.tables import Catalog

_WORD = "leaf "


class Leaves:
    """The positions of partitions; odd numbers for those that are there."""

    def __init__(self, positions: Mapping[str, int]) -> None:
        self._known = {name: at for name, at in positions.items() if name.startswith(_WORD)}

    def changed(self, catalog: Catalog) -> tuple[dict[str, int], frozenset[int]]:
        """The positions of partitions that have come or gone, and the tables that are to be read once more."""
        there = {
            f"{_WORD}{each.table} {each.number}.{each.file}.{each.attached}": each.table
            for rows in catalog.rows.values()
            for each in rows
            if each.number != each.table
        }
        come = {name: self._known.get(name, 0) + 1 for name in there if self._known.get(name, 0) % 2 == 0}
        gone = {
            name: at + 1
            for name, at in self._known.items()
            if at % 2 and name not in there and _table(name) in catalog.tables
        }
        self._known |= {**come, **gone}
        again = {there[name] for name, at in come.items() if at > 1} | {_table(name) for name in gone}
        return {**come, **gone}, frozenset(again)


def _table(name: str) -> int:
    return int(name.split(" ")[1])
