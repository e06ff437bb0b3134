"""Merges the stored rows of keys: decides by stamps, then gathers the columns that were asked for."""

# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.types import BinaryType, IcebergType, LongType, NestedField

from keylake._values.arrow_types import natural
from keylake.local.accumulators import collected, counted, picked, summed
from keylake.local.decisions import NOWHERE, Entries, Flags, Numbers, Stamp, keys_of
from keylake.local.keys import comparable, ranks
from keylake.local.layout import Layout
from keylake.local.stretches import Rows, Stretch
from keylake.reducers import Collect, Count, First, Sum


@dataclass(frozen=True)
class Merge:
    """Merges the columns `wanted` of a table; `stretches` are in commit order, those of one commit by key."""

    layout: Layout
    wanted: tuple[str, ...]

    def rows(self, stretches: Sequence[Stretch]) -> Any:
        """The visible rows of the keys that the stretches have, by key: an Arrow table."""
        if not stretches:
            return self.found((), ())[0]
        key_ids = {field.field_id: field.field_type for field in self.layout.key}
        columns = [stretch.columns(key_ids) for stretch in stretches]
        keys = [_joined([each[id_] for each in columns], natural(type_)) for id_, type_ in key_ids.items()]
        ranked = [ranks(comparable(each)) for each in keys]
        order = np.lexsort(ranked[::-1]) if len(ranked) > 1 else np.argsort(ranked[0], kind="stable")
        entries = keys_of([each[order] for each in ranked])
        stretch = np.repeat(np.arange(len(stretches)), [each.rows for each in stretches])
        row = np.concatenate([np.arange(each.rows) for each in stretches])
        return self._merged(entries, Rows(stretches, stretch[order], row[order]))

    def found(self, stretches: Sequence[Stretch], keys: Sequence[Numbers]) -> tuple[Any, Numbers]:
        """The visible rows of found rows, of which it is known which key they have, and the keys of the rows given."""
        if not stretches:
            return self._merged(Entries(_none(), 0), Rows((), _none(), _none())), _none()
        key = np.concatenate(list(keys))
        order = np.argsort(key, kind="stable")
        stretch = np.repeat(np.arange(len(stretches)), [each.rows for each in stretches])[order]
        row = np.concatenate([np.arange(each.rows) for each in stretches])[order]
        there, dense = np.unique(key[order], return_inverse=True)
        return self._visible(Entries(dense, len(there)), Rows(stretches, stretch, row), there)

    def _merged(self, entries: Entries, rows: Rows) -> Any:
        return self._visible(entries, rows, np.arange(entries.keys))[0]

    def _visible(self, entries: Entries, rows: Rows, keys: Numbers) -> tuple[Any, Numbers]:
        stamps = _Stamps(self.layout, rows)
        written, deleted = stamps.of(self.layout.written), stamps.of(self.layout.deleted)
        tombstones = entries.newest(deleted)
        writes = entries.newest(entries.surviving(written, tombstones, deleted))
        shown = np.flatnonzero(writes != NOWHERE)
        columns: dict[str, Any] = {}
        winners: dict[str, Numbers] = {}
        for name in self.wanted:
            field = self.layout.fields[name]
            reducer = self.layout.spec.column(name).reducer
            if name in self.layout.spec.key:
                winners[name] = writes
            elif not reducer.accumulates:
                stamp = entries.surviving(stamps.of(self.layout.leaves[name]), tombstones, deleted)
                winners[name] = entries.newest(stamp)
            elif isinstance(reducer, First):
                stamp = entries.since_last(stamps.of(self.layout.leaves[name]), deleted)
                winners[name] = entries.earliest(stamp)
            else:
                stamp = entries.since_last(stamps.of(self.layout.leaves[name]), deleted)
                whole = _Combined(self.layout, entries, rows, writes, stamp)
                columns[name] = whole.column(field).take(pa.array(shown))
        columns.update(self._gathered(rows, {name: each[shown] for name, each in winners.items()}))
        fields = [
            pa.field(n, natural(self.layout.fields[n].field_type), n not in self.layout.spec.key) for n in self.wanted
        ]
        return pa.table([columns[name] for name in self.wanted], schema=pa.schema(fields)), keys[shown]

    def _gathered(self, rows: Rows, winners: dict[str, Numbers]) -> dict[str, Any]:
        """Columns with the same winners are read together."""
        groups: dict[bytes, list[str]] = {}
        for name, each in winners.items():
            groups.setdefault(each.tobytes(), []).append(name)
        columns: dict[str, Any] = {}
        for several in groups.values():
            fields = [self.layout.fields[name] for name in several]
            columns.update(_gathered(rows, fields, winners[several[0]]))
        return columns


def _gathered(rows: Rows, fields: Sequence[NestedField], which: Numbers) -> dict[str, Any]:
    ids = {field.field_id: field.field_type for field in fields}
    found = rows.gathered(ids, which, {id_: natural(type_) for id_, type_ in ids.items()})
    return {field.name: found[field.field_id] for field in fields}


class _Stamps:
    """Stamps of rows by the field of `_merge_info`, read once each, and only where manifests do not tell."""

    def __init__(self, layout: Layout, rows: Rows) -> None:
        self._layout = layout
        self._rows = rows
        self._version: Numbers | None = None
        self._found: dict[int, Stamp] = {}

    def of(self, id_: int) -> Stamp:
        """The stamp of a field: the rows in which it is set, and the version there."""
        if id_ not in self._found:
            is_set, lag = self._lags(id_)
            at = self._rows.stretch if self._layout.in_commit_order else self.versions() - lag
            self._found[id_] = Stamp(is_set, at)
        return self._found[id_]

    def _lags(self, id_: int) -> tuple[Flags, Numbers]:
        """The rows in which a field is set, and the distance of its version behind that of the row."""
        stretches = self._rows.stretches
        count = len(self._rows.row)
        if all(id_ in each.file.always for each in stretches):
            return np.ones(count, np.bool_), np.zeros(count, np.int64)
        if all(id_ in each.file.never for each in stretches):
            return np.zeros(count, np.bool_), np.zeros(count, np.int64)
        parts = [self._of_stretch(each, id_) for each in stretches]
        is_set, lag = (np.concatenate(each) for each in zip(*parts, strict=True))
        place = self._places()
        return is_set[place], lag[place]

    def versions(self) -> Numbers:
        """The version of each row."""
        if self._version is None:
            parts = [self._versions_of(each) for each in self._rows.stretches]
            self._version = np.concatenate(parts)[self._places()] if parts else _none()
        return self._version

    def _places(self) -> Numbers:
        """The places of the rows in the stretches one after the other."""
        starts = np.cumsum([0, *(each.rows for each in self._rows.stretches)])
        return np.asarray(starts[self._rows.stretch] + self._rows.row, np.int64)

    def _of_stretch(self, stretch: Stretch, id_: int) -> tuple[Any, Numbers]:
        count = stretch.rows
        zeros = np.zeros(count, np.int64)
        if id_ in stretch.file.never:
            return np.zeros(count, np.bool_), zeros
        if id_ in stretch.file.always:
            return np.ones(count, np.bool_), zeros
        column = stretch.columns({id_: LongType()}).get(id_)
        if column is None:
            return np.zeros(count, np.bool_), zeros
        return _array(pc.is_valid(column)), _array(pc.fill_null(column, 0))

    def _versions_of(self, stretch: Stretch) -> Numbers:
        if stretch.file.version is not None:
            return np.full(stretch.rows, stretch.file.version, np.int64)
        ids: dict[int, IcebergType] = {self._layout.version: LongType()}
        ordering = self._layout.ordering
        if ordering is not None:
            ids[ordering.field_id] = ordering.field_type
        found = stretch.columns(ids)
        stored = found.get(self._layout.version)
        if ordering is None:
            return _numbers(stored)
        carried = found.get(ordering.field_id)
        as_number = None if carried is None else _as_long(carried)
        if stored is None:
            return _numbers(as_number)
        return _numbers(stored if as_number is None else pc.coalesce(stored, as_number))


def _array(column: Any) -> Any:
    return column.to_numpy() if isinstance(column, pa.ChunkedArray) else column.to_numpy(zero_copy_only=False)


def _none() -> Numbers:
    return np.empty(0, np.int64)


def _as_long(column: Any) -> Any:
    """Dates as days, times as microseconds since 1970."""
    if pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    return column.cast(pa.int64())


def _numbers(column: Any) -> Numbers:
    numbers: Numbers = _array(pc.fill_null(column, 0)).astype(np.int64)
    return numbers


@dataclass(frozen=True)
class _Combined:
    """The columns of accumulators that combine all contributions."""

    layout: Layout
    entries: Entries
    rows: Rows
    writes: Numbers
    given: Stamp

    def column(self, field: NestedField) -> Any:
        """The value of each key."""
        reducer = self.layout.spec.column(field.name).reducer
        every = np.where(self.given.is_set, np.arange(len(self.entries.key)), NOWHERE)
        values = _gathered(self.rows, [field], every)[field.name]
        if isinstance(reducer, Count):
            return counted(self.entries, self.given, values)
        if isinstance(reducer, Collect):
            return collected(self.entries, self.given, values, reducer)
        if isinstance(reducer, Sum):
            return self._sum(field, values, every)
        winners = picked(self.entries, self.given, values, reducer)
        return values.take(pa.array(winners, mask=winners == NOWHERE))

    def _sum(self, field: NestedField, values: Any, every: Numbers) -> Any:
        state = self.layout.states.get(field.name)
        states = None
        if state is not None and any(state not in each.file.never for each in self.rows.stretches):
            of_state = NestedField(state, "state", BinaryType(), required=False)
            states = _gathered(self.rows, [of_state], every)["state"]
        return summed(self.entries, self.given, values, states, field, self._key_text)

    def _key_text(self, key: int) -> str:
        """The words for a key in an error."""
        entry = np.flatnonzero(self.entries.key == key)[:1]
        columns = _gathered(self.rows, self.layout.key, entry)
        return ", ".join(f"{name} = {column[0].as_py()}" for name, column in columns.items())


def _joined(columns: list[Any], type_: Any) -> Any:
    chunks = [chunk for each in columns for chunk in (each.chunks if isinstance(each, pa.ChunkedArray) else [each])]
    return pa.chunked_array(chunks, type_).combine_chunks()
