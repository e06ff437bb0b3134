"""The parts of a table: columns, and groups of columns that are written together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pyiceberg.types import IcebergType

from keylake.errors import check_type
from keylake.reducers import LATEST, Reducer
from keylake.types import numbered

Versions = Literal["ordering", "commit", "explicit"]


@dataclass(frozen=True)
class Column:
    """A column: its name, its Iceberg type, whether it is never null, a text about it, and how its values combine.

    >>> from pyiceberg.types import LongType
    >>> Column("user_id", LongType(), required=True)
    Column(name='user_id', type=LongType(), required=True, doc='', reducer=Latest())
    """

    name: str
    type: IcebergType
    required: bool = False
    doc: str = ""
    reducer: Reducer = LATEST

    def __post_init__(self) -> None:
        check_type("The name of a column", self.name, str, "text")
        check_type(f"The type of column {self.name!r}", self.type, IcebergType, "an Iceberg type such as LongType()")
        check_reducer(f"column {self.name!r}", self.reducer)
        object.__setattr__(self, "type", numbered(self.type))

    def __hash__(self) -> int:
        return hash((self.name, str(self.type)))  # Iceberg's own hash of equal nested types differs


@dataclass(frozen=True)
class ColumnGroup:
    """Columns that are always written together and therefore share one version.

    >>> ColumnGroup("behaviour", ("clicks", "last_page")).columns
    ('clicks', 'last_page')
    """

    name: str
    columns: tuple[str, ...]
    doc: str = ""

    def __post_init__(self) -> None:
        check_type("The name of a column group", self.name, str, "text")
        check_type(f"columns of column group {self.name!r}", self.columns, list | tuple, "a list of names")
        for name in self.columns:
            check_type(f"A column of column group {self.name!r}", name, str, "the name of a column")
        object.__setattr__(self, "columns", tuple(self.columns))


def check_reducer(what: str, reducer: object) -> None:
    """A reducer as a value.

    >>> from keylake.reducers import LatestNotNull
    >>> check_reducer("column 'clicks'", LatestNotNull())
    >>> check_reducer("column 'clicks'", "Sum")
    Traceback (most recent call last):
    keylake.errors.DefinitionError: The reducer of column 'clicks' is 'Sum'. Use a value such as kl.LatestNotNull().
    """
    check_type(f"The reducer of {what}", reducer, Reducer, "a value such as kl.LatestNotNull()")


def columns_of(columns: Iterable[Column]) -> tuple[Column, ...]:
    """Columns as a tuple, each of them a `Column`."""
    check_type("columns", columns, Iterable, "a list of Column")
    made = tuple(columns)
    for each in made:
        check_type("A column", each, Column, "a Column, or TableSpec.from_arrow(schema, ...)")
    return made


def spelled(columns: Iterable[Column], names: Iterable[str]) -> tuple[str, ...]:
    """Names of columns as the columns have them, whatever their case; others as they are.

    >>> from pyiceberg.types import LongType
    >>> spelled([Column("userId", LongType())], ["USERID", "day"])
    ('userId', 'day')
    """
    known = {each.name.lower(): each.name for each in columns}
    return tuple(known.get(name.lower(), name) for name in names)
