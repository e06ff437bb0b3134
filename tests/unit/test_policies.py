"""A policy in Python has the defaults that its JSON has on the server."""

import json

import pytest

from keylake import RetentionPolicy


@pytest.mark.parametrize(
    ("said", "max_snapshots"),
    [
        ({}, 1000),
        ({"orphan_days": 1.0}, 1000),
        ({"days": 90}, None),
        ({"days": 7}, None),
        ({"days": None}, None),
        ({"snapshots": 5}, None),
        ({"days": 90, "max_snapshots": 50}, 50),
        ({"max_snapshots": None}, None),
    ],
)
def test_a_policy_that_says_what_is_kept_has_no_largest_number(
    said: dict[str, float], max_snapshots: int | None
) -> None:
    policy = RetentionPolicy(**said)  # type: ignore[arg-type]
    assert policy.max_snapshots == max_snapshots
    assert policy == RetentionPolicy.from_json(json.dumps(said))
    assert policy == RetentionPolicy.from_json(policy.to_json())
