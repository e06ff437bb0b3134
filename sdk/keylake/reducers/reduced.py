"""Contributions and states of many rows, combined by a reducer in Python, a few calls for all."""

# pyarrow carries no types.
# pyright: reportUnknownParameterType=false

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keylake.reducers.python import Steps


@dataclass(frozen=True)
class Reduction:
    """The steps of a reducer, with the types that the table has; what they give is looked at."""

    steps: Steps
    type: pa.DataType
    state: pa.DataType

    def contribute(self, values: pa.Array) -> pa.Array:
        """The states of contributions."""
        return self._kept("contribute", self.steps.contribute(values), len(values))

    def combine(self, older: pa.Array, newer: pa.Array) -> pa.Array:
        """The states of pairs of states."""
        return self._kept("combine", self.steps.combine(older, newer), len(older))

    def value(self, states: pa.Array) -> pa.Array:
        """The values of states."""
        return _checked("value", self.steps.value(states), len(states), self.type)

    def _kept(self, step: str, states: pa.Array, length: int) -> pa.Array:
        found = _checked(step, states, length, self.state)
        if found.null_count:
            raise ValueError(f"{step} gives {found.null_count} states that are null; give each a struct")
        return found


def _checked(step: str, given: pa.Array | pa.ChunkedArray, length: int, type_: pa.DataType) -> pa.Array:
    found = given.combine_chunks() if isinstance(given, pa.ChunkedArray) else given
    if not isinstance(found, pa.Array):
        raise TypeError(f"{step} gives {type(given).__name__}, and an array of Arrow is wanted")
    if len(found) != length:
        raise ValueError(f"{step} gives {len(found)} elements of {length}")
    return found if found.type == type_ else found.cast(type_)


def reduced(reduction: Reduction, entries: pa.Table) -> pa.RecordBatch:
    """One value and one state for each row, of all its entries, which are neighbours.

    An entry is a contribution, `value`, or a `state` of some that were combined before. Neighbours are combined two by
    two, so that a row with n entries takes log2(n) calls, which it shares with all other rows.
    """
    rows = entries["row"].combine_chunks().to_numpy()
    states = _states(reduction, entries["value"].combine_chunks(), entries["state"].combine_chunks())
    while len(rows) > 1 and (rows[1:] == rows[:-1]).any():
        rank = _ranks(rows)
        even = rank % 2 == 0
        paired = np.append((rows[1:] == rows[:-1]) & even[:-1], False)
        left = np.flatnonzero(paired)
        alone = np.flatnonzero(even & ~paired)
        merged = reduction.combine(states.take(pa.array(left)), states.take(pa.array(left + 1)))
        kept = np.concatenate([left, alone])
        order = np.argsort(kept)
        states = pa.concat_arrays([merged, states.take(pa.array(alone))]).take(pa.array(order))
        rows = rows[kept[order]]
    names = ["row", "value", "state"]
    return pa.RecordBatch.from_arrays([pa.array(rows, pa.int32()), reduction.value(states), states], names)


def _states(reduction: Reduction, values: pa.Array, states: pa.Array) -> pa.Array:
    is_new = np.asarray(states.is_null())
    if not is_new.any():
        return states
    new = reduction.contribute(values.filter(pa.array(is_new)))
    order = np.argsort(np.concatenate([np.flatnonzero(is_new), np.flatnonzero(~is_new)]))
    return pa.concat_arrays([new, states.filter(pa.array(~is_new))]).take(pa.array(order))


def _ranks(rows: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """The rank of each element among its neighbours of the same row.

    >>> _ranks(np.array([4, 4, 4, 7, 9, 9], np.int32)).tolist()
    [0, 1, 2, 0, 0, 1]
    """
    places = np.arange(len(rows))
    begins = np.append(True, rows[1:] != rows[:-1])
    first: npt.NDArray[np.int64] = np.maximum.accumulate(np.where(begins, places, 0))
    return places - first
