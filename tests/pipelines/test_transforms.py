"""Transforms of a pipeline: what they make of rows, and that nothing of a value is lost on the way."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
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

import keylake as kl
from keylake_pipelines.pipeline.transforms import Transformed
from keylake_pipelines.source.source import CHANGES
from keylake_pipelines.source.tables import SourceColumn, SourceSchema, SourceTable

ORDERS = SourceTable(("shop", "orders"))
COLUMNS: Mapping[str, IcebergType] = {"id": LongType(), "city": StringType(), "amount": DecimalType(38, 10)}


def schema(columns: Mapping[str, IcebergType] = COLUMNS, key: Sequence[str] = ("id",)) -> SourceSchema:
    return SourceSchema(ORDERS, tuple(SourceColumn(name, type_) for name, type_ in columns.items()), tuple(key))


def transformed(lake: kl.Lake, source: SourceSchema, *transforms: Mapping[str, Any]) -> Transformed:
    rules = [kl.Transform(source_table="shop.orders", **each) for each in transforms]
    return Transformed.of(lake._session, source, rules)


def run(lake: kl.Lake, plan: Transformed, *changes: tuple[str, Mapping[str, object]]) -> list[tuple[str, Any]]:
    rows = [
        {"table": "shop.orders", "op": op, "row": json.dumps(row), "version": 7, "partition": "p", "offset": number}
        for number, (op, row) in enumerate(changes)
    ]
    with lake._session.local_frame(pa.Table.from_pylist(rows, CHANGES)) as frame, lake._session.asking():
        found = plan.rows(frame).toArrow().cast(CHANGES).sort_by("offset").to_pylist()
    return [(row["op"], json.loads(row["row"])) for row in found]


def test_columns_are_computed_and_absent_ones_stay_absent(lake: kl.Lake) -> None:
    plan = transformed(lake, schema(), {"projection": r"\*, UPPER(city) AS city, amount * 2 AS twice, 1 AS one"})
    assert [(each.name, str(each.type)) for each in plan.schema.columns] == [
        ("id", "long"),
        ("city", "string"),
        ("amount", "decimal(38, 10)"),
        ("twice", "decimal(38, 8)"),
        ("one", "int"),
    ]
    assert plan.schema.key == ("id",)
    whole = {"id": 1, "city": "Oslo", "amount": "12345678901234567890.0123456789"}
    assert run(lake, plan, ("c", whole), ("u", {"id": 2, "city": None}), ("u", {"id": 3}), ("d", {"id": 4})) == [
        (
            "c",
            {"id": 1, "city": "OSLO", "amount": whole["amount"], "twice": "24691357802469135780.02469136", "one": 1},
        ),
        ("u", {"id": 2, "city": None, "one": 1}),
        ("u", {"id": 3, "one": 1}),
        ("d", {"id": 4, "one": 1}),
    ]


def test_a_row_that_leaves_the_filter_is_deleted(lake: kl.Lake) -> None:
    plan = transformed(lake, schema(), {"filter": "big AND city <> 'x'", "projection": "id, city, amount > 5 AS big"})
    rows = [("c", 9), ("c", 1), ("u", 1), ("r", 1), ("r", 9), ("u", None)]
    changes = [(op, {"id": number, "city": "a", "amount": amount}) for number, (op, amount) in enumerate(rows)]
    found = run(lake, plan, *changes, ("d", {"id": 6}))
    assert [(op, row["id"]) for op, row in found] == [("c", 0), ("d", 2), ("d", 3), ("r", 4), ("d", 5), ("d", 6)]
    with pytest.raises(kl.BadRows, match=r"A row of shop\.orders lacks columns that the filter is made of: amount\."):
        run(lake, plan, ("u", {"id": 1, "city": "a"}))


def test_of_several_transforms_the_first_whose_filter_fits_counts(lake: kl.Lake) -> None:
    plan = transformed(
        lake,
        schema(),
        {"filter": "city = 'a'", "projection": "id, 'first' AS kind"},
        {"filter": "id > 1", "projection": "id, 'second' AS kind"},
    )
    changes = [("u", {"id": 1, "city": "a"}), ("u", {"id": 2, "city": "a"}), ("u", {"id": 3, "city": "b"})]
    assert run(lake, plan, *changes, ("u", {"id": 1, "city": "b"}), ("d", {"id": 3})) == [
        ("u", {"id": 1, "kind": "first"}),
        ("u", {"id": 2, "kind": "first"}),
        ("u", {"id": 3, "kind": "second"}),
        ("d", {"id": 1, "kind": "second"}),
        ("d", {"id": 3, "kind": "second"}),
    ]


def test_deletes_are_rows_with_soft_delete_and_metadata_is_there(lake: kl.Lake) -> None:
    projection = "*, __data_event_type__ AS did, __schema_name__ || '.' || __table_name__ AS came_from"
    plan = transformed(lake, schema(), {"projection": projection, "converter_after_transform": "SOFT_DELETE"})
    assert run(lake, plan, ("c", {"id": 1}), ("u", {"id": 1}), ("d", {"id": 1})) == [
        ("c", {"id": 1, "did": "+I", "came_from": "shop.orders"}),
        ("u", {"id": 1, "did": "+U", "came_from": "shop.orders"}),
        ("u", {"id": 1, "did": "-D", "came_from": "shop.orders"}),
    ]


def test_the_key_may_be_another_one(lake: kl.Lake) -> None:
    plan = transformed(lake, schema(), {"projection": "*, id || city AS both", "primary_keys": ("both",)})
    assert plan.schema.key == ("both",)
    assert run(lake, plan, ("d", {"id": 1, "city": "a"})) == [("d", {"id": 1, "city": "a", "both": "1a"})]
    with pytest.raises(kl.BadRows, match=r"lacks columns that column 'both' is made of: city\."):
        run(lake, plan, ("d", {"id": 1}))
    assert transformed(lake, schema(), {"primary_keys": ("id", "city")}).rules == ()


def test_columns_may_have_the_names_of_ours(lake: kl.Lake) -> None:
    columns = {"row": LongType(), "op": StringType(), "version": StringType(), "a.b `c": StringType()}
    plan = transformed(lake, schema(columns, ("row",)), {"projection": "*, upper(op) AS `table`, `a.b ``c` AS at"})
    assert run(lake, plan, ("u", {"row": 1, "op": "x", "version": "v", "a.b `c": "y"})) == [
        ("u", {"row": 1, "op": "x", "version": "v", "a.b `c": "y", "table": "X", "at": "y"})
    ]


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ({"projection": "id, upper(city)"}, r"column without a name in its projection: upper\(city\)\. Name it"),
        ({"projection": "id, uper(city) AS c"}, r"The projection of shop\.orders is refused, uper\(city\) AS c: "),
        ({"filter": "ct > 1"}, r"The filter of shop\.orders is refused, ct > 1: "),
        ({"filter": "ct >"}, r"The filter of shop\.orders is refused, ct >: "),
        ({"filter": "id"}, r"The filter of shop\.orders is refused, id: "),
        ({"projection": "city"}, r"leaves out id, of which the key is made"),
        ({"projection": "id, NULL AS x"}, r"column 'x' has no type\. Give it one: CAST\(NULL AS STRING\) AS x\."),
        (
            {"projection": "id, DATE_FORMAT_TZ(a, b, c) AS x"},
            r"has DATE_FORMAT_TZ, which Spark has not: write date_form",
        ),
        ({"projection": "id, ARRAY[1] AS x"}, r"has ARRAY\[\.\.\.\], which Spark has not: write array\(\.\.\.\)\."),
        ({"projection": "id, REGEXP_EXTRACT(city, 'a') AS x"}, r"which is 0 in Flink CDC and 1 in Spark"),
        ({"projection": "id, INTERVAL 1 DAY AS x"}, r"x"),
    ],
)
def test_what_is_no_transform_is_refused(lake: kl.Lake, rule: Mapping[str, Any], sentence: str) -> None:
    with pytest.raises(kl.KeylakeError, match=sentence):
        transformed(lake, schema(), rule)


def test_no_value_is_changed_on_its_way(lake: kl.Lake) -> None:
    columns: dict[str, tuple[IcebergType, object]] = {
        "b": (BooleanType(), True),
        "i": (IntegerType(), -(2**31)),
        "l": (LongType(), 2**63 - 1),
        "f": (FloatType(), 0.1),
        "d": (DoubleType(), 1e308),
        "nan": (DoubleType(), "NaN"),
        "inf": (DoubleType(), "-Infinity"),
        "n": (DecimalType(38, 18), "12345678901234567890.123456789012345678"),
        "s": (StringType(), 'a "quoted" \\ text,\n{} 火'),
        "x": (BinaryType(), "AP8="),
        "day": (DateType(), "0001-01-01"),
        "t": (TimestampType(), "2024-03-10T02:30:00.123456"),
        "z": (TimestamptzType(), "9999-12-31T23:59:59.999999Z"),
        "time": (TimeType(), "23:59:59.999999"),
        "u": (UUIDType(), "3d3c68f7-f608-473f-b60c-b0c44ad4cc4e"),
        "list": (ListType(1, LongType(), element_required=False), [1, None, 2**53 + 1]),
        "map": (MapType(1, StringType(), 2, StringType(), value_required=False), {"a": None, "b": "c"}),
        "o": (
            StructType(NestedField(1, "p q", TimestampType()), NestedField(2, "r", StringType())),
            {"p q": "1969-12-31T23:59:59.000001", "r": None},
        ),
    }
    types: dict[str, IcebergType] = {"id": LongType()} | {name: type_ for name, (type_, _) in columns.items()}
    plan = transformed(lake, schema(types), {"projection": "*, 1 AS one"})
    row = {"id": 1} | {name: value for name, (_, value) in columns.items()}
    nulls = {"id": 2} | dict.fromkeys(columns)
    some = {"id": 3, "n": columns["n"][1], "t": columns["t"][1]}
    assert [found for _, found in run(lake, plan, ("u", row), ("u", nulls), ("u", some))] == [
        each | {"one": 1} for each in (row, nulls, some)
    ]
