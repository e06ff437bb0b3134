"""What `kl.JsonMapping` accepts, and the types that kinds of values give to new columns."""

from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.types import IcebergType, ListType, LongType, StringType

import keylake as kl
from keylake import Float64
from keylake._json.batch import MOST_FIELDS, Batch
from keylake._json.kinds import column_type
from keylake._json.mapping import field_path, payload_column
from keylake._json.plan import Plan, SeenField

ANY: Any = kl.JsonMapping

WRONG: dict[str, tuple[dict[str, object], str]] = {
    "include": ({"include": 5}, "include is 5. Use a name"),
    "a name of include": ({"include": ["a", 5]}, "A name of include is 5. Use text"),
    "exclude": ({"exclude": {1: 2}}, "exclude is {1: 2}"),
    "a field on both lists": ({"include": ["a"], "exclude": ["a"]}, "exclude has the field 'a'"),
    "a renamed field that is left out": ({"rename": {"a": "b"}, "exclude": "a"}, "exclude has the field 'a'"),
    "rename": ({"rename": ["a"]}, r"rename is \['a'\]. Use a mapping"),
    "a renamed field": ({"rename": {5: "a"}}, "A name in rename is 5"),
    "a new name": ({"rename": {"a": None}}, "rename of 'a' is None"),
    "a path": ({"rename": {"a..b": "c"}}, "rename names the field 'a..b'"),
    "a backtick": ({"rename": {"`a": "c"}}, "rename names the field '`a'"),
    "two fields of one column": ({"rename": {"a": "x", "b": "X"}}, "column 'x' and 'X'"),
    "the rescue column as another": ({"rename": {"a": "_Rescued"}}, "'_Rescued' and '_rescued'"),
    "a type of the rescue column": ({"types": {"_rescued": str}}, "'_rescued' twice"),
    "types": ({"types": "a"}, "types is 'a'"),
    "a type": ({"types": {"a": object}}, "types: column 'a'"),
    "most_new_columns": ({"most_new_columns": "9"}, "most_new_columns is '9'"),
    "rescue": ({"rescue": None}, "rescue is None"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_mapping(what: str) -> None:
    words, sentence = WRONG[what]
    with pytest.raises(kl.DefinitionError, match=sentence):
        ANY(**words)


def test_a_mapping_is_a_value() -> None:
    names = {"a": "b"}
    mapping = kl.JsonMapping(include=["x"], rename=names, types={"b": Float64})
    names["c"] = "d"
    assert mapping == kl.JsonMapping(include=("x",), rename={"a": "b"}, types={"b": Float64})
    assert hash(mapping) == hash(kl.JsonMapping(include=("x",), rename={"a": "b"}, types={"b": Float64}))
    assert mapping.listed == ("x", "a")
    with pytest.raises(AttributeError):
        mapping.rescue = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        mapping.rename["c"] = "d"  # type: ignore[index]


def test_paths() -> None:
    assert field_path("a") == ("a",)
    assert field_path("a.b c.d") == ("a", "b c", "d")
    assert field_path("`a.b`.`c``d`") == ("a.b", "c`d")
    for wrong in ("", ".", "a.", ".a", "a`b", "``"):
        with pytest.raises(kl.DefinitionError):
            field_path(wrong)
    with pytest.raises(kl.DefinitionError, match="Did you mean 'payload'"):
        payload_column("payloads", ("id", "payload"))


TYPES: dict[str, tuple[list[str], str | None, str | None]] = {
    "null only": ([], None, None),
    "whole numbers": (["BIGINT"], None, "long"),
    "larger whole numbers": (["BIGINT", "DECIMAL(20,0)"], None, "decimal(38, 0)"),
    "a point": (["DECIMAL(1,0)"], None, "double"),
    "all numbers": (["BIGINT", "DECIMAL(20,0)", "DECIMAL(3,1)", "DOUBLE"], None, "double"),
    "text": (["STRING"], None, "string"),
    "text and numbers": (["STRING", "BIGINT"], None, "string"),
    "truth and numbers": (["BOOLEAN", "BIGINT"], None, "string"),
    "dates": (["DATE"], None, "date"),
    "dates and timestamps": (["DATE", "TIMESTAMP"], None, "string"),
    "a kind of later": (["INTERVAL"], None, "string"),
    "lists": (["ARRAY"], "ARRAY<DECIMAL(3,1)>", "list<double>"),
    "mixed lists": (["ARRAY"], "ARRAY<VARIANT>", "list<string>"),
    "empty lists": (["ARRAY"], "ARRAY<VOID>", None),
    "empty objects": (["OBJECT"], "OBJECT<>", None),
    "lists and objects": (["ARRAY", "OBJECT"], "VARIANT", "string"),
    "lists and text": (["ARRAY", "STRING"], "ARRAY<BIGINT>", "string"),
    "objects": (["OBJECT"], "OBJECT<a: BIGINT, `b c`: ARRAY<OBJECT<d: STRING>>, e: VOID>", "a b c"),
    "members that differ in case": (["OBJECT"], "OBJECT<A: BIGINT, a: BIGINT>", "string"),
    "a member with a dot": (["OBJECT"], "OBJECT<`a.b`: BIGINT>", "string"),
    "a member without a name": (["OBJECT"], "OBJECT<``: BIGINT>", "string"),
}


@pytest.mark.parametrize("what", TYPES)
def test_types_of_new_columns(what: str) -> None:
    kinds, nested, expected = TYPES[what]
    found = column_type(kinds, nested)
    if expected == "a b c":
        assert str(found) == "struct<1: a: optional long, 2: b c: optional list<struct<4: d: optional string>>>"
    else:
        assert (None if found is None else str(found)) == expected


SPEC = kl.TableSpec.from_arrow(
    pa.schema([("id", pa.int64()), ("at", pa.int64()), ("n", pa.int32()), ("m", pa.int32())]),
    name="a.b",
    key="id",
    ordering="at",
    column_groups={"pair": ["n", "m"]},
)


def _plan(*names: str, mapping: kl.JsonMapping | None = None) -> Plan:
    seen = [SeenField((name,), ("BIGINT",), None) for name in names]
    return Plan.of(SPEC, mapping or kl.JsonMapping(), ["id"], seen)


def test_what_becomes_of_fields() -> None:
    plan = _plan("ID", "at", "M", "n", "x", "X", "_file", "id_bucket", "pair", "a.b", "_RESCUED", "")
    assert [(target.column, target.fields) for target in plan.updates] == [
        ("m", (("M",),)), ("X", (("X",), ("x",))), ("n", (("n",),)),
    ]  # fmt: skip
    assert [target.column for target in plan.repeated] == ["id"]
    assert {path[0] for path in plan.refused} == {"at", "_file", "id_bucket", "pair", "a.b", "_RESCUED", ""}
    assert plan.added == {"X": LongType()}
    assert list(plan.additions(is_rescued=True)) == ["X", "_rescued"]
    assert list(_plan("n", "x").refused.values()) == [
        "the columns of group 'pair' are written together, and not all of them are there"
    ]


def test_what_a_mapping_says_of_columns() -> None:
    plan = _plan("x", mapping=kl.JsonMapping(types={"X": list[str]}))
    added: IcebergType = plan.added["x"]
    assert added == ListType(1, StringType(), False)
    with pytest.raises(kl.BadRows, match=r"need 2 new columns \('x', 'y'\), and most_new_columns is 1"):
        _plan("x", "y", mapping=kl.JsonMapping(most_new_columns=1))
    with pytest.raises(kl.DefinitionError, match="belong to keylake"):
        _plan("x", mapping=kl.JsonMapping(rename={"x": "_bucket"}))
    with pytest.raises(kl.DefinitionError, match=r"'n' of a\.b is int, and the mapping says long"):
        Plan(SPEC, kl.JsonMapping(types={"N": int})).check_types()
    with pytest.raises(kl.DefinitionError, match=r"'n' of a\.b is int, so it cannot take"):
        Plan(SPEC, kl.JsonMapping(rescue="n")).check_types()


def test_payloads_of_too_many_fields() -> None:
    batch = Batch(ANY, ("id",), None, is_text=False, mapping=kl.JsonMapping(), mark="")
    rows: list[dict[str, object]] = [{"path": -1, "name": "a", "kinds": ["BIGINT"], "nested": None}]
    assert batch.seen(rows) == [SeenField(("a",), ("BIGINT",), None)]
    with pytest.raises(kl.BadRows, match="more than 10,000 different fields"):
        batch.seen(rows * (MOST_FIELDS + 1))
