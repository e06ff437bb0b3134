"""Rows that a class checks without a server, and classes of the columns of frames."""

import datetime
from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import keylake as kl

NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
ROWS: list[dict[str, Any]] = [{"id": 7, "at": NOON, "clicks": 3, "city": None}]


class Visit(kl.Table, name="a.visit"):
    id: int = kl.key()
    at: datetime.datetime = kl.ordering()
    clicks: kl.Int32 | None = kl.column()
    city: str | None = kl.column()


@pytest.mark.parametrize(
    "rows",
    [
        ROWS,
        [Visit(id=7, at=NOON, clicks=3)],
        Visit(id=7, at=NOON, clicks=3),
        pa.Table.from_pylist(ROWS, pa.schema([("city", pa.string()), *pa.Table.from_pylist(ROWS).schema.remove(3)])),
        pd.DataFrame(ROWS),
        pl.DataFrame(ROWS).with_columns(pl.col("city").cast(pl.String)),
        pl.LazyFrame(ROWS),
    ],
    ids=["dicts", "rows", "row", "Arrow", "pandas", "polars", "lazy polars"],
)
def test_rows_of_any_form_are_checked(rows: Any) -> None:
    checked = Visit.validate(rows)
    assert checked.column_names == ["id", "at", "clicks", "city"]
    assert checked.schema.field("clicks").type == pa.int32()
    assert checked.to_pylist() == ROWS


@pytest.mark.parametrize(
    ("rows", "error", "sentence"),
    [
        ([ROWS[0] | {"clicks": 2**31}], kl.BadRows, "Column 'clicks', row 0: 2147483648"),
        ([ROWS[0] | {"at": NOON.replace(tzinfo=None)}], kl.BadRows, "Column 'at'"),
        ([ROWS[0] | {"id": None}], kl.BadRows, "Column 'id' is null in row 0"),
        ([{"id": 7, "at": NOON}], kl.SchemaMismatch, "lack 'clicks', 'city'. Use update"),
        ([ROWS[0] | {"click": 1}], kl.SchemaMismatch, "no column 'click'. Did you mean 'clicks'"),
        (pd.DataFrame([ROWS[0] | {"id": "x"}]), kl.BadRows, "Column 'id', row 0: 'x'"),
        (5, kl.BadRows, "Rows are of the type int"),
    ],
)  # fmt: skip
def test_rows_that_a_write_would_refuse(rows: Any, error: type[kl.KeylakeError], sentence: str) -> None:
    with pytest.raises(error) as caught:
        Visit.validate(rows)
    assert sentence in str(caught.value)


def test_a_part_of_the_columns_is_an_update() -> None:
    rows = [{"id": 7, "at": NOON, "city": "Oslo"}]
    assert Visit.validate(rows, verb="update").column_names == ["id", "at", "city"]
    assert Visit.validate([{"id": 7, "at": NOON}], verb="delete").to_pylist() == [{"id": 7, "at": NOON}]
    with pytest.raises(kl.SchemaMismatch, match="delete takes 'id', 'at' only"):
        Visit.validate(rows, verb="delete")
    with pytest.raises(kl.VersionMissing, match="lack the ordering column 'at'"):
        Visit.validate([{"id": 7, "city": "Oslo"}], verb="update")
    assert Visit.validate([{"id": 7, "city": "Oslo"}], verb="update", version=5).num_rows == 1
    with pytest.raises(kl.DefinitionError, match="verb is 'merge'"):
        Visit.validate(rows, verb="merge")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("made_of", [pd.DataFrame, pl.DataFrame, pa.Table.from_pylist, list], ids=str)
def test_the_class_of_a_frame(made_of: Callable[[list[dict[str, Any]]], Any]) -> None:
    frame = made_of([ROWS[0] | {"city": "Oslo"}])
    made = kl.Table.from_frame(frame, name="a.visit_of_frame", key="id", ordering="at")
    assert made.__name__ == "VisitOfFrame"
    assert made.table_spec().ordering == "at"
    assert made.table_spec().column_names == Visit.table_spec().column_names


def test_a_frame_that_is_no_definition() -> None:
    with pytest.raises(kl.DefinitionError, match="has no key"):
        kl.Table.from_frame([{"id": 7}], name="a.b")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    with pytest.raises(kl.BadRows, match="no rows that say the columns"):
        kl.Table.from_frame([], name="a.b", key="id")
