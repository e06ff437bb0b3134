"""Reads of a range of commits: what they have written, and how the merged rows differ before and after them."""

from random import Random

import pytest

import keylake as kl
from integration.changed_rows import expected_changes
from integration.histories import Shape, operations, shapes
from integration.query_plans import explained
from integration.random_runs import of_every_shape
from integration.refusals import refused, refused_in_sql
from integration.time.appended import (
    EXPLICIT,
    appended,
    at,
    by_key,
    expected_appended,
    rows,
    three_commits,
)
from integration.twin import fresh_name

SHAPES = dict(shapes())


@pytest.mark.slow
@of_every_shape
def test_changes_of_random_ranges(lake: kl.Lake, shape: Shape) -> None:
    random = Random(7)
    twin = shape.create(lake, fresh_name("changes"))
    for number, operation in enumerate(operations(shape, 501, count=8, rows=random.choice([5, 30]))):
        operation.apply(twin)
        if number % 3 == 1:
            twin.table.compact(random.choice(["full", "settle"]))
    count = len(twin.commits)
    for _ in range(4):
        after, until = sorted(random.sample(range(count + 1), 2))
        assert appended(twin, after, until) == expected_appended(twin, after, until), (after, until)
        net = twin.table.changes(after=at(twin, after), until=at(twin, until))
        assert by_key(twin, net) == expected_changes(twin, after, until), (after, until)
    each = twin.table.changes(every_commit=True)
    for number, commit in enumerate(twin.commits):
        of_commit = each.where(f"_commit = {commit.snapshot_id}")
        assert by_key(twin, of_commit) == expected_changes(twin, number, number + 1), number


@pytest.mark.slow
@of_every_shape
def test_few_keys_of_many(lake: kl.Lake, shape: Shape) -> None:
    """Where a range has written few of the keys, only their rows are read of the other files."""
    twin = shape.create(lake, fresh_name("changes"), buckets=1)
    for operation in operations(shape, 511, count=2, rows=600):
        operation.apply(twin)
    for number, operation in enumerate(operations(shape, 512, count=5, rows=3)):
        operation.apply(twin)
        if number in {1, 3}:
            twin.table.compact("full" if number == 1 else "settle")
    count = len(twin.commits)
    for after in range(2, count):
        net = twin.table.changes(after=at(twin, after))
        assert by_key(twin, net) == expected_changes(twin, after, count), after


def test_an_overwrite_of_nothing_is_a_write(lake: kl.Lake) -> None:
    twin = EXPLICIT.create(lake, fresh_name("changes"))
    twin.overwrite(rows(0, 10, 1), version=1)
    assert appended(twin, 0, 1) == expected_appended(twin, 0, 1)
    assert by_key(twin, twin.table.changes()) == expected_changes(twin, 0, 1)


def test_what_is_the_same_is_no_change_and_not_opened(lake: kl.Lake) -> None:
    twin = three_commits(lake)
    twin.upsert(rows(7, 8, 2), version=9)
    feed = f"SELECT * FROM {twin.sql_name}.changes WITH ('after' = '{at(twin, 1)}', 'until' = '{at(twin, 2)}')"
    assert "buckets read: 4, stretches: 4" in explained(lake, feed)
    assert lake.spark.sql(feed).count() == 100
    last = f"SELECT * FROM {twin.sql_name}.changes WITH ('after' = '{at(twin, 3)}')"
    assert "buckets read: 1, stretches: 1" in explained(lake, last)
    assert lake.spark.sql(last).count() == 0, "rewritten to equal values"
    assert twin.table.changes(after=twin.commits[2]).count() == 0
    of_key = f"SELECT * FROM {twin.sql_name}.changes WITH ('after' = '0') WHERE id = 7"
    assert "buckets read: 1, stretches: 1" in explained(lake, of_key)
    assert [row["_after"]["a"] for row in lake.spark.sql(of_key).collect()] == [2]
    assert "Exchange" not in explained(lake, feed)


def test_a_range_may_end_where_it_begins(lake: kl.Lake) -> None:
    twin = three_commits(lake)
    for read in (twin.table.appended, twin.table.changes):
        assert read(after=twin.commits[2]).count() == 0
        assert read(after=twin.commits[0], until=twin.commits[0]).count() == 0
    empty = EXPLICIT.create(lake, fresh_name("changes")).table
    assert empty.appended().count() == empty.changes().count() == 0


def test_columns_and_conditions(lake: kl.Lake) -> None:
    twin = three_commits(lake)
    twin.delete([{"id": 8}], version=4)
    some = twin.table.appended(after=twin.commits[1], columns=["id", "a"], where="id < 50")
    assert sorted(map(tuple, some.collect())) == [(7, 2, False), (8, None, True)]
    deleted = twin.table.changes(after=twin.commits[2], where="_change = 'delete'").select("id", "_before.a").collect()
    assert [tuple(row) for row in deleted] == [(8, 1)]
    plain = lake.spark.sql(f"SELECT count(*), count_if(_deleted) FROM {twin.sql_name}").collect()[0]
    assert tuple(plain) == (199, 0)


@pytest.mark.slow
def test_ranges_that_are_none(lake: kl.Lake) -> None:
    twin = three_commits(lake)
    name = twin.table.name
    first, _, last = (commit.snapshot_id for commit in twin.commits)
    for read in (twin.table.appended, twin.table.changes):
        with refused(lake, name, kl.DefinitionError, f"Commit {last} comes after commit {first}", "exchange"):
            read(after=last, until=first)
        with refused(lake, name, kl.SnapshotExpired, "Commit 17", "has expired, or never was", str(first)):
            read(after=17)
        with refused(lake, name, kl.DefinitionError, "after='yesterday'"):
            read(after="yesterday")  # type: ignore[arg-type]
    lake.spark.sql(f"ALTER TABLE {twin.sql_name} CREATE BRANCH side").collect()
    side = twin.table.branch("side")
    elsewhere = side.update([{"id": 8, "a": 3}], version=4)
    assert [row["id"] for row in side.changes(after=last).collect()] == [8]
    assert twin.table.changes(after=last).count() == 0
    main = twin.update([{"id": 9, "a": 3}], version=4)
    with refused(lake, name, kl.DefinitionError, "belongs to another branch"):
        twin.table.changes(after=elsewhere, until=main)
    with refused_in_sql(lake, name, "DEFINITION", "needs the commit after which it begins"):
        lake.spark.sql(f"SELECT * FROM {twin.sql_name}.changes").collect()
    with refused_in_sql(lake, name, "DEFINITION", "'until' needs 'after'"):
        lake.spark.sql(f"SELECT * FROM {twin.sql_name} WITH ('until' = '17')").collect()
    with refused_in_sql(lake, name, "DEFINITION", "'after' is 'x'"):
        lake.spark.sql(f"SELECT * FROM {twin.sql_name} WITH ('after' = 'x')").collect()


def test_a_range_that_has_expired_says_so(lake: kl.Lake) -> None:
    twin = three_commits(lake)
    twin.table.clean(kl.RetentionPolicy(days=0))
    with refused(lake, twin.table.name, kl.SnapshotExpired, str(twin.commits[0].snapshot_id), "oldest that is kept"):
        twin.table.changes(after=twin.commits[0])
    with refused(lake, twin.table.name, kl.SnapshotExpired, "has expired"):
        twin.table.appended()
    assert twin.table.appended(after=twin.commits[2]).count() == 0


def test_a_zero_that_changes_its_sign_is_a_change(lake: kl.Lake) -> None:
    twin = EXPLICIT.create(lake, fresh_name("changes"))
    twin.update([{"id": 1, "c": 0.0}, {"id": 2, "c": 0.0}], version=1)
    twin.update([{"id": 1, "c": -0.0}, {"id": 2, "c": 0.0}], version=2)
    changed = by_key(twin, twin.table.changes(after=at(twin, 1)))
    assert changed == expected_changes(twin, 1, 2)
    assert [(key, change[0], change[1]) for key, change in changed.items()] == [((1,), "update", ["c"])]
