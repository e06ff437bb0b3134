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
from pyiceberg.types import IcebergType

from keylake._definition.bucketing import buckets_of
from keylake._definition.grouping import HASHES, group_of
from keylake._definition.spec import TableSpec
from keylake._rows.rows import LocalRows
from keylake._server.statements import Verb, Write
from keylake._values.conform import of_spark
from keylake.errors import BadRows, Unsupported
from keylake.local.decisions import Numbers
from keylake.local.keys import plain_keys
from keylake.reducers import Latest, LatestNotNull

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
        verb = _verb(write)
        options = dict(write.options)
        if local.count > MOST_ROWS:
            raise Unsupported(
                f"The rows are {local.count:,}, and a write without Spark has at most {MOST_ROWS:,}. "
                "Write them in parts, or through Spark: kl.connect()."
            )
        source = options.get("version")
        given = local.to_arrow(spec, {} if source is None else {source: "version"})
        beside = None if source in (None, *spec.column_names) else source  # a column that only says versions
        kept = spec.key if verb == "delete" else spec.column_names
        names = [name for name in given.column_names if name in kept and name != beside]
        rows = pa.table({name: _natural(given.column(name), spec.column(name).type) for name in names})
        value = options.get("version_value")
        versions: Numbers | None = None
        if value is not None:
            versions = np.full(local.count, int(value), np.int64)
        elif source is not None:
            versions = as_versions(given.column(_same(given.column_names, source)))
        elif spec.versions != "commit":
            assert spec.ordering is not None
            versions = as_versions(given.column(spec.ordering))
        return cls(verb, rows, versions, _carried(rows, spec))._in_key_order(spec)

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


def check_writable(spec: TableSpec, verb: Verb, columns: Sequence[str]) -> None:
    """An error where columns need what only the server does."""
    if spec.hash is not None and spec.hash not in HASHES:
        raise Unsupported(
            f"{spec.name} is bucketed by the Java class {spec.hash}, which cannot be computed here. "
            "Write through Spark: kl.connect()."
        )
    for name in columns if verb != "delete" else ():
        reducer = spec.column(name).reducer if name in spec.value_columns else Latest()
        if not isinstance(reducer, Latest | LatestNotNull):
            raise Unsupported(
                f"Column {name!r} of {spec.name} is reduced by {type(reducer).__name__}, and writes without Spark are "
                "for columns that keep their newest value. Leave it out, or write through Spark: kl.connect()."
            )


def as_versions(column: Any) -> Numbers:
    """Numbers as they are, dates as days and times as microseconds since 1970."""
    if pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    found: Numbers = column.cast(pa.int64()).to_numpy()
    return found


def _verb(write: Write) -> Verb:
    verb: Any = dict(write.options)["verb"]
    return verb  # type: ignore[no-any-return]


def _same(names: Sequence[str], name: str) -> str:
    return next(each for each in names if each.lower() == name.lower())


def _carried(rows: Any, spec: TableSpec) -> dict[str, Any]:
    """A null of a column that keeps its value says nothing."""
    carried: dict[str, Any] = {}
    for name in rows.column_names:
        if name not in spec.key:
            keeps = isinstance(spec.column(name).reducer, LatestNotNull)
            carried[name] = pa.array(np.ones(rows.num_rows, np.bool_))
            if keeps:
                carried[name] = pc.is_valid(rows.column(name).combine_chunks())
    return carried


def _natural(column: Any, type_: IcebergType) -> Any:
    """The column in the form that files have, from the one that Spark takes."""
    return of_spark(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column, type_)


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
