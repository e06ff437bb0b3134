"""What a read without a server gives: merged rows, in the form that the caller works with."""

# pyright: reportUnknownParameterType=false, reportUnknownVariableType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

import pyarrow as pa

from keylake._table.reads import Row
from keylake.errors import SchemaMismatch, Unsupported

if TYPE_CHECKING:
    import pandas as pd


class MergedRows(Generic[Row]):
    """Merged rows, one per key, in memory. Arrow's readers take it as it is: `polars.DataFrame(rows)`."""

    def __init__(self, rows: pa.Table, model: type[Row]) -> None:
        self._rows = rows
        self._model = model

    def to_arrow(self) -> pa.Table:
        """An Arrow table.

        Example::

            profiles.read(columns=["user_id", "clicks"]).to_arrow()
        """
        return self._rows

    def to_pandas(self) -> pd.DataFrame:
        """A pandas frame, with the types of Arrow: a null stays a null, and whole numbers stay whole.

        Example::

            profiles.read().to_pandas()["clicks"].sum()
        """
        try:
            import pandas as pd
        except ImportError:
            raise Unsupported(
                "to_pandas() needs pandas, which is not installed: pip install 'keylake[pandas]'."
            ) from None
        frame: pd.DataFrame = self._rows.to_pandas(types_mapper=pd.ArrowDtype)
        return frame

    def to_polars(self) -> Any:
        """A polars frame; polars has to be installed.

        Example::

            profiles.read().to_polars()
        """
        try:
            import polars as pl  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise Unsupported(
                "to_polars() needs polars, which is not installed: pip install 'keylake[polars]'."
            ) from None
        return pl.from_arrow(self._rows)

    def rows(self) -> list[Row]:
        """The rows as instances of the table's class, of a read of all columns.

        Example::

            profiles.read(where="user_id = 7").rows()
        """
        missing = [name for name in self._model.table_spec().column_names if name not in self._rows.column_names]
        if missing:
            raise SchemaMismatch(
                f"The rows were read without column {missing[0]!r}, so they are no rows of {self._model.__name__}. "
                "Read all columns, or use to_arrow().to_pylist()."
            )
        return [self._model.from_row(row) for row in self._rows.to_pylist()]

    def __len__(self) -> int:
        return int(self._rows.num_rows)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._rows.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"MergedRows({len(self)} rows of {', '.join(self._rows.column_names)})"
