"""Reducers as values: their JSON, and what is refused."""

from typing import Any

import pyarrow as pa
import pytest

import keylake as kl
from keylake.reducers import REDUCERS, Reducer, from_json

NEEDED: dict[str, dict[str, Any]] = {
    "TopN": {"by": "score"},
    "Struct": {"members": {"clicks": kl.Sum()}},
    "Own": {"name": "com.acme.Mean"},
    "Python": {"name": "acme.Mean", "state": "struct<sum:double,count:bigint>"},
}


@pytest.mark.parametrize("kind", REDUCERS.values())
def test_a_reducer_comes_back_from_json(kind: type[Reducer]) -> None:
    reducer = kind(**NEEDED.get(kind.__name__, {}))
    assert from_json("clicks", reducer.to_json()) == reducer
    assert reducer.to_json()["type"] == kind.__name__
    assert hash(reducer) == hash(from_json("clicks", reducer.to_json()))


def test_all_reducers_are_known() -> None:
    assert {kind.__name__ for kind in Reducer.__subclasses__()} == REDUCERS.keys()


def test_options_are_kept() -> None:
    reducer = kl.Collect(distinct=True, limit=100)
    assert reducer.to_json() == {"type": "Collect", "distinct": True, "limit": 100}
    assert from_json("tags", reducer.to_json()) == reducer


def test_all_are_at_hand() -> None:
    assert set(REDUCERS) <= set(kl.__all__)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("Latest", "'Latest'"),
        ({}, "None"),
        ({"type": ["Latest"]}, r"\['Latest'\]"),
        ({"type": "latest"}, "'latest'"),
        ({"type": "Latest", "limit": 1}, "'limit'"),
        ({"type": "Sum", "distinct": True}, "'distinct'"),
        ({"type": "Collect", "limit": 0}, "'clicks' is not valid. The limit of Collect is 0"),
        ({"type": "Collect", "limit": None}, "null as the option 'limit'"),
        ({"type": "Hll", "lg_k": 3}, "'clicks' is not valid. The lg_k of Hll is 3. .* from 4 to 21"),
        ({"type": "Theta", "lg_k": 12}, "'lg_k'"),
        ({"type": "Kll", "values": None}, "null as the option 'values'"),
        ({"type": "TopN", "n": 3}, "lacks the option 'by', which it needs"),
        ({"type": "MapMerge", "of": {"type": "Latest"}}, "'clicks' is not valid. MapMerge is of Latest.*kl.Sum"),
        ({"type": "Struct", "members": {"a": {"type": "Sun"}}}, "'clicks.a' has the reducer 'Sun'"),
        ({"type": "Struct", "members": {"a": {"type": "LatestN"}}}, "The member 'a' of Struct is LatestN"),
        ({"type": "Struct", "members": []}, r"members of Struct.*\[\]"),
        ({"type": "Zork"}, "'Zork'.* Latest, LatestNotNull, Sum, .* BitmapOr"),
    ],
)
def test_what_is_no_reducer(value: object, says: str) -> None:
    with pytest.raises(kl.DefinitionError, match=says):
        from_json("clicks", value)


@pytest.mark.parametrize("limit", [0, -1, 2**31, 1.0, True, "3"])
def test_a_limit_that_cannot_be_met(limit: int) -> None:
    with pytest.raises(kl.DefinitionError, match=f"The limit of Collect is {limit!r}. .* 2147483647"):
        kl.Collect(limit=limit)


@pytest.mark.parametrize("size", [7, 65536, 200.0, True, "200", None])
def test_a_size_that_sketches_do_not_have(size: int) -> None:
    with pytest.raises(kl.DefinitionError, match=f"The k of Kll is {size!r}. Use a whole number from 8 to 65535"):
        kl.Kll(k=size)


def test_distinct_is_a_truth() -> None:
    wrong: Any = "yes"
    with pytest.raises(kl.DefinitionError, match="distinct of Collect is 'yes'"):
        kl.Collect(distinct=wrong)


def test_which_accumulate() -> None:
    assert {name for name, kind in REDUCERS.items() if not kind.accumulates} == {"Latest", "LatestNotNull"}


def test_a_difference_of_options_is_shown() -> None:
    columns = pa.schema({"id": pa.int64(), "tags": pa.list_(pa.string())})
    few, many = (
        kl.TableSpec.from_arrow(columns, name="a.b", key="id", reducers={"tags": kl.Collect(limit=limit)})
        for limit in (3, 4)
    )
    assert "Collect(limit=3)" in str(few)
    assert any("Collect(limit=3)" in line and "Collect(limit=4)" in line for line in few.differences(many))
