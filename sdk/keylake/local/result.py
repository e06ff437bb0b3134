"""The results of reads without a server: merged rows and changes, in the form that the caller works with."""

# pyright: reportUnknownParameterType=false, reportUnknownVariableType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal

import pyarrow as pa

from keylake._display.html_table import MOST_LINES, first_rows
from keylake._table.reads import Row
from keylake._values.frames import pandas_of, polars_of
from keylake.errors import SchemaMismatch
from keylake.schema import Table

if TYPE_CHECKING:
    import pandas as pd


class ArrowRows:
    """Rows in memory, in Arrow's form. Arrow's readers take them as they are: `polars.DataFrame(rows)`."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows

    def to_arrow(self) -> pa.Table:
        """An Arrow table.

        Example::

            profiles.read(columns=["user_id", "clicks"]).to_arrow()
        """
        return self._rows

    def to_pandas(self) -> pd.DataFrame:
        """A pandas frame, with the types of Arrow: a null stays a null, and whole numbers stay whole.

        Lists, structs and maps with uuids are Python objects, which pandas has no array for.

        Example::

            profiles.read().to_pandas()["clicks"].sum()
        """
        return pandas_of(self._rows)

    def to_polars(self) -> Any:
        """A polars frame; polars has to be installed.

        Example::

            profiles.read().to_polars()
        """
        return polars_of(self._rows)

    def __len__(self) -> int:
        return int(self._rows.num_rows)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._rows.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} rows of {', '.join(self._rows.column_names)})"

    def _repr_html_(self) -> str:
        rows = (tuple(row.values()) for row in self._rows.slice(0, MOST_LINES).to_pylist())
        return first_rows(repr(self), self._rows.column_names, rows)


class MergedRows(ArrowRows, Generic[Row]):
    """Merged rows, one per key."""

    def __init__(self, rows: pa.Table, model: type[Row]) -> None:
        super().__init__(rows)
        self._model = model

    def rows(self) -> list[Row]:
        """The rows as instances of the table's class, of a read of all columns.

        Example::

            profiles.read(where="user_id = 7").rows()
        """
        _check_whole(self._model, self._rows.column_names)
        return self._model.from_rows(self._rows.select(self._model.table_spec().column_names).to_pylist())


@dataclass(frozen=True)
class Change(Generic[Row]):
    """A change of the row of one key.

    `kind` is insert, update or delete. `columns` are those that an update changed. `before` and `after` are the row,
    None where there was none, or is none any more. `commit` is the last write of the range.
    """

    kind: Literal["insert", "update", "delete"]
    columns: tuple[str, ...]
    before: Row | None
    after: Row | None
    commit: int


class Changes(ArrowRows, Generic[Row]):
    """A row for each key that has changed, with the columns of `KeyedTable.changes`."""

    def __init__(self, rows: pa.Table, model: type[Row]) -> None:
        super().__init__(rows)
        self._model = model

    def rows(self) -> list[Change[Row]]:
        """The changes, with rows as instances of the table's class; of all columns.

        Example::

            changes = profiles.changes(after=commit).rows()
            gone = [change.before.user_id for change in changes if change.kind == "delete"]
        """
        key = [name for name in self._rows.column_names if not name.startswith("_")]
        _check_whole(self._model, [*key, *(field.name for field in self._rows.schema.field("_before").type)])
        read = self._rows.to_pylist()
        before, after = (self._images(read, key, side) for side in ("_before", "_after"))
        return [
            Change(row["_change"], tuple(row["_columns"]), old, new, row["_commit"])
            for row, old, new in zip(read, before, after, strict=True)
        ]

    def _images(self, read: list[dict[str, Any]], key: list[str], side: str) -> list[Row | None]:
        names = [name for name in self._model.table_spec().column_names if name not in key]
        whole = [
            {**{name: row[name] for name in key}, **{name: row[side][name] for name in names}}
            for row in read
            if row[side] is not None
        ]
        found = iter(self._model.from_rows(whole))
        return [None if row[side] is None else next(found) for row in read]


def _check_whole(model: type[Table], names: list[str]) -> None:
    missing = [name for name in model.table_spec().column_names if name not in names]
    if missing:
        raise SchemaMismatch(
            f"The rows were read without column {missing[0]!r}, so they are no rows of {model.__name__}. "
            "Read all columns, or use to_arrow().to_pylist()."
        )
