"""Writes that carry the offsets of their sources: each offset counts once, whoever sends it, and however often."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import keylake as kl
from integration.refusals import refused, refused_in_sql, snapshots
from integration.sessions import clone_of
from integration.spark_processes import connect_server, kill
from integration.twin import fresh_name

NOTHING_KEPT = kl.RetentionPolicy(days=0, idempotency_days=0)


def create(lake: kl.Lake) -> kl.KeyedTable:
    spec = kl.TableSpec.from_arrow(
        pa.schema([("user", pa.int64()), ("clicks", pa.int64()), ("page", pa.string())]),
        name=fresh_name("offsets"),
        key="user",
        versions="commit",
        buckets=2,
        reducers={"clicks": kl.Sum()},
    )
    return lake.create(spec)


@pytest.fixture
def table(lake: kl.Lake) -> kl.KeyedTable:
    return create(lake)


def clicks(begin: int, end: int) -> list[dict[str, int]]:
    """A click for each offset, and the offset as the number of clicks: a sum says which were counted."""
    return [{"user": 1, "clicks": 2**offset} for offset in range(begin, end)]


def counted(table: kl.KeyedTable) -> list[int]:
    """The offsets whose clicks are counted; one that is counted twice shows as another."""
    found = table.read(columns=["clicks"]).collect()
    total = found[0].clicks if found else 0
    return [bit for bit in range(62) if total >> bit & 1]


def send(table: kl.KeyedTable, begin: int, end: int, source: str = "clicks-0") -> kl.Commit:
    return table.update(clicks(begin, end), offsets={source: (begin, end)})


def test_a_repeated_delivery_counts_once(lake: kl.Lake, table: kl.KeyedTable) -> None:
    first = table.update(clicks(0, 5), offsets={"clicks-0": (0, 5), "clicks-1": (70, 70)})
    assert (first.repeated, first.offsets) == (False, {})
    again = send(table, 0, 5)
    assert replace(again, seconds=0) == replace(first, seconds=0, repeated=True, offsets={"clicks-0": 5})
    assert "made before with the same offsets: nothing was written" in str(again)
    second = send(table, 5, 8)
    assert send(table, 3, 7).snapshot_id == second.snapshot_id, "over two commits; the newer one is returned"
    assert table.offsets() == {"clicks-0": 8}
    with refused(lake, table.name, kl.BadRows, "'clicks-0' goes on at offset 8", "8 to 9 would be missing"):
        send(table, 9, 10)
    with refused(lake, table.name, kl.BadRows, "has its offsets 7 to 10", "already; send it from offset 8"):
        send(table, 7, 10)
    with refused(lake, table.name, kl.BadRows, "new ones of source 'new'", "'clicks-0' from offset 8"):
        table.update(clicks(9, 10), offsets={"clicks-0": (0, 8), "new": (0, 1)})
    with refused(lake, table.name, kl.BadRows, "ll ranges in offsets are empty", "rows is 1"):
        table.update(clicks(9, 10), offsets={"clicks-0": (8, 8)})
    assert counted(table) == list(range(8))


@pytest.mark.slow
def test_every_verb_takes_offsets(lake: kl.Lake, table: kl.KeyedTable) -> None:
    row = {"user": 1, "clicks": 1, "page": "a"}
    payloads = lake.spark.createDataFrame([(1, '{"clicks": 1}')], "user long, payload string")
    for _ in range(2):
        table.upsert([row], offsets={"f": (0, 1)})
        table.update(lake.spark.createDataFrame([row]).select("user", "clicks"), offsets={"f": (1, 2)})
        table.apply_changes([{**row, "op": "U"}], op="op", offsets={"f": (2, 3)})
        commit = table.update_json(payloads, offsets={"f": (3, 4)})
        assert list(commit.offsets) == (["f"] if commit.repeated else [])
        table.delete([{"user": 2}], offsets={"f": (4, 5)})
    assert commit.repeated
    assert table.get(user=1).clicks == 4  # type: ignore[union-attr]
    for _ in range(2):
        table.overwrite([row], offsets={"f": (5, 6)})
    assert [info.verb for info in table.history()].count("overwrite") == 1
    assert table.offsets() == {"f": 6}


def test_offsets_outlive_all_snapshots(table: kl.KeyedTable) -> None:
    first = send(table, 0, 3)
    send(table, 3, 6)
    for offset in range(6, 8):
        table.clean(NOTHING_KEPT)
        send(table, offset, offset + 1)
    table.clean(NOTHING_KEPT)
    again = send(table, 0, 3)
    assert again.repeated
    assert again.offsets == {"clicks-0": 8}
    assert first.snapshot_id not in {info.snapshot_id for info in table.history()}
    assert send(table, 0, 8).repeated
    assert counted(table) == list(range(8))


@pytest.mark.slow
def test_rows_that_were_taken_back_are_loaded_again(lake: kl.Lake, table: kl.KeyedTable) -> None:
    first = send(table, 0, 3)
    second = send(table, 3, 6)
    third = send(table, 6, 9)
    table.undo(after=first, until=second)
    assert table.offsets() == {"clicks-0": 3}
    assert send(table, 6, 9).repeated
    with refused(lake, table.name, kl.BadRows, "send it from offset 3 to 6"):
        send(table, 3, 9)
    undo = table.history()[0]
    send(table, 3, 6)
    assert table.offsets() == {"clicks-0": 9}
    with refused(lake, table.name, kl.CommitConflict, "the rows of source 'clicks-0' twice"):
        table.undo(after=third, until=undo)
    assert counted(table) == list(range(9))
    table.compact("full")
    table.rollback(to=first)
    assert table.offsets() == {"clicks-0": 3}
    assert not send(table, 3, 9).repeated
    assert counted(table) == list(range(9))
    table.undo(after=first)
    assert counted(table) == list(range(3))
    assert not table.update([], offsets={"clicks-0": (3, 9)}).repeated, "what is not wanted is sent without rows"
    send(table, 9, 10)
    assert counted(table) == [0, 1, 2, 9]


@pytest.mark.slow
def test_branches(lake: kl.Lake, table: kl.KeyedTable) -> None:
    send(table, 0, 3)
    draft, other = table.branch("tmp_draft"), table.branch("tmp_other")
    assert send(draft, 0, 3).repeated
    send(draft, 3, 6)
    undone = send(draft, 6, 7)
    draft.undo(until=undone, after=draft.history()[1])
    send(other, 3, 5)
    assert (table.offsets(), draft.offsets(), other.offsets()) == ({"clicks-0": 3}, {"clicks-0": 6}, {"clicks-0": 5})
    table.update([{"user": 2, "page": "x"}])
    draft.publish()
    assert table.offsets() == {"clicks-0": 6}
    assert send(table, 3, 6).repeated
    send(table, 6, 9)
    for bring in (other.publish, lambda: table.cherry_pick(other)):
        with refused(lake, table.name, kl.CommitConflict, "would have the rows of source 'clicks-0' twice"):
            bring()
    assert counted(table) == list(range(9))
    late = table.branch("tmp_late")
    send(late, 9, 11)
    late.publish()
    assert send(table, 9, 11).repeated
    assert counted(table) == list(range(11))


def test_two_writers_with_the_same_delivery(lake: kl.Lake, table: kl.KeyedTable) -> None:
    """Both look, write and commit at a time: one of them counts."""
    send(table, 0, 1)
    for begin in range(1, 10, 3):
        ready = threading.Barrier(3)

        def deliver(begin: int = begin, ready: threading.Barrier = ready) -> kl.Commit:
            frame = pa.Table.from_pylist(clicks(begin, begin + 3))
            ready.wait()
            return table.update(frame, offsets={"clicks-0": (begin, begin + 3)})

        with ThreadPoolExecutor(3) as pool:
            commits = [each.result() for each in [pool.submit(deliver) for _ in range(3)]]
        assert sorted(commit.repeated for commit in commits) == [False, True, True]
        assert len({commit.snapshot_id for commit in commits}) == 1
    assert counted(table) == list(range(10))
    assert len(snapshots(lake, table.name)) == 4


def test_a_writer_that_does_not_look_first(lake: kl.Lake, table: kl.KeyedTable) -> None:
    """Plain frames are only checked at their commit, where those that wrote meanwhile are known."""
    rows = lake.spark.createDataFrame(clicks(0, 3)).select("user", "clicks")
    target = f"{lake.catalog}.{table.name}"
    for _ in range(2):
        rows.writeTo(target).option("offsets", '{"a.json": [0, 3]}').append()
    assert counted(table) == list(range(3))
    with refused_in_sql(lake, table.name, "BAD_ROWS", "3 to 5 would be missing"):
        rows.writeTo(target).option("offsets", '{"a.json": [5, 7]}').append()
    with refused_in_sql(lake, table.name, "BAD_ROWS", "offsets is [5] for source 'a.json'", "the one after the last"):
        rows.writeTo(target).option("offsets", '{"a.json": [5]}').append()
    assert len(table.history()) == 1


@pytest.mark.slow
def test_offsets_in_sql(lake: kl.Lake, table: kl.KeyedTable) -> None:
    name = f"{lake.catalog}.{table.name}"
    with clone_of(lake, {"spark.keylake.write.offsets": '{"clicks-0": [0, 100], "it\'s": [7, 8]}'}) as session:
        for _ in range(2):
            session.sql(f"INSERT INTO {name} (user, clicks) VALUES (1, 5)").collect()
        session.conf.set("spark.keylake.write.offsets", '{"clicks-0": [100, 101]}')
        for _ in range(2):
            session.sql(f"UPDATE {name} SET page = 'p' WHERE user = 1").collect()
        session.conf.set("spark.keylake.write.offsets", '{"clicks-0": [200, 201]}')
        with refused_in_sql(lake, table.name, "BAD_ROWS", "101 to 200 would be missing"):
            session.sql(
                f"MERGE INTO {name} t USING (SELECT 1 AS k) s ON t.user = s.k WHEN MATCHED THEN DELETE"
            ).collect()
        session.conf.set("spark.keylake.write.offsets", "[1]")
        with refused_in_sql(lake, table.name, "BAD_ROWS", "spark.keylake.write.offsets is [1]; it must be"):
            session.sql(f"INSERT INTO {name} (user, clicks) VALUES (1, 5)").collect()
    assert table.read(columns=["clicks"]).collect()[0].clicks == 5
    found = lake.spark.sql(f"CALL {lake.catalog}.system.offsets(table => '{table.name}')").collect()
    assert [tuple(row) for row in found] == [("clicks-0", 101), ("it's", 8)]


def test_a_stream_has_offsets_of_its_own(lake: kl.Lake, table: kl.KeyedTable, tmp_path: Path) -> None:
    rows = lake.spark.readStream.format("rate").load().selectExpr("value AS user", "1L AS clicks")
    stream = rows.writeStream.option("checkpointLocation", str(tmp_path)).option("offsets", '{"a": [0, 1]}')
    with pytest.raises(Exception, match="the option offsets goes with one write"):
        stream.toTable(f"{lake.catalog}.{table.name}").awaitTermination(60)


@pytest.mark.slow
def test_late_writes_and_a_key(lake: kl.Lake, table: kl.KeyedTable) -> None:
    send(table, 0, 3)
    table.archive("2026-11-01")
    send(table, 3, 6)
    late = table.update(clicks(6, 9), offsets={"clicks-0": (6, 9)}, business_time="2026-11-01", idempotency_key="late")
    state = table.branch("history_20261101T000000Z")
    assert counted(state) == [0, 1, 2, 6, 7, 8]
    assert state.offsets() == {"clicks-0": 3}, "the first that is missing"
    assert send(state, 6, 9).repeated
    assert table.update(clicks(9, 10), idempotency_key="late", offsets={"clicks-0": (9, 10)}).repeated, "by its key"
    assert table.offsets() == {"clicks-0": 9}
    assert send(table, 6, 9).snapshot_id == late.snapshot_id
    assert counted(table) == list(range(9))


@pytest.mark.slow
def test_a_server_killed_between_deliveries(tmp_path: Path) -> None:
    """Its writer does not know what has become of the last delivery, and sends it again."""
    sent = [0]
    with connect_server(tmp_path) as first:
        table = create(kl.connect(first.url))

        def deliver() -> None:
            for offset in range(60):
                sent[0] = offset
                send(table, offset, offset + 1)

        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(deliver)
            while sent[0] < 5:
                assert not done.done(), done.exception()
                time.sleep(0.01)
            kill(first)
            assert isinstance(done.exception(timeout=60), kl.ServerUnreachable)
    with connect_server(tmp_path) as second, kl.connect(second.url) as lake:
        table = lake.table(table.name)
        known = table.offsets()["clicks-0"]
        assert known in (sent[0], sent[0] + 1)
        assert counted(table) == list(range(known))
        assert send(table, sent[0], sent[0] + 1).repeated == (known > sent[0])
        send(table, sent[0] + 1, 60)
        assert counted(table) == list(range(60))
