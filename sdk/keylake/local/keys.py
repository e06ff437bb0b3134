"""Keys in the order of files, each once, and where they are among rows in that order.

A column of keys is *comparable*: numbers, dates, times and booleans as a numpy array of numbers; text, bytes, decimals
and uuids (as bytes) as an Arrow array. Both compare as the server does.
"""

# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

import uuid
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.types import IcebergType, UUIDType

from keylake.local.decisions import NOWHERE, Flags, Numbers, keys_of

Comparable = Any
_FEW = 16  # so many are searched one by one


def comparable(column: Any) -> Comparable:
    """A column of keys in Arrow's type of the table, without nulls."""
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    if pa.types.is_integer(column.type):
        return column.to_numpy()
    if isinstance(column.type, pa.BaseExtensionType):
        return column.storage
    if pa.types.is_boolean(column.type):
        return column.cast(pa.int8()).to_numpy()
    if pa.types.is_date(column.type):
        return column.cast(pa.int32()).to_numpy()
    return column.cast(pa.int64()).to_numpy() if pa.types.is_timestamp(column.type) else column


def comparable_of_spark(column: Any, type_: IcebergType) -> Comparable:
    """The same of a column in the form that Spark takes."""
    if isinstance(type_, UUIDType):
        return pa.array([uuid.UUID(value).bytes for value in column.to_pylist()], pa.binary(16))
    return comparable(column)


def plain_keys(column: Any) -> list[object]:
    """A column of keys as objects that are equal where the keys are: dates and times are numbers, uuids are bytes."""
    values: list[object] = column.to_pylist() if pa.types.is_boolean(column.type) else comparable(column).tolist()
    return values


def ranks(column: Comparable) -> Numbers:
    """Numbers in the order of the keys."""
    if isinstance(column, np.ndarray):
        return column.astype(np.int64)
    ranked: Numbers = pc.rank(column, tiebreaker="dense").to_numpy(zero_copy_only=False).astype(np.int64)
    return ranked


@dataclass(frozen=True, eq=False)
class Keys:
    """Keys in ascending order, each once."""

    columns: tuple[Comparable, ...]

    @classmethod
    def of(cls, columns: Sequence[Comparable]) -> tuple[Keys, Numbers]:
        """The keys of rows in any order, and which of them each row has.

        >>> keys, number = Keys.of([np.array([7, 3, 7])])
        >>> keys.columns[0].tolist(), number.tolist()
        ([3, 7], [1, 0, 1])
        """
        number = np.zeros(len(columns[0]), np.int64)
        if len(number) == 1:
            return cls(tuple(columns)), number
        ranked = [ranks(column) for column in columns]
        order = np.lexsort(ranked[::-1])
        entries = keys_of([column[order] for column in ranked])
        number[order] = entries.key
        once = order[np.flatnonzero(np.diff(entries.key, prepend=-1))]
        return cls(tuple(_taken(column, once) for column in columns)), number

    def __len__(self) -> int:
        return len(self.columns[0])

    def taken(self, places: Numbers) -> Keys:
        """Some of the keys, in their order."""
        if len(places) == len(self):
            return self
        return Keys(tuple(_taken(column, places) for column in self.columns))

    def between(self, lower: Sequence[Any], upper: Sequence[Any]) -> Flags:
        """The keys whose last columns lie between bounds, as flags; None is no bound."""
        inside = np.ones(len(self), np.bool_)
        for column, low, high in zip(self.columns[-len(lower) :], lower, upper, strict=True):
            if isinstance(column, np.ndarray):
                inside &= (low is None or column >= low) & (high is None or column <= high)
            else:
                for bound, fits in ((low, pc.greater_equal), (high, pc.less_equal)):
                    if bound is not None:
                        plain = column.cast(pa.binary()) if isinstance(bound, bytes) else column
                        inside &= _flags(fits(plain, pa.scalar(bound, plain.type)))
        return inside

    def places_in(self, rows: Sequence[Comparable]) -> Numbers:
        """The place of each key among rows that are in the order of keys; -1 where it is not there.

        >>> Keys((np.array([3, 5, 7]),)).places_in([np.array([1, 3, 7])]).tolist()
        [1, -1, 2]
        """
        at: Numbers
        count = len(rows[0])
        if not count:
            return np.full(len(self), NOWHERE)
        if len(rows) == 1 and isinstance(rows[0], np.ndarray):
            at = np.asarray(rows[0].searchsorted(self.columns[0]))
        elif len(self) <= _FEW:
            sought, there = _Tuples(self.columns), _Tuples(rows)
            at = np.array([bisect_left(there, key) for key in sought], np.int64)
        else:
            at = self._searched(rows, count)
        last = np.minimum(at, count - 1)
        _, is_there = self._compared(rows, last)
        return np.where(is_there & (at < count), at, NOWHERE)

    def places_among(self, rows: Sequence[Comparable]) -> Numbers:
        """The same among rows in any order."""
        some = np.ones(len(rows[0]), np.bool_)
        for column, sought in zip(rows, self.columns, strict=True):
            some &= np.isin(column, sought) if isinstance(column, np.ndarray) else _flags(pc.is_in(column, sought))
        candidates = np.flatnonzero(some)
        keys, number = Keys.of([_taken(column, candidates) for column in rows])
        at = self.places_in(keys.columns)
        return np.where(at == NOWHERE, NOWHERE, candidates[np.argsort(number)][at]) if len(keys) else at

    def _searched(self, rows: Sequence[Comparable], count: int) -> Numbers:
        """The first row that is not below each key: a binary search of all keys at once."""
        low, high = np.zeros(len(self), np.int64), np.full(len(self), count)
        for _ in range(count.bit_length()):
            middle = (low + high) >> 1
            below, _ = self._compared(rows, np.minimum(middle, count - 1))
            below &= low < high
            low, high = np.where(below, middle + 1, low), np.where(below, high, middle)
        return low

    def _compared(self, rows: Sequence[Comparable], at: Numbers) -> tuple[Flags, Flags]:
        """The places whose row is below the key, and those where it is equal to the key, as flags."""
        below, equal = np.zeros(len(self), np.bool_), np.ones(len(self), np.bool_)
        for column, sought in zip(rows, self.columns, strict=True):
            if isinstance(column, np.ndarray):
                there = column[at]
                below |= equal & (there < sought)
                equal &= there == sought
            else:
                there = column.take(pa.array(at))
                below |= equal & _flags(pc.less(there, sought))
                equal &= _flags(pc.equal(there, sought))
        return below, equal


class _Tuples(Sequence[Any]):
    """Rows of columns as a sequence that is searched; a value becomes one of Python only where the search looks."""

    def __init__(self, columns: Sequence[Comparable]) -> None:
        self._columns = columns

    def __len__(self) -> int:
        return len(self._columns[0])

    def __getitem__(self, at: Any) -> Any:
        return tuple(
            column[at].item() if isinstance(column, np.ndarray) else column[at].as_py() for column in self._columns
        )


def _flags(column: Any) -> Flags:
    flags: Flags = column.to_numpy(zero_copy_only=False)
    return flags


def _taken(column: Comparable, places: Numbers) -> Comparable:
    return column[places] if isinstance(column, np.ndarray) else column.take(pa.array(places))
