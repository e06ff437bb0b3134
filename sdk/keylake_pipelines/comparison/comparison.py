"""Rows of a keyed table compared with those of its source tables, a range of keys at a time.

    source ── rows of the range, as a snapshot gives them ── transforms ──┐
                                                                          ├── by key: equal, missing, extra, different
    keyed table ── merged rows of the range ──────────────────────────────┘

The source goes on meanwhile, and the pipeline is behind it. So rows that differ are looked at again: the source is
read, then the pipeline is waited for until it has passed the place that the log had then, then the keyed table is read.
A row that differs in the same way in two such looks did not change, and differs.
"""

# pyright: reportUnknownParameterType=false, reportUnknownMemberType=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyiceberg.types import DateType, DecimalType, IcebergType, TimestampType, TimestamptzType

from keylake.extension import literal, quoted
from keylake_pipelines.comparison.rows import WHOLE, KeyRange, RowsNow
from keylake_pipelines.comparison.values import Form, digest_of, from_arrow, from_json
from keylake_pipelines.source.tables import SourceSchema

if TYPE_CHECKING:
    from keylake.table import KeyedTable

Key = tuple[object, ...]
Values = tuple[object, ...]
Pair = tuple[frozenset[bytes], bytes | None]
"""Digests of a row: in the source tables, more than one where several have the key; and in the keyed table."""


@dataclass(frozen=True)
class Shaped:
    """A source table, and what makes of its rows those that are written."""

    schema: SourceSchema
    rows: Callable[[pa.Table], pa.Table]


@dataclass
class Look:
    """The result of a read of a range: the numbers of rows on both sides, and the digests of those that differ."""

    source: int = 0
    lake: int = 0
    refused: int = 0
    differing: dict[Key, Pair] = field(default_factory=dict[Key, Pair])


Found = tuple[Pair, tuple[Values | None, Values | None]]
"""The digests of a row, and its values in a source table and in the keyed table."""


class Comparison:
    """A keyed table and its source tables. `columns` are those of the keyed table that are compared."""

    def __init__(self, now: RowsNow, table: KeyedTable, sources: Sequence[Shaped], columns: Sequence[str]) -> None:
        spec = table.spec
        types: dict[str, IcebergType] = {column.name: column.type for column in spec.columns}
        self.key = tuple(spec.key)
        self.columns = tuple(columns)
        self._now = now
        self._table = table
        self._sources = tuple(sources)
        self._names = (*self.key, *self.columns)
        self._from_json: list[Form] = [from_json(types[name]) for name in self._names]
        self._from_arrow: list[Form] = [from_arrow(types[name]) for name in self._names]
        self._types = types

    def ranges(self, rows: int, *, bounded_by: str | None, behind: object | None = None) -> Iterator[KeyRange]:
        """Ranges of about so many rows of the source, over this column of the key; without one, all rows."""
        if bounded_by is None:
            yield WHOLE
            return
        low = behind
        while True:
            ends = [self._now.end_of_range(each.schema, low, rows) for each in self._sources]
            form = from_json(self._types[bounded_by])
            found: list[Any] = sorted((end for end in ends if end is not None), key=lambda end: _ordered(form(end)))
            high = found[0] if found else None
            yield KeyRange(low, high)
            if high is None:
                return
            low = high

    def look(self, within: KeyRange, bounded_by: str | None) -> Look:
        """Read a range of both; rows may have changed in between, and the pipeline may be behind."""
        refused: set[Key] = set()
        digests: dict[Key, set[bytes]] = {}
        for key, row in self._in_source(within, refused):
            digests.setdefault(key, set()).add(digest_of(row))
        found = Look(len(digests), 0, len(refused))
        for key, row in self._in_lake(within, bounded_by):
            found.lake += 1
            if key in refused:
                continue
            own = digest_of(row)
            expected = digests.pop(key, None)
            if expected is None or own not in expected:
                found.differing[key] = frozenset(expected or ()), own
        found.differing |= {key: (frozenset(expected), None) for key, expected in digests.items()}
        return found

    def look_again(
        self, wanted: Mapping[KeyRange, Collection[Key]], bounded_by: str | None, wait: Callable[[], bool]
    ) -> dict[Key, Found] | None:
        """The wanted rows that differ; `wait` is called between the two, and says whether it has helped."""
        source: dict[Key, list[Values]] = {}
        for within, keys in wanted.items():
            for key, row in self._in_source(within, set()):
                if key in keys:
                    source.setdefault(key, []).append(row)
        if not wait():
            return None
        lake: dict[Key, Values] = {}
        for within, keys in wanted.items():
            lake |= {key: row for key, row in self._in_lake(within, bounded_by) if key in keys}
        found: dict[Key, Found] = {}
        for key in {*source, *lake}:
            rows, own = source.get(key, []), lake.get(key)
            pair = frozenset(map(digest_of, rows)), None if own is None else digest_of(own)
            if pair[1] not in (pair[0] or (None,)):
                found[key] = pair, (rows[0] if rows else None, own)
        return found

    def _in_source(self, within: KeyRange, refused: set[Key]) -> Iterator[tuple[Key, Values]]:
        by_lower = {name.lower(): number for number, name in enumerate(self._names)}
        width = len(self.key)
        for each in self._sources:
            for batch in self._now.read(each.schema, within):
                errors = batch["error"].to_pylist() if batch["error"].null_count < batch.num_rows else []
                if errors:
                    refused |= {self._key_of(batch["row"][at].as_py()) for at, error in enumerate(errors) if error}
                    batch = batch.filter(pa.array([error is None for error in errors]))  # noqa: PLW2901
                shaped = each.rows(batch)
                for op, text in zip(shaped["op"].to_pylist(), shaped["row"].to_pylist(), strict=True):
                    if op == "d":  # which the filter keeps back
                        continue
                    row: list[Any] = [None] * len(self._names)
                    for name, value in json.loads(text).items():
                        number = by_lower.get(name.lower())
                        if number is not None:
                            row[number] = value
                    made = [form(value) for form, value in zip(self._from_json, row, strict=True)]
                    yield tuple(made[:width]), tuple(made[width:])

    def _key_of(self, text: str) -> Key:
        row = {name.lower(): value for name, value in json.loads(text).items()}
        pairs = zip(self.key, self._from_json, strict=False)
        return tuple(form(row.get(name.lower())) for name, form in pairs)

    def _in_lake(self, within: KeyRange, bounded_by: str | None) -> Iterator[tuple[Key, Values]]:
        bounds = ((">", within.low), ("<=", within.high))
        where = [
            f"{quoted(bounded_by)} {sign} {_literal(value, self._types[bounded_by])}"
            for sign, value in bounds
            if bounded_by is not None and value is not None
        ]
        session = self._table._handle.session  # pyright: ignore[reportPrivateUsage]
        with session.asking():
            rows = self._table.read(columns=list(self._names), where=" AND ".join(where) or None).toArrow()
        width = len(self.key)
        for batch in rows.to_batches(max_chunksize=10_000):
            columns = [
                [form(value) for value in batch.column(name).to_pylist()]
                for name, form in zip(self._names, self._from_arrow, strict=True)
            ]
            for row in zip(*columns, strict=True):
                yield row[:width], row[width:]

    def named(self, key: Key, values: tuple[Values | None, Values | None]) -> tuple[Mapping[str, object], list[str]]:
        """A key with its names, and the columns that differ."""
        source, lake = values
        if source is None or lake is None:
            return dict(zip(self.key, key, strict=True)), []
        pairs = zip(self.columns, source, lake, strict=True)
        return dict(zip(self.key, key, strict=True)), [name for name, one, other in pairs if one != other]


def _ordered(value: object) -> Any:
    """A comparable value in the order of its type: decimals are texts."""
    from decimal import Decimal

    try:
        return Decimal(str(value))
    except ArithmeticError:
        return value


def _literal(value: object, type_: IcebergType) -> str:
    match type_:
        case DecimalType():
            return f"CAST('{value}' AS DECIMAL({type_.precision}, {type_.scale}))"
        case DateType():
            return f"DATE {literal(str(value))}"
        case TimestampType():
            return f"TIMESTAMP_NTZ {literal(str(value))}"
        case TimestamptzType():
            return f"TIMESTAMP {literal(str(value))}"
        case _:
            return str(value)
