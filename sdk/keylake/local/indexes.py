"""Indices of values: a bucket of which no file has a value is not read for it."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from pyiceberg import expressions as ice
from pyiceberg.io import FileIO
from pyiceberg.table import Table as IcebergTable

from keylake._definition.indexes import Bloom
from keylake.local.files import StoredFile
from keylake.local.filters import Filter
from keylake.local.keyfilters import Hashes, hashes_of
from keylake.local.layout import Layout
from keylake.local.parquet import ParquetFiles

PREFIX = "write.parquet.bloom-filter-enabled.column."
_MOST_ASKED = 32  # of more values, a file has one nearly always


def indexes_of(table: IcebergTable, layout: Layout) -> list[Bloom]:
    """The indices of a table: of value columns that do not accumulate."""
    properties = table.metadata.properties
    columns = layout.spec.value_columns
    on = {name.removeprefix(PREFIX) for name, value in properties.items() if value.lower() == "true"}
    return [Bloom(name) for name in columns if name in on and not layout.spec.column(name).reducer.accumulates]


@dataclass(frozen=True)
class _Probe:
    """The values of which a column has to have one."""

    field_id: int
    values: tuple[Any, ...]

    def hashes(self, physical: str, length: int) -> Hashes | None:
        return hashes_of(self.values, physical, length)


@dataclass(frozen=True)
class IndexProbes:
    """The questions of a condition that indices answer; all of them must be true.

    A merged row has each value from one of the files of its bucket, whichever wins.
    """

    probes: tuple[_Probe, ...]
    files: ParquetFiles
    io: FileIO

    @classmethod
    def of(cls, chosen: Filter | None, table: IcebergTable, layout: Layout, files: ParquetFiles) -> IndexProbes:
        """The questions of a condition, where there is one."""
        indexes = [] if chosen is None else indexes_of(table, layout)
        ids = {layout.fields[index.column].field_id for index in indexes}
        probes = () if chosen is None else tuple(each for each in _equalities(chosen) if each.field_id in ids)
        return cls(probes, files, table.io)

    def may_pass(self, files: Iterable[StoredFile]) -> bool:
        """The files of a bucket may have a row that passes."""
        all_files = tuple(files)
        return all(any(self._may_have(file, probe) for file in all_files) for probe in self.probes)

    def _may_have(self, file: StoredFile, probe: _Probe) -> bool:
        opened = self.files.opened(file, self.io)
        if not opened.has(probe.field_id):
            return False  # rows that do not carry the column have no value of it
        for group in range(len(opened.group_rows)):
            flags = self.files.may_have(file, self.io, probe.field_id, group, probe.hashes)
            if flags is None or np.any(flags):
                return True
        return False


def _equalities(chosen: Filter) -> Iterator[_Probe]:
    for each in chosen.conjuncts:
        values: tuple[Any, ...] = ()
        predicate: Any = each
        if isinstance(each, ice.BoundEqualTo):
            values = (predicate.literal.value,)
        elif isinstance(each, ice.BoundIn):
            values = tuple(literal.value for literal in predicate.literals)
        if 0 < len(values) <= _MOST_ASKED and all(
            isinstance(value, int | str | bytes | Decimal | uuid.UUID) for value in values
        ):
            plain = tuple(value.bytes if isinstance(value, uuid.UUID) else value for value in values)
            yield _Probe(predicate.term.ref().field.field_id, plain)
