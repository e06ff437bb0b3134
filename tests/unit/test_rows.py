"""Local rows: the forms that rows come in, which columns they carry, and what stands beside them."""

import datetime
import decimal
from collections.abc import Mapping
from datetime import UTC, date
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import keylake as kl
from keylake._rows.intention import Intention, write
from keylake._rows.rows import Helper, LocalRows, local_rows
from keylake._server.statements import TablePath

SCHEMA = pa.schema(
    [
        ("id", pa.int64()), ("a", pa.int64()), ("x", pa.float64()), ("s", pa.string()), ("d", pa.decimal128(5, 2)),
        ("day", pa.date32()), ("at", pa.timestamp("us")), ("when", pa.timestamp("us", tz="UTC")),
        ("n", pa.list_(pa.int32())),
    ]
)  # fmt: skip
SPEC = kl.TableSpec.from_arrow(SCHEMA, name="a.b", key="id", versions="explicit")
NOON, TOKYO = datetime.datetime(2026, 1, 1, 12), datetime.timezone(datetime.timedelta(hours=9))


def fitted(rows: object, verb: str = "update", helpers: Mapping[str, Helper] | None = None) -> pa.Table:
    return LocalRows.of(rows, SPEC, verb).to_arrow(SPEC, helpers)


# ------------------------------------------------------------------------------------------------------------- columns


def test_text_that_is_no_utf_8() -> None:
    bad = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0"), pa.py_buffer(b"a\xff")]
    )
    for values in (bad, pa.DictionaryArray.from_arrays(pa.array([0, 1]), bad)):
        with pytest.raises(
            kl.BadRows, match=r"'s', row 1: b'\\xff' \(binary\) does not fit string: it is no text in UTF-8"
        ):
            fitted(pa.table({"id": [1, 2], "s": values}))


def test_a_frame_of_types_that_arrow_does_not_have() -> None:
    with pytest.raises(kl.BadRows, match="of the type DataFrame, which is no Arrow table"):
        fitted(pl.DataFrame({"id": pl.Series([1], dtype=pl.Int128)}))


def test_a_reader_of_batches_is_read() -> None:
    table = pa.table({"id": [1, 2], "s": ["x", None]})
    assert fitted(table.to_reader(max_chunksize=1)).to_pylist() == [{"id": 1, "s": "x"}, {"id": 2, "s": None}]


def test_names_match_whatever_their_case() -> None:
    rows = fitted(pa.table({"S": ["x"], "ID": [1]}))
    assert rows.to_pylist() == [{"id": 1, "s": "x"}]
    assert rows.column_names == ["id", "s"]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (pa.table([[1], [2]], names=["id", "id"]), "'id' stands twice"),
        (pa.table({"id": [1], "s": ["a"], "S": ["b"]}), "'s' and 'S' differ only in case"),
        (pa.table({"id": [1], "whem": ["a"]}), "no column 'whem'. Did you mean 'when'"),
        ([{"id": 1, "zork": 1}], "no column 'zork'"),
        ([{"id": 1, 2: 1}], "named 2"),
        (pd.DataFrame({"id": [1], 0: [1]}), "named 0"),
        (pd.DataFrame([[1, 2]], columns=["id", "id"]), "'id' stands twice"),
        (pd.DataFrame({"id": [1]}).set_index("id"), "'id' is the index of the frame"),
    ],
    ids=str,
)
def test_columns_that_are_refused(rows: object, says: str) -> None:
    with pytest.raises(kl.SchemaMismatch, match=says):
        fitted(rows)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("abc", "the type str"),
        (7, "the type int"),
        ({"id": [1]}, "the type dict"),
        ([{"id": 1}, 7], "Row 1 is of the type int"),
        ([7], "Row 0 is of the type int"),
        ([{"id": 1, "s": "x"}, {"id": 2}], "Row 0 has the column 's' and row 1 has not"),
        ([{"id": 1}, {"id": 2, "s": "x"}], "Row 1 has the column 's' and row 0 has not"),
        (pa.table({"id": [1, None]}), "'id' is null in row 1"),
        (pa.table({"id": pa.chunked_array([[1], [], [2, None]])}), "'id' is null in row 2"),
        (pd.DataFrame({"id": [1.0, None]}), "'id' is null in row 1"),
        ([{"id": None}], "'id' is null in row 0"),
        (pd.DataFrame({"id": [1], "a": [1 + 2j]}), "complex128"),
        (pd.DataFrame({"id": [1], "a": pd.period_range("2026", periods=1)}), "period"),
    ],
    ids=str,
)
def test_rows_that_are_refused(rows: object, says: str) -> None:
    with pytest.raises(kl.BadRows, match=says):
        fitted(rows)


def test_no_rows() -> None:
    assert fitted([], "upsert").schema.names == SCHEMA.names
    assert fitted([], "delete").schema.names == ["id"]
    assert fitted(pa.table({"id": pa.array([], pa.int8()), "s": pa.array([], pa.null())})).num_rows == 0
    assert fitted(pd.DataFrame({"id": pd.Series([], dtype="int64")})).num_rows == 0


def test_whatever_speaks_arrow() -> None:
    class Stream:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return pa.table({"id": [1], "s": ["x"]}).__arrow_c_stream__(requested_schema)

    assert fitted(Stream()).to_pylist() == [{"id": 1, "s": "x"}]
    assert fitted(pa.record_batch({"id": [1]})).to_pylist() == [{"id": 1}]


def test_pandas_columns() -> None:
    frame = pd.DataFrame(
        {
            "id": [1, 2],
            "a": pd.array([1, None], dtype="Int32"),
            "s": pd.Categorical(["x", None]),
            "when": pd.to_datetime(["2026-01-01", None]).tz_localize("Asia/Tokyo"),
            "day": pd.to_datetime(["2026-01-01", None]),
            "n": [np.array([1]), None],
            "d": [Decimal("1.5"), None],
        }
    )
    first, second = fitted(frame).to_pylist()
    midnight = datetime.datetime(2026, 1, 1, tzinfo=TOKYO)
    assert first == {
        "id": 1, "a": 1, "s": "x", "when": midnight, "day": date(2026, 1, 1), "n": [1], "d": Decimal("1.50"),
    }  # fmt: skip
    assert second == {"id": 2, **dict.fromkeys(["a", "s", "when", "day", "n", "d"])}


# ----------------------------------------------------------------------------------------------------- rows of a class


class Seen(kl.Table, name="a.seen"):
    user: int = kl.key()
    at: int = kl.ordering()
    page: str | None = kl.column(name="the page")
    hits: kl.Int32 | None = None


class Heard(kl.Table, name="a.heard"):
    user: int = kl.key()


def of_class(rows: list[kl.Table], verb: str) -> list[dict[str, object]]:
    spec = Seen.table_spec()
    listed: list[dict[str, object]] = LocalRows.of(rows, spec, verb).to_arrow(spec).to_pylist()
    return listed


def test_rows_of_a_class() -> None:
    rows: list[kl.Table] = [Seen(user=1, at=5, page="x"), Seen(user=2, at=6, page=None)]
    update = [{"user": 1, "at": 5, "the page": "x"}, {"user": 2, "at": 6, "the page": None}]
    assert of_class(rows, "update") == update
    assert of_class(rows, "upsert") == [row | {"hits": None} for row in update]
    assert of_class(rows, "delete") == [{"user": 1, "at": 5}, {"user": 2, "at": 6}]
    with pytest.raises(kl.BadRows, match="Row 1 has the column 'hits'"):
        of_class([Seen(user=1, at=5), Seen(user=1, at=5, hits=1)], "update")
    with pytest.raises(kl.BadRows, match="classes Heard, Seen"):
        of_class([Seen(user=1, at=5), Heard(user=1)], "update")
    with pytest.raises(kl.BadRows, match="Row 1 is of the type dict"):
        of_class([Seen(user=1, at=5), {"user": 1}], "update")  # type: ignore[list-item]
    with pytest.raises(kl.BadRows, match="'at' is null in row 0"):
        of_class([Seen.from_row({"user": 1, "at": None})], "update")


# ------------------------------------------------------------------------------------------------------------- helpers


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (7, pa.int64()),
        (date(2026, 1, 1), pa.date32()),
        (NOON, pa.timestamp("us")),
        (NOON.replace(tzinfo=UTC), pa.timestamp("us", tz="UTC")),
    ],
    ids=str,
)
def test_a_version(value: object, type_: Any) -> None:
    for rows in ([{"id": 1, "v": value}], pa.table({"id": [1], "v": [value]}), pd.DataFrame({"id": [1], "v": [value]})):
        table = fitted(rows, helpers={"V": "version"})
        assert table.schema.names == ["id", "v"]
        if not isinstance(rows, pd.DataFrame) or not isinstance(value, date):
            assert (table["v"].type, table["v"].to_pylist()) == (type_, [value])
    assert fitted([{"id": 1, "at": NOON}], helpers={"at": "version"}).schema.names == ["id", "at"]


@pytest.mark.parametrize("value", ["7", 1.5, True, [1], Decimal(1)], ids=str)
def test_what_is_no_version(value: object) -> None:
    for rows in ([{"id": 1, "v": value}], pa.table({"id": [1], "v": [value]})):
        with pytest.raises(kl.SchemaMismatch, match=r"Column 'v' is a .*, and as version it is an integer, a date"):
            fitted(rows, helpers={"v": "version"})


@pytest.mark.parametrize("helper", ["version", "op", "columns_from"])
def test_a_helper_is_never_null(helper: Helper) -> None:
    for rows in ([{"id": 1, "v": None}], pa.table({"id": [1], "v": pa.array([None], pa.int64())})):
        with pytest.raises(kl.BadRows, match="'v' is null in row 0"):
            fitted(rows, helpers={"v": helper})
    with pytest.raises(kl.SchemaMismatch, match="no column 'v'"):
        fitted([{"id": 1}], helpers={"v": helper})


def test_other_helpers() -> None:
    rows = [{"id": 1, "changed": ["a"], "op": "U", "s": "x"}]
    table = fitted(rows, helpers={"changed": "columns_from", "op": "op"})
    assert table.schema.names == ["id", "s", "changed", "op"]
    assert table.schema.field("changed").type == pa.list_(pa.field("element", pa.string()))
    with pytest.raises(kl.SchemaMismatch, match="'op' is a long, and as op it is a string"):
        fitted([{"id": 1, "op": 1}], helpers={"op": "op"})
    with pytest.raises(kl.SchemaMismatch, match="as columns_from it is a list of strings"):
        fitted([{"id": 1, "c": "a"}], helpers={"c": "columns_from"})
    with pytest.raises(kl.BadRows, match=r"'c\.element'"):
        fitted([{"id": 1, "c": [1]}], helpers={"c": "columns_from"})
    with pytest.raises(kl.SchemaMismatch, match="'s' is a string, and as version"):
        fitted([{"id": 1, "s": "x"}], helpers={"s": "version"})
    with pytest.raises(kl.BadRows, match="'a' is null in row 0"):
        fitted([{"id": 1, "a": None}], helpers={"a": "version"})


def test_decimals_are_not_at_the_mercy_of_the_context() -> None:
    with decimal.localcontext(prec=3):
        assert fitted([{"id": 1, "d": Decimal("123.45")}])["d"].to_pylist() == [Decimal("123.45")]


ORDERED = kl.TableSpec.from_arrow(SCHEMA, name="a.b", key="id", ordering="when")


@pytest.mark.parametrize("rows", [[], pd.DataFrame(), pa.table({})], ids=["list", "pandas", "Arrow"])
@pytest.mark.parametrize(
    "intention",
    [
        *(Intention(verb, version=0) for verb in ("upsert", "update", "delete", "overwrite")),
        Intention("update", version="at_micros"),
        Intention("update", version={"a": "a_time", "x": "x_time"}, columns_from="which"),
        Intention("apply_changes", version=NOON, op="op"),
    ],
    ids=lambda intention: f"{intention.verb} at {intention.version}",
)
def test_no_rows_carry_what_the_words_name(rows: object, intention: Intention) -> None:
    for spec in (SPEC, ORDERED):
        if spec is SPEC and not isinstance(intention.version, int | str):
            continue
        local, said = local_rows(rows, spec, intention)
        statement = write(spec, TablePath("a.b"), said, local.names)
        assert dict(statement.options)["verb"] == intention.verb
        assert local.count == 0


def test_a_version_has_no_place_in_a_table_of_commits_whatever_rows_there_are() -> None:
    spec = kl.TableSpec.from_arrow(SCHEMA, name="a.b", key="id")
    local, said = local_rows([], spec, Intention("update", version=0))
    with pytest.raises(kl.VersionMissing, match="no place"):
        write(spec, TablePath("a.b"), said, local.names)
