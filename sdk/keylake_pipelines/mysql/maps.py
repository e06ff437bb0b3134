"""The description of a table that the log has before rows: names, types, key, and readers of the images of rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from keylake.errors import DefinitionError
from keylake_pipelines.mysql.values.charsets import BINARY, codec_of
from keylake_pipelines.mysql.values.forms import Form
from keylake_pipelines.mysql.values.images import (
    LoggedColumn,
    ReadRow,
    ReadValues,
    columns_in,
    read_by,
    rows_reader,
    values_reader,
)
from keylake_pipelines.mysql.words import Name
from keylake_pipelines.source.tables import SourceColumn

if TYPE_CHECKING:
    from pymysqlreplication.row_event import TableMapEvent

# What ends a row that is current: the last second of four bytes, signed or not, or the last transaction.
_ENDLESS = ('"2038-01-19T03:14:07.999999Z"', '"2106-02-07T06:28:15.999999Z"', '"18446744073709551615"')
_CHOICE = re.compile(r"'((?:[^'\\]|''|\\.)*)'")


@dataclass(frozen=True)
class Reading:
    """The readers of rows whose images have certain columns: as JSON at once, or by values where both are None."""

    key: ReadRow | None = None  # of an image from before the change: the key
    row: ReadRow | None = None  # of one from after it: the row; of an update the key, then the row


@dataclass
class TableMap:
    """A table as the log describes it before rows, under the number that its events have."""

    name: Name
    columns: tuple[SourceColumn, ...]
    key: tuple[str, ...]
    _logged: tuple[LoggedColumn, ...]
    period: tuple[str, ...] = ()  # of a system-versioned table: the columns of the beginning and the end of a row
    _readings: dict[tuple[bytes | None, bytes | None], Reading] = field(
        default_factory=dict[tuple[bytes | None, bytes | None], Reading]
    )
    _absent: dict[bytes, frozenset[str]] = field(default_factory=dict[bytes, frozenset[str]])

    def absent(self, present: bytes) -> frozenset[str]:
        """The columns of rows that are not in images with these bits."""
        if present not in self._absent:
            bits = int.from_bytes(present, "little")
            names = {each.name for i, each in enumerate(self._logged) if not bits >> i & 1}
            self._absent[present] = frozenset(names - set(self.period))
        return self._absent[present]

    @property
    def label(self) -> str:
        """The name as rows have it."""
        return ".".join(self.name)

    def leave_out(self, period: tuple[str, ...]) -> None:
        """The columns of a period are no columns of rows, and not of the key."""
        self.period = period
        self.columns = tuple(each for each in self.columns if each.name not in period)
        self.key = tuple(each for each in self.key if each not in period)

    def is_current(self, image: dict[str, str], before: Mapping[str, str] | None = None) -> bool:
        """An image is no history; the columns of the period are taken out of it.

        An image of an update may lack the end, which is that of `before` then.
        """
        if not self.period:
            return True
        start, end = self.period
        image.pop(start, None)
        found = image.pop(end, None) or (before or {}).get(end, "")
        return found in _ENDLESS

    def ends(self, before: Mapping[str, str], after: Mapping[str, str]) -> bool:
        """An update makes history of a row: it was deleted."""
        end = self.period[-1] if self.period else ""
        return before.get(end) in _ENDLESS and after.get(end, before.get(end)) not in _ENDLESS

    def values(self, present: bytes) -> ReadValues:
        """Reads images that have these columns, as a bitmap: the values of all of them."""
        return values_reader(self._logged, present)

    def reading(self, before: bytes | None, after: bytes | None) -> Reading:
        """The readers of rows whose images have these columns, as bitmaps."""
        found = self._readings.get((before, after))
        if found is None:
            found = self._readings[before, after] = self._reading(before, after)
        return found

    def _reading(self, before: bytes | None, after: bytes | None) -> Reading:
        if not self.key or self.period:
            return Reading()
        if before is None or after is None:
            key = None if before is None else rows_reader(self._logged, before, (self.key,))
            return Reading(key, None if after is None else self._row(after))
        old, new = columns_in(self._logged, before), columns_in(self._logged, after)
        if not set(self.key) <= set(old) <= set(new):  # the row is not in the image from after the change alone
            return Reading()
        row = (*self.key, *(each for each in new if each not in self.key))
        return Reading(
            rows_reader(self._logged, before, (self.key,)), rows_reader(self._logged, after, (self.key, row))
        )

    def _row(self, present: bytes) -> ReadRow:
        return rows_reader(self._logged, present, (columns_in(self._logged, present),))


def table_map(
    event: TableMapEvent, charsets: Mapping[int, str], definition: Callable[[str], str], server: str
) -> TableMap:
    """The description in an event; names of choices that are not UTF-8 come from definitions."""
    name: Name = (event.schema, event.table)
    logged: Any = event.optional_metadata
    if not logged.column_name_list:
        raise DefinitionError(
            f"The log of {server} does not name the columns of {'.'.join(name)} at a place where binlog_row_metadata"
            " was not FULL. Run: SET GLOBAL binlog_row_metadata = 'FULL', and have the table read once more: keylake"
            " resnapshot, with the names of the pipeline and of the keyed table."
        )
    texts = iter(logged.charset_collation_list or ())
    choices = iter(logged.enum_and_set_collation_list or ())
    forms: list[tuple[str, Form]] = []
    logged_columns: list[LoggedColumn] = []
    for column in event.columns:
        described = _described(event, column, texts, choices, charsets, definition)
        try:
            form, _ = read_by(described)
        except ValueError as error:
            raise DefinitionError(
                f"Column {column.name} of {'.'.join(name)} cannot be read: {error}. Leave its table out."
            ) from None
        forms.append((column.name, form))
        logged_columns.append(described)
    columns = tuple(SourceColumn(each, form.type) for each, form in forms)
    names = tuple(each for each, _ in forms)
    key = [names[i] for i in logged.simple_primary_key_list or logged.primary_keys_with_prefix or ()]
    return TableMap(name, columns, tuple(key), tuple(logged_columns))


def _described(
    event: TableMapEvent,
    column: Any,
    texts: Any,
    choices: Any,
    charsets: Mapping[int, str],
    definition: Callable[[str], str],
) -> LoggedColumn:
    from pymysqlreplication.constants import FIELD_TYPE as KIND

    kind: int = column.type
    charset = BINARY
    codec: tuple[str, str] | None = None
    where = f"{event.schema}.{event.table}.{column.name}"
    if kind in (KIND.STRING, KIND.VAR_STRING, KIND.VARCHAR, KIND.BLOB):
        charset = charsets.get(next(texts), "")
        codec = None if charset == BINARY else codec_of(charset, where)
    elif kind == KIND.GEOMETRY and event.dbms == "mariadb":
        next(texts)
    named: Sequence[str] = ()
    if kind in (KIND.ENUM, KIND.SET):
        named = column.enum_values[1:] if kind == KIND.ENUM else column.set_values
        charset = charsets.get(next(choices), "")
        if not charset.startswith(("utf8", "ascii")):
            defined = [each.replace("''", "'") for each in _CHOICE.findall(definition(column.name))]
            named = defined if len(defined) == len(named) else named
    size = {
        KIND.VARCHAR: "max_length",
        KIND.STRING: "max_length",
        KIND.VAR_STRING: "max_length",
        KIND.BLOB: "length_size",
        KIND.GEOMETRY: "length_size",
        KIND.JSON: "length_size",
        KIND.ENUM: "size",
        KIND.SET: "size",
        KIND.BIT: "bits",
        KIND.DATETIME2: "fsp",
        KIND.TIMESTAMP2: "fsp",
        KIND.TIME2: "fsp",
    }.get(kind)
    return LoggedColumn(
        name=column.name,
        kind=kind,
        unsigned=bool(column.unsigned),
        size=getattr(column, size) if size else 0,
        scale=getattr(column, "decimals", 0),
        digits=getattr(column, "precision", 0),
        codec=codec,
        choices=tuple(named),
    )


class WatchedTables:
    """Tables whose columns mysql-replication takes apart: it fails at types of tables that nobody reads.

    It asks for the name of a table, and then for that of its database.
    """

    def __init__(self, decodes: Callable[[Name], bool]) -> None:
        self._decodes = decodes
        self._table = ""
        self.asked: Name | None = None  # the last one whose columns are taken apart

    def begin(self) -> None:
        """The reader of the log comes to another event."""
        self.asked = None

    def names(self) -> Container[str]:
        """The container that is asked for the name of a table."""
        return _Answers(self._any)

    def databases(self) -> Container[str]:
        """The container that is asked for the name of the table's database."""
        return _Answers(self._takes)

    def _any(self, table: str) -> bool:
        self._table = table
        return True

    def _takes(self, database: str) -> bool:
        name = (database, self._table)
        self.asked = name if self._decodes(name) else None
        return self.asked is not None


@dataclass(frozen=True)
class _Answers:
    """A container of what a question is answered with yes for."""

    question: Callable[[str], bool]

    def __contains__(self, name: object) -> bool:
        return self.question(str(name))


@dataclass(frozen=True)
class RowsEvent:
    """Rows of a table that one event changed: the images of each from before the change, from after it, or both."""

    table: TableMap
    data: bytes
    before: bytes | None  # the bitmap of the columns that these images have; None: there are none
    after: bytes | None

    @property
    def lacking(self) -> frozenset[str]:
        """The columns that rows which are inserted have, and their images have not (binlog_row_image MINIMAL)."""
        return frozenset() if self.before is not None or self.after is None else self.table.absent(self.after)

    def images(self, at: int = 0) -> Iterator[tuple[dict[str, str] | None, dict[str, str] | None]]:
        """The values of each row before and after the change, from a place on."""
        read_before = None if self.before is None else self.table.values(self.before)
        read_after = None if self.after is None else self.table.values(self.after)
        while at < len(self.data):
            before = after = None
            if read_before is not None:
                before, at = read_before(self.data, at)
            if read_after is not None:
                after, at = read_after(self.data, at)
            yield before, after


def rows_event(event: Any, kind: str, table: TableMap) -> RowsEvent:
    """The rows of an event, whose kind says which images these are."""
    packet = event.packet
    data: bytes = packet.read(event.event_size - packet.read_bytes)
    present: bytes = event.columns_present_bitmap
    if kind == "UpdateRowsEvent":
        return RowsEvent(table, data, present, event.columns_present_bitmap2)
    return RowsEvent(table, data, None, present) if kind == "WriteRowsEvent" else RowsEvent(table, data, present, None)
