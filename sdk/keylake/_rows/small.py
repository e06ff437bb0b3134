"""Rows of a small write in the types of the table, with the versions that they have, as no server is asked for them."""

# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.types import IcebergType

from keylake._definition.grouping import HASHES
from keylake._definition.spec import TableSpec
from keylake._rows.rows import LocalRows
from keylake._server.statements import Verb, Write
from keylake._values.conform import of_spark
from keylake.errors import Unsupported
from keylake.reducers import Latest, LatestNotNull


@dataclass(frozen=True, eq=False)
class SmallRows:
    """Rows in the order in which they were given. `carried` says of each value column in which rows it is written."""

    verb: Verb
    rows: Any  # a pyarrow table of the key and the value columns that are written
    versions: Any  # a numpy array of int64; None: all have the version of the commit
    carried: Mapping[str, Any]

    @classmethod
    def of(cls, local: LocalRows, spec: TableSpec, write: Write) -> SmallRows:
        """The rows of a write that `check_writable` takes."""
        verb = _verb(write)
        options = dict(write.options)
        source = options.get("version")
        given = local.to_arrow(spec, {} if source is None else {source: "version"})
        beside = None if source in (None, *spec.column_names) else source  # a column that only says versions
        kept = spec.key if verb == "delete" else spec.column_names
        names = [name for name in given.column_names if name in kept and name != beside]
        rows = pa.table({name: _natural(given.column(name), spec.column(name).type) for name in names})
        value = options.get("version_value")
        versions: Any = None
        if value is not None:
            versions = np.full(local.count, int(value), np.int64)
        elif source is not None:
            versions = as_versions(given.column(_same(given.column_names, source)))
        elif spec.versions != "commit":
            assert spec.ordering is not None
            versions = as_versions(given.column(spec.ordering))
        return cls(verb, rows, versions, _carried(rows, spec))


def check_writable(spec: TableSpec, verb: Verb, columns: Sequence[str]) -> None:
    """An error where columns, whose names are in any case, need what only the server does."""
    if spec.hash is not None and spec.hash not in HASHES:
        raise Unsupported(
            f"{spec.name} is bucketed by the Java class {spec.hash}, which cannot be computed here. "
            "Write through Spark: kl.connect()."
        )
    lower = {each.lower() for each in columns}
    for name in spec.column_names if verb != "delete" else ():
        if name.lower() not in lower:
            continue
        reducer = spec.column(name).reducer if name in spec.value_columns else Latest()
        if not isinstance(reducer, Latest | LatestNotNull):
            raise Unsupported(
                f"Column {name!r} of {spec.name} is reduced by {type(reducer).__name__}, and writes without Spark are "
                "for columns that keep their newest value. Leave it out, or write through Spark: kl.connect()."
            )


def as_versions(column: Any) -> Any:
    """Numbers as they are, dates as days and times as microseconds since 1970."""
    if pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    return column.cast(pa.int64()).to_numpy()


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
