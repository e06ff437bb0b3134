"""The batch of a run: rows that wait to be written, and the ends of what was polled.

The positions of a pipeline are the ends, but where rows wait: a partition goes on at the first of them.
"""

# pyright: reportUnknownParameterType=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

import pyarrow as pa

from keylake_pipelines.runner.waiting import Waiting


class Batch:
    """Rows by keyed table, and ends by partition, since these positions."""

    def __init__(self, positions: Mapping[str, int]) -> None:
        self._waiting: dict[str, Waiting] = {}
        self.ends = dict(positions)

    @property
    def rows(self) -> int:
        """The number of rows that wait."""
        return sum(each.count for each in self._waiting.values())

    @property
    def tables(self) -> tuple[str, ...]:
        """The keyed tables that rows wait for."""
        return tuple(self._waiting)

    def add(self, target: str, source: str, rows: pa.Table) -> None:
        """Let rows of a source table wait for a keyed table."""
        self._waiting.setdefault(target, Waiting(time.monotonic())).add(source, rows)

    def reach(self, partition: str, end: int) -> None:
        """Move the end of a partition; ends never go back."""
        self.ends[partition] = max(end, self.ends.get(partition, end))

    def due(self, freshness: float, few: int) -> tuple[str, ...]:
        """The keyed tables with `few` rows or more, or with one that has waited for `freshness` seconds."""
        now = time.monotonic()
        return tuple(name for name, each in self._waiting.items() if each.count >= few or now - each.since >= freshness)

    def take(self, targets: Iterable[str]) -> dict[str, Waiting]:
        """The rows that wait for these tables, which wait no more."""
        return {name: self._waiting.pop(name) for name in targets if name in self._waiting}

    def positions(self) -> dict[str, int]:
        """The positions at which each partition goes on: at its first row that waits, or behind all that was polled."""
        positions = dict(self.ends)
        for waiting in self._waiting.values():
            for partition, first in waiting.first.items():
                positions[partition] = min(first, positions.get(partition, first))
        return positions
