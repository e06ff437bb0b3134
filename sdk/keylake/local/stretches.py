"""Stored rows to be merged: those of whole files, or single ones that a look-up has found. Columns are read late."""

# pyright: reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from pyiceberg.io import FileIO
from pyiceberg.types import IcebergType

from keylake.local.decisions import NOWHERE, Numbers
from keylake.local.files import StoredFile
from keylake.local.parquet import ParquetFiles


class Stretch(Protocol):
    """Rows of one file, by key."""

    @property
    def file(self) -> StoredFile:
        """The file."""
        ...

    @property
    def rows(self) -> int:
        """The number of rows."""
        ...

    def columns(self, wanted: Mapping[int, IcebergType], rows: Numbers | None = None) -> dict[int, Any]:
        """Columns by field id, of all rows or of some; those that the file has not are left out."""
        ...


@dataclass
class WholeFile:
    """All rows of a file. What was read stays until the merge of the bucket ends."""

    file: StoredFile
    files: ParquetFiles
    io: FileIO
    _read: dict[int, Any] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """The number of rows that the file has."""
        return self.file.rows

    def columns(self, wanted: Mapping[int, IcebergType], rows: Numbers | None = None) -> dict[int, Any]:
        """Columns by field id; all that are missing are read in one go."""
        missing = {id_: type_ for id_, type_ in wanted.items() if id_ not in self._read}
        if missing:
            self._read.update(dict.fromkeys(missing))
            self._read.update(self.files.read(self.file, self.io, missing))
        found = {id_: self._read[id_] for id_ in wanted if self._read[id_] is not None}
        return found if rows is None else {id_: column.take(pa.array(rows)) for id_, column in found.items()}


@dataclass
class FoundRows:
    """Single rows of a file: the row group of each, and the place in that."""

    file: StoredFile
    files: ParquetFiles
    io: FileIO
    groups: Numbers
    places: Numbers

    @property
    def rows(self) -> int:
        """The number of rows that were found."""
        return len(self.places)

    def columns(self, wanted: Mapping[int, IcebergType], rows: Numbers | None = None) -> dict[int, Any]:
        """Columns by field id, from row groups that are kept in memory."""
        groups, places = (self.groups, self.places) if rows is None else (self.groups[rows], self.places[rows])
        pieces: dict[int, list[Any]] = {}
        order: list[Numbers] = []
        for group in np.unique(groups).tolist():
            there = np.flatnonzero(groups == group)
            order.append(there)
            at = pa.array(places[there])
            for id_, column in self.files.kept(self.file, self.io, wanted, group).items():
                pieces.setdefault(id_, []).append(column.take(at))
        if len(order) == 1:
            return {id_: several[0] for id_, several in pieces.items()}
        back = np.argsort(np.concatenate(order)) if order else np.empty(0, np.int64)
        return {id_: pa.chunked_array(several).take(pa.array(back)) for id_, several in pieces.items()}


@dataclass(frozen=True)
class Rows:
    """Rows of several stretches as one sequence, from which columns are gathered.

    `stretch` and `row` say where each row is.
    """

    stretches: Sequence[Stretch]
    stretch: Numbers
    row: Numbers

    def gathered(self, wanted: Mapping[int, IcebergType], which: Numbers, types: Mapping[int, Any]) -> dict[int, Any]:
        """Columns of some of the rows, null where `which` is -1; only files with such rows are opened."""
        real = np.flatnonzero(which != NOWHERE)
        stretch, row = self.stretch[which[real]], self.row[which[real]]
        pieces: dict[int, list[Any]] = {id_: [] for id_ in wanted}
        at = np.full(len(which), NOWHERE, np.int64)
        begun = 0
        for number in np.unique(stretch).tolist():
            there = np.flatnonzero(stretch == number)
            found = self.stretches[number].columns(wanted, row[there])
            at[real[there]] = np.arange(begun, begun + len(there))
            begun += len(there)
            for id_, several in pieces.items():
                column = found.get(id_)
                several.extend(_chunks(pa.nulls(len(there), types[id_]) if column is None else column))
        order = pa.array(at, mask=at == NOWHERE)
        return {id_: _one(pa.chunked_array(several, types[id_]).take(order)) for id_, several in pieces.items()}


def _chunks(column: Any) -> list[Any]:
    return list(column.chunks) if isinstance(column, pa.ChunkedArray) else [column]


def _one(column: Any) -> Any:
    if column.num_chunks == 1:
        return column.chunk(0)
    joined = column.combine_chunks()
    return joined if not isinstance(joined, pa.ChunkedArray) else pa.concat_arrays(joined.chunks)
