"""A value that would lose something as the column's type is refused, one that loses nothing is taken."""

from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

import keylake as kl
from integration.one_row import KEY, array, create, one
from integration.random_runs import of_every
from integration.refusals import refused
from integration.twin import frame_of


@pytest.fixture(scope="module")
def table(lake: kl.Lake) -> kl.KeyedTable:
    return create(lake, "commit", "lossy_types")


LOSSY: dict[str, tuple[pa.Table, tuple[str, ...]]] = {
    "fraction to long": (one(a=1.5), ("'a'", "1.5", "double", "long")),
    "fraction to int": (one(i=array(2.25, pa.float32())), ("'i'", "2.25", "float", "int")),
    "overflow of int": (one(i=2**31), ("'i'", "2147483648", "long", "int")),
    "overflow of long": (
        one(a=array(Decimal(2**63), pa.decimal128(20, 0))),
        ("'a'", "9223372036854775808", "long"),
    ),
    "double beyond long": (one(a=1e19), ("'a'", "double", "long")),
    "double just beyond long": (one(a=float(2**63)), ("'a'", "double", "long")),
    "double just beyond int": (one(i=float(2**31)), ("'i'", "double", "int")),
    "float just beyond int": (one(i=array(float(2**31), pa.float32())), ("'i'", "float", "int")),
    "the largest long to float": (one(f=2**63 - 1), ("'f'", "9223372036854775807", "float")),
    "the largest int to float": (one(f=array(2**31 - 1, pa.int32())), ("'f'", "2147483647", "float")),
    "the largest long to double": (one(g=2**63 - 1), ("'g'", "9223372036854775807", "double")),
    "NaN to long": (one(a=float("nan")), ("'a'", "NaN", "long")),
    "long beyond float": (one(f=2**24 + 1), ("'f'", "16777217", "long", "float")),
    "double beyond float": (one(f=0.1), ("'f'", "0.1", "double", "float")),
    "string to number": (one(a="12"), ("'a'", "string", "long")),
    "number to string": (one(s=12), ("'s'", "long", "string")),
    "number to boolean": (one(b=1), ("'b'", "long", "boolean")),
    "boolean to number": (one(a=True), ("'a'", "boolean", "long")),
    "digits of a decimal": (one(d=array(Decimal("1.125"), pa.decimal128(6, 3))), ("'d'", "1.125", "decimal")),
    "range of a decimal": (
        one(d=array(Decimal("1000.00"), pa.decimal128(6, 2))),
        ("'d'", "1000.00", "decimal"),
    ),
    "double to decimal": (one(d=0.125), ("'d'", "0.125", "double", "decimal")),
    "decimal to float": (
        one(f=array(Decimal("0.1234567891"), pa.decimal128(12, 10))),
        ("'f'", "0.12345678", "decimal", "float"),
    ),
    "string to timestamp": (one(at="2026-01-01 00:00:00"), ("'at'", "string", "timestamp")),
    "without zone to with": (
        one(when=array(datetime(2026, 1, 1), pa.timestamp("us"))),
        ("'when'", "timestamp", "timestamptz"),
    ),
    "with zone to without": (
        one(at=array(datetime(2026, 1, 1, tzinfo=UTC), pa.timestamp("us", tz="UTC"))),
        ("'at'", "timestamp", "timestamptz"),
    ),
    "nanoseconds": (one(at=array(1, pa.timestamp("ns"))), ("'at'",)),
    "overflow in a list": (one(n=array([1, 2**40], pa.list_(pa.int64()))), ("'n", "1099511627776", "int")),
    "string in a list": (one(n=array(["1"], pa.list_(pa.string()))), ("'n", "string", "int")),
    "overflow in a map": (
        one(m=array([("x", 2**40)], pa.map_(pa.string(), pa.int64()))),
        ("'m", "1099511627776", "int"),
    ),
    "a map key twice": (
        one(m=array([("x", 1), ("x", 2)], pa.map_(pa.string(), pa.int32()))),
        ("'m'", "x", "twice"),
    ),
}


@pytest.mark.parametrize("kind", LOSSY)
def test_a_type_that_would_lose_something(lake: kl.Lake, table: kl.KeyedTable, kind: str) -> None:
    rows, words = LOSSY[kind]
    with refused(lake, table.name, kl.BadRows, *words):
        table.update(rows)


# A frame never has nanoseconds: Spark itself makes microseconds of them.
@pytest.mark.parametrize("kind", [kind for kind in LOSSY if kind != "nanoseconds"])
def test_a_type_of_a_frame_that_would_lose_something(lake: kl.Lake, table: kl.KeyedTable, kind: str) -> None:
    rows, words = LOSSY[kind]
    # Spark refuses a map with a key twice wherever it touches it, be it only to name its type.
    frame = lake.spark.createDataFrame(rows) if kind == "a map key twice" else frame_of(lake, rows)
    with refused(lake, table.name, kl.BadRows, *words):
        table.update(frame)


EXACT: dict[str, tuple[pa.Table, str, object]] = {
    "a double without a fraction": (one(a=3.0), "a", 3),
    "a long within int": (one(i=array(5, pa.int64())), "i", 5),
    "a long within float": (one(f=2**24), "f", 16777216.0),
    "a double within float": (one(f=0.5), "f", 0.5),
    "a shorter decimal": (one(d=array(Decimal("1.5"), pa.decimal128(3, 1))), "d", Decimal("1.50")),
    "a longer decimal that fits": (one(d=array(Decimal("1.500"), pa.decimal128(9, 3))), "d", Decimal("1.50")),
    "a small int": (one(a=array(7, pa.int8())), "a", 7),
    "a null of any type": (one(a=array(None, pa.null())), "a", None),
}


@of_every("kind", {kind: kind for kind in EXACT}, today=3)
def test_a_type_that_loses_nothing(lake: kl.Lake, table: kl.KeyedTable, kind: str) -> None:
    rows, column, value = EXACT[kind]
    for form in (rows, frame_of(lake, rows)):
        table.update([{**KEY, column: None}])
        table.update(form)
        assert table.read(columns=["id", column]).toArrow().to_pylist() == [{"id": 1, column: value}]
