"""TableSpec: the golden files that Java reads too, the ways to build one, and how two differ."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import (
    DateType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestamptzType,
)

from keylake import Column, ColumnGroup, DefinitionError, Latest, LatestNotNull, Max, Sum, TableSpec
from keylake.errors import KeylakeError, SchemaMismatch

CASES = Path(__file__).parents[1] / "cases" / "spec"
GOLDEN = {path.stem: json.loads(path.read_text()) for path in CASES.glob("*.json") if path.stem != "refused"}
REFUSED = {case["why"]: case for case in json.loads((CASES / "refused.json").read_text())}


def iceberg_schema(value: object) -> Schema:
    return Schema.model_validate(value)


# -------------------------------------------------------------------------------------------------------- golden files


@pytest.mark.parametrize("name", GOLDEN)
def test_the_full_form_comes_back(name: str) -> None:
    full = GOLDEN[name]["spec"]
    spec = TableSpec.from_json(json.dumps(full))
    assert json.loads(spec.to_json()) == full
    assert TableSpec.from_json(spec.to_json()) == spec
    assert hash(TableSpec.from_json(spec.to_json())) == hash(spec)


@pytest.mark.parametrize("name", GOLDEN)
def test_the_property_form_with_the_schema_is_the_spec(name: str) -> None:
    full, property_form = GOLDEN[name]["spec"], GOLDEN[name]["property"]
    spec = TableSpec.from_json(json.dumps(full))
    assert json.loads(spec.property_json()) == property_form
    schema = iceberg_schema(full["schema"])
    again = TableSpec.from_iceberg(schema, name=full["name"], spec=json.dumps(property_form), comment=full["comment"])
    assert again == spec


@pytest.mark.parametrize("name", GOLDEN)
def test_a_spec_goes_through_its_schemas(name: str) -> None:
    spec = TableSpec.from_json(json.dumps(GOLDEN[name]["spec"]))
    words: dict[str, Any] = {
        "name": spec.name,
        "comment": spec.comment,
        "key": spec.key,
        "ordering": spec.ordering,
        "versions": spec.versions,
        "buckets": spec.buckets,
        "bucket_by": spec.bucket_by,
        "partition_by": spec.partition_by,
        "reducers": {column.name: column.reducer for column in spec.columns},
        "column_groups": spec.column_groups,
        "groups": spec.groups,
        "hash": spec.hash,
    }
    assert TableSpec.from_arrow(spec.arrow_schema(), **words) == spec
    assert TableSpec.from_iceberg(spec.iceberg_schema(), **words) == spec


@pytest.mark.parametrize("why", REFUSED)
def test_a_definition_is_refused(why: str) -> None:
    case = REFUSED[why]
    with pytest.raises(KeylakeError) as raised:
        TableSpec.from_iceberg(iceberg_schema(case["schema"]), name="a.b", spec=json.dumps(case["property"]))
    assert raised.value.condition == f"KEYLAKE_{case['error']}"
    assert case["says"] in str(raised.value)
    assert str(raised.value).endswith((".", "?"))


def test_written_forms_are_sorted_and_compact() -> None:
    spec = TableSpec.from_json(json.dumps(GOLDEN["names"]["spec"]))
    for text in (spec.to_json(), spec.property_json()):
        assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


# ------------------------------------------------------------------------------------------------------- JSON, refused


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "no JSON"),
        ("[]", "no JSON object"),
        ('{"spec_version": true}', "spec_version True"),
        ('{"spec_version": 0}', "spec_version 0"),
        ('{"spec_version": 1, "spec_version": 1}', "'spec_version' twice"),
        ('{"spec_version": 1}', "lacks the key"),
    ],
)
def test_a_text_that_is_no_spec(text: str, says: str) -> None:
    with pytest.raises(DefinitionError, match=says):
        TableSpec.from_json(text)


def changed(**members: object) -> str:
    return json.dumps({**GOLDEN["compound_key"]["spec"], **members})


def with_field(**members: object) -> str:
    schema = json.loads(json.dumps(GOLDEN["compound_key"]["spec"]["schema"]))
    schema["fields"][-1].update(members)
    return changed(schema=schema)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (changed(name=7), "7 as 'name'"),
        (changed(name="profiles"), "no namespace"),
        (changed(name="a..b"), "empty part"),
        (changed(name="a.`b"), "does not close"),
        (changed(zork=1), "'zork'"),
        (changed(schema={"type": "struct"}), "schema"),
        (changed(schema=7), "7 as 'schema'"),
        (with_field(type="zork"), "zork"),
        (with_field(type="decimal(39, 0)"), "38"),
        (with_field(type="unknown"), "unknown"),
        (with_field(required=True), "'spend' is required"),
        (changed(key=["day", "user_id", "clicks"]), "identifier fields"),
    ],
)
def test_a_full_form_that_is_refused(text: str, says: str) -> None:
    with pytest.raises(DefinitionError, match=says.replace("(", r"\(")):
        TableSpec.from_json(text)


def test_a_key_column_that_may_be_null() -> None:
    schema = json.loads(json.dumps(GOLDEN["compound_key"]["spec"]["schema"]))
    schema["fields"][0]["required"] = False
    del schema["identifier-field-ids"]
    with pytest.raises(DefinitionError, match="'user_id' may be null"):
        TableSpec.from_json(changed(schema=schema))


# ------------------------------------------------------------------------------------------------------------ building

SCHEMA = pa.schema(
    [
        pa.field("user_id", pa.int64(), metadata={b"doc": b"Who."}),
        pa.field("day", pa.date32()),
        pa.field("at", pa.timestamp("ns", tz="Europe/Berlin")),
        pa.field("clicks", pa.int16(), nullable=False),
        pa.field("page", pa.dictionary(pa.int32(), pa.large_string())),
    ]
)


def test_defaults() -> None:
    spec = TableSpec.from_arrow(SCHEMA, name="a.b", key=["user_id", "day"])
    assert (spec.versions, spec.ordering, spec.buckets) == ("commit", None, 16)
    assert (spec.bucket_by, spec.partition_by, spec.column_groups) == (("user_id", "day"), (), ())
    assert spec.comment == ""
    assert spec.value_columns == ("at", "clicks", "page")
    assert all(column.reducer == Latest() for column in spec.columns)
    assert TableSpec.from_arrow(SCHEMA, name="a.b", key="user_id", ordering="at").versions == "ordering"


def test_columns_of_an_arrow_schema() -> None:
    spec = TableSpec.from_arrow(SCHEMA, name="a.b", key=["user_id", "day"])
    assert [str(column.type) for column in spec.columns] == ["long", "date", "timestamptz", "int", "string"]
    assert [column.required for column in spec.columns] == [True, True, False, False, False]
    assert spec.column("user_id").doc == "Who."
    assert spec.arrow_schema().field("user_id").metadata == {b"doc": b"Who."}
    assert spec.arrow_schema().field("at").type == pa.timestamp("us", tz="UTC")
    assert not spec.arrow_schema().field("day").nullable


def test_ids_are_fresh_and_mean_nothing() -> None:
    def schema(first: int) -> Schema:
        point = StructType(NestedField(first + 9, "x", LongType(), required=False))
        return Schema(
            NestedField(first, "k", LongType(), required=True),
            NestedField(first + 1, "tags", ListType(first + 5, StringType(), False), required=False),
            NestedField(
                first + 2, "points", MapType(first + 6, IntegerType(), first + 7, point, False), required=False
            ),
        )

    one, other = (TableSpec.from_iceberg(schema(first), name="a.b", key="k") for first in (1, 100))
    assert one == other
    written = one.iceberg_schema()
    assert written.identifier_field_ids == [1]
    assert written.find_field("tags.element").field_id == 4
    assert [written.find_field(f"points.{name}").field_id for name in ("key", "value", "value.x")] == [5, 6, 7]


def test_hidden_columns_are_left_out() -> None:
    spec = TableSpec.from_arrow(SCHEMA, name="a.b", key=["user_id", "day"])
    hidden = StructType(NestedField(9, "version", LongType(), required=False))
    physical = Schema(
        *spec.iceberg_schema().fields,
        NestedField(7, "_bucket", IntegerType(), required=True),
        NestedField(8, "_merge_info", hidden, required=False),
    )
    assert TableSpec.from_iceberg(physical, name="a.b", spec=spec.property_json()) == spec
    with pytest.raises(DefinitionError, match="_bucket"):
        TableSpec.from_iceberg(physical, name="a.b", key=["user_id", "day"])


def test_groups_and_reducers() -> None:
    groups = {"late": ["page"], "early": ("clicks", "at")}
    reducers = {"day": Latest(), "page": LatestNotNull()}
    spec = TableSpec.from_arrow(SCHEMA, name="a.b", key="user_id", column_groups=groups, reducers=reducers)
    assert spec.column_groups == (ColumnGroup("early", ("clicks", "at")), ColumnGroup("late", ("page",)))
    assert "Latest()" not in spec.property_json()
    assert json.loads(spec.property_json())["reducers"] == {"page": {"type": "LatestNotNull"}}


def test_a_word_that_is_no_word() -> None:
    with pytest.raises(DefinitionError, match=r"'bukets'. Did you mean 'buckets'"):
        TableSpec.from_arrow(SCHEMA, name="a.b", key="user_id", bukets=3)  # type: ignore[call-arg]


def test_a_name_has_one_spelling() -> None:
    spelled = [TableSpec.from_arrow(SCHEMA, name=name, key="user_id").name for name in ("`a`.b", "a.`b`", "a.b")]
    assert spelled == ["a.b"] * 3
    odd = ("a.b c", "x.`y.z`", "a.`back``tick`", "a.1", "große.Straße")
    names = [TableSpec.from_arrow(SCHEMA, name=name, key="user_id").name for name in odd]
    assert names == ["a.`b c`", "x.`y.z`", "a.`back``tick`", "a.`1`", "`große`.`Straße`"]


# --------------------------------------------------------------------------------------------------------- differences


def test_names_of_columns_are_found_whatever_their_case() -> None:
    """A table has no two names that differ only in case, so one of a definition names one column."""
    schema = pa.schema([("userId", pa.int64()), ("Day", pa.date32()), ("At", pa.int64()), ("N", pa.int64())])

    def of(user: str, day: str, at: str, n: str) -> TableSpec:
        words: Any = {
            "key": [user, day],
            "ordering": at,
            "bucket_by": user,
            "partition_by": day,
            "reducers": {n: Sum()},
        }
        return TableSpec.from_arrow(schema, name="a.b", **words)

    other = of("USERID", "day", "at", "n")
    assert other == of("userId", "Day", "At", "N")
    assert [column.required for column in other.columns] == [True, True, False, False]
    groups = TableSpec.from_arrow(schema, name="a.b", key="userid", column_groups={"g": ["at", "n"]}).column_groups
    assert groups[0].columns == ("At", "N")
    with pytest.raises(DefinitionError, match="'n' differs only in case from 'N'"):
        TableSpec.from_arrow(schema, name="a.b", key="userId", reducers={"N": Sum(), "n": Max()})


def test_what_differs() -> None:
    one = TableSpec.from_arrow(SCHEMA, name="a.b", key="user_id", comment="x", reducers={"page": LatestNotNull()})
    other = TableSpec.from_arrow(
        SCHEMA.remove(3).append(pa.field("spend", pa.float64())),
        name="a.c",
        key=["user_id", "day"],
        ordering="at",
        buckets=8,
        column_groups={"g": ["spend"]},
    )
    assert one.differences(one) == ()
    assert one.differences(other) == (
        "column clicks: int here, missing there",
        "column page: string, LatestNotNull here, string there",
        "column spend: missing here, double there",
        "key: user_id here, user_id, day there",
        "versions: commit here, ordering there",
        "ordering: None here, at there",
        "buckets: 16 here, 8 there",
        "bucket_by: user_id here, user_id, day there",
        "column_groups: {} here, {'g': ['spend']} there",
    )


def test_the_order_of_columns_is_no_difference() -> None:
    fields = list(SCHEMA)
    one, other = (
        TableSpec.from_arrow(pa.schema(order), name="a.b", key="user_id") for order in (fields, reversed(fields))
    )
    assert one != other
    assert one.differences(other) == ()


# ------------------------------------------------------------------------------------------------------------- display


def test_how_a_spec_shows_itself() -> None:
    spec = TableSpec.from_json(json.dumps(GOLDEN["partitioned"]["spec"]))
    assert str(spec).splitlines() == [
        "features.spend",
        "  key         day, tenant, user_id",
        "  versions    explicit",
        "  buckets     8 by user_id",
        "  partitions  day, tenant",
        "  day         date, key",
        "  tenant      string, key",
        "  user_id     long, key",
        "  spend       decimal(12, 2)",
    ]
    html = TableSpec.from_json(json.dumps(GOLDEN["names"]["spec"]))._repr_html_()
    assert "<td>quote&#x27;d &quot;twice&quot;</td>" in html
    assert html.count("<tr>") == 7


def test_a_hint_for_a_name() -> None:
    spec = TableSpec.from_arrow(SCHEMA, name="a.b", key="user_id")
    assert spec.hint("Clicks") == "Did you mean 'clicks'?"
    assert spec.hint("zork") == "There are: user_id, day, at, clicks, page."
    with pytest.raises(SchemaMismatch, match="has no column 'zork'"):
        spec.column("zork")


def test_types_of_keys() -> None:
    types = [field["type"] for field in GOLDEN["key_types"]["spec"]["schema"]["fields"][:-1]]
    assert types == [
        "boolean", "int", "long", "date", "timestamp", "timestamptz", "string", "binary", "decimal(38, 10)", "uuid",
    ]  # fmt: skip
    schema = Schema(NestedField(1, "k", DateType()), NestedField(2, "at", TimestamptzType()))
    assert TableSpec.from_iceberg(schema, name="a.b", key="k", ordering="at").column("k").required


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ({"buckets": "many"}, "'many'. Use a whole number"),
        ({"buckets": 1.5}, "1.5. Use a whole number"),
        ({"buckets": True}, "True. Use a whole number"),
        ({"buckets": None}, "None. Use a whole number"),
        ({"bucket_by": 5}, "5. Use the name"),
        ({"versions": 5}, "5. Use 'ordering'"),
        ({"ordering": 5}, "5. Use the name"),
        ({"hash": "crc32", "groups": "x"}, "'x'. Use a whole number"),
        ({"groups": 64, "hash": 5}, "5. Use the name"),
        ({"reducers": {"clicks": "Latest"}}, "{'clicks': 'Latest'}. Use a mapping"),
        ({"reducers": {"clicks": Latest}}, "Use a mapping"),
        ({"partition_by": 5}, "5. Use the name"),
        ({"name": 5}, "5. Use text"),
        ({"key": 5}, "5. Use the name"),
        ({"key": ["user_id", 5]}, "['user_id', 5]. Use the name"),
        ({"column_groups": {"g": 5}}, "{'g': 5}. Use a mapping"),
        ({"comment": 5}, "5. Use text"),
    ],
    ids=str,
)
def test_a_word_of_a_wrong_type(words: dict[str, Any], value: str) -> None:
    with pytest.raises(DefinitionError, match=re.escape(f"{next(reversed(words))} is ")) as raised:
        TableSpec.from_arrow(SCHEMA, **{"name": "a.b", "key": "user_id", **words})
    assert value in str(raised.value)


@pytest.mark.parametrize("word", ["name", "key"])
def test_a_word_that_is_missing(word: str) -> None:
    words: dict[str, Any] = {"name": "a.b", "key": "user_id"}
    words.pop(word)
    with pytest.raises(DefinitionError, match=f"has no {word}"):
        TableSpec.from_arrow(SCHEMA, **words)


def test_a_schema_of_a_wrong_type() -> None:
    with pytest.raises(DefinitionError, match=r"schema is \['a'\]. Use a pyarrow.Schema"):
        TableSpec.from_arrow(["a"], name="a.b", key="a")
    with pytest.raises(DefinitionError, match=r"schema is 5. Use a pyiceberg Schema"):
        TableSpec.from_iceberg(5, name="a.b", key="a")  # type: ignore[call-overload]


def test_a_spec_of_wrong_types() -> None:
    """The value itself refuses them, too, whoever makes it."""
    spec = TableSpec.from_arrow(SCHEMA, name="a.b", key="user_id")
    for word, value in {"buckets": 1.5, "key": 5, "columns": 5, "comment": None, "column_groups": [5]}.items():
        with pytest.raises(DefinitionError, match=f"{word} is "):
            replace(spec, **{word: value})  # type: ignore[arg-type]


def test_parts_of_wrong_types() -> None:
    with pytest.raises(DefinitionError, match=r"The type of column 'a' is 'long'. Use an Iceberg type"):
        Column("a", "long")  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match=r"The name of a column is 5. Use text"):
        Column(5, LongType())  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match=r"columns of column group 'g' is 'abc'. Use a list"):
        ColumnGroup("g", "abc")  # type: ignore[arg-type]


def test_a_list_without_an_element_is_refused() -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("l", pa.list_(pa.int64()))])
    spec = json.loads(TableSpec.from_arrow(schema, name="a.b", key="id").to_json())
    del spec["schema"]["fields"][1]["type"]["element"]
    with pytest.raises(DefinitionError, match="a type has no 'element'"):
        TableSpec.from_json(json.dumps(spec))
