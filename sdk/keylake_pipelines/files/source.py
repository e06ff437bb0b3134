"""Files that arrive in a folder, each read once.

    folder/orders/1.json ── announced ── Step(ends={"file 0 orders/1.json": its time})
                         ── read ─────── Step(rows at offsets (number << 32) + row of the partition "files")

A file is announced in one step and read in a later one, so that its number is kept before any of its rows is written:
it has the same number whenever it is read again. Numbers are given by name to the files that one look finds; files that
come later have larger ones. The place of a row is its version, unless a field of the rows is.
"""

# pyright: reportUnknownParameterType=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyiceberg.types import StringType

from keylake.errors import BadRows, DefinitionError
from keylake_pipelines.files.reading import SUFFIXES, FileRows, Words, read
from keylake_pipelines.source.source import CHANGES, Lag, Step
from keylake_pipelines.source.tables import ColumnAdded, SourceColumn, SourceSchema, SourceTable, TableCreated

_PARTITION = "files"
_ROW_BITS = 32
_BETWEEN_LOOKS = 0.2  # seconds
_NAMED = 3  # files that are not read


@dataclass(frozen=True)
class _File:
    number: int
    name: str  # below the folder
    changed_at: int  # microseconds

    @property
    def partition(self) -> str:
        """The name of the file's position: its number, and its name."""
        return f"file {self.number} {self.name}"

    @property
    def table(self) -> SourceTable:
        """The folders that the file lies in."""
        return SourceTable(Path(self.name).parts[:-1])


class FilesSource:
    """A folder with a folder for each table, of files of JSON lines, CSV with a line of names, or Parquet.

    `key` names the key of all tables, or of each. The field `op` of a row, where there is one, says what is done: c, u,
    r or d, and u where it says nothing. `version` names a field with the version of the row, a whole number; without
    one the newest file counts, and in it the last row. Names that begin with a dot or an underline are left out, so
    that a file can be written under such a name and then renamed.

    Example::

        source = FilesSource("/data/in", key={"orders": ["id"]})
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        key: Sequence[str] | Mapping[str, Sequence[str]],
        op: str | None = "op",
        version: str | None = None,
    ) -> None:
        self._folder = Path(folder)
        if not self._folder.is_dir():
            raise DefinitionError(
                f"There is no folder {str(self._folder)!r}. Create it, or name the one with the files."
            )
        self._key = key
        self._words = Words(op, version)
        self._files: dict[str, _File] = {}  # all that were announced
        self._position = 0
        self._schemas: dict[SourceTable, SourceSchema] = {}  # as files of this run have shown them
        self._is_text: dict[SourceTable, dict[str, bool]] = {}  # columns in lower case, as they were seen first
        self._open: tuple[_File, FileRows] | None = None
        self._left_out: list[str] | None = None  # at the last look

    def begin(self, positions: Mapping[str, int], schemas: Sequence[SourceSchema] = ()) -> None:
        """Go on behind the rows that were read, with the files that were announced; columns of text stay text."""
        self._is_text = {each.table: _is_text(each.columns) for each in schemas}
        self._files.clear()
        self._schemas.clear()
        self._open = None
        self._position = positions.get(_PARTITION, 0)
        for partition, changed_at in positions.items():
            word, _, named = partition.partition(" ")
            number, _, name = named.partition(" ")
            if word == "file":
                self._files[name] = _File(int(number), name, changed_at)

    def reread(self, table: SourceTable) -> bool:  # noqa: ARG002
        """The source reads no file once more: the rows that were read are all that there are."""
        return False

    def schemas(self) -> tuple[SourceSchema, ...]:
        """The tables of the source; none before the files are read."""
        return ()

    def poll(self, most_rows: int, seconds: float) -> tuple[Step, ...]:
        """Rows of files that were announced, then what is new."""
        until = time.monotonic() + seconds
        while True:
            steps = [*self._read(most_rows), *self._announced()]
            if steps or time.monotonic() >= until:
                return tuple(steps)
            time.sleep(_BETWEEN_LOOKS)

    def written(self, positions: Mapping[str, int]) -> None:
        """Files stay where they are."""

    def missing(self) -> str | None:
        """A sentence that there are no files, or some that are of no table."""
        if self._left_out is None or (self._files and not self._left_out):
            return None
        how = f"Write files into {self._folder}/TABLE/, with names that end in {', '.join(SUFFIXES)}."
        if not self._left_out:
            return f"The folder {str(self._folder)!r} has no files yet. {how}"
        more = f" and {len(self._left_out) - _NAMED:,} more" if len(self._left_out) > _NAMED else ""
        return f"Files that are of no table are not read: {', '.join(self._left_out[:_NAMED])}{more}. {how}"

    def lag(self) -> Lag:
        """Files that are announced and not read to their end."""
        waiting = [file for file in self._files.values() if file.number >= self._position >> _ROW_BITS]
        times = [datetime.datetime.fromtimestamp(f.changed_at / 1e6, datetime.timezone.utc) for f in waiting]
        return Lag(len(waiting), "files", max(times, default=None), min(times, default=None))

    def close(self) -> None:
        """The source keeps nothing open."""

    def _announced(self) -> Iterator[Step]:
        found: list[str] = []
        left_out: list[str] = []
        for path in self._folder.rglob("*"):
            parts = path.relative_to(self._folder).parts
            hidden = any(part.startswith((".", "_")) for part in parts)
            if not hidden and path.is_file():
                is_of_a_table = len(parts) > 1 and path.suffix in SUFFIXES
                (found if is_of_a_table else left_out).append("/".join(parts))
        self._left_out = sorted(left_out)
        new: dict[str, int] = {}
        for name in sorted(found):
            known = self._files.get(name)
            if known is None:
                file = _File(len(self._files), name, self._changed_at(name))
                self._files[name] = file
                new[file.partition] = file.changed_at
            else:
                self._check_unchanged(known)
        if new:
            yield Step(None, new)

    def _changed_at(self, name: str) -> int:
        return (self._folder / name).stat().st_mtime_ns // 1000

    def _check_unchanged(self, file: _File) -> None:
        if self._changed_at(file.name) != file.changed_at:
            raise BadRows(
                f"The file {file.name!r} has changed after it was read. Files are read once: write new rows into a new "
                "file, and give this one its content and time back, or remove it."
            )

    def _read(self, most_rows: int) -> Iterator[Step]:
        by_number = {file.number: file for file in self._files.values()}
        while most_rows > 0 and (file := by_number.get(self._position >> _ROW_BITS)) is not None:
            rows = self._rows_of(file)
            begin = self._position & (1 << _ROW_BITS) - 1
            if begin == 0:
                yield from self._changes(file, rows)
            end = min(begin + most_rows, len(rows.texts))
            whole = end == len(rows.texts)
            table = _table(file, rows, begin, end)
            self._position = (file.number + 1) << _ROW_BITS if whole else (file.number << _ROW_BITS) + end
            self._open = None if whole else (file, rows)
            most_rows -= end - begin
            yield Step(table, {_PARTITION: self._position}, count=end - begin)

    def _rows_of(self, file: _File) -> FileRows:
        if self._open is not None and self._open[0] == file:
            return self._open[1]
        try:
            self._check_unchanged(file)
            return self._with_text(file, read(self._folder / file.name, self._words))
        except (FileNotFoundError, pa.ArrowException, UnicodeDecodeError) as error:
            raise BadRows(
                f"The file {file.name!r} cannot be read: {error}. Bring it back as it was; its rows were not written."
            ) from None

    def _with_text(self, file: _File, rows: FileRows) -> FileRows:
        """The rows of a file, as text where their table has text already: a type is that of all files."""
        own = _is_text(rows.columns)
        known = self._is_text.setdefault(file.table, {})
        known |= {name: is_text for name, is_text in own.items() if name not in known}
        texts = {name for name, is_text in own.items() if known[name] and not is_text}
        return rows.as_text(texts) if texts else rows

    def _changes(self, file: _File, rows: FileRows) -> Iterator[Step]:
        """The changes of a table by its file: the table is new, or columns are.

        What the keyed table has of a table that other runs have read is not known here, so columns are told again.
        """
        known = self._schemas.get(file.table)
        have = {column.name.lower() for column in known.columns} if known else set[str]()
        new = [column for column in rows.columns if column.name.lower() not in have]
        if known is None:
            name = ".".join(file.table.parts)
            key = self._key.get(name, ()) if isinstance(self._key, Mapping) else self._key
            self._schemas[file.table] = SourceSchema(file.table, rows.columns, tuple(key))
        else:
            self._schemas[file.table] = SourceSchema(file.table, (*known.columns, *new), known.key)
        created = () if known else (TableCreated(self._schemas[file.table]),)
        if new:
            added = tuple(ColumnAdded(file.table, column) for column in new)
            yield Step(None, {_PARTITION: file.number << _ROW_BITS}, (*created, *added))


def _is_text(columns: Iterable[SourceColumn]) -> dict[str, bool]:
    return {column.name.lower(): isinstance(column.type, StringType) for column in columns}


def _table(file: _File, rows: FileRows, begin: int, end: int) -> pa.Table:
    first = file.number << _ROW_BITS
    offsets = range(first + begin, first + end)
    at = datetime.datetime.fromtimestamp(file.changed_at / 1e6, datetime.timezone.utc)
    versions = [v if v is not None else o for v, o in zip(rows.versions[begin:end], offsets, strict=True)]
    count = end - begin
    columns = {
        "table": [str(file.table)] * count,
        "op": rows.ops[begin:end],
        "row": rows.texts[begin:end],
        "version": versions,
        "partition": [_PARTITION] * count,
        "offset": list(offsets),
        "at": [at] * count,
        "error": rows.errors[begin:end],
    }
    return pa.table(columns, schema=CHANGES)
