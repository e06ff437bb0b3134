"""Finds the stored rows of keys: by bucket, by bounds of files and row groups, then by search in sorted keys."""

# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from pyiceberg.io import FileIO
from pyiceberg.types import DecimalType

from keylake._definition.bucketing import buckets_of
from keylake._definition.grouping import HASHES, group_of
from keylake._values.objects import fitted_column
from keylake._values.read import python_values
from keylake.local.decisions import NOWHERE, Flags, Numbers
from keylake.local.files import StoredFile
from keylake.local.keyfilters import KeyHashes
from keylake.local.keys import Keys, comparable, comparable_of_spark
from keylake.local.layout import Layout
from keylake.local.parquet import OpenFile, ParquetFiles
from keylake.local.stretches import FoundRows

_MOST_ASKED = 32  # of more keys, a file has one nearly always


@dataclass(frozen=True, eq=False)
class Sought:
    """Keys that somebody looks up.

    `numbers` says which of the keys each of those has that were given. `buckets` are by the count of buckets; None
    where the hash is a Java class, which cannot be computed here. Then the keys are searched without their groups.
    """

    keys: Keys
    numbers: Numbers
    buckets: dict[int, Numbers] | None

    @classmethod
    def of(cls, layout: Layout, given: Sequence[Sequence[object]], counts: Sequence[int]) -> Sought:
        """The keys of given values, which stand by key column."""
        spec = layout.spec
        types = {name: spec.column(name).type for name in spec.key}
        fitted = {name: fitted_column(name, types[name], values) for name, values in zip(types, given, strict=True)}
        columns = [comparable_of_spark(column, types[name]) for name, column in fitted.items()]
        if spec.hash is not None and spec.hash not in HASHES:
            return cls(*Keys.of(columns), None)
        hashed = [python_values(types[name], fitted[name].to_pylist()) for name in spec.bucket_by]
        types_hashed = [types[name] for name in spec.bucket_by]
        if spec.groups is None or spec.hash is None:
            found = {count: np.array(buckets_of(types_hashed, hashed, count), np.int64) for count in counts}
        else:
            in_turn = zip(*hashed, strict=True)
            groups = np.array([group_of(types_hashed, key, spec.groups, spec.hash) for key in in_turn], np.int64)
            columns.insert(0, groups)
            found = {count: groups * count // spec.groups for count in counts}
        keys, numbers = Keys.of(columns)
        buckets = {count: np.empty(len(keys), np.int64) for count in counts}
        for count, of_given in found.items():
            buckets[count][numbers] = of_given
        return cls(keys, numbers, buckets)


@dataclass(frozen=True)
class Asked:
    """The keys that several files may have, as flags, and the hashes of all."""

    of_several_files: Flags
    hashes: KeyHashes


class BucketFiles:
    """The files of a snapshot by the buckets that they are written for."""

    def __init__(self, files: Sequence[StoredFile]) -> None:
        self._all = files
        self._by_bucket: dict[tuple[int, int], list[StoredFile]] = defaultdict(list)
        for file in files:
            self._by_bucket[file.buckets, file.bucket].append(file)
        self.counts = tuple({file.buckets for file in files})

    def that_may_have(self, sought: Sought) -> Iterator[tuple[StoredFile, Numbers]]:
        """The files in which keys can be, in no order, and which keys."""
        if sought.buckets is None:
            every = np.arange(len(sought.keys))
            yield from ((file, every) for file in self._all)
            return
        for count, buckets in sought.buckets.items():
            for bucket in np.unique(buckets).tolist():
                there = np.flatnonzero(buckets == bucket)
                yield from ((file, there) for file in self._by_bucket.get((count, bucket), ()))


@dataclass(frozen=True)
class Lookup:
    """Looks keys up in files of a table."""

    layout: Layout
    files: ParquetFiles
    io: FileIO

    def found(self, buckets: BucketFiles, sought: Sought) -> tuple[list[FoundRows], list[Numbers]]:
        """The stored rows of keys by file, in commit order, and which of the keys each row has."""
        stretches: list[FoundRows] = []
        owners: list[Numbers] = []
        places = [
            (file, several[sought.keys.taken(several).between(file.lower, file.upper)])
            for file, several in sorted(buckets.that_may_have(sought), key=lambda each: (each[0].age, each[0].lower))
        ]
        counts = np.bincount(_joined([several for _, several in places]), minlength=len(sought.keys))
        asked = Asked(counts > 1, KeyHashes(sought.keys))
        for file, several in places:
            rows, owner = self.in_file(file, sought.keys, several, asked)
            if rows.rows:
                stretches.append(rows)
                owners.append(owner)
        return stretches, owners

    def in_file(
        self, file: StoredFile, keys: Keys, wanted: Numbers, asked: Asked | None = None
    ) -> tuple[FoundRows, Numbers]:
        """The rows of some of the keys in a file, and which of the keys each row has.

        `asked` are the keys of which filters are asked first.
        """
        groups: list[Numbers] = []
        places: list[Numbers] = []
        owners: list[Numbers] = []
        wanted = wanted[keys.taken(wanted).between(file.lower, file.upper)]
        if len(wanted):
            opened = self.files.opened(file, self.io)
            for group in range(len(opened.group_rows)):
                there = self._of_group(opened, group, keys, wanted)
                if asked is not None:
                    there = self._asked(file, group, there, asked)
                if len(there):
                    found = self._places(file, group, keys.taken(there))
                    (hit,) = (found != NOWHERE).nonzero()
                    groups.append(np.full(len(hit), group))
                    places.append(found[hit])
                    owners.append(there[hit])
        return FoundRows(file, self.files, self.io, _joined(groups), _joined(places)), _joined(owners)

    def _of_group(self, opened: OpenFile, group: int, keys: Keys, wanted: Numbers) -> Numbers:
        """The keys that a row group may have, by the bounds of the first column of the key."""
        if len(opened.group_rows) == 1:
            return wanted
        first, rest = self.layout.key[0], [None] * (len(self.layout.key) - 1)
        bounds = opened.bounds(first.field_id, group)
        if bounds is None or isinstance(first.field_type, DecimalType):  # of a decimal, Parquet has the digits
            return wanted
        return wanted[keys.taken(wanted).between([bounds[0], *rest], [bounds[1], *rest])]

    def _asked(self, file: StoredFile, group: int, keys: Numbers, asked: Asked) -> Numbers:
        """The keys that a row group may have, by its filters.

        A key that is in one file only is there, or nowhere: to ask first would be one more request.
        """
        for number, field in enumerate(self.layout.key, -len(self.layout.key)):
            several = keys[asked.of_several_files[keys]]
            if not 0 < len(several) <= _MOST_ASKED:
                return keys
            hashes = partial(asked.hashes.of, number, which=several)
            flags = self.files.may_have(file, self.io, field.field_id, group, hashes)
            if flags is not None:
                keys = np.setdiff1d(keys, several[~flags], assume_unique=True)
        return keys

    def _places(self, file: StoredFile, group: int, keys: Keys) -> Numbers:
        """The places of keys in a row group."""
        fields = self.layout.sort_key[-len(keys.columns) :]
        found = self.files.kept(file, self.io, {field.field_id: field.field_type for field in fields}, group)
        rows = [comparable(found[field.field_id]) for field in fields]
        if len(fields) == len(self.layout.sort_key):
            return keys.places_in(rows)
        return keys.places_among(rows)  # they are by group, and the keys' groups are not known


def _joined(parts: list[Numbers]) -> Numbers:
    return np.concatenate(parts) if len(parts) > 1 else parts[0] if parts else np.empty(0, np.int64)
