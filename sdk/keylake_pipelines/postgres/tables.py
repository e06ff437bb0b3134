"""Tables of PostgreSQL as its catalog has them, and where their rows are stored, as values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from zlib import crc32

from keylake_pipelines.postgres.forms import Form
from keylake_pipelines.source.tables import SourceColumn, SourceSchema, SourceTable

END = 2**32  # behind the last block that a table can have; a position adds the place of the last snapshot


@dataclass(frozen=True)
class Column:
    """A column: its number stays when it is renamed, and is never used again."""

    number: int
    name: str
    type: int
    modifier: int
    comment: str
    form: Form
    labels: tuple[tuple[int, str], ...] = ()  # of an enum, each with its number, which stays when it is renamed

    @property
    def shown(self) -> SourceColumn:
        """The column as all sources tell of theirs."""
        return SourceColumn(self.name, self.form.type, self.comment)


@dataclass(frozen=True)
class Table:
    """A table by its number (OID). `unpublished` are numbers of columns that are dropped or generated."""

    number: int
    name: SourceTable
    comment: str
    columns: tuple[Column, ...]
    key: tuple[int, ...]
    unpublished: frozenset[int]

    def column(self, number: int) -> Column | None:
        """The column of a number, None if there is none any more."""
        return next((each for each in self.columns if each.number == number), None)

    @property
    def key_names(self) -> tuple[str, ...]:
        """The names of the key's columns."""
        named = {each.number: each.name for each in self.columns}
        return tuple(named[number] for number in self.key)

    @property
    def names(self) -> int:
        """A number for the names and types of the columns, and the labels of enums."""
        parts = [(each.number, each.name, each.type, each.modifier, *each.labels) for each in self.columns]
        return crc32(repr(parts).encode())

    def renamed_labels(self, before: Table) -> bool:
        """Values of rows are other texts than before, of which the log does not tell."""
        known = {label for each in before.columns for label in each.labels}
        numbers = {number for number, _ in known}
        return any(label not in known and label[0] in numbers for each in self.columns for label in each.labels)

    @property
    def schema(self) -> SourceSchema:
        """The table as all sources tell of theirs."""
        columns = tuple(each.shown for each in self.columns)
        return SourceSchema(self.name, columns, self.key_names, self.comment)


@dataclass(frozen=True)
class StoredRows:
    """The stored rows of a table: all of them, or those of one of its partitions.

    A statement that rewrites a table gives it another file. A column that is added with a default rewrites nothing:
    the rows from before have its value all the same, `filled` then is another. So it is when a generated column, which
    is not published, becomes one of stored values. Either way the rows have values that the log does not tell of, and
    are read again, as another partition of the source. `names` stands for the names and types of columns: where they
    changed while nobody looked, rows are read again as they are now. A partition is read as part of its table, from
    when it was attached on; what was read of it as a table of its own, or for a table of another name, is another
    thing.
    """

    table: int
    of: str  # the name of the table, with its schema
    number: int
    schema: str
    name: str
    file: int
    filled: int
    blocks: int
    attached: int  # the transactions that made it a partition, added up
    names: int
    again: int = 0  # the place since which they are read once more, for whatever reason

    @property
    def content(self) -> tuple[int, ...]:
        """The numbers that change when the rows have values that the log does not tell of."""
        return self.table, self.attached, self.number, self.file, self.filled, self.again

    @property
    def partition(self) -> str:
        """The name under which the position in these rows is kept."""
        part = f"{self.table}.{self.attached}.{self.number}.{self.file}.{self.filled}.{self.names:x}"
        return f"rows {self.of} {part}.{self.again:x}" if self.again else f"rows {self.of} {part}"


@dataclass(frozen=True)
class Catalog:
    """The tables of the source at one moment, by their numbers; those that are `refused` cannot be read."""

    tables: Mapping[int, Table]
    rows: Mapping[int, tuple[StoredRows, ...]]
    refused: Mapping[int, SourceSchema] = field(default_factory=dict[int, SourceSchema], hash=False)

    @property
    def schemas(self) -> tuple[SourceSchema, ...]:
        """The tables as all sources tell of theirs."""
        return (*(table.schema for table in self.tables.values()), *self.refused.values())

    def refusing(self, reasons: Mapping[int, str]) -> Catalog:
        """The catalog without these tables, which it refuses, each for its reason."""
        refused = {
            number: SourceSchema(table.name, (), (), table.comment, reasons[number])
            for number, table in self.tables.items()
            if number in reasons
        }
        return Catalog(
            {number: table for number, table in self.tables.items() if number not in reasons},
            {number: rows for number, rows in self.rows.items() if number not in reasons},
            {**self.refused, **refused},
        )

    def unread(self, read: Mapping[str, int], but: Set[int]) -> list[StoredRows]:
        """The stored rows that were not read to their end, without those of some tables."""
        stored = [each for number, rows in self.rows.items() if number not in but for each in rows]
        return [each for each in stored if read.get(each.partition, 0) < END]

    @property
    def partitions(self) -> set[str]:
        """The names of positions in stored rows."""
        return {each.partition for rows in self.rows.values() for each in rows}


def numbers_read(read: Iterable[str]) -> set[int]:
    """The relations whose rows were read, or some of them, as the names of positions say."""
    return {int(name.rpartition(" ")[2].split(".")[2]) for name in read if name.startswith("rows ")}


def newest_tables(read: Mapping[str, int]) -> dict[str, int]:
    """The numbers of the tables whose rows were read last, by their names with the schema."""
    newest: dict[str, tuple[int, int]] = {}
    for partition, at in read.items():
        name, _, numbers = partition.removeprefix("rows ").rpartition(" ")
        if partition.startswith("rows "):
            newest[name] = max(newest.get(name, (0, 0)), (at, int(numbers.partition(".")[0])))
    return {name: number for name, (_, number) in newest.items()}


def moved_positions(before: Catalog, after: Catalog, read: Mapping[str, int]) -> dict[str, int]:
    """The positions of rows that were read, under their new names: a change that was told needs no second reading."""
    known = {
        each.content: read[each.partition] for rows in before.rows.values() for each in rows if each.partition in read
    }
    found = [each for rows in after.rows.values() for each in rows if each.partition not in read]
    return {each.partition: known[each.content] for each in found if each.content in known}
