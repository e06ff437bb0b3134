"""What Spark says of a query: its rows, under any settings; its plan before it runs; its numbers afterwards."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import DataFrame

import keylake as kl


@contextmanager
def changed_settings(lake: kl.Lake, values: Mapping[str, str]) -> Iterator[None]:
    """Settings of Spark, for as long as the block runs."""
    before = {name: lake.spark.conf.get(name, None) for name in values}
    for name, value in values.items():
        lake.spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                lake.spark.conf.unset(name)
            else:
                lake.spark.conf.set(name, value)


def rows_of(lake: kl.Lake, query: str) -> list[str]:
    """The rows as texts, in an order that does not depend on the plan."""
    return sorted(str(row) for row in lake.spark.sql(query).toArrow().to_pylist())


def explained(lake: kl.Lake, query: str) -> str:
    """The whole plan, as EXPLAIN prints it."""
    return str(lake.spark.sql(f"EXPLAIN FORMATTED {query}").collect()[0][0])


def planned(lake: kl.Lake, query: str) -> dict[str, int]:
    """The numbers in the description of the query's only scan of a keyed table."""
    (scan,) = re.findall(r"^keylake .* \(snapshot.*$", explained(lake, query), flags=re.MULTILINE)
    return {name: int(number) for name, number in re.findall(r"([a-z][a-z ]*): (\d+)", scan)}


def counted(frame: DataFrame) -> dict[str, int]:
    """The metrics of the scans of a frame that has run, by name, added up."""
    numbers: dict[str, int] = {}
    execution = frame.executionInfo
    assert execution is not None
    _, nodes = execution.metrics.extract_graph()
    for node in nodes.values():
        if node.name.startswith("BatchScan"):
            for metric in node.metrics:
                numbers[metric.name] = numbers.get(metric.name, 0) + int(metric.value)
    return numbers
