"""The merge law over arrays: which stored row gives which value of which key.

An *entry* is a stored row of a wanted key. Entries stand by key, and those of a key in commit order. A *stamp* says of
each entry whether it has something (a write, a tombstone, a value of a column), and at which version:

1. Of two values the one with the larger (version, commit order) wins.
2. A tombstone removes every value whose (version, commit order) is smaller; only the newest matters.
3. The row exists if its newest write is not removed.
4. Of an accumulator those values count that are stored in the latest commit with a tombstone, or after it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
NOWHERE = -1


@dataclass(frozen=True)
class Stamp:
    """The entries that have something, and their versions."""

    is_set: Flags
    at: Numbers


@dataclass(frozen=True)
class Entries:
    """The key of each entry, as numbers from 0 to `keys - 1` that never fall."""

    key: Numbers
    keys: int

    def newest(self, stamp: Stamp) -> Numbers:
        """The entry of each key with the largest (version, commit order); -1 for none.

        >>> entries = Entries(np.array([0, 0, 0, 1]), 2)
        >>> entries.newest(Stamp(np.array([True, True, True, False]), np.array([5, 7, 7, 9]))).tolist()
        [2, -1]
        """
        entry = np.flatnonzero(stamp.is_set)
        key, at = self.key[entry], stamp.at[entry]
        if not np.all((key[1:] != key[:-1]) | (at[1:] >= at[:-1])):
            order = np.lexsort((at, key))  # stable, so that commit order decides between equal versions
            entry, key = entry[order], key[order]
        winners = np.full(self.keys, NOWHERE, dtype=np.int64)
        winners[key] = entry  # of several the last one stays
        return winners

    def earliest(self, stamp: Stamp) -> Numbers:
        """The entry of each key with the smallest (version, commit order); -1 for none."""
        entry = np.flatnonzero(stamp.is_set)
        order = np.lexsort((stamp.at[entry], self.key[entry]))[::-1]
        winners = np.full(self.keys, NOWHERE, dtype=np.int64)
        winners[self.key[entry][order]] = entry[order]
        return winners

    def surviving(self, stamp: Stamp, tombstones: Numbers, deleted: Stamp) -> Stamp:
        """The stamps that no newer tombstone removes; `tombstones` has the newest one of each key."""
        if np.all(tombstones == NOWHERE):
            return stamp
        tombstone = tombstones[self.key]
        limit = deleted.at[tombstone]
        entry = np.arange(len(self.key))
        newer = (stamp.at > limit) | ((stamp.at == limit) & (entry >= tombstone))
        return Stamp(stamp.is_set & ((tombstone == NOWHERE) | newer), stamp.at)

    def since_last(self, stamp: Stamp, deleted: Stamp) -> Stamp:
        """The stamps that accumulators take: stored in the latest commit that has a tombstone, or after it."""
        if not deleted.is_set.any():
            return stamp
        last = self.newest(Stamp(deleted.is_set, np.zeros_like(deleted.at)))
        return Stamp(stamp.is_set & (np.arange(len(self.key)) >= last[self.key]), stamp.at)


def keys_of(sorted_ranks: list[Numbers]) -> Entries:
    """Entries from the key columns of rows that are sorted by them, each column as ranks."""
    rows = len(sorted_ranks[0])
    differs = np.zeros(rows, dtype=np.bool_)
    for ranks in sorted_ranks:
        differs[1:] |= ranks[1:] != ranks[:-1]
    key = np.cumsum(differs, dtype=np.int64)
    return Entries(key, int(key[-1]) + 1 if rows else 0)
