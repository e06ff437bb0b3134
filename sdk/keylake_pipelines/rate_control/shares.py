"""Skewed parts: which tables, or buckets of them, should be divided into several tasks, by what the last batches had.

A shuffle gives a part to one task, and all tasks about the same number of rows if no part is larger than its share. A
part that is larger holds up the round: its keys are divided into ranges, a task for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_NEWEST = 0.4  # what one batch counts beside all before it
_HOLD = 0.75  # a part keeps its tasks while it is so near to them
_LEAST_SHARE = 1e-4  # parts below it are forgotten


@dataclass(frozen=True)
class Shares:
    """The share of each part of the rows of the last batches.

    >>> Shares().after({"orders": 900, "users": 100}).tasks(10, {})
    {'orders': 9}
    """

    of: Mapping[str, float] = field(default_factory=dict[str, float])

    def after(self, rows: Mapping[str, int]) -> Shares:
        """The shares with one more batch."""
        if not (total := sum(rows.values())):
            return self
        newest = _NEWEST if self.of else 1.0
        mixed = {
            part: (1 - newest) * self.of.get(part, 0.0) + newest * rows.get(part, 0) / total
            for part in dict.fromkeys((*self.of, *rows))
        }
        return Shares({part: share for part, share in mixed.items() if share >= _LEAST_SHARE})

    def tasks(self, partitions: int, were: Mapping[str, int]) -> dict[str, int]:
        """The number of tasks for each part that should have more than one; `were` are the numbers from before."""
        wanted = {part: self._tasks(share * partitions, were.get(part, 1)) for part, share in self.of.items()}
        return {part: count for part, count in wanted.items() if 1 < count <= partitions}

    @staticmethod
    def _tasks(exact: float, was: int) -> int:
        return was if abs(exact - was) <= _HOLD else max(round(exact), 1)
