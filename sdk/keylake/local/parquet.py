"""Columns of Parquet files by field id, one row group at a time; footers and what was decoded are kept, within bounds.

footers   of the last files, open: `FILES_AT_MOST`
columns   of row groups that look-ups have decoded: `memory_bytes`; the least recently used go first
"""

# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.io import FileIO
from pyiceberg.types import IcebergType

from keylake._values.conform import conformed, field_id
from keylake.errors import KeylakeError, SnapshotExpired
from keylake.local.damage import damaged, failure, reading
from keylake.local.decisions import Flags
from keylake.local.files import StoredFile
from keylake.local.footers import check_name, read_footer
from keylake.local.keyfilters import Hashes, KeyFilter, filters_of

FILES_AT_MOST = 512
_WHAT = "File"
_Key = tuple[str, int, int, str]  # path, row group, field id, type or part of a filter


@dataclass(frozen=True)
class _Place:
    """The place of a field in a file: its names from the top, its first leaf and how many leaves it has."""

    path: tuple[str, ...]
    field: Any
    first: int
    leaves: int


class OpenFile:
    """A Parquet file with its footer."""

    def __init__(self, file: StoredFile, io: FileIO, page_checksums: bool) -> None:
        self._path, self._io, self._size = file.path, io, file.size
        self._places: dict[int, _Place] = {}
        with _reading(file, io):
            source = self._source = io.new_input(file.path).open()
            footer = read_footer(source, file.size)
            check_name(footer, file.path)
            self._file: Any = pq.ParquetFile(source, metadata=footer, page_checksum_verification=page_checksums)
            self._learn(self._file.schema_arrow, (), 0)
            self.metadata: Any = self._file.metadata
            self._filters = filters_of(self.metadata.metadata)
            self.group_rows = tuple(self.metadata.row_group(at).num_rows for at in range(self.metadata.num_row_groups))
        if sum(self.group_rows) != file.rows:
            raise damaged(
                _WHAT, file.path, f"it has {sum(self.group_rows):,} rows, and the table says {file.rows:,} rows"
            )
        if missing := file.present - self._places.keys():
            raise damaged(_WHAT, file.path, f"its footer has no column of the field id {min(missing)}")
        self.lock = RLock()  # its reader is for one thread at a time
        self.is_closed = False
        self.starts = np.concatenate(([0], np.cumsum(self.group_rows, dtype=np.int64)))

    def _learn(self, fields: Iterable[Any], above: tuple[str, ...], first: int) -> int:
        for field in fields:
            path, begin = (*above, field.name), first
            if pa.types.is_struct(field.type):
                first = self._learn(field.type, path, first)
            else:
                first += _leaves(field.type)
            id_ = field_id(field)
            if id_ is not None:
                self._places[id_] = _Place(path, field, begin, first - begin)
        return first

    def has(self, id_: int) -> bool:
        """The file has a field."""
        return id_ in self._places

    def read(self, wanted: Mapping[int, IcebergType], groups: Iterable[int]) -> dict[int, Any]:
        """Fields of some row groups, each as a chunked array; those that the file has not are left out."""
        found = {id_: self._places[id_] for id_ in wanted if id_ in self._places}
        if not found:
            return {}
        leaves = sorted({at for place in found.values() for at in range(place.first, place.first + place.leaves)})
        groups = list(groups)
        try:
            table = self._read(groups, leaves)
            return {id_: _taken(table, place, wanted[id_]) for id_, place in found.items()}
        except Exception as error:  # noqa: BLE001  # what decoders of garbled bytes raise is of many kinds
            raise self._failure(groups, leaves, error) from None

    def _read(self, groups: list[int], leaves: list[int]) -> Any:
        table = self._file.reader.read_row_groups(groups, column_indices=leaves, use_threads=False)
        rows = sum(self.group_rows[group] for group in groups)
        if table.num_rows != rows:
            raise ValueError(f"it has {table.num_rows:,} rows, and the footer says {rows:,}")
        return table

    def _failure(self, groups: list[int], leaves: list[int], error: Exception) -> KeylakeError:
        """The error of a read, with the first column and row group that cannot be read by themselves."""
        where = _WHAT
        for group, leaf in itertools.product(groups, leaves):
            try:
                self._read([group], [leaf])
            except Exception as found:  # noqa: BLE001  # as above
                column = self.metadata.schema.column(leaf).path
                where, error = f"Column {column!r} in row group {group} of {_WHAT.lower()}", found
                break
        return _failure(where, self._path, self._io, error, self._size)

    def bounds(self, id_: int, group: int) -> tuple[Any, Any] | None:
        """The smallest and the largest value of a column in a row group, as Parquet stores them; None if not told."""
        with reading(_WHAT, self._path, self._io, self._size):
            told = self.metadata.row_group(group).column(self._places[id_].first).statistics
        if told is None or not told.has_min_max:
            return None
        return told.min_raw, told.max_raw

    def filter_of(self, id_: int, group: int) -> tuple[KeyFilter, str, int] | None:
        """The filter of a column in a row group, with the type and the bytes of its values in the file."""
        found = self._filters.get((group, id_))
        if found is None:
            return None
        column = self.metadata.schema.column(self._places[id_].first)
        return found, column.physical_type, column.length

    def filter_part(self, key_filter: KeyFilter, part: int) -> Any:
        """A part of a filter, as numbers."""
        begin, size = key_filter.place(part)
        with reading(_WHAT, self._path, self._io, self._size):
            self._source.seek(begin)
            return key_filter.checked(part, self._source.read(size))

    def close(self) -> None:
        """Give the file back, once nobody reads it."""
        with self.lock:
            self.is_closed = True
            self._file.close(force=True)


@contextmanager
def _reading(file: StoredFile, io: FileIO) -> Generator[None]:
    try:
        with reading(_WHAT, file.path, io, file.size):
            yield
    except FileNotFoundError:
        raise _gone(file.path) from None


def _failure(where: str, path: str, io: FileIO, error: Exception, size: int) -> KeylakeError:
    try:
        return failure(where, path, io, error, size)
    except FileNotFoundError:
        return _gone(path)


def _gone(path: str) -> SnapshotExpired:
    return SnapshotExpired(f"File {path} is gone: its snapshot has expired meanwhile. Open the table again.")


def _leaves(type_: Any) -> int:
    if pa.types.is_struct(type_):
        return sum(_leaves(each.type) for each in type_)
    if pa.types.is_map(type_):
        return _leaves(type_.key_type) + _leaves(type_.item_type)
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return _leaves(type_.value_type)
    return 1


def _taken(table: Any, place: _Place, type_: IcebergType) -> Any:
    column = table.column(place.path[0])
    for name in place.path[1:]:
        column = pc.struct_field(column, name)
    return pa.chunked_array([conformed(chunk, place.field, type_) for chunk in column.chunks] or [pa.nulls(0)])


def _whole(column: Any) -> Any:
    array = column.combine_chunks()
    return array.chunk(0) if isinstance(array, pa.ChunkedArray) else array


class ParquetFiles:
    """The files of tables, opened once; any number of threads may ask.

    Threads that read different files do not wait for each other. Whoever holds the lock of all files waits for that of
    none, so no two threads wait for each other.
    """

    def __init__(self, memory_bytes: int, page_checksums: bool = True) -> None:
        self.memory_bytes = memory_bytes
        self.page_checksums = page_checksums
        self._lock = RLock()
        self._files: OrderedDict[str, OpenFile] = OrderedDict()
        self._columns: OrderedDict[_Key, Any] = OrderedDict()
        self._bytes = 0

    @property
    def decoded_bytes(self) -> int:
        """The number of bytes of decoded columns that are kept."""
        return self._bytes

    def opened(self, file: StoredFile, io: FileIO) -> OpenFile:
        """A file with its footer."""
        with self._lock:
            found = self._files.get(file.path)
            if found is not None:
                self._files.move_to_end(file.path)
                return found
        made = OpenFile(file, io, self.page_checksums)
        over: list[OpenFile] = []
        with self._lock:
            found = self._files.setdefault(file.path, made)
            while len(self._files) > FILES_AT_MOST:
                over.append(self._files.popitem(last=False)[1])
        if found is not made:
            over.append(made)
        for each in over:
            each.close()
        return found

    @contextmanager
    def _held(self, file: StoredFile, io: FileIO) -> Generator[OpenFile]:
        """An open file for this thread alone; one that is damaged is closed, since it may be mended."""
        while True:
            found = self.opened(file, io)
            with found.lock:
                if found.is_closed:  # by a thread that opened others
                    continue
                try:
                    yield found
                except KeylakeError:
                    with self._lock:
                        self._files.pop(file.path, None)
                    found.close()
                    raise
                return

    def read(self, stored: StoredFile, io: FileIO, wanted: Mapping[int, IcebergType]) -> dict[int, Any]:
        """Whole columns of a file, as chunked arrays. Nothing of it is kept."""
        with self._held(stored, io) as file:
            return file.read(wanted, range(len(file.group_rows)))

    def kept(self, stored: StoredFile, io: FileIO, wanted: Mapping[int, IcebergType], group: int) -> dict[int, Any]:
        """Columns of one row group, as arrays, which are kept for later calls; missing ones are left out."""
        file = self.opened(stored, io)
        there = {id_: type_ for id_, type_ in wanted.items() if file.has(id_)}
        keys = {id_: (stored.path, group, id_, str(type_)) for id_, type_ in there.items()}
        found = self._decoded(keys)
        if len(found) < len(keys):
            with self._held(stored, io) as file:
                found |= self._decoded({id_: key for id_, key in keys.items() if id_ not in found})
                read = file.read({id_: type_ for id_, type_ in there.items() if id_ not in found}, [group])
            arrays = {id_: _whole(column) for id_, column in read.items()}
            self._keep({keys[id_]: array for id_, array in arrays.items()})
            found |= arrays
        return {id_: found[id_] for id_ in keys}

    def may_have(
        self, stored: StoredFile, io: FileIO, id_: int, group: int, hashes: Callable[[str, int], Hashes | None]
    ) -> Flags | None:
        """The values that a row group may have in a column, as flags; None where it has no filter of them.

        `hashes` gives the hashes of the values by the type and the length that they have in the file. The parts of the
        filter are kept, as columns are.
        """
        there = self.opened(stored, io).filter_of(id_, group)
        wanted = None if there is None else hashes(*there[1:])
        if there is None or wanted is None:
            return None
        key_filter = there[0]
        keys = {part: (stored.path, group, id_, f"filter {part}") for part in key_filter.parts(wanted)}
        parts = self._decoded(keys)
        missing = keys.keys() - parts.keys()
        if missing:
            with self._held(stored, io) as file:
                read = {part: file.filter_part(key_filter, part) for part in missing}
            self._keep({keys[part]: array for part, array in read.items()})
            parts |= read
        return key_filter.may_have(wanted, parts)

    def _decoded(self, keys: Mapping[int, _Key]) -> dict[int, Any]:
        """The columns that are kept already."""
        with self._lock:
            found = {id_: self._columns[key] for id_, key in keys.items() if key in self._columns}
            for id_ in found:
                self._columns.move_to_end(keys[id_])
            return found

    def _keep(self, arrays: Mapping[_Key, Any]) -> None:
        with self._lock:
            for key, array in arrays.items():
                if key not in self._columns:
                    self._columns[key] = array
                    self._bytes += array.nbytes
            while self._bytes > self.memory_bytes and self._columns:
                self._bytes -= self._columns.popitem(last=False)[1].nbytes

    def close(self) -> None:
        """Close all files and forget all columns."""
        with self._lock:
            files = list(self._files.values())
            self._files.clear()
            self._columns.clear()
            self._bytes = 0
        for file in files:
            file.close()
