"""The rows of a log that are not in files of the table yet, as rows that a merge takes behind those of all files."""

# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

import json
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.types import BooleanType, IcebergType, NestedField

from keylake._definition.bucketing import buckets_of
from keylake._definition.grouping import HASHES, group_of
from keylake._definition.names import LOG_PROPERTY, OFFSETS_PROPERTY
from keylake._log.entries import Entry
from keylake._log.locks import ProcessLock
from keylake._log.messages import Columns, entry_of
from keylake._log.store import LogStore
from keylake._log.stored_log import StoredLog
from keylake._values.arrow_types import natural
from keylake._values.conform import conformed
from keylake.errors import KeylakeError, Unavailable, Unsupported
from keylake.local.decisions import Numbers
from keylake.local.files import StoredFile, by_bucket
from keylake.local.keys import plain_keys
from keylake.local.layout import Layout
from keylake.local.lookups import Sought

MOST_ROWS, MOST_BYTES = 1_000_000, 1 << 30
_LATEST_VERSION = 2**62  # of rows whose versions are commits: the log comes behind all of them
_WAIT_SECONDS, _PAUSE_SECONDS = 10.0, 0.01  # for the end of a transaction
_FEW = 256  # so many rows are gathered one by one


def stored_log(metadata: TableMetadata) -> StoredLog | None:
    """The log that a table has."""
    text = metadata.properties.get(LOG_PROPERTY)
    return None if text is None else StoredLog.from_json(text)


def moves_of(metadata: TableMetadata, source: str) -> dict[int, tuple[int, int]]:
    """The entries of a log that commits have brought, by snapshot: the first, and the one behind the last."""
    said: dict[str, Any] = json.loads(metadata.properties.get(OFFSETS_PROPERTY, "{}"))
    sources: list[str] = said.get("sources", [])
    found: dict[int, tuple[int, int]] = {}
    if source not in sources:
        return found
    place = sources.index(source)
    for _, snapshot_id, *_, of_commit in said["commits"]:
        for ranges in (ranges for number, ranges in of_commit if number == place):
            parts = [part.partition("-") for part in ranges.split(",")]
            found[snapshot_id] = int(parts[0][0]), max(int(last or first) + 1 for first, _, last in parts)
    return found


def moved_before(metadata: TableMetadata, source: str) -> int:
    """The number before which every entry of a log is in files, or was and has been taken back.

    Metadata say it of the same moment as the snapshots that are in them.
    """
    return max((end for _, end in moves_of(metadata, source).values()), default=0)


class FreshRows:
    """The rows of a log of a table, kept between reads. Threads may share them."""

    def __init__(self, name: str, source: str, store: LogStore) -> None:
        self._name = name
        self.source = source
        self.store = store
        self._lock = ProcessLock()
        self._known = LoggedEntries(0)
        self._reader = store.reader(0)
        self._layout: Layout | None = None  # by which they were read

    def behind(self, layout: Layout, floor: int) -> LoggedRows:
        """The rows of all entries from a number on that are durable now."""
        columns = Columns(layout.spec, layout.fields)
        with self._lock:
            if layout is not self._layout:
                if self._layout is not None and layout.fields != self._layout.fields:
                    # Messages of other producers are read by the names of columns.
                    self._known, self._reader = LoggedEntries(floor), self.store.reader(floor)
                self._layout = layout
            known = self._known.since(floor)
            if known is not self._known:
                self._known = known
                self._reader = self._reader if self._reader.number == known.next else self.store.reader(known.next)
            try:
                self._read(known, columns)
            except KeylakeError:
                self._known, self._reader = LoggedEntries(0), self.store.reader(0)
                raise
            return LoggedRows(layout, known, np.arange(known.rows))

    def _read(self, known: LoggedEntries, columns: Columns) -> None:
        """Add the entries that were acknowledged up to now; those behind an open transaction are waited for."""
        until = self.store.acknowledged()
        given_up = time.monotonic() + _WAIT_SECONDS
        while known.next < until:
            frames = self._reader.new()
            for frame in frames:
                known.add(entry_of(frame.number, frame.entry, columns), len(frame.entry))
            self._check_size(known)
            if not frames and time.monotonic() > given_up:
                raise Unavailable(
                    f"Entries from {known.next} on of the log in {self.store.place} cannot be read: a transaction of "
                    "another producer is open there. Read again when it has ended, or without fresh=True."
                )
            if not frames:
                time.sleep(_PAUSE_SECONDS)

    def _check_size(self, known: LoggedEntries) -> None:
        if known.rows > MOST_ROWS or known.bytes > MOST_BYTES:
            raise Unsupported(
                f"The log of {self._name} has more than {MOST_ROWS:,} rows or {MOST_BYTES >> 20:,} MiB that are not in "
                f"its files, which a fresh read would have to keep in memory. Move them: keylake move {self._name}."
            )


class LoggedEntries:
    """Entries from a number on, which only grow in number."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.entries: list[Entry] = []
        self.starts: list[int] = []  # the number of the first row of each entry
        self.sizes: list[int] = []  # in bytes
        self.rows = self.bytes = 0
        self._lock = ProcessLock()
        self._whole: dict[tuple[int, IcebergType], tuple[int, Any]] = {}  # columns of so many entries
        self._arrays: dict[int | str, tuple[int, Any]] = {}  # versions and lags of so many entries
        self._placed: dict[int, _Placed] = {}  # by the count of buckets
        self._rows_of: dict[tuple[object, ...], list[int]] = {}
        self._indexed = 0  # entries

    @property
    def next(self) -> int:
        """The number of the entry that comes next."""
        return self.first + len(self.entries)

    def add(self, entry: Entry, size: int) -> None:
        """Add the entry that comes next, which has so many bytes."""
        self.starts.append(self.rows)
        self.sizes.append(size)
        self.entries.append(entry)
        self.rows += entry.rows
        self.bytes += size

    def since(self, floor: int) -> LoggedEntries:
        """The entries from a number on."""
        if floor == self.first:
            return self
        kept = LoggedEntries(floor)
        if self.first < floor <= self.next:
            for entry, size in zip(self.entries[floor - self.first :], self.sizes[floor - self.first :], strict=True):
                kept.add(entry, size)
        return kept

    def key_of_last(self, field: NestedField) -> list[object]:
        """The values of a key column in the rows of the last entry."""
        values: list[object] = self._piece(len(self.entries) - 1, field.field_id, field.field_type).to_pylist()
        return values

    def column(self, id_: int, type_: IcebergType, rows: Numbers) -> Any:
        """A column of some rows by their numbers; null where an entry does not have it."""
        if len(rows) > _FEW:
            return self._column(id_, type_).take(pa.array(rows))
        pieces = [self._piece(at, id_, type_).slice(row - self.starts[at], 1) for row, at in self._entries_of(rows)]
        return pa.concat_arrays(pieces) if pieces else pa.array([], natural(type_))

    def _entries_of(self, rows: Numbers) -> list[tuple[int, int]]:
        return [(row, bisect_right(self.starts, row) - 1) for row in rows.tolist()]

    def _column(self, id_: int, type_: IcebergType) -> Any:
        with self._lock:
            count, whole = self._whole.get((id_, type_), (0, pa.array([], natural(type_))))
            if count < len(self.entries):
                pieces = [self._piece(at, id_, type_) for at in range(count, len(self.entries))]
                whole = pa.concat_arrays([whole, *pieces])
                self._whole[id_, type_] = len(self.entries), whole
            return whole

    def _piece(self, at: int, id_: int, type_: IcebergType) -> Any:
        entry = self.entries[at]
        if id_ not in entry.columns:
            return pa.nulls(entry.rows, natural(type_))
        written, array = entry.columns[id_]
        return conformed(array, written, type_)

    def rows_of(self, layout: Layout) -> Mapping[tuple[object, ...], list[int]]:
        """The numbers of the rows of each key, in the order of the log."""
        with self._lock:
            for at in range(self._indexed, len(self.entries)):
                key = [plain_keys(self._piece(at, each.field_id, each.field_type)) for each in layout.key]
                for row, parts in enumerate(zip(*key, strict=True), self.starts[at]):
                    self._rows_of.setdefault(parts, []).append(row)
            self._indexed = len(self.entries)
            return self._rows_of

    def versions(self, rows: Numbers) -> Numbers:
        """The versions of rows."""
        versions: Numbers = self._gathered("versions", rows, np.int64, _versions)
        return versions

    def lags(self, id_: int, layout: Layout, rows: Numbers) -> Any:
        """Zero in the rows that write, delete or carry what a field of `_merge_info` says, and null in others."""
        is_set = self._gathered(id_, rows, np.bool_, lambda entry: _is_set(entry, id_, layout))
        return pa.array(np.zeros(len(rows), np.int64), mask=~is_set)

    def _gathered(self, what: int | str, rows: Numbers, type_: Any, of: Callable[[Entry], Any]) -> Any:
        """An array of some rows, of which those of all entries are kept where many are asked for."""
        if len(rows) <= _FEW:
            found = [of(self.entries[at])[row - self.starts[at]] for row, at in self._entries_of(rows)]
            return np.array(found, type_)
        with self._lock:
            count, whole = self._arrays.get(what, (0, np.empty(0, type_)))
            if count < len(self.entries):
                whole = np.concatenate([whole, *(of(entry) for entry in self.entries[count:])])
                self._arrays[what] = len(self.entries), whole
        return whole[rows]

    def of_buckets(self, layout: Layout, count: int) -> dict[tuple[object, ...], Numbers]:
        """The numbers of the rows of each bucket of each partition, of so many buckets, in the order of the log."""
        with self._lock:
            placed = self._placed.setdefault(count, _Placed())
            if placed.entries < len(self.entries):
                new = range(placed.entries, len(self.entries))
                key = {
                    each.name: pa.concat_arrays([self._piece(at, each.field_id, each.field_type) for at in new])
                    for each in layout.key
                }
                placed.add(_places(layout, key, count))
                placed.entries = len(self.entries)
            codes = placed.codes[: self.rows]
            return {place: np.flatnonzero(codes == code) for place, code in placed.numbers.items()}


@dataclass
class _Placed:
    """The place of each row of so many entries, as a number."""

    entries: int = 0
    numbers: dict[tuple[object, ...], int] = field(default_factory=dict)
    codes: Numbers = field(default_factory=lambda: np.empty(0, np.int64))

    def add(self, places: Iterable[tuple[object, ...]]) -> None:
        """Add the places of more rows."""
        numbers = self.numbers
        more = [numbers.setdefault(place, len(numbers)) for place in places]
        self.codes = np.concatenate([self.codes, np.array(more, np.int64)])


def _places(layout: Layout, key: Mapping[str, Any], count: int) -> Iterator[tuple[object, ...]]:
    """The partition and the bucket of each key, given by column."""
    spec = layout.spec
    types = [spec.column(name).type for name in spec.bucket_by]
    if spec.groups is None or spec.hash is None:
        buckets = buckets_of(types, [plain_keys(key[name]) for name in spec.bucket_by], count)
    else:
        keys = zip(*(key[name].to_pylist() for name in spec.bucket_by), strict=True)
        buckets = [group_of(types, each, spec.groups, spec.hash) * count // spec.groups for each in keys]
    return zip(*(plain_keys(key[name]) for name in spec.partition_by), buckets, strict=True)


def _versions(entry: Entry) -> Any:
    return np.full(entry.rows, _LATEST_VERSION, np.int64) if entry.versions is None else entry.versions.to_numpy()


def _is_set(entry: Entry, id_: int, layout: Layout) -> Any:
    if id_ in (layout.written, layout.deleted):
        return np.full(entry.rows, (entry.verb == "delete") == (id_ == layout.deleted))
    found = np.zeros(entry.rows, np.bool_)
    for name, leaf in layout.leaves.items():
        column = layout.fields[name].field_id
        if leaf == id_ and column in entry.columns and entry.verb != "delete":
            flags = entry.carried.get(column)
            found |= True if flags is None else flags.to_numpy(zero_copy_only=False)
    return found


@dataclass
class LoggedRows:
    """Rows of a log in its order, several of a key among them; they lie behind those of all files.

    `places` are their numbers among the rows of all entries.
    """

    layout: Layout
    entries: LoggedEntries
    places: Numbers
    file: StoredFile = field(init=False)

    def __post_init__(self) -> None:
        none: frozenset[int] = frozenset()
        self.file = StoredFile("", 0, self.rows, 2**62, (0,), 1, (), (), None, none, none, is_visible=False)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.places)

    def columns(self, wanted: Mapping[int, IcebergType], rows: Numbers | None = None) -> dict[int, Any]:
        """Columns by field id, of all rows or of some."""
        places = self.places if rows is None else self.places[rows]
        layout = self.layout
        hidden = {layout.written, layout.deleted, *layout.leaves.values()}
        found: dict[int, Any] = {}
        for id_, type_ in wanted.items():
            if id_ == layout.version:
                found[id_] = pa.array(self.entries.versions(places))
            elif id_ in hidden:
                found[id_] = self.entries.lags(id_, layout, places)
            elif id_ not in layout.states.values():
                found[id_] = self.entries.column(id_, type_, places)
        return found

    def by_bucket(self, count: int) -> dict[tuple[object, ...], LoggedRows]:
        """The rows of each bucket of each partition, of so many buckets."""
        of_all = self.entries.of_buckets(self.layout, count)
        there = ((place, rows[rows < self.rows]) for place, rows in of_all.items())
        return {place: LoggedRows(self.layout, self.entries, rows) for place, rows in there if len(rows)}

    def found(self, sought: Sought) -> tuple[LoggedRows, Numbers]:
        """The rows of keys that are looked up, and which of the keys each row has."""
        rows_of = self.entries.rows_of(self.layout)
        columns = sought.keys.columns[-len(self.layout.key) :]  # without groups of keys
        types = [each.field_type for each in self.layout.key]
        keys = zip(*(_plain_keys(column, type_) for column, type_ in zip(columns, types, strict=True)), strict=True)
        places: list[int] = []
        owners: list[int] = []
        for owner, key in enumerate(keys):
            rows = self._there(rows_of.get(key, ()))
            places.extend(rows)
            owners.extend([owner] * len(rows))
        return self._of(places), np.array(owners, np.int64)

    def _there(self, rows: Sequence[int]) -> Sequence[int]:
        """The rows of a key that were there when this was made, in the order of the log."""
        return rows[: bisect_left(rows, self.rows)]

    def _of(self, places: Sequence[int]) -> LoggedRows:
        return LoggedRows(self.layout, self.entries, np.array(places, np.int64))


def _plain_keys(column: Any, type_: IcebergType) -> list[object]:
    """Keys that are looked up in the form of `plain_keys`: they have it but for booleans."""
    values: list[object] = column.tolist()
    return list(map(bool, values)) if isinstance(type_, BooleanType) else values


def table_of(entry: Entry, layout: Layout) -> Any:
    """The rows of an entry as an Arrow table, with the names and types that columns have now."""
    names = {each.field_id: name for name, each in layout.fields.items()}
    found = {names[id_]: (id_, *told) for id_, told in entry.columns.items() if id_ in names}
    arrays = [conformed(array, written, layout.fields[name].field_type) for name, (_, written, array) in found.items()]
    return pa.table(arrays, names=list(found))


def grouped(
    files: Sequence[StoredFile], logged: LoggedRows | None
) -> Iterator[tuple[Sequence[StoredFile], LoggedRows | None]]:
    """Files and rows of the log that can share a key: those of each bucket."""
    if logged is None or not logged.rows:
        yield from ((several, None) for several in by_bucket(files).values())
        return
    spec = logged.layout.spec
    if spec.hash is not None and spec.hash not in HASHES:  # the bucket of a key cannot be computed here
        yield files, logged
        return
    count = min((file.buckets for file in files), default=1)
    of_files = by_bucket(files, count)
    of_log = logged.by_bucket(count)
    for place in dict.fromkeys((*of_files, *of_log)):
        yield of_files.get(place, ()), of_log.get(place)
