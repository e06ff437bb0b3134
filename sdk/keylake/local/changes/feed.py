"""The differences of the merged rows of a table between two commits.

1. A key can have changed where a write of the range added a file that has it, or took one away.
2. The rows of these keys alone are looked up in the files of both commits, and merged.
3. What is the same in both is no change.
"""

# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from keylake._values.arrow_types import empty_table, natural
from keylake.local.changes.differences import differ
from keylake.local.decisions import NOWHERE, Flags, Numbers
from keylake.local.files import StoredFile, by_bucket
from keylake.local.keys import Comparable, Keys, comparable
from keylake.local.lookups import Lookup
from keylake.local.merging import Merge
from keylake.local.plans import ChangedFiles
from keylake.local.stretches import FoundRows, Stretch

CHANGE, COLUMNS, BEFORE, AFTER, COMMIT = "_change", "_columns", "_before", "_after", "_commit"


@dataclass(frozen=True)
class Feed:
    """The changes of some value columns."""

    lookup: Lookup
    values: tuple[str, ...]

    def of(self, ranges: Sequence[ChangedFiles]) -> Any:
        """The changes of each range, as an Arrow table."""
        found = [pa.table(self._of_bucket(*part), schema=self.schema) for each in ranges for part in _parts(each)]
        return pa.concat_tables([empty_table(self.schema), *found])

    def state(self, stretches: Sequence[Stretch], owners: Sequence[Numbers], keys: int) -> State:
        """The merged rows of so many keys, from rows of which it is known which key they have."""
        merge = Merge(self.lookup.layout, (*self.lookup.layout.spec.key, *self.values))
        return State(*merge.found(stretches, owners), keys)

    def between(self, before: State, after: State, commit: int = 0) -> Any:
        """The changes from one state of keys to another, as an Arrow table."""
        return pa.table(self._changes(before, after, commit), schema=self.schema)

    @property
    def schema(self) -> Any:
        """The columns of a feed."""
        layout = self.lookup.layout
        fields = layout.fields
        image = pa.struct([pa.field(name, natural(fields[name].field_type)) for name in self.values])
        name = pa.field("element", pa.string(), nullable=False)
        return pa.schema(
            [
                *(pa.field(each.name, natural(each.field_type), nullable=False) for each in layout.key),
                pa.field(CHANGE, pa.string(), nullable=False),
                pa.field(COLUMNS, pa.list_(name), nullable=False),
                pa.field(BEFORE, image),
                pa.field(AFTER, image),
                pa.field(COMMIT, pa.int64(), nullable=False),
            ]
        )

    def _of_bucket(
        self, before: list[StoredFile], after: list[StoredFile], touched: list[StoredFile], commit: int
    ) -> list[Any]:
        keys = self._keys(touched)
        searched: dict[str, tuple[FoundRows, Numbers]] = {}
        old, new = (self.state(*self._found(each, keys, searched), len(keys)) for each in (before, after))
        return self._changes(old, new, commit)

    def _keys(self, files: list[StoredFile]) -> Keys:
        """The keys that files have."""
        ids = {field.field_id: field.field_type for field in self.lookup.layout.sort_key}
        once = {file.path: file for file in files}.values()
        read = [self.lookup.files.read(file, self.lookup.io, ids) for file in once]
        columns: list[Comparable] = [
            comparable(pa.chunked_array([chunk for each in read for chunk in each[id_].chunks], natural(type_)))
            for id_, type_ in ids.items()
        ]
        return Keys.of(columns)[0]

    def _found(
        self, files: list[StoredFile], keys: Keys, searched: dict[str, tuple[FoundRows, Numbers]]
    ) -> tuple[list[FoundRows], list[Numbers]]:
        """The rows of the keys in files; most files are of both states, and searched once."""
        stretches: list[FoundRows] = []
        owners: list[Numbers] = []
        for file in files:
            if file.path not in searched:
                searched[file.path] = self.lookup.in_file(file, keys, np.arange(len(keys)))
            rows, owner = searched[file.path]
            if rows.rows:
                stretches.append(replace(rows, file=file))
                owners.append(owner)
        return stretches, owners

    def _changes(self, before: State, after: State, commit: int) -> list[Any]:
        layout = self.lookup.layout
        both = np.flatnonzero((before.place != NOWHERE) & (after.place != NOWHERE))
        old, new = before.rows.take(before.place[both]), after.rows.take(after.place[both])
        flags = np.zeros((len(both), len(self.values)), np.bool_)
        for number, name in enumerate(self.values):
            flags[:, number] = differ(_plain(old.column(name)), _plain(new.column(name)))
        updated = flags.any(axis=1)
        changed = (before.place == NOWHERE) != (after.place == NOWHERE)
        changed[both] = updated
        key = np.flatnonzero(changed)
        old_place, new_place = before.place[key], after.place[key]
        kinds = np.where(old_place == NOWHERE, "insert", np.where(new_place == NOWHERE, "delete", "update"))
        all_flags = np.zeros((len(key), len(self.values)), np.bool_)
        all_flags[kinds == "update"] = flags[updated]
        keyed = _keyed(before.rows, after.rows, old_place, new_place, layout.spec.key)
        return [
            *keyed,
            pa.array(kinds.tolist(), pa.string()),
            self._names(all_flags),
            *(self._images(state.rows, place) for state, place in ((before, old_place), (after, new_place))),
            pa.array(np.full(len(key), commit)),
        ]

    def _names(self, flags: Flags) -> Any:
        """The names of the columns whose flag is set, row by row."""
        _, column = np.nonzero(flags)
        offsets = np.concatenate([[0], np.cumsum(flags.sum(axis=1))]).astype(np.int32)
        named = pa.array(self.values, pa.string()).take(pa.array(column))
        return pa.ListArray.from_arrays(pa.array(offsets), named, type=self.schema.field(COLUMNS).type)

    def _images(self, rows: Any, place: Numbers) -> Any:
        """Rows as structs; null where there is none."""
        is_gone = place == NOWHERE
        type_ = self.schema.field(BEFORE).type
        if not self.values:
            return pa.array([None if gone else {} for gone in is_gone.tolist()], type_)
        at = pa.array(place, mask=is_gone)
        columns = [_plain(rows.column(name)).take(at) for name in self.values]
        return pa.StructArray.from_arrays(columns, fields=list(type_), mask=pa.array(is_gone))


class State:
    """Merged rows, and the place of each key among them; -1 where it has no row."""

    def __init__(self, rows: Any, keys: Numbers, count: int) -> None:
        self.rows = rows
        self.place = np.full(count, NOWHERE)
        self.place[keys] = np.arange(len(keys))


def _parts(range_: ChangedFiles) -> list[tuple[list[StoredFile], list[StoredFile], list[StoredFile], int]]:
    """The files of each bucket that was touched."""
    everything = (range_.before.files, range_.after.files, range_.touched)
    coarsest = min((file.buckets for files in everything for file in files), default=1)
    before, after, touched = (by_bucket(files, coarsest) for files in everything)
    return [(before.get(place, []), after.get(place, []), files, range_.commit) for place, files in touched.items()]


def _keyed(before: Any, after: Any, old: Numbers, new: Numbers, key: Sequence[str]) -> list[Any]:
    """The key columns, of whichever row is there."""
    rows = pa.concat_tables([before.select(list(key)), after.select(list(key))])
    at = pa.array(np.where(new == NOWHERE, old, new + before.num_rows))
    return [_plain(rows.column(name).take(at)) for name in key]


def _plain(column: Any) -> Any:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, column.type)
