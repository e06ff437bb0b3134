"""Readers of the change feed that have a name and a position in the table; watermarks; feeds for an online store."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import keylake as kl
from integration.histories import Shape
from integration.refusals import refused
from integration.twin import Twin, fresh_name

EXPLICIT = Shape("explicit", buckets=2)
NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


def rows(first: int, after: int, value: int) -> list[dict[str, object]]:
    return [{"id": key, "a": value, "b": "text", "c": 0.5, "d": None, "e": 1} for key in range(first, after)]


def written(lake: kl.Lake) -> Twin:
    twin = EXPLICIT.create(lake, fresh_name("consumers"))
    twin.upsert(rows(0, 10, 1), version=1)
    return twin


def test_a_position_moves_when_it_is_told_to(lake: kl.Lake) -> None:
    twin = written(lake)
    table = twin.table
    assert table.changes(consumer="store").count() == 10
    assert [(each.name, each.commits_behind) for each in table.consumers()] == [("store", 1)]
    twin.upsert(rows(10, 12, 1), version=1)
    table.acknowledge("store")
    assert [each.snapshot_id for each in table.consumers()] == [twin.commits[0].snapshot_id], "what was read, no more"
    assert table.changes(consumer="store").count() == 2
    assert table.changes(consumer="store", every_commit=True).count() == 2, "it was not acknowledged"
    other = lake.table(table.name)
    other.acknowledge("store", until=twin.commits[1])
    with refused(lake, table.name, kl.CommitConflict, "has moved it"):
        table.acknowledge("store")
    assert table.changes(consumer="late", after=twin.commits[0]).count() == 2
    table.drop_consumer("late")
    assert [each.name for each in table.consumers()] == ["store"]
    with refused(lake, table.name, kl.TableNotFound, "no consumer 'late'"):
        table.drop_consumer("late")
    with refused(lake, table.name, kl.DefinitionError, "Nothing was read here"):
        table.acknowledge("nobody")
    with refused(lake, table.name, kl.DefinitionError, "cannot be a name"):
        table.changes(consumer="a b")


def test_what_was_not_read_does_not_expire(lake: kl.Lake) -> None:
    twin = written(lake)
    twin.table.changes(consumer="store")
    twin.table.acknowledge("store")
    twin.upsert(rows(0, 10, 2), version=2)
    twin.upsert(rows(0, 10, 3), version=3)
    twin.table.compact("full")
    assert twin.table.clean(kl.RetentionPolicy(days=0)).snapshots_expired == 0
    assert twin.table.changes(consumer="store", every_commit=True).count() == 20
    twin.table.acknowledge("store")
    assert twin.table.clean(kl.RetentionPolicy(days=0)).snapshots_expired > 2
    assert twin.table.changes(consumer="store").count() == 0
    twin.check()


@pytest.mark.slow
def test_a_stream_moves_its_position(lake: kl.Lake, tmp_path: Path) -> None:
    twin = written(lake)
    twin.upsert(rows(10, 12, 1), version=1)

    def run() -> None:
        feed = twin.table.stream_changes(consumer="Stream", max_commits_per_batch=1).writeStream.format("parquet")
        options = {"checkpointLocation": str(tmp_path / "checkpoint"), "path": str(tmp_path / "changes")}
        feed.options(**options).trigger(availableNow=True).start().awaitTermination()

    run()
    assert lake.spark.read.parquet(str(tmp_path / "changes")).count() == 12
    behind = [(each.name, each.commits_behind) for each in twin.table.consumers()]
    assert behind == [("Stream", 1)], "behind the batch before the last"
    twin.upsert(rows(12, 15, 1), version=1)
    run()
    assert lake.spark.read.parquet(str(tmp_path / "changes")).count() == 15
    assert [each.commits_behind for each in twin.table.consumers()] == [1]


def test_two_ranges_in_one_query(lake: kl.Lake) -> None:
    twin = written(lake)
    twin.upsert(rows(5, 20, 2), version=2)
    twin.upsert(rows(0, 1, 3), version=3)
    first, second, third = twin.commits
    both = twin.table.appended(after=first, until=second).union(twin.table.appended(after=second, until=third))
    assert both.count() == 16
    changes = twin.table.changes(until=first).union(twin.table.changes(after=second))
    assert changes.count() == 11
    name = twin.sql_name
    ranges = [f"SELECT t1.id FROM {name} WITH ('after' = '{at.snapshot_id}') AS t1" for at in (first, second)]
    assert lake.spark.sql(" UNION ALL ".join(ranges)).count() == 17
    short = twin.table.name.split(".")[-1]
    assert lake.spark.sql(f"SELECT {short}.id FROM {name} WITH ('after' = '{second.snapshot_id}')").count() == 1


def test_an_online_store_goes_back(lake: kl.Lake) -> None:
    twin = written(lake)
    store = {row["id"]: row["a"] for row in twin.table.read().collect()}
    before = dict(store)
    twin.update([{"id": key, "a": 5} for key in (3, 30)], version=5)
    twin.delete([{"id": 4}], version=6)
    store |= {3: 5, 30: 5}
    del store[4]
    feed = twin.table.undo_feed(after=twin.commits[0])
    assert feed.columns == ["id", "_op", "a", "b", "c", "d", "e"]
    for row in feed.collect():
        if row["_op"] == "delete":
            del store[row["id"]]
        else:
            store[row["id"]] = row["a"]
    assert store == before


def test_watermarks_only_rise(lake: kl.Lake) -> None:
    twin = EXPLICIT.create(lake, fresh_name("consumers"))
    table = twin.table
    hour = timedelta(hours=1)
    with refused(lake, table.name, kl.TableNotFound, "it stands at nothing"):
        table.read(at=kl.watermark(NOON))
    first = table.upsert(rows(0, 10, 1), version=1, stream="clicks", watermark=NOON)
    table.upsert(rows(0, 20, 2), version=2, stream="orders", watermark=NOON - hour)
    third = table.upsert(rows(0, 30, 3), version=3, stream="clicks", watermark=NOON - hour)
    assert table.watermarks() == {"clicks": NOON, "orders": NOON - hour}, "never back"
    assert table.read(at=kl.watermark(NOON, stream="clicks")).count() == first.rows
    assert table.read(at=kl.watermark(NOON - hour)).count() == 20, "of all streams"
    with refused(lake, table.name, kl.TableNotFound, "has not come to 2026-11-01T12:00:00Z", "2026-11-01T11:00:00Z"):
        table.read(at=kl.watermark(NOON))
    table.upsert(rows(0, 40, 4), version=4, stream="orders", watermark=NOON + hour)
    table.compact("full")
    assert table.read(at=kl.watermark(NOON)).count() == 40
    table.rollback(to=third)
    assert table.watermarks()["orders"] == NOON - hour
    table.upsert(rows(0, 50, 5), version=5)
    table.clean(kl.RetentionPolicy(days=0))
    assert table.watermarks() == {"clicks": NOON, "orders": NOON - hour}, "commits that said them have expired"
    with refused(lake, table.name, kl.DefinitionError, "has no time zone"):
        table.upsert(rows(0, 1, 1), version=9, watermark=datetime(2026, 1, 1))
