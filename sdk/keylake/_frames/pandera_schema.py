"""The definition of a table as a schema of pandera, for frames of pandas or polars."""

from __future__ import annotations

import os
from typing import Any, Literal, get_args

import pyarrow as pa
from pyiceberg.types import FixedType, IcebergType, TimestamptzType, UUIDType

from keylake._definition.spec import TableSpec
from keylake._frames.nested import has_maps
from keylake._values.arrow_types import has_uuids_inside, natural
from keylake.errors import DefinitionError, Unsupported

FrameKind = Literal["pandas", "polars"]


def pandera_schema(spec: TableSpec, frame: FrameKind) -> Any:
    """The schema of frames as `to_pandas` or `to_polars` give them."""
    if frame not in get_args(FrameKind):
        raise DefinitionError(f"frame is {frame!r}. Use 'pandas' or 'polars'.")
    # pandera sets it for pandas-on-Spark where nobody else has, and Arrow then takes times of other zones wrongly.
    os.environ.setdefault("PYARROW_IGNORE_TIMEZONE", "")
    made: Any = _of_pandas if frame == "pandas" else _of_polars
    try:
        return made(spec)
    except ImportError as error:
        raise Unsupported(
            f"to_pandera() needs pandera with {frame}, and {error.name} is not installed: "
            f"pip install 'keylake[pandera]'."
        ) from None


def _of_pandas(spec: TableSpec) -> Any:
    import pandas as pd
    import pandera.pandas as pandera

    def has_zone(values: pd.Series[Any]) -> bool:
        arrow = getattr(values.dtype, "pyarrow_dtype", None)
        return arrow is not None and pa.types.is_timestamp(arrow) and arrow.unit == "us" and arrow.tz is not None

    columns: dict[str, Any] = {}
    for each in spec.columns:
        type_ = None if _has_two_forms(each.type) else pd.ArrowDtype(natural(each.type))
        checks = [pandera.Check(has_zone, name="times with a zone")] if isinstance(each.type, TimestamptzType) else []
        columns[each.name] = pandera.Column(type_, checks, **_words(spec, each.name, each.doc))
    return pandera.DataFrameSchema(columns, **_whole(spec))


def _of_polars(spec: TableSpec) -> Any:
    import pandera.polars as pandera
    import polars as pl

    def has_zone(data: Any) -> bool:
        found = data.lazyframe.collect_schema()[data.key]
        return isinstance(found, pl.Datetime) and found.time_unit == "us" and found.time_zone is not None

    columns: dict[str, Any] = {}
    for each in spec.columns:
        is_known = not (_has_two_forms(each.type) or has_maps(each.type))  # pandera knows no maps of polars
        type_ = _polars_type(natural(each.type)) if is_known else None
        checks = [pandera.Check(has_zone, name="times with a zone")] if isinstance(each.type, TimestamptzType) else []
        columns[each.name] = pandera.Column(type_, checks, **_words(spec, each.name, each.doc))
    return pandera.DataFrameSchema(columns, **_whole(spec))


def _words(spec: TableSpec, name: str, doc: str) -> dict[str, Any]:
    # Of the ordering column a row has none where partial updates alone wrote it.
    return {"nullable": name not in spec.key, "required": True, "description": doc or None}


def _whole(spec: TableSpec) -> dict[str, Any]:
    return {"unique": list(spec.key), "strict": True, "name": spec.name, "description": spec.comment or None}


def _has_two_forms(type_: IcebergType) -> bool:
    """Reads with a server and without one give values of the type in two forms, or in a zone of the session."""
    return isinstance(type_, UUIDType | FixedType | TimestamptzType) or has_uuids_inside(natural(type_))


def _polars_type(type_: Any) -> Any:
    """The type that polars makes of an Arrow type."""
    import polars as pl

    frame: Any = pl.from_arrow(pa.table({"column": pa.nulls(0, type_)}))
    return frame.schema["column"]
