"""Rows of a small write as files: sorted by key in their buckets, with the versions that they have.

    rows as given  ->  Batch (rows of the table's types, their versions)  ->  BatchFile (one bucket: Parquet, metrics)

A batch has one row a key: of rows that repeat a key, the newest counts, and of equal versions the later one.
"""

# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keylake._definition.bucketing import buckets_of
from keylake._definition.grouping import group_of
from keylake._definition.spec import TableSpec
from keylake._rows.rows import LocalRows
from keylake._rows.small import SmallRows
from keylake._server.statements import Verb, Write
from keylake.errors import BadRows, Unsupported
from keylake.local.decisions import Numbers
from keylake.local.keys import plain_keys
from keylake.reducers import LatestNotNull

MOST_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows in key order, each key once. `carried` says of each value column in which rows it is written."""

    verb: Verb
    rows: Any  # a pyarrow table of the key and the value columns that are written
    versions: Numbers | None  # None: all have the version of the commit
    carried: Mapping[str, Any]
    groups: Numbers | None = field(default=None)

    @classmethod
    def of(cls, local: LocalRows, spec: TableSpec, write: Write) -> Batch:
        """The rows of a write, if it is one that can be made here."""
        if local.count > MOST_ROWS:
            raise Unsupported(
                f"The rows are {local.count:,}, and a write without Spark has at most {MOST_ROWS:,}. "
                "Write them in parts, or through Spark: kl.connect()."
            )
        small = SmallRows.of(local, spec, write)
        return cls(small.verb, small.rows, small.versions, small.carried)._in_key_order(spec)

    @property
    def count(self) -> int:
        """The number of rows."""
        return int(self.rows.num_rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """The value columns that are written."""
        return tuple(self.carried)

    def _in_key_order(self, spec: TableSpec) -> Batch:
        groups = None if spec.groups is None else self._groups(spec, spec.groups)
        if self.count == 1:
            return replace(self, groups=groups)
        key = [_sortable(self.rows.column(name)) for name in spec.key]
        last = np.zeros(self.count, np.int64) if self.versions is None else self.versions
        sorted_by = {"g": pa.array(groups)} if groups is not None else {}
        sorted_by |= {f"k{number}": column for number, column in enumerate(key)}
        sorted_by |= {"version": pa.array(last), "row": pa.array(np.arange(self.count))}
        order = pc.sort_indices(pa.table(sorted_by), sort_keys=[(name, "ascending") for name in sorted_by])
        ends = _ends([column.take(order) for column in key])
        if not ends.all():
            self._check_repeated(spec)
        kept = order.to_numpy()[ends]
        taken = pa.array(kept)
        return Batch(
            self.verb,
            self.rows.take(taken),
            None if self.versions is None else self.versions[kept],
            {name: flags.take(taken) for name, flags in self.carried.items()},
            None if groups is None else groups[kept],
        )

    def _check_repeated(self, spec: TableSpec) -> None:
        for name in self.columns:
            if isinstance(spec.column(name).reducer, LatestNotNull):
                raise Unsupported(
                    f"The rows have a key twice, and column {name!r} of {spec.name} keeps its value where a newer row "
                    "has null. Write the rows one after the other, or through Spark: kl.connect()."
                )

    def _groups(self, spec: TableSpec, count: int) -> Numbers:
        types = [spec.column(name).type for name in spec.bucket_by]
        assert spec.hash is not None
        return np.array([group_of(types, key, count, spec.hash) for key in self._bucket_keys(spec)], np.int64)

    def _bucket_keys(self, spec: TableSpec) -> list[tuple[object, ...]]:
        try:
            columns = [self.rows.column(name).to_pylist() for name in spec.bucket_by]
        except (OverflowError, ValueError) as error:
            raise BadRows(
                f"A key of {spec.name} has a time outside of the years 1 to 9999, of which its group cannot be "
                f"computed here ({error}). Write it through Spark: kl.connect()."
            ) from None
        return list(zip(*columns, strict=True))

    def buckets(self, spec: TableSpec, count: int) -> list[int]:
        """The bucket of each row, among so many."""
        if self.groups is not None and spec.groups is not None:
            return [int(group) * count // spec.groups for group in self.groups]
        types = [spec.column(name).type for name in spec.bucket_by]
        return buckets_of(types, [plain_keys(self.rows.column(name)) for name in spec.bucket_by], count)

    def taken(self, places: Sequence[int]) -> Batch:
        """Some of the rows."""
        at = pa.array(places, pa.int64())
        return Batch(
            self.verb,
            self.rows.take(at),
            None if self.versions is None else self.versions[list(places)],
            {name: flags.take(at) for name, flags in self.carried.items()},
            None if self.groups is None else self.groups[list(places)],
        )


def _sortable(column: Any) -> Any:
    plain = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return plain.storage if isinstance(plain.type, pa.BaseExtensionType) else plain


def _ends(key: Sequence[Any]) -> Any:
    """The rows in key order that are the last of their key, as flags."""
    count = len(key[0])
    ends = np.zeros(count, np.bool_)
    if count:
        ends[-1] = True
    for column in key:
        if count > 1:
            differs = pc.not_equal(column.slice(0, count - 1), column.slice(1))
            ends[:-1] |= differs.to_numpy(zero_copy_only=False)
    return ends
