"""The laws of the merge, each a test of its own: histories that must give the same rows, do."""

from random import Random

import pytest

import keylake as kl
from integration.histories import COMPOUND, Operation, Shape, cut, distinct, operations
from integration.random_runs import of_every
from integration.twin import Twin, fresh_name

EXPLICIT = Shape("explicit", COMPOUND)
HISTORY = distinct(operations(EXPLICIT, seed=11, count=7, rows=200), seed=12)


def written(lake: kl.Lake, history: list[Operation], shape: Shape = EXPLICIT, buckets: int | None = None) -> Twin:
    twin = shape.create(lake, fresh_name("laws"), buckets)
    for operation in history:
        operation.apply(twin)
    return twin


@pytest.fixture(scope="module")
def first(lake: kl.Lake) -> Twin:
    """The history as it was drawn; the others are compared with it."""
    twin = written(lake, HISTORY)
    twin.check()
    assert len(twin.expected()) > 100
    return twin


@of_every("seed", {"1": 1, "2": 2}, today=1)
def test_order_does_not_matter_to_tables(lake: kl.Lake, first: Twin, seed: int) -> None:
    shuffled = Random(seed).sample(HISTORY, len(HISTORY))
    assert written(lake, shuffled).read() == first.read()


@of_every("buckets", {"1": 1, "13": 13}, today=1)
def test_the_number_of_buckets_does_not_matter(lake: kl.Lake, first: Twin, buckets: int) -> None:
    assert written(lake, HISTORY, buckets=buckets).read() == first.read()


def test_the_size_of_files_does_not_matter(lake: kl.Lake, first: Twin) -> None:
    twin = EXPLICIT.create(lake, fresh_name("laws"))
    lake.spark.sql(
        f"ALTER TABLE {twin.sql_name} SET TBLPROPERTIES "
        "('write.target-file-size-bytes'='2048', 'write.parquet.row-group-size-bytes'='1024', "
        "'write.parquet.page-row-limit'='8', 'write.parquet.row-group-check-min-record-count'='8')"
    ).collect()
    for operation in HISTORY:
        operation.apply(twin)
    assert twin.read() == first.read()


@of_every("rows", {"67": 67, "1000": 1000}, today=1)
def test_the_cut_into_commits_does_not_matter(lake: kl.Lake, first: Twin, rows: int) -> None:
    pieces = cut(HISTORY, rows)
    assert rows > 200 or len(pieces) > len(HISTORY)
    assert written(lake, pieces).read() == first.read()


def test_columns_of_tables_are_independent(first: Twin) -> None:
    whole = first.read()
    for columns in ([], ["a"], ["e", "b"], ["d", "c", "a"]):
        part = {key: {name: row[name] for name in columns} for key, row in whole.items()}
        assert first.read(columns) == part


def test_writing_twice_is_writing_once(lake: kl.Lake, first: Twin) -> None:
    twice = [operation for operation in HISTORY for _ in range(2)]
    assert written(lake, twice[:8]).read() == written(lake, HISTORY[:4]).read()


def test_writing_all_again_later_changes_nothing(lake: kl.Lake) -> None:
    twin = written(lake, HISTORY[:4])
    before = twin.read()
    for operation in reversed(HISTORY[:4]):
        operation.apply(twin)
    assert twin.read() == before


def test_time_travel_reads_what_was_there(first: Twin) -> None:
    for commits in range(1, len(first.commits) + 1):
        first.check(commits=commits)


def test_time_travel_by_timestamp_and_by_tag(lake: kl.Lake, first: Twin) -> None:
    third = first.commits[2]
    lake.spark.sql(f"ALTER TABLE {first.sql_name} CREATE TAG third AS OF VERSION {third.snapshot_id}").collect()
    at = {commit.snapshot_id: commit.committed_at for commit in first.table.history()}[third.snapshot_id]
    for moment in ("third", at, third.snapshot_id):
        assert first.read_at(moment) == first.expected(commits=3)
