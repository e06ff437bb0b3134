"""Buckets: the golden file that Java reads too, and Iceberg's own transform as a second opinion."""

import datetime
import decimal
import json
import uuid
from functools import partial
from pathlib import Path

import pytest
from pyiceberg.transforms import BucketTransform
from pyiceberg.utils.datetime import date_to_days, datetime_to_micros

from keylake import BadRows, DefinitionError, TableSpec, kv_key
from keylake._definition.bucketing import bucket_of, is_hidden
from unit.key_cases import read, schema

CASES = json.loads((Path(__file__).parents[1] / "cases" / "buckets.json").read_text())


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
    with pytest.raises(DefinitionError, match=r"The key of a\.b is k1, k2, k3, and 1 values were given"):
        spec.bucket_of(7)


def test_a_decimal_is_hashed_at_the_scale_of_its_column() -> None:
    spec = TableSpec.from_iceberg(schema(["decimal(9, 2)"]), name="a.b", key="k1", buckets=1000)
    assert not spec.has_bucket_column
    assert {spec.bucket_of(value) for value in (decimal.Decimal("14.2"), decimal.Decimal("14.20"))} == {59}


def test_a_value_that_is_no_key_has_no_bucket() -> None:
    spec = TableSpec.from_iceberg(schema(["string"]), name="a.b", key="k1")
    with pytest.raises(BadRows, match=r"Column 'k1': 1\.5 \(double\) does not fit string"):
        spec.bucket_of(1.5)


# Values as people have them, and the value that the table holds for each.
SPELLINGS: dict[str, list[tuple[object, object]]] = {
    "int": [(7.0, 7), (decimal.Decimal("7.00"), 7)],
    "long": [(7.0, 7)],
    "date": [(datetime.datetime(2026, 1, 1), datetime.date(2026, 1, 1))],
    "timestamptz": [
        (
            datetime.datetime(2026, 1, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
            datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
        )
    ],
    "decimal(9, 2)": [(decimal.Decimal("14.2"), decimal.Decimal("14.20")), (14, decimal.Decimal("14.00"))],
    "binary": [(bytearray(b"a"), b"a")],
    "uuid": [("00000000-0000-0000-0000-00000000ABCD", uuid.UUID(int=0xABCD))],
}
MISFITS: dict[str, object] = {
    "boolean": 1,
    "int": 2**31,
    "long": 7.5,
    "date": datetime.datetime(2026, 1, 1, 12),
    "timestamp": datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
    "timestamptz": datetime.datetime(2026, 1, 1),
    "string": 5,
    "binary": "text",
    "decimal(9, 2)": decimal.Decimal("14.205"),
    "uuid": "no uuid",
}


def spec_of(type_: str) -> TableSpec:
    return TableSpec.from_iceberg(schema([type_]), name="a.b", key="k1", buckets=1000, groups=100_000, hash="crc32")


@pytest.mark.parametrize(("type_", "given", "held"), [(t, *pair) for t, pairs in SPELLINGS.items() for pair in pairs])
def test_a_key_is_fitted_before_it_is_hashed(type_: str, given: object, held: object) -> None:
    spec, plain = spec_of(type_), TableSpec.from_iceberg(schema([type_]), name="a.b", key="k1", buckets=1000)
    assert spec.fitted_key(given) == (held,)
    assert plain.bucket_of(given) == plain.bucket_of(held)
    assert spec.group_of(given) == spec.group_of(held)
    assert kv_key(spec, given) == kv_key(spec, held)


@pytest.mark.parametrize("type_", MISFITS)
def test_a_key_that_does_not_fit_is_refused(type_: str) -> None:
    spec, value = spec_of(type_), MISFITS[type_]
    for place_of in (spec.bucket_of, spec.group_of, partial(kv_key, spec)):
        for wrong in (value, None):
            with pytest.raises(BadRows, match="'k1'"):
                place_of(wrong)
