"""Finds the stored rows of single keys: by bucket, by bounds of files and row groups, then by search in sorted keys."""

# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

import datetime
import uuid
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.io import FileIO
from pyiceberg.utils.datetime import date_to_days, datetime_to_micros

from keylake._definition.bucketing import bucket_of
from keylake._definition.grouping import HASHES, group_of
from keylake._values.arrow_types import natural
from keylake.local.decisions import Numbers
from keylake.local.files import StoredFile
from keylake.local.layout import Layout
from keylake.local.parquet import OpenFile, ParquetFiles
from keylake.local.stretches import FoundRows

Key = tuple[Any, ...]
_SEARCHED_ONE_BY_ONE = 16  # above that many keys, all keys of a row group are hashed at once


def stored_form(value: object) -> Any:
    """A value of a key as Iceberg stores bounds: dates and times are numbers, uuids are bytes.

    >>> stored_form(datetime.date(1970, 1, 3)), stored_form("a")
    (2, 'a')
    """
    if isinstance(value, datetime.datetime):
        return datetime_to_micros(value)
    if isinstance(value, datetime.date):
        return date_to_days(value)
    return value.bytes if isinstance(value, uuid.UUID) else value


class BucketFiles:
    """The files of a snapshot by the buckets that they are written for."""

    def __init__(self, layout: Layout, files: Sequence[StoredFile]) -> None:
        self._all = files
        self._by_bucket: dict[tuple[int, int], list[StoredFile]] = defaultdict(list)
        self._counts = tuple({file.buckets for file in files})
        spec = layout.spec
        self._groups, self._hash = spec.groups, spec.hash
        self._hashed = tuple(spec.key.index(name) for name in spec.bucket_by)
        self._types = tuple(spec.column(name).type for name in spec.bucket_by)
        # The hash of a Java class cannot be computed here; bounds alone tell then.
        self._can_hash = spec.hash is None or spec.hash in HASHES
        if self._can_hash:
            for file in files:
                self._by_bucket[file.buckets, file.bucket].append(file)

    def that_may_have(self, key: Sequence[object], stored: Key) -> list[StoredFile]:
        """The files in which a key can be, in no order; `stored` is its stored form."""
        if not self._can_hash:
            return [file for file in self._all if file.may_have(stored)]
        places = [(count, self._bucket(key, count)) for count in self._counts]
        return [file for place in places for file in self._by_bucket.get(place, ()) if file.may_have(stored)]

    def _bucket(self, key: Sequence[object], count: int) -> int:
        hashed = [key[at] for at in self._hashed]
        if self._groups is None or self._hash is None:
            return bucket_of(self._types, hashed, count)
        return group_of(self._types, hashed, self._groups, self._hash) * count // self._groups


@dataclass(frozen=True)
class Lookup:
    """Looks keys up in files of a table."""

    layout: Layout
    files: ParquetFiles
    io: FileIO

    def found(self, buckets: BucketFiles, keys: Sequence[Sequence[object]]) -> tuple[list[FoundRows], list[Numbers]]:
        """The stored rows of some keys by file, in commit order, and which of the keys each row has."""
        wanted: dict[StoredFile, list[int]] = {}
        plain = [tuple(map(stored_form, key)) for key in keys]
        for number, key in enumerate(keys):
            for file in buckets.that_may_have(key, plain[number]):
                wanted.setdefault(file, []).append(number)
        stretches: list[FoundRows] = []
        owners: list[Numbers] = []
        for file in sorted(wanted, key=lambda each: (each.age, each.lower)):
            rows, owner = self._in_file(file, plain, wanted[file])
            if rows.rows:
                stretches.append(rows)
                owners.append(owner)
        return stretches, owners

    def _in_file(self, file: StoredFile, keys: Sequence[Key], wanted: list[int]) -> tuple[FoundRows, Numbers]:
        opened = self.files.opened(file.path, self.io)
        groups: list[int] = []
        places: list[int] = []
        owners: list[int] = []
        for group, several in self._by_group(opened, keys, wanted).items():
            columns = self._keys(file, group)
            for place, number in _search(columns, keys, several, is_sorted=self.layout.spec.groups is None):
                groups.append(group)
                places.append(place)
                owners.append(number)
        as_numbers = (np.array(each, np.int64) for each in (groups, places))
        return FoundRows(file, self.files, self.io, *as_numbers), np.array(owners, np.int64)

    def _keys(self, file: StoredFile, group: int) -> list[Any]:
        ids = {field.field_id: field.field_type for field in self.layout.key}
        found = self.files.kept(file.path, self.io, ids, group)
        return [_stored(found[id_], natural(type_)) for id_, type_ in ids.items()]

    def _by_group(self, file: OpenFile, keys: Sequence[Key], wanted: list[int]) -> Mapping[int, list[int]]:
        """The keys that each row group may have, by the bounds of the first key column."""
        first = self.layout.key[0].field_id
        by_group: dict[int, list[int]] = {}
        for group in range(len(file.group_rows)):
            bounds = file.bounds(first, group)
            there = wanted if bounds is None else [each for each in wanted if _is_between(keys[each][0], bounds)]
            if there:
                by_group[group] = there
        return by_group


def _is_between(value: Any, bounds: tuple[Any, Any]) -> bool:
    told: Any = value.encode() if isinstance(value, str) else value
    if isinstance(told, bool) or type(told) is not type(bounds[0]) or not isinstance(told, int | bytes):
        return True
    return bool(bounds[0] <= told <= bounds[1])


def _stored(column: Any, type_: Any) -> Any:
    """A key column in the form of `stored_form`."""
    if isinstance(type_, pa.BaseExtensionType):
        return column.storage
    if pa.types.is_date(column.type):
        return column.cast(pa.int32())
    return column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column


class _Sorted(Sequence[Any]):
    """Keys as a sequence that is searched; a value becomes one of Python only where the search looks."""

    def __init__(self, columns: Sequence[Any]) -> None:
        self._columns = columns

    def __len__(self) -> int:
        return len(self._columns[0])

    def __getitem__(self, at: Any) -> Any:
        return tuple(column[at].as_py() for column in self._columns)


def _search(columns: list[Any], keys: Sequence[Key], wanted: list[int], is_sorted: bool) -> list[tuple[int, int]]:
    """Where keys are in a row group: pairs of a place and the number of a key."""
    if is_sorted and len(columns) == 1 and pa.types.is_integer(columns[0].type):
        values = columns[0].to_numpy()
        sought = np.array([keys[each][0] for each in wanted], values.dtype)
        at = np.searchsorted(values, sought)
        hit = np.flatnonzero(values[np.minimum(at, len(values) - 1)] == sought)
        return [(int(at[each]), wanted[each]) for each in hit.tolist()]
    if is_sorted and len(wanted) <= _SEARCHED_ONE_BY_ONE:
        rows = _Sorted(columns)
        found = [(bisect_left(rows, keys[each]), each) for each in wanted]
        return [(at, each) for at, each in found if at < len(rows) and rows[at] == keys[each]]
    places = pa.array(np.arange(len(columns[0])))
    for number, column in enumerate(columns):
        some = pa.array({keys[each][number] for each in wanted}, column.type)
        places = places.filter(pc.is_in(column.take(places), value_set=some))
    owner = {keys[each]: each for each in wanted}
    rows = _Sorted([column.take(places) for column in columns])
    pairs = ((place, owner.get(rows[at])) for at, place in enumerate(places.to_pylist()))
    return [(place, each) for place, each in pairs if each is not None]
