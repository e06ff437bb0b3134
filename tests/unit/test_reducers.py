"""Reducers as values: their JSON, and what is refused."""

import pytest

import keylake as kl
from keylake.reducers import REDUCERS, Reducer, from_json


@pytest.mark.parametrize("kind", REDUCERS.values())
def test_a_reducer_comes_back_from_json(kind: type[Reducer]) -> None:
    assert from_json("clicks", kind().to_json()) == kind()
    assert kind().to_json() == {"type": kind.__name__}


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
    ],
)
def test_what_is_no_reducer(value: object, says: str) -> None:
    with pytest.raises(kl.DefinitionError, match=says):
        from_json("clicks", value)
