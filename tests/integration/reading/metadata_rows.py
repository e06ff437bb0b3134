"""Rows of metadata tables, and the tables that they are of."""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame

import keylake as kl
from integration.histories import Shape, shapes
from integration.twin import Twin, fresh_name

SHAPES = dict(shapes())
EXPLICIT = Shape("explicit", buckets=2)
WHOLE = Shape("explicit", buckets=1, reducers={})


def rows_of(frame: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in frame.collect()]


def rows(keys: Sequence[int], value: int) -> list[dict[str, object]]:
    return [{"id": key, "a": value, "b": "text", "c": 0.5, "d": None, "e": 1} for key in keys]


def three_commits(lake: kl.Lake, shape: Shape = EXPLICIT) -> Twin:
    twin = shape.create(lake, fresh_name("metadata"))
    twin.upsert(rows(range(100), 1), version=1)
    twin.upsert(rows(range(50, 150), 2), version=2)
    twin.update([{"id": key, "c": 1.5} for key in range(40, 60)], version=3)
    return twin


def of_commits(twin: Twin, *commits: int) -> str:
    """The condition that holds for the files of some commits, as they were written."""
    orders = {row["snapshot_id"]: row["commit_order"] for row in rows_of(beside(twin, "commits"))}
    return f"commit_order IN ({', '.join(str(orders[twin.commits[each - 1].snapshot_id]) for each in commits)})"


def beside(twin: Twin, part: str) -> DataFrame:
    return twin.lake.spark.sql(f"SELECT * FROM {twin.sql_name}.{part}")
