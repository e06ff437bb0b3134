"""The explanation of a row, which `explain_row` gives back. Small frozen values.

An `Origin` says which commit wrote something. A `CellOrigin` is the value of one column with its origin, the stored
contributions behind it where the column has an accumulator, and the stored values that do not count. A
`RowExplanation` has one for each column.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from html import escape
from typing import TYPE_CHECKING

from keylake._display.html_table import ShownFields, ShownTable, html_table, in_notebook
from keylake._display.row_grid import GridCommit, GridLine, GridValue, RowGrid
from keylake.errors import SchemaMismatch
from keylake.reducers import Reducer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VersionText = Callable[[int], str]
_MOST_CHARACTERS = 60  # of a value in a table


@dataclass(frozen=True, kw_only=True)
class Origin(ShownFields):
    """The origin of something in a row: its version, and the commit and file that have it.

    >>> Origin(version=5, snapshot_id=None, commit_order=3, is_merged=True, files_merged=4).commit
    'one of 4 files that were merged'
    """

    version: int | None
    snapshot_id: int | None = None  # None where the snapshot has expired, and where several commits were merged
    committed_at: datetime.datetime | None = None
    stream: str | None = None
    commit_order: int | None = None  # the commit's place in the order of commits, also when it has expired
    file: str | None = None
    is_merged: bool = False  # the file holds rows of several commits, and nobody knows any more which had this one
    files_merged: int | None = None  # how many files with keys like this one were merged; None where nobody knows

    @property
    def commit(self) -> str:
        """The commit in words, as far as it is known."""
        if self.snapshot_id is not None:
            return str(self.snapshot_id)
        if self.is_merged:
            return "merged" if not self.files_merged else f"one of {self.files_merged} files that were merged"
        return "" if self.commit_order is None else f"expired, number {self.commit_order}"


@dataclass(frozen=True, kw_only=True)
class StoredValue(Origin):
    """One stored value of a column: a contribution to an accumulator, or a value that does not count.

    >>> StoredValue(version=4, snapshot_id=17, value=3, lost_because="older version").lost_because
    'older version'
    """

    value: object
    lost_because: str | None = None
    """None for what counts. Else `"older version"`, `"earlier commit"` (at an equal version), `"deleted"`, or where the
    earliest value counts `"later version"` or `"later commit"`."""


@dataclass(frozen=True, kw_only=True)
class CellOrigin(Origin):
    """The value of one column, and where it comes from.

    Of an accumulator, the origin is that of the newest contribution, of `First` of the earliest. A file holds the rows
    of a key in one write, or of all commits that a compaction has merged, as one contribution.

    >>> cell = CellOrigin(column="clicks", reducer=None, value=4, version=5, snapshot_id=17, stream="web")
    >>> cell.stream, cell.lost
    ('web', ())
    """

    column: str
    reducer: Reducer | None
    value: object
    missing_because: str | None = None
    """Why there is no value although contributions count: `"waits for a newer write"` while the newest delete is newer
    than every write, `"does not fit its type"` where a read is an error."""
    contribution_count: int | None = None  # stored contributions behind the value; None for a register
    contributions: tuple[StoredValue, ...] = ()  # the newest 20 of them
    lost: tuple[StoredValue, ...] = ()  # the newest 20 stored values that do not count


@dataclass(frozen=True, kw_only=True, repr=False)
class RowExplanation(ShownTable):
    """The row of a key, explained column by column; printed, it is a table.

    >>> cell = CellOrigin(column="clicks", reducer=None, value=4, version=5, snapshot_id=17, stream="web")
    >>> write = Origin(version=5, snapshot_id=17, stream="web")
    >>> print(RowExplanation(table="a.b", key=(("id", 7),), exists=True, newest_write=write, columns=(cell,)))
    a.b, id=7: newest write has version 5, commit 17, stream web
    column  value  version  commit  committed at  stream  why
    clicks  4      5        17                    web
    >>> print(RowExplanation(table="a.b", key=(("id", 8),), exists=False))
    a.b, id=8: no write of this key
    """

    _HEADER = ("column", "value", "version", "commit", "committed at", "stream", "why")

    table: str
    key: tuple[tuple[str, object], ...]
    exists: bool
    newest_write: Origin | None = None  # None where only deletes are stored, or nothing is
    newest_delete: Origin | None = None
    columns: tuple[CellOrigin, ...] = ()

    def _with_version_text(self, text: VersionText) -> RowExplanation:
        """The same, shown with other texts of versions."""
        self.__dict__["_texts"] = text
        return self

    @property
    def _version_text(self) -> VersionText:
        found: VersionText = self.__dict__.get("_texts", str)
        return found

    def __getitem__(self, column: str) -> CellOrigin:
        """The explanation of one column."""
        for cell in self.columns:
            if cell.column == column:
                return cell
        names = ", ".join(cell.column for cell in self.columns) or "none, as no write of the key is stored"
        raise SchemaMismatch(f"The explanation has no column {column!r}. Its columns are {names}.")

    def _title(self) -> str:
        return f"{self.table}, {self._key_text()}: {self._why()}"

    def _key_text(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.key)

    def _why(self) -> str:
        write, delete = self.newest_write, self.newest_delete
        if self.exists and write is not None:
            return f"newest write has {self._event(write)}"
        if delete is not None:
            return f"deleted at {self._event(delete)}"
        return "no write of this key"

    def _event(self, origin: Origin) -> str:
        stream = "" if origin.stream is None else f", stream {origin.stream}"
        return f"version {_version(origin, self._version_text)}, commit {origin.commit}{stream}"

    def _text(self, rows: Sequence[tuple[object, ...]]) -> str:
        return super()._text(rows) if self.columns else self._title()

    def _rows(self) -> list[tuple[object, ...]]:
        return [line for cell in self.columns for line in _lines(cell, self._version_text)]

    def plot(self) -> Figure:
        """Draw which stream and commit gave each column its value, and what did not count; needs matplotlib.

        profiles.explain_row(user_id=7).plot().savefig("row.png")
        """
        return self._grid().figure(f"{self.table}, {self._key_text()}: filled is what counts")

    def _repr_html_(self) -> str:
        if not self.columns:
            return in_notebook(f"<div>{escape(self._title())}</div>")
        lines = html_table("", self._HEADER, self._rows())
        return in_notebook(self._grid().html(), f"<details><summary>all stored values</summary>{lines}</details>")

    def _ipython_key_completions_(self) -> list[str]:
        return [cell.column for cell in self.columns]

    def _grid(self) -> RowGrid:
        origins = [each for each in (self.newest_write, self.newest_delete) if each is not None]
        origins += [each for cell in self.columns for each in (cell, *cell.contributions, *cell.lost)]
        known = {_place(each): each for each in origins if each.version is not None}
        places = {place: number for number, place in enumerate(sorted(known))}
        lines = [_grid_line(cell, places, self._version_text) for cell in self.columns]
        if self.newest_delete is not None:
            events = ((self.newest_write, "written", self.exists), (self.newest_delete, "deleted", True))
            row = {places[_place(each)]: GridValue(word, counts, "") for each, word, counts in events if each}
            lines.insert(0, GridLine("(the row)", "exists" if self.exists else "deleted", "", row))
        return RowGrid(self._title(), [_grid_commit(known[place]) for place in places], lines)


_Place = tuple[bool, int, str, str]
_ORIGIN = tuple(each.name for each in fields(Origin))


def _place(origin: Origin) -> _Place:
    """The key by which commits, and merged files, are told apart; its order is that of commits."""
    order = origin.commit_order
    file = "" if origin.file is None or not origin.is_merged else origin.file
    return order is None, order or 0, "" if origin.committed_at is None else str(origin.committed_at), file


def _grid_commit(origin: Origin) -> GridCommit:
    at = origin.committed_at
    stream = "merged" if origin.is_merged and origin.stream is None else origin.stream
    return GridCommit(stream, origin.commit if at is None else f"{at:%Y-%m-%d %H:%M:%S}", origin.commit)


def _grid_line(cell: CellOrigin, places: dict[_Place, int], text: VersionText) -> GridLine:
    """The line of one column: a value that counts is drawn over one that does not, where one file has both."""
    stored: dict[int, GridValue] = {}
    for each in reversed(cell.lost):
        if each.version is not None:
            stored[places[_place(each)]] = GridValue(_shown(each.value), False, f"lost: {each.lost_because}")
    own = (StoredValue(**{name: getattr(cell, name) for name in (*_ORIGIN, "value")}),)
    for each in own if cell.contribution_count is None else reversed(cell.contributions):
        if each.version is not None:
            stored[places[_place(each)]] = GridValue(_shown(each.value), True, f"version {text(each.version)}")
    return GridLine(cell.column, _shown(cell.value), _how(cell), stored)


def _how(cell: CellOrigin) -> str:
    """The way in which the value comes about, where it is not simply the newest."""
    return ", ".join(
        each
        for each in (cell.reducer.text if cell.contributions and cell.reducer else "", cell.missing_because or "")
        if each
    )


def _shown(value: object) -> str:
    if isinstance(value, datetime.datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    return "null" if value is None else str(value)


def _lines(cell: CellOrigin, text: VersionText) -> Iterator[tuple[object, ...]]:
    count = cell.contribution_count
    contributions = "" if count is None else f" of {count} stored contribution{'' if count == 1 else 's'}"
    missing = "" if cell.missing_because is None else f", {cell.missing_because}"
    why = f"{cell.reducer.text if cell.reducer else ''}{contributions}{missing}"
    yield _line(cell.column, cell.value, cell, why, text)
    for each in cell.contributions:
        yield _line("", each.value, each, "contribution", text)
    for each in cell.lost:
        yield _line("", each.value, each, f"lost: {each.lost_because}", text)


def _line(column: str, value: object, origin: Origin, why: str, text: VersionText) -> tuple[object, ...]:
    at = origin.committed_at
    shown = "" if value is None else repr(value) if isinstance(value, str) else str(value)
    if len(shown) > _MOST_CHARACTERS:
        shown = f"{shown[: _MOST_CHARACTERS - 3]}..."
    when = None if at is None else f"{at:%Y-%m-%d %H:%M:%S}"
    return column, shown, _version(origin, text), origin.commit, when, origin.stream, why


def _version(origin: Origin, text: VersionText) -> str | None:
    return None if origin.version is None else text(origin.version)
