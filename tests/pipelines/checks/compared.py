"""Rows of keyed tables beside those of the tables that a pipeline reads."""

from collections.abc import Iterable
from typing import Protocol

import keylake as kl


class _HasBoth(Protocol):
    """Rows of tables where they come from, and of keyed tables."""

    def in_source(self, table: str) -> list[dict[str, object]]: ...

    def in_lake(self, table: str) -> list[dict[str, object]]: ...


def differing(shop: _HasBoth, tables: Iterable[str]) -> dict[str, str]:
    """Keyed tables that have other rows than their source."""
    found: dict[str, str] = {}
    for table in sorted(tables):
        try:
            source = shop.in_source(table)
            lake = shop.in_lake(table)
        except kl.KeylakeError as error:
            found[table] = str(error)
            continue
        missing = [row for row in source if row not in lake]
        extra = [row for row in lake if row not in source]
        if missing or extra:
            found[table] = f"{len(missing)} missing, {len(extra)} extra: {missing[:2]} {extra[:2]}"[:600]
    return found


def ordered(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    return sorted(rows, key=lambda row: str(sorted(row.items())))
