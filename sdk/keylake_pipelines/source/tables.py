"""Tables of a source, and how they change, as values.

A source such as a database knows its tables by names of several parts: `shop.orders` in MariaDB, `app.public.orders` in
PostgreSQL. Types are Iceberg's, each the one that holds every value of the column in the source.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyiceberg.types import IcebergType


@dataclass(frozen=True, order=True)
class SourceTable:
    """The name of a table in its source, in parts.

    >>> str(SourceTable(("shop", "orders")))
    'shop.orders'
    """

    parts: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join(self.parts)


@dataclass(frozen=True)
class SourceColumn:
    """A column of a source: its name, the type that holds all of its values, and the text about it."""

    name: str
    type: IcebergType
    comment: str = ""


@dataclass(frozen=True)
class SourceSchema:
    """The columns of a table of a source in their order, and its key, empty where it has none.

    `refused` says why its rows cannot be read; the source gives none of them then.
    """

    table: SourceTable
    columns: tuple[SourceColumn, ...]
    key: tuple[str, ...]
    comment: str = ""
    refused: str = ""


@dataclass(frozen=True)
class TableCreated:
    """A table is new, or is seen for the first time. It is `filled` where it has rows that nothing else tells of."""

    schema: SourceSchema
    filled: bool = False


@dataclass(frozen=True)
class ColumnAdded:
    """A column is new: rows from before have no value of it. It stands behind the column `after`; None: at the end."""

    table: SourceTable
    column: SourceColumn
    after: str | None = None


@dataclass(frozen=True)
class ColumnDropped:
    """A column is gone."""

    table: SourceTable
    name: str


@dataclass(frozen=True)
class ColumnRenamed:
    """A column has another name, and the same values."""

    table: SourceTable
    name: str
    to: str


@dataclass(frozen=True)
class ColumnModified:
    """A column has another type, or another comment."""

    table: SourceTable
    column: SourceColumn


@dataclass(frozen=True)
class TableTruncated:
    """All rows of a table are gone; its offset says since when."""

    table: SourceTable


@dataclass(frozen=True)
class TableDropped:
    """A table is gone."""

    table: SourceTable


@dataclass(frozen=True)
class TableRenamed:
    """A table has another name."""

    table: SourceTable
    to: SourceTable


@dataclass(frozen=True)
class KeyChanged:
    """A table has another key: its rows are told apart by other columns from now on."""

    table: SourceTable
    key: tuple[str, ...]


@dataclass(frozen=True)
class TableRefused:
    """Rows of a table cannot be read any more, and why."""

    table: SourceTable
    reason: str


@dataclass(frozen=True)
class TableReread:
    """All rows of a table were read once more. What is older than `version` is not in the table any more."""

    table: SourceTable
    version: int


TableChange = (
    TableCreated
    | ColumnAdded
    | ColumnDropped
    | ColumnRenamed
    | ColumnModified
    | TableTruncated
    | TableDropped
    | TableRenamed
    | KeyChanged
    | TableRefused
    | TableReread
)
