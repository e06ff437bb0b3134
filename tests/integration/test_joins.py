"""Joins that Spark does without a shuffle, because tables say how they lie, give the rows of any other join."""

from collections.abc import Iterator

import pytest

import keylake as kl
from integration.histories import COMPOUND, Shape, operations
from integration.twin import Twin, fresh_name

BUCKETING = "spark.sql.sources.v2.bucketing"
SETTINGS = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
    f"{BUCKETING}.enabled": "true",
    f"{BUCKETING}.pushPartValues.enabled": "true",
    f"{BUCKETING}.allowJoinKeysSubsetOfPartitionKeys.enabled": "true",
    f"{BUCKETING}.partiallyClusteredDistribution.enabled": "true",
}
SHAPES = {
    "bucketed by one column": Shape("explicit"),
    "bucketed by both": Shape("explicit", COMPOUND),
    "partitioned": Shape("explicit", COMPOUND, partition_by=("day",)),
}


@pytest.fixture
def without_shuffles(lake: kl.Lake) -> Iterator[None]:
    before = {name: lake.spark.conf.get(name) for name in SETTINGS}
    for name, value in SETTINGS.items():
        lake.spark.conf.set(name, value)
    yield
    for name, old in before.items():
        lake.spark.conf.set(name, str(old))


def filled(lake: kl.Lake, shape: Shape, seed: int) -> Twin:
    twin = shape.create(lake, fresh_name("joins"))
    for operation in operations(shape, seed, count=3, rows=40):
        operation.apply(twin)
    return twin


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.usefixtures("without_shuffles")
def test_a_join_on_the_key_or_a_part_of_it(lake: kl.Lake, shape: Shape) -> None:
    left, right = filled(lake, shape, 51), filled(lake, shape, 52)
    for on in (list(shape.key), ["id"]):
        places = [list(shape.key).index(name) for name in on]
        expected = sum(
            [one[at] for at in places] == [other[at] for at in places]
            for one in left.expected()
            for other in right.expected()
        )
        words = " AND ".join(f"l.{name} = r.{name}" for name in on)
        found = lake.spark.sql(f"SELECT l.*, r.a FROM {left.sql_name} l JOIN {right.sql_name} r ON {words}").collect()
        assert len(found) == expected > 0, on
