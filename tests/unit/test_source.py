"""Definitions as Python source: the class that the source makes has an equal definition."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.types import (
    DecimalType,
    DoubleType,
    FixedType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
)

import keylake as kl
from keylake._definition.models import VERBS, Model
from keylake.schema import model_of

CASES = Path(__file__).parents[1] / "cases" / "spec"
GOLDEN = {path.stem: json.loads(path.read_text()) for path in CASES.glob("*.json") if path.stem != "refused"}
ODD = (
    "kl",
    "int",
    "list",
    "Row",
    "class",
    "json",
    "a b",
    "a_b",
    "_x",
    "1st",
    "größe",
    "ﬁx",
    "model_dump_x",
    "from_row",
    '"',
)
NAMES = st.sampled_from(ODD)
TEXTS = st.text(st.sampled_from("a \\\n\"'\tö\r"), max_size=12)
SIMPLE: tuple[IcebergType, ...] = (
    LongType(), StringType(), IntegerType(), DoubleType(), TimestampType(), DecimalType(9, 2), FixedType(3)
)  # fmt: skip


def nested(inner: st.SearchStrategy[IcebergType]) -> st.SearchStrategy[IcebergType]:
    fields = st.lists(
        st.tuples(NAMES, inner, st.booleans(), TEXTS), min_size=1, max_size=3, unique_by=lambda each: each[0]
    )
    structs = fields.map(
        lambda all_: StructType(*(NestedField(0, n, t, required=r, doc=d or None) for n, t, r, d in all_))
    )
    lists = st.tuples(inner, st.booleans()).map(lambda each: ListType(0, *each))
    maps = st.tuples(inner, st.booleans()).map(lambda each: MapType(0, StringType(), 0, *each))
    return structs | lists | maps


TYPES = st.recursive(st.sampled_from(SIMPLE), nested, max_leaves=4)


def definition_of(source: str) -> kl.TableSpec:
    made: dict[str, Any] = {"__name__": "made"}
    exec(compile(source, "made.py", "exec"), made)
    tables = [each for each in made.values() if isinstance(each, type) and issubclass(each, kl.Table)]
    return tables[-1].table_spec()


def in_order(spec: kl.TableSpec) -> kl.TableSpec:
    """The spec with the columns of each group in the order of the table."""
    groups = [
        replace(group, columns=tuple(name for name in spec.column_names if name in group.columns))
        for group in spec.column_groups
    ]
    return replace(spec, column_groups=tuple(groups))


@pytest.mark.parametrize("name", GOLDEN)
def test_the_source_of_a_stored_definition_gives_it_again(name: str) -> None:
    spec = kl.TableSpec.from_json(json.dumps(GOLDEN[name]["spec"]))
    assert definition_of(spec.to_python()) == in_order(spec)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_the_source_of_any_definition_gives_it_again(data: st.DataObject) -> None:
    names = data.draw(st.lists(NAMES, min_size=3, max_size=6, unique_by=str.lower))
    key = data.draw(st.permutations(names[:2]))
    columns = [kl.Column(name, LongType(), doc=data.draw(TEXTS)) for name in names[:2]]
    columns += [kl.Column(name, data.draw(TYPES), doc=data.draw(TEXTS)) for name in names[2:]]
    if data.draw(st.booleans()):
        columns.append(kl.Column("at", TimestampType()))
    ordering = "at" if columns[-1].name == "at" else None
    grouped = data.draw(st.lists(st.sampled_from(names[2:]), unique=True, max_size=2))
    group = data.draw(st.sampled_from([*ODD, *grouped]).filter(lambda name: name in grouped or name not in names))
    spec = kl.TableSpec.of(
        data.draw(st.permutations(columns)),
        name=data.draw(st.sampled_from(["a.b", "a.`none`", "a.`x-1`", "a.decimal"])),
        comment=data.draw(TEXTS),
        key=key,
        ordering=ordering,
        versions=None if ordering else data.draw(st.sampled_from(["commit", "explicit"])),
        bucket_by=data.draw(st.sampled_from([None, key[0], list(key)])),
        buckets=data.draw(st.sampled_from([4, 16])),
        column_groups=[kl.ColumnGroup(group, tuple(grouped), data.draw(TEXTS))] if grouped else [],
    )
    assert definition_of(spec.to_python()) == in_order(spec)


def test_source_for_people() -> None:
    class Seen(kl.Table, name="features.seen", buckets=8):
        """What users did.

        Two streams write it.
        """

        user_id: int = kl.key(doc="Who.")
        day: kl.Date = kl.key()
        clicks: int | None = kl.column(reduce=kl.Sum())
        tags: list[str | None] | None = kl.column(reduce=kl.Collect(distinct=True, limit=100))

    assert (
        Seen.table_spec().to_python()
        == '''import keylake as kl


class Seen(kl.Table, name="features.seen", buckets=8):
    """What users did.

    Two streams write it.
    """

    user_id: int = kl.key(doc="Who.")
    day: kl.Date = kl.key()
    clicks: int | None = kl.column(reduce=kl.Sum())
    tags: list[str | None] | None = kl.column(reduce=kl.Collect(distinct=True, limit=100))
'''
    )


def test_a_class_says_the_order_of_its_key() -> None:
    class Seen(kl.Table, name="a.seen", key=["day", "user_id"], comment="  As it is. "):
        user_id: int = kl.key()
        day: kl.Date = kl.key()

    assert Seen.table_spec().key == ("day", "user_id")
    assert Seen.table_spec().comment == "  As it is. "
    with pytest.raises(kl.DefinitionError, match=r"key is 'day' .* are 'user_id', 'day'\. Name each"):

        class Other(kl.Table, name="a.other", key="day"):  # pyright: ignore[reportUnusedClass]
            user_id: int = kl.key()
            day: kl.Date = kl.key()


def test_verbs_of_a_class_take_no_name_of_a_column() -> None:
    own = {name for name in dir(kl.Table) if not name.startswith("_")} - set(dir(Model))
    assert own == set(VERBS)
    spec = kl.TableSpec.of([kl.Column(name, LongType()) for name in VERBS], name="a.b", key=VERBS[0])
    assert tuple(model_of(spec).attributes()) == VERBS
