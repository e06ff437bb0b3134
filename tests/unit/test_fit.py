"""Values: what fits is taken exactly, what does not is refused with column, row, value and both types."""

import datetime
import re
import uuid
from datetime import UTC, date
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import keylake as kl
from keylake._rows.rows import LocalRows

POINT = pa.struct([("p", pa.int32()), ("q", pa.list_(pa.string()))])
SCHEMA = pa.schema(
    [
        ("id", pa.int64()), ("i", pa.int32()), ("a", pa.int64()), ("f", pa.float32()), ("x", pa.float64()),
        ("s", pa.string()), ("b", pa.bool_()), ("d", pa.decimal128(5, 2)), ("day", pa.date32()),
        ("at", pa.timestamp("us")), ("when", pa.timestamp("us", tz="UTC")), ("t", pa.time64("us")), ("u", pa.uuid()),
        ("fx", pa.binary(3)), ("raw", pa.binary()), ("n", pa.list_(pa.int32())),
        ("m", pa.map_(pa.string(), pa.int32())), ("mu", pa.map_(pa.uuid(), pa.list_(pa.int32()))), ("st", POINT),
        ("must", pa.list_(pa.field("element", pa.int32(), nullable=False))),
        ("whole", pa.struct([pa.field("p", pa.int32(), nullable=False)])),
    ]
)  # fmt: skip
SPEC = kl.TableSpec.from_arrow(SCHEMA, name="a.b", key="id", versions="explicit")
NAN, INF = float("nan"), float("inf")


def without_address(value: object) -> str:
    """The text of a value, the same in every process."""
    return re.sub(r" at 0x\w+", "", str(value))


NOON, TOKYO = datetime.datetime(2026, 1, 1, 12), datetime.timezone(datetime.timedelta(hours=9))
ONE = uuid.UUID(int=1)


def fitted(rows: object) -> pa.Table:
    return LocalRows.of(rows, SPEC, "update").to_arrow(SPEC)


def one_of_arrow(column: str, value: object, type_: Any) -> pa.Table:
    """Two rows, of which the second has the value."""
    return pa.table({"id": [1, 2], column: pa.array([None, value], type_)})


def one_of_python(column: str, value: object) -> list[dict[str, object]]:
    return [{"id": 1, column: None}, {"id": 2, column: value}]


def test_times_of_a_zone_stay_the_same_beside_pandas_on_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYARROW_IGNORE_TIMEZONE", "1")  # as pyspark.pandas and pandera do when they are imported
    noon = NOON.replace(tzinfo=TOKYO)
    assert fitted(one_of_python("when", noon))["when"].to_pylist() == [None, noon]


# --------------------------------------------------------------------------------------------------------- what fits

EXACT: list[tuple[str, Any, object, object]] = [
    ("i", pa.int64(), 5, 5), ("i", pa.uint64(), 5, 5), ("i", pa.float64(), 2.0, 2), ("i", pa.float16(), 2.0, 2),
    ("i", pa.decimal128(3, 1), Decimal("2.0"), 2), ("i", pa.decimal256(50, 1), Decimal("2.0"), 2),
    ("a", pa.float64(), -(2.0**63), -(2**63)), ("a", pa.decimal128(20, 0), Decimal(2**63 - 1), 2**63 - 1),
    ("a", pa.null(), None, None), ("a", pa.string(), None, None), ("a", pa.list_(pa.int8()), None, None),
    ("f", pa.int64(), 2**24, 16777216.0), ("f", pa.float64(), 0.5, 0.5), ("f", pa.float16(), 0.5, 0.5),
    ("f", pa.float64(), INF, INF), ("x", pa.int64(), 2**62, 2.0**62), ("x", pa.uint64(), 2**63, 2.0**63),
    ("x", pa.int64(), -(2**63), -(2.0**63)), ("x", pa.float32(), 0.1, float(np.float32(0.1))),
    ("x", pa.decimal128(3, 1), Decimal("0.1"), 0.1), ("x", pa.decimal128(38, 0), Decimal(2**62), 2.0**62),
    ("s", pa.large_string(), "x", "x"), ("s", pa.string_view(), "x", "x"), ("s", pa.json_(), "{}", "{}"),
    ("b", pa.bool_(), True, True), ("d", pa.decimal128(3, 1), Decimal("1.5"), Decimal("1.50")),
    ("d", pa.int64(), 999, Decimal("999.00")), ("d", pa.decimal128(9, 3), Decimal("1.500"), Decimal("1.50")),
    ("d", pa.uint64(), 5, Decimal("5.00")), ("d", pa.decimal32(3, 1), Decimal("1.5"), Decimal("1.50")),
    ("d", pa.decimal256(60, 4), Decimal(1), Decimal("1.00")),
    ("day", pa.date64(), date(1969, 12, 31), date(1969, 12, 31)),
    ("day", pa.timestamp("ns"), datetime.datetime(1969, 12, 31), date(1969, 12, 31)),
    ("at", pa.timestamp("s"), NOON, NOON), ("at", pa.timestamp("ns"), NOON, NOON),
    ("when", pa.timestamp("ms", tz="Asia/Tokyo"), NOON.replace(tzinfo=UTC), NOON.replace(tzinfo=UTC)),
    ("t", pa.time32("ms"), datetime.time(1, 2), datetime.time(1, 2)),
    ("t", pa.time64("ns"), datetime.time(1, 2, 3, 4), datetime.time(1, 2, 3, 4)), ("u", pa.uuid(), ONE, str(ONE)),
    ("u", pa.binary(16), ONE.bytes, str(ONE)),
    ("u", pa.string(), "F79C3E09-677C-4BBD-A479-3F349CB785E7", "f79c3e09-677c-4bbd-a479-3f349cb785e7"),
    ("fx", pa.binary(3), b"abc", b"abc"), ("fx", pa.binary(), b"abc", b"abc"), ("raw", pa.binary(3), b"abc", b"abc"),
    ("raw", pa.binary_view(), b"", b""), ("n", pa.large_list(pa.float64()), [1.0, None], [1, None]),
    ("n", pa.list_(pa.int32(), 2), [1, 2], [1, 2]), ("n", pa.list_view(pa.int8()), [], []),
    ("m", pa.map_(pa.large_string(), pa.int8()), [("x", 1), ("y", None)], [("x", 1), ("y", None)]),
    ("m", pa.map_(pa.string(), pa.int32()), [], []),
    ("mu", pa.map_(pa.binary(16), pa.list_(pa.float32())), [(ONE.bytes, [1.0])], [(str(ONE), [1])]),
    ("st", pa.struct([("Q", pa.large_list(pa.string_view()))]), {"Q": ["x"]}, {"p": None, "q": ["x"]}),
    ("st", pa.struct([("p", pa.int64())]), {"p": None}, {"p": None, "q": None}),
    ("whole", pa.struct([("p", pa.int64())]), {"p": 1}, {"p": 1}), ("must", pa.list_(pa.int64()), [1], [1]),
]  # fmt: skip


@pytest.mark.parametrize(("column", "type_", "value", "expected"), EXACT, ids=str)
def test_arrow_values_that_fit(column: str, type_: Any, value: object, expected: object) -> None:
    rows = fitted(one_of_arrow(column, value, type_))
    assert rows.to_pylist() == [{"id": 1, column: None}, {"id": 2, column: expected}]
    assert rows.schema.field("id") == pa.field("id", pa.int64(), nullable=False)


PYTHON: list[tuple[str, object, object]] = [
    ("a", 1.0, 1), ("a", Decimal("2.0"), 2), ("a", np.int8(3), 3), ("a", np.float32(3), 3), ("a", pd.NA, None),
    ("a", 2**63 - 1, 2**63 - 1), ("x", 2**62, 2.0**62), ("x", np.float32(0.5), 0.5), ("x", INF, INF),
    ("x", 2**63, 2.0**63), ("d", 5, Decimal("5.00")), ("d", Decimal("1E+2"), Decimal("100.00")),
    ("b", np.bool_(True), True), ("day", datetime.datetime(2026, 1, 1), date(2026, 1, 1)),
    ("at", pd.Timestamp(NOON), NOON), ("at", pd.NaT, None), ("at", np.datetime64(NOON), NOON),
    ("at", np.datetime64(NOON, "ns"), NOON), ("at", np.datetime64("2026-01-01T12"), NOON),
    ("at", np.datetime64("NaT"), None), ("day", np.datetime64("2026-01-01"), date(2026, 1, 1)),
    ("day", np.datetime64("2026-02"), date(2026, 2, 1)),
    ("when", NOON.replace(tzinfo=TOKYO), NOON.replace(tzinfo=TOKYO)),
    ("when", pd.Timestamp(NOON, tz="Asia/Tokyo"), NOON.replace(tzinfo=TOKYO)),
    ("t", datetime.time(1), datetime.time(1)), ("u", ONE, str(ONE)), ("u", str(ONE), str(ONE)),
    ("raw", bytearray(b"x"), b"x"), ("raw", memoryview(b"x"), b"x"), ("n", (1, 2.0, None), [1, 2, None]),
    ("n", np.array([1, 2]), [1, 2]), ("n", [], []), ("m", {"a": 1, "b": None}, [("a", 1), ("b", None)]),
    ("m", [("a", 1)], [("a", 1)]), ("m", [["a", 1]], [("a", 1)]), ("m", {}, []),
    ("mu", {ONE: [1]}, [(str(ONE), [1])]), ("st", {"P": 1.0, "q": ("a",)}, {"p": 1, "q": ["a"]}),
    ("st", {}, {"p": None, "q": None}),
]  # fmt: skip


@pytest.mark.parametrize(("column", "value", "expected"), PYTHON, ids=without_address)
def test_python_values_that_fit(column: str, value: object, expected: object) -> None:
    rows = fitted(one_of_python(column, value))
    assert rows.to_pylist() == [{"id": 1, column: None}, {"id": 2, column: expected}]


def test_values_of_dictionaries_of_views() -> None:
    """As polars gives its categories, also inside of other values; Arrow takes no single value of a view."""
    codes = pa.array([0, None, 1, 0], pa.uint32())
    names = pa.DictionaryArray.from_arrays(codes, pa.array(["x", "y"], pa.string_view()))
    raw = pa.DictionaryArray.from_arrays(codes, pa.array([b"x", b"y"], pa.binary_view()))
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 3], pa.int32()), names[1:])
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([3, 4], pa.int32()), pa.array(["x", "y"], pa.string_view()))
    structs = pa.StructArray.from_arrays([lists], names=["q"])
    rows = pa.table({"id": [1, 2], "s": names[2:], "raw": raw[:2], "st": structs})
    assert [tuple(row.values())[1:] for row in fitted(rows).to_pylist()] == [
        ("y", b"x", {"p": None, "q": [None]}),
        ("x", None, {"p": None, "q": ["y", "x"]}),
    ]
    assert fitted(pa.table({"id": [1, 2], "s": runs[2:]}))["s"].to_pylist() == ["x", "y"]
    frame = pl.DataFrame(
        {"id": [1, 2], "s": ["x", None], "st": [{"q": ["y"]}, None]},
        schema={"id": pl.Int64, "s": pl.Categorical, "st": pl.Struct({"q": pl.List(pl.Enum(["y"]))})},
    )
    assert fitted(frame).to_pylist() == [
        {"id": 1, "s": "x", "st": {"p": None, "q": ["y"]}},
        {"id": 2, "s": None, "st": None},
    ]


def test_nan_stays_nan_but_in_pandas() -> None:
    for rows in (one_of_python("x", NAN), one_of_arrow("x", NAN, pa.float64())):
        assert np.isnan(fitted(rows)["x"][1].as_py())
    frame = pd.DataFrame({"id": [1, 2], "i": [1.0, NAN], "x": [1.5, NAN], "a": pd.Series([1, NAN], dtype=object)})
    assert fitted(frame).to_pylist()[1] == {"id": 2, "i": None, "a": None, "x": None}
    # An Arrow-backed column is Arrow's, and says null by itself.
    arrow = pd.Series(pd.arrays.ArrowExtensionArray(pa.array([NAN, None])))  # type: ignore[attr-defined]
    assert str(fitted(pd.DataFrame({"id": [1, 2], "x": arrow}))["x"].to_pylist()) in ("[nan, None]", "[None, None]")


def test_parts_of_arrays() -> None:
    """Slices, nulls and empty parts of nested arrays, in several chunks."""
    values: dict[str, list[object]] = {
        "n": [None, [1], [2, 3], None, [], [4]],
        "m": [None, [("x", 1)], [("y", 2), ("z", 3)], None, [], [("x", 4)]],
        "st": [None, {"p": 1, "q": []}, {"p": None, "q": ["a"]}, None, {"p": 5, "q": None}, {"p": 6, "q": [None]}],
        "u": [None, str(ONE), None, str(uuid.UUID(int=2**128 - 1)), None, str(uuid.UUID(int=16))],
    }
    wide = {
        "n": pa.list_(pa.int64()),
        "m": pa.map_(pa.string(), pa.int64()),
        "st": pa.struct([("p", pa.int64()), ("q", pa.large_list(pa.string()))]),
    }
    arrays = {name: pa.array(values[name], type_) for name, type_ in wide.items()}
    arrays["u"] = pa.array([None if text is None else uuid.UUID(str(text)) for text in values["u"]], pa.uuid())
    whole = pa.table({"id": range(6), **arrays})
    parts = pa.concat_tables([whole.slice(1, 2), whole.slice(3, 0), whole.slice(3)])
    expected = [{"id": n, **{name: value[n] for name, value in values.items()}} for n in range(6)]
    assert fitted(parts).select(["id", *values]).to_pylist() == expected[1:]


def test_dictionaries_and_runs() -> None:
    texts = pa.array(["a", None, "a"])
    rows = pa.table({"id": [1, 2, 3], "s": texts.dictionary_encode()})
    assert fitted(rows)["s"].to_pylist() == ["a", None, "a"]
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([1.0, None]))
    assert fitted(pa.table({"id": [1, 2, 3], "i": runs}))["i"].to_pylist() == [1, 1, None]


def test_many_objects_go_in_parts() -> None:
    rows = [{"id": n, "s": str(n)} for n in range(300_000)]
    table = fitted(rows)
    assert table["s"].num_chunks > 1
    assert table["s"].to_pylist() == [row["s"] for row in rows]
    rows[280_000]["s"] = 7
    with pytest.raises(kl.BadRows, match="row 280000: 7"):
        fitted(rows)


# --------------------------------------------------------------------------------------------------- what does not fit

LOSSY: list[tuple[str, Any, object, tuple[str, ...]]] = [
    ("a", pa.float64(), 1.5, ("'a'", "1.5", "double", "long")),
    ("i", pa.float32(), 2.25, ("'i'", "2.25", "float", "int")),
    ("i", pa.int64(), 2**31, ("2147483648", "long", "int")),
    ("a", pa.uint64(), 2**63, ("9223372036854775808", "uint64")),
    ("a", pa.decimal128(20, 0), Decimal(2**63), ("9223372036854775808", "decimal(20, 0)", "long")),
    ("a", pa.decimal128(20, 1), Decimal("2.5"), ("2.5", "long")),
    ("a", pa.float64(), 2.0**63, ("9.22", "double", "long")), ("a", pa.float64(), NAN, ("NaN", "double", "long")),
    ("a", pa.float64(), INF, ("inf", "double", "long")), ("f", pa.int64(), 2**24 + 1, ("16777217", "long", "float")),
    ("f", pa.float64(), 0.1, ("0.1", "double", "float")), ("f", pa.float64(), 1e300, ("1e+300", "double", "float")),
    ("x", pa.int64(), 2**53 + 1, ("9007199254740993", "double")),
    ("x", pa.int64(), 2**63 - 1, ("9223372036854775807",)), ("x", pa.uint64(), 2**64 - 1, ("18446744073709551615",)),
    ("x", pa.decimal128(20, 17), Decimal("0.10000000000000001"), ("decimal(20, 17)", "double")),
    ("x", pa.string(), "1", ("string", "double")),
    ("a", pa.string(), "12", ("'12'", "string", "long", "text is not parsed")),
    ("s", pa.int64(), 12, ("long", "string")), ("s", pa.binary(), b"x", ("binary", "string")),
    ("s", pa.uuid(), ONE, ("uuid", "string")), ("b", pa.int64(), 1, ("long", "boolean")),
    ("a", pa.bool_(), True, ("boolean", "long")),
    ("d", pa.decimal128(6, 3), Decimal("1.125"), ("1.125", "decimal(6, 3)", "decimal(5, 2)")),
    ("d", pa.decimal128(6, 2), Decimal("1000.00"), ("1000.00",)), ("d", pa.int64(), 1000, ("1000", "long")),
    ("d", pa.float64(), 1.5, ("binary fraction",)), ("d", pa.decimal32(4, 3), Decimal("1.125"), ("1.125",)),
    ("day", pa.timestamp("us"), NOON, ("2026-01-01 12:00", "no midnight")),
    ("day", pa.string(), "2026-01-01", ("text",)),
    ("day", pa.timestamp("us"), datetime.datetime(1969, 12, 31, 23, 59, 59, 999999), ("no midnight",)),
    ("at", pa.timestamp("ns"), 1, ("00.000000001", "finer than a microsecond")),
    ("when", pa.timestamp("ns", tz="UTC"), 1, ("00.000000001", "finer than a microsecond")),
    ("at", pa.date32(), date.min, ("date",)), ("at", pa.timestamp("s"), 2**60, ("out of range",)),
    ("at", pa.timestamp("us", tz="UTC"), NOON, ("time zone", "lost")),
    ("when", pa.timestamp("us"), NOON, ("no time zone", "timestamptz")), ("when", pa.string(), "2026", ("text",)),
    ("t", pa.time64("ns"), 5, ("00:00:00.000000005",)), ("a", pa.timestamp("us"), NOON, ("timestamp", "long")),
    ("u", pa.string(), "zork", ("'zork'", "not the text of a uuid")),
    ("u", pa.binary(3), b"abc", ("fixed[3]", "16 bytes")), ("u", pa.binary(), ONE.bytes, ("binary", "uuid")),
    ("fx", pa.binary(), b"abcd", ("abcd", "3 bytes")), ("fx", pa.binary(), b"a", ("3 bytes",)),
    ("fx", pa.binary(4), b"abcd", ("fixed[4]", "fixed[3]")), ("a", pa.duration("s"), 5, ("duration[s]",)),
    ("b", pa.bool8(), 1, ("bool8",)),
    ("n", pa.list_(pa.int64()), [1, 2**40], ("'n.element'", "row 1", "1099511627776", "int")),
    ("n", pa.list_(pa.string()), ["1"], ("'n.element'", "string", "int")), ("n", pa.int32(), 1, ("list<int>",)),
    ("m", pa.map_(pa.string(), pa.int64()), [("x", 2**40)], ("'m.value'", "1099511627776", "int")),
    ("m", pa.map_(pa.int64(), pa.int32()), [(1, 2)], ("'m.key'", "long", "string")),
    ("m", pa.map_(pa.string(), pa.int32()), [("x", 1), ("y", 2), ("x", 3)], ("'m'", "row 1", "'x'", "twice")),
    ("m", POINT, {"p": 1}, ("map<string, int>",)),
    ("mu", pa.map_(pa.binary(16), pa.list_(pa.int64())), [(ONE.bytes, [2**40])], ("'mu.value.element'", "10995")),
    ("st", pa.struct([("p", pa.int64()), ("z", pa.int8())]), {"p": 1, "z": 1}, ("'z'", "no such field", "p, q")),
    ("st", pa.struct([("p", pa.int64()), ("P", pa.int8())]), {"p": 1, "P": 1}, ("'P'", "twice")),
    ("st", pa.struct([("p", pa.int64())]), {"p": 2**40}, ("'st.p'", "1099511627776")),
    ("st", pa.int8(), 1, ("struct",)), ("must", pa.list_(pa.int32()), [1, None], ("'must.element'", "row 1", "null")),
    ("whole", pa.struct([("p", pa.int32())]), {"p": None}, ("'whole.p'", "row 1", "null")),
    ("whole", pa.struct([("p", pa.null())]), {"p": None}, ("'whole.p'", "null")),
]  # fmt: skip


@pytest.mark.parametrize(("column", "type_", "value", "says"), LOSSY, ids=str)
def test_arrow_values_that_do_not_fit(column: str, type_: Any, value: object, says: tuple[str, ...]) -> None:
    with pytest.raises(kl.BadRows) as raised:
        fitted(one_of_arrow(column, value, type_))
    sentence = str(raised.value)
    assert not [words for words in (f"'{column}", "row 1", *says) if words not in sentence], sentence


STRANGE: list[tuple[str, object, tuple[str, ...]]] = [
    ("a", 1.5, ("1.5 (double)", "long")), ("a", 2**63, ("9223372036854775808 (uint64)", "long")),
    ("a", 10**90, ("(int)",)), ("a", -(10**30), ("(decimal",)), ("a", "1", ("'1' (string)",)),
    ("a", True, ("True (boolean)",)), ("a", Decimal("2.5"), ("2.5 (decimal(2, 1))",)), ("a", NAN, ("NaN",)),
    ("a", [1], ("[1] (list)",)), ("a", object(), ("object",)), ("a", {"x": 1}, ("(dict)",)),
    ("a", datetime.timedelta(1), ("timedelta",)), ("a", np.timedelta64(1, "s"), ("timedelta64",)),
    ("x", 2**53 + 1, ("9007199254740993 (long)",)), ("f", 0.1, ("0.1 (double)",)), ("s", 1, ("1 (long)",)),
    ("s", b"x", ("binary",)), ("s", "\ud800", ("str", "no exact form")), ("b", 1, ("1 (long)",)),
    ("d", 1.5, ("binary fraction",)), ("d", Decimal("NaN"), ("NaN",)), ("d", Decimal("1E+90"), ("1E+90",)),
    ("d", Decimal("0.001"), ("0.001",)), ("day", NOON, ("no midnight",)), ("day", "1.1.26", ("no date in ISO form",)),
    ("at", NOON.replace(tzinfo=UTC), ("time zone",)), ("when", NOON, ("no time zone",)), ("at", date.min, ("date",)),
    ("at", pd.Timestamp(5), ("00.000000005",)), ("t", datetime.time(1, tzinfo=UTC), ("01:00:00+00:00",)),
    ("u", "zork", ("not the text of a uuid",)), ("u", b"x" * 16, ("binary",)), ("fx", b"ab", ("3 bytes",)),
    ("n", {1}, ("set",)), ("n", [1, 1.5], ("'n.element'", "1.5")), ("n", "ab", ("str",)),
    ("m", [1], ("a list of pairs",)), ("m", [("x", 1), ("x", 2)], ("'x'", "twice")), ("m", {1: 1}, ("'m.key'",)),
    ("m", {"x": 1.5}, ("'m.value'", "1.5")), ("st", {"z": 1}, ("'z'", "no such field")),
    ("st", {"q": [1]}, ("'st.q.element'",)), ("st", 1, ("struct",)), ("must", [None], ("'must.element'", "null")),
    ("whole", {}, ("'whole.p'", "null")),
]  # fmt: skip


@pytest.mark.parametrize(("column", "value", "says"), STRANGE, ids=without_address)
def test_python_values_that_do_not_fit(column: str, value: object, says: tuple[str, ...]) -> None:
    with pytest.raises(kl.BadRows) as raised:
        fitted(one_of_python(column, value))
    sentence = str(raised.value)
    assert not [words for words in (f"'{column}", "row 1", *says) if words not in sentence], sentence


def test_values_of_several_kinds() -> None:
    values = [1, 2.0, None, Decimal("3.0"), np.int8(4)]
    assert fitted([{"id": n, "a": value} for n, value in enumerate(values)])["a"].to_pylist() == [1, 2, None, 3, 4]
    with pytest.raises(kl.BadRows, match="row 2: 'x'"):
        fitted([{"id": n, "a": value} for n, value in enumerate([1, 2.0, "x"])])
    naive, aware = NOON, NOON.replace(tzinfo=UTC)
    for column, position in (("at", 1), ("when", 0)):
        with pytest.raises(kl.BadRows, match=f"row {position}: "):
            fitted([{"id": 1, column: naive}, {"id": 2, column: aware}])
