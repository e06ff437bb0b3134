"""Buckets: the golden file that Java reads too, and Iceberg's own transform as a second opinion."""

import datetime
import decimal
import json
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform
from pyiceberg.types import IcebergType
from pyiceberg.utils.datetime import date_to_days, datetime_to_micros

from keylake import TableSpec
from keylake._definition.bucketing import bucket_of, is_hidden

CASES = json.loads((Path(__file__).parents[1] / "cases" / "buckets.json").read_text())

READ: dict[str, Callable[[str], object]] = {
    "date": datetime.date.fromisoformat,
    "timestamp": datetime.datetime.fromisoformat,
    "timestamptz": datetime.datetime.fromisoformat,
    "decimal": decimal.Decimal,
    "binary": bytes.fromhex,
    "uuid": uuid.UUID,
}


def schema(types: list[str]) -> Schema:
    fields = [{"id": n, "name": f"k{n}", "required": True, "type": type_} for n, type_ in enumerate(types, start=1)]
    return Schema.model_validate({"type": "struct", "fields": fields})


def read(case: dict[str, list[str]]) -> tuple[list[IcebergType], list[object]]:
    values = [
        READ[type_.split("(")[0]](value) if type_.split("(")[0] in READ else value
        for type_, value in zip(case["types"], case["values"], strict=True)
    ]
    return [field.field_type for field in schema(case["types"]).fields], values


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_key_lies_in_its_bucket(case: dict[str, object]) -> None:
    types, values = read(case)  # type: ignore[arg-type]
    assert bucket_of(types, values, case["buckets"]) == case["bucket"]  # type: ignore[arg-type]


@pytest.mark.parametrize("case", [case for case in CASES if not is_hidden(read(case)[0])], ids=str)
def test_one_column_is_icebergs_bucket(case: dict[str, object]) -> None:
    (type_,), (value,) = read(case)  # type: ignore[arg-type]
    if isinstance(value, datetime.datetime):
        value = datetime_to_micros(value)
    elif isinstance(value, datetime.date):
        value = date_to_days(value)
    assert BucketTransform(case["buckets"]).transform(type_)(value) == case["bucket"]  # type: ignore[arg-type]


def test_a_spec_knows_the_bucket_of_a_key() -> None:
    spec = TableSpec.from_iceberg(
        schema(["long", "date", "string"]), name="a.b", key=["k1", "k2", "k3"], bucket_by=["k1", "k2"], buckets=64
    )
    assert spec.has_bucket_column
    assert spec.bucket_of(7, datetime.date(2026, 1, 1), "whatever") == 32
    with pytest.raises(ValueError, match="zip"):
        spec.bucket_of(7)


def test_a_decimal_is_hashed_at_the_scale_of_its_column() -> None:
    spec = TableSpec.from_iceberg(schema(["decimal(9, 2)"]), name="a.b", key="k1", buckets=1000)
    assert not spec.has_bucket_column
    assert {spec.bucket_of(value) for value in (decimal.Decimal("14.2"), decimal.Decimal("14.20"))} == {59}


def test_a_value_that_is_no_key() -> None:
    spec = TableSpec.from_iceberg(schema(["string"]), name="a.b", key="k1")
    with pytest.raises(TypeError, match=r"1\.5 cannot be part of a key"):
        spec.bucket_of(1.5)
