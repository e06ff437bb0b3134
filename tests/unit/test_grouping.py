"""Groups of keys: the golden file that Java reads too, with values that the hashes' authors published."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from pyiceberg.types import DecimalType, StringType

from keylake import DefinitionError, TableSpec, Unsupported
from keylake._definition.grouping import group_of
from unit.key_cases import read, schema

CASES = json.loads((Path(__file__).parents[1] / "cases" / "groups.json").read_text())
PRIMES = (8191, 999_983)


@pytest.mark.parametrize("case", CASES["published"], ids=str)
def test_a_hash_is_its_authors(case: dict[str, str]) -> None:
    value = int(case["value"], 16)
    if case["hash"] == "redis_slot":
        assert group_of([StringType()], [case["text"]], 16384, "redis_slot") == value
        assert group_of([StringType()], [case["text"]], 1024, "redis_slot") == value // 16
        return
    for groups in PRIMES:
        assert group_of([StringType()], [case["text"]], groups, case["hash"]) == value % groups


@pytest.mark.parametrize("case", CASES["keys"], ids=str)
def test_a_key_falls_into_its_group(case: dict[str, object]) -> None:
    types, values = read(case)  # type: ignore[arg-type]
    names = [f"k{n}" for n in range(1, len(types) + 1)]
    spec = TableSpec.from_iceberg(
        schema(case["types"]),  # type: ignore[arg-type]
        name="a.b",
        key=names,
        buckets=case["buckets"],  # type: ignore[arg-type]
        groups=case["groups"],  # type: ignore[arg-type]
        hash=case["hash"],  # type: ignore[arg-type]
    )
    assert spec.has_bucket_column
    assert spec.group_of(*values) == case["group"]
    assert spec.bucket_of(*values) == case["bucket"]


def test_a_zero_has_no_sign_and_a_decimal_the_scale_of_its_column() -> None:
    groups = {group_of([DecimalType(9, 2)], [value], 8192, "crc32") for value in (0, Decimal("-0.0"), Decimal("0.00"))}
    assert groups == {group_of([StringType()], ["0.00"], 8192, "crc32")}


def test_a_class_of_ones_own_is_the_servers_business() -> None:
    spec = TableSpec.from_iceberg(schema(["long"]), name="a.b", key="k1", groups=64, hash="com.example.Slots")
    with pytest.raises(Unsupported, match=r"Java class com\.example\.Slots.*SELECT \*, _group"):
        spec.bucket_of(7)


def test_a_table_without_groups_has_no_group_of_a_key() -> None:
    spec = TableSpec.from_iceberg(schema(["long"]), name="a.b", key="k1")
    with pytest.raises(DefinitionError, match="has no groups"):
        spec.group_of(7)


def test_a_value_that_is_no_key_has_no_group() -> None:
    with pytest.raises(TypeError, match=r"1\.5 cannot be part of a key"):
        group_of([StringType()], [1.5], 64, "crc32")
