"""Column types: annotations, Iceberg types and Arrow types say the same."""

import datetime
import decimal
import enum
import re
import uuid
from typing import Annotated, Any, NewType, NotRequired, Optional

import pyarrow as pa
import pytest
from pydantic import BaseModel, Field
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)
from typing_extensions import TypedDict

import keylake as kl
from keylake._values import arrow_types
from keylake.types import checked, named, numbered, type_of, unwrapped, without_none

UserId = NewType("UserId", int)


class Address(BaseModel):
    street: str
    zip_code: kl.Int32 | None = None
    odd: str = Field(default="", alias="odd name")


class Spot(TypedDict):
    x: float
    y: NotRequired[kl.Float32]


class Tree(BaseModel):
    children: "list[Tree]"


PRIMITIVES: list[tuple[Any, IcebergType, Any]] = [
    (kl.Bool, BooleanType(), pa.bool_()),
    (kl.Int32, IntegerType(), pa.int32()),
    (kl.Int64, LongType(), pa.int64()),
    (kl.Float32, FloatType(), pa.float32()),
    (kl.Float64, DoubleType(), pa.float64()),
    (kl.Decimal(10, 2), DecimalType(10, 2), pa.decimal128(10, 2)),
    (kl.Date, DateType(), pa.date32()),
    (kl.Time, TimeType(), pa.time64("us")),
    (kl.Timestamp, TimestampType(), pa.timestamp("us")),
    (kl.Timestamptz, TimestamptzType(), pa.timestamp("us", tz="UTC")),
    (kl.String, StringType(), pa.string()),
    (kl.Binary, BinaryType(), pa.binary()),
    (kl.Fixed(16), FixedType(16), pa.binary(16)),
    (kl.UUID, UUIDType(), pa.uuid()),
]


def without_places(value: object) -> str:
    """The name of a case, the same in all processes: functions are shown with their places in memory."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))


@pytest.mark.parametrize(("annotation", "iceberg", "arrow"), PRIMITIVES, ids=lambda value: str(value)[:40])
def test_a_name_is_an_iceberg_type_and_an_arrow_type(annotation: Any, iceberg: IcebergType, arrow: Any) -> None:
    assert type_of(annotation, "") == iceberg
    assert type_of(named(iceberg, lambda struct: None), "") == iceberg
    assert arrow_types.natural(iceberg) == arrow
    assert arrow_types.from_arrow(arrow, "") == iceberg


@pytest.mark.parametrize(
    ("annotation", "iceberg"),
    [
        (bool, "boolean"),
        (int, "long"),
        (float, "double"),
        (str, "string"),
        (bytes, "binary"),
        (datetime.date, "date"),
        (datetime.time, "time"),
        (datetime.datetime, "timestamptz"),
        (uuid.UUID, "uuid"),
        (UserId, "long"),
        (Annotated[int, "a note"], "long"),
        (Annotated[kl.Int32, Field(gt=0)], "int"),
        (Annotated[decimal.Decimal, kl.Decimal(10, 2)], "decimal(10, 2)"),
        (Annotated[bytes, kl.Fixed(3)], "fixed[3]"),
        (list[kl.Int32], "list<int>"),
        (list[int | None], "list<long>"),
        (dict[str, list[Optional[float]]], "map<string, list<double>>"),  # noqa: UP045
        (Spot, "struct<1: x: optional double, 2: y: optional float>"),
        (
            list[Address],
            "list<struct<2: street: optional string, 3: zip_code: optional int, 4: odd name: optional string>>",
        ),
    ],
    ids=without_places,
)
def test_an_annotation_is_a_type(annotation: Any, iceberg: str) -> None:
    assert str(type_of(annotation, "")) == iceberg


@pytest.mark.parametrize(
    ("annotation", "says"),
    [
        (decimal.Decimal, r"Column 'x' is a Decimal without its digits.*keylake.Decimal\(10, 2\)"),
        (list, "bare list"),
        (dict, "bare dict"),
        (set[int], r"set.*Use list\[X\]"),
        (tuple[int, int], "Use list"),
        (enum.Enum, "Enum"),
        (complex, "complex, which no column can have"),
        (int | str, "no column can have"),
        (list[complex], "complex"),
        (dict[str, decimal.Decimal], "Decimal without its digits"),
        (Tree, "Tree, which contains itself"),
        (Any, "Any"),
    ],
    ids=str,
)
def test_an_annotation_that_is_none(annotation: Any, says: str) -> None:
    with pytest.raises(kl.DefinitionError, match=says):
        type_of(annotation, "Column 'x'")


@pytest.mark.parametrize("digits", [(0, 0), (39, 0), (5, 6), (5, -1)])
def test_digits_of_a_decimal(digits: tuple[int, int]) -> None:
    with pytest.raises(kl.DefinitionError, match="1 to 38"):
        kl.Decimal(*digits)


def test_length_of_fixed() -> None:
    with pytest.raises(kl.DefinitionError, match="at least 1"):
        kl.Fixed(0)


def test_none_is_found_in_every_way_of_writing_it() -> None:
    for annotation in (int | None, Optional[int], None | int, Annotated[int | None, "note"]):  # noqa: UP045
        bare, optional = without_none(annotation)
        assert (unwrapped(bare)[0], optional) == (int, True)
    assert without_none(list[int | None]) == (list[int | None], False)
    assert without_none(int) == (int, False)


def test_checks_go_to_the_leaves_and_stay_what_they_are() -> None:
    assert checked(dict[str, list[int | None]]) == dict[kl.String, list[kl.Int64 | None]]
    once = checked(Annotated[int, "note"])
    assert checked(once) == once
    assert checked(kl.Timestamp) == kl.Timestamp


# --------------------------------------------------------------------------------------------------------------- Arrow

POINT = StructType(
    NestedField(3, "x", DoubleType(), required=True, doc="East."), NestedField(4, "y", UUIDType(), required=False)
)
NESTED: list[IcebergType] = [
    numbered(ListType(1, FixedType(3), element_required=True)),
    numbered(MapType(1, StringType(), 2, POINT, value_required=False)),
    numbered(ListType(1, ListType(2, POINT, element_required=False), element_required=False)),
]


@pytest.mark.parametrize("type_", NESTED, ids=str)
def test_nested_types_go_through_arrow(type_: IcebergType) -> None:
    assert arrow_types.from_arrow(arrow_types.natural(type_), "") == type_


@pytest.mark.parametrize(
    ("arrow", "iceberg"),
    [
        (pa.int8(), "int"),
        (pa.uint16(), "int"),
        (pa.uint32(), "long"),
        (pa.float16(), "float"),
        (pa.date64(), "date"),
        (pa.time32("ms"), "time"),
        (pa.time64("ns"), "time"),
        (pa.timestamp("s"), "timestamp"),
        (pa.timestamp("ns", tz="Asia/Tokyo"), "timestamptz"),
        (pa.large_string(), "string"),
        (pa.string_view(), "string"),
        (pa.json_(), "string"),
        (pa.large_binary(), "binary"),
        (pa.decimal32(5, 2), "decimal(5, 2)"),
        (pa.decimal256(38, 38), "decimal(38, 38)"),
        (pa.dictionary(pa.int8(), pa.string()), "string"),
        (pa.run_end_encoded(pa.int32(), pa.int64()), "long"),
        (pa.large_list(pa.int8()), "list<int>"),
        (pa.list_(pa.float32(), 3), "list<float>"),
        (pa.list_view(pa.int64()), "list<long>"),
    ],
    ids=str,
)
def test_an_arrow_type_is_the_type_that_holds_its_values(arrow: Any, iceberg: str) -> None:
    assert str(arrow_types.from_arrow(arrow, "")) == iceberg


@pytest.mark.parametrize(
    ("arrow", "says"),
    [
        (pa.uint64(), "int64"),
        (pa.null(), "give the column a type"),
        (pa.duration("s"), "microseconds"),
        (pa.month_day_nano_interval(), "microseconds"),
        (pa.decimal256(39, 0), "38 digits"),
        (pa.decimal128(5, -2), "38 digits"),
        (pa.bool8(), "bool8"),
        (pa.dense_union([pa.field("a", pa.int8())]), "Cast it"),
        (pa.struct([("a", pa.list_(pa.null()))]), "field 'a'"),
    ],
    ids=str,
)
def test_an_arrow_type_that_no_column_holds(arrow: Any, says: str) -> None:
    with pytest.raises(kl.DefinitionError, match=says):
        arrow_types.from_arrow(arrow, "Column 'x'")


def test_spark_sees_uuid_as_text_and_fixed_as_bytes() -> None:
    struct = StructType(
        NestedField(1, "u", UUIDType(), required=True), NestedField(2, "f", FixedType(3), required=False)
    )
    assert arrow_types.for_spark(MapType(1, UUIDType(), 2, ListType(3, struct, False), False)) == pa.map_(
        pa.string(),
        pa.list_(pa.field("element", pa.struct([pa.field("u", pa.string(), nullable=False), ("f", pa.binary())]))),
    )


@pytest.mark.parametrize("around", [lambda type_: type_, pa.list_, lambda type_: pa.struct([("x", type_)])])
def test_a_variant_of_spark_is_no_struct_of_binaries(around: Any) -> None:
    marked = pa.field("metadata", pa.binary(), nullable=False, metadata={b"variant": b"true"})
    variant = around(pa.struct([pa.field("value", pa.binary(), nullable=False), marked]))
    with pytest.raises(kl.DefinitionError, match=r"Column 'c'.* is a VARIANT, which no file of Iceberg v2 can hold"):
        arrow_types.from_arrow(variant, "Column 'c'")
