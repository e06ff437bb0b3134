"""Settling: superseded rows are recorded as Iceberg's own deletions, no data is written again, and no answer changes."""

from collections.abc import Sequence
from random import Random
from typing import Literal

import pyarrow as pa
import pytest

import keylake as kl
from integration.histories import Shape, operations, shapes
from integration.raw import catalog_of
from integration.twin import Found, Twin, by_key, fresh_name

SHAPES = dict(shapes())
EXPLICIT = Shape("explicit", buckets=2)
FORMATS = (2, 3)  # positions in files, and deletion vectors
SETTLING = kl.CompactionPolicy(settle_share=0.05, small_bytes=1, superseded_share=0.9, tier_runs=4)


def created(lake: kl.Lake, shape: Shape, table_format: int) -> Twin:
    twin = shape.create(lake, fresh_name("settling"))
    lake.spark.sql(f"ALTER TABLE {twin.sql_name} SET TBLPROPERTIES ('format-version' = '{table_format}')")
    return twin


def read_any_way(twin: Twin) -> Sequence[Found]:
    """The rows as a plain query gives them, and as one does that wants them in order, bucket by bucket."""
    joined = twin.lake.spark.sql(
        f"SELECT a.* FROM {twin.sql_name} a JOIN {twin.sql_name} b USING ({', '.join(twin.model.key)})"
    )
    return [twin.read(), by_key(joined.toArrow(), twin.model.key)]


@pytest.mark.parametrize("table_format", FORMATS)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_a_history_that_is_settled_now_and_then(lake: kl.Lake, shape: Shape, table_format: int) -> None:
    random = Random(table_format)
    twin = created(lake, shape, table_format)
    settled = 0
    words: list[Literal["full", "settle"] | kl.CompactionPolicy] = ["settle", "settle", "settle", SETTLING, "full"]
    for number, operation in enumerate(operations(shape, 300 + table_format, count=10, rows=random.choice([4, 40]))):
        operation.apply(twin)
        if number % 2:
            policy = random.choice(words)
            settled += sum(bucket.rows_superseded for bucket in twin.table.compact(policy) if bucket.reason == "settle")
            assert read_any_way(twin) == [twin.expected()] * 2, (number, policy)
            assert twin.table.read().count() == len(twin.expected())
    assert settled > 0
    for columns in ([], twin.model.columns[:1]):
        twin.check(columns)
    twin.check_stamps()
    twin.check(commits=4)
