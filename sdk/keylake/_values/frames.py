"""Arrow tables as frames of pandas and polars, whose values and zones stay what they are."""

# pyright: reportUnknownParameterType=false, reportUnknownVariableType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from keylake._values.arrow_types import has_uuids_inside
from keylake.errors import Unsupported

if TYPE_CHECKING:
    import pandas as pd


def pandas_of(rows: pa.Table) -> pd.DataFrame:
    """A pandas frame with the types of Arrow: a null stays a null, whole numbers stay whole, times keep their zone.

    Lists, structs and maps with uuids are Python objects, which pandas has no array for.
    """
    try:
        import pandas as pd
    except ImportError:
        raise Unsupported("to_pandas() needs pandas, which is not installed: pip install 'keylake[pandas]'.") from None
    objects = [field.name for field in rows.schema if has_uuids_inside(field.type)]
    frame: pd.DataFrame = rows.drop_columns(objects).to_pandas(types_mapper=pd.ArrowDtype)
    for place, name in enumerate(rows.column_names):
        if name in objects:
            frame.insert(place, name, pd.Series(rows.column(name).to_pylist(), dtype=object))
    return frame


def polars_of(rows: pa.Table) -> Any:
    """A polars frame; polars has to be installed."""
    try:
        import polars as pl  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise Unsupported("to_polars() needs polars, which is not installed: pip install 'keylake[polars]'.") from None
    return pl.from_arrow(rows)
