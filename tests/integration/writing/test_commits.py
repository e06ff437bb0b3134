"""What a commit tells and leaves behind: labels, idempotency keys, branches, empty writes, replaced partitions."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pytest

import keylake as kl
from integration.query_plans import changed_settings, explained
from integration.refusals import snapshots
from integration.twin import Twin, frame_of, fresh_name

SCHEMA = pa.schema(
    [
        pa.field("k", pa.int64(), nullable=False),
        pa.field("day", pa.date32(), nullable=False),
        pa.field("a", pa.int64()),
        pa.field("b", pa.string()),
    ]
)
FEW_AND_MANY = ("VALUES (1L), (2L), (3L) AS t(id)", "range(3)")
MONDAY, TUESDAY = date(2026, 1, 5), date(2026, 1, 6)


def create(lake: kl.Lake, versions: kl.Versions = "explicit") -> Twin:
    name = fresh_name("commits")
    spec = kl.TableSpec.from_arrow(
        SCHEMA, name=name, key=["k", "day"], versions=versions, buckets=2, bucket_by="k", partition_by="day"
    )
    return Twin.create(lake, spec, SCHEMA)


def row(k: int, day: date = MONDAY, **values: object) -> dict[str, object]:
    return {"k": k, "day": day, **values}


def test_a_version_said_as_a_time(lake: kl.Lake) -> None:
    schema = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", "UTC")), ("a", pa.int64())])
    table = lake.create(kl.TableSpec.from_arrow(schema, name=fresh_name("commits"), key="id", ordering="at", buckets=1))
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    table.upsert([{"id": 1, "at": noon, "a": 1}])
    table.delete([{"id": 1}], version=noon - timedelta(microseconds=1))
    assert table.get(id=1) is not None
    table.delete([{"id": 1}], version=noon.astimezone(timezone(timedelta(hours=-3))))
    assert table.get(id=1) is None


def test_history_tells_what_was_written_and_by_whom(lake: kl.Lake) -> None:
    table = create(lake).table
    began = datetime.now(UTC) - timedelta(seconds=1)
    first = table.upsert([row(k, a=k, b="x") for k in range(3)], version=-7, stream="nightly")
    second = table.update([row(1, b="y", v=4), row(2, b="z", v=9)], version="v", stream="clicks")
    table.delete([row(0)], version=5)
    deleted, updated, upserted = table.history()
    assert [info.verb for info in (upserted, updated, deleted)] == ["upsert", "update", "delete"]
    assert [info.stream for info in (upserted, updated, deleted)] == ["nightly", "clicks", None]
    assert [info.rows for info in (upserted, updated, deleted)] == [3, 2, 1]
    assert [info.versions for info in (upserted, updated, deleted)] == [(-7, -7), (4, 9), (5, 5)]
    assert [set(info.columns) for info in (upserted, updated, deleted)] == [{"a", "b"}, {"b"}, set()]
    assert (first.snapshot_id, first.rows, first.versions) == (upserted.snapshot_id, 3, (-7, -7))
    assert (upserted.parent_id, updated.parent_id) == (first.parent_id, second.parent_id) == (None, first.snapshot_id)
    assert began <= upserted.committed_at <= updated.committed_at <= deleted.committed_at <= datetime.now(UTC)
    assert table.history(at_most=1)[0] == deleted


def test_each_of_many_writes_at_once_tells_its_own_commit(lake: kl.Lake) -> None:
    """Threads share the session, in which the server says what the last write of all has committed."""
    tables = [create(lake, "commit").table for _ in range(2)]
    with ThreadPoolExecutor(6) as threads:
        writes = [
            threads.submit(
                tables[number % 2].upsert, [row(k, a=k, b="x") for k in range(number + 1)], stream=str(number)
            )
            for number in range(12)
        ]
    for table in tables:
        found = {info.snapshot_id: (info.rows, info.versions, info.stream) for info in table.history()}
        told = [(number, each.result()) for number, each in enumerate(writes) if tables[number % 2] is table]
        assert found == {commit.snapshot_id: (commit.rows, commit.versions, str(number)) for number, commit in told}
        assert [commit.rows for number, commit in told] == [number + 1 for number, _ in told]


def test_rows_that_come_with_the_statement_are_written_by_one_task(lake: kl.Lake) -> None:
    table = create(lake, "commit").table
    name = f"{lake.catalog}.{table.name}"
    few, many = (f"INSERT INTO {name} (k, day) SELECT id, DATE'2026-01-05' FROM {rows}" for rows in FEW_AND_MANY)
    with changed_settings(lake, {"spark.keylake.write.driver-rows": "0"}):  # which writes them else
        assert ("Exchange" in explained(lake, few), "Exchange" in explained(lake, many)) == (False, True)
        table.update([row(k, a=k) for k in range(50)])
    (files,) = lake.spark.sql(f"SELECT file_path FROM {name}.files").toPandas().to_numpy().T
    assert len(files) == 2
    assert len({Path(file).name.split("-")[0] for file in files}) == 1
    assert table.read().count() == 50


@pytest.mark.parametrize("form", ["arrow", "spark"])
def test_a_second_commit_with_the_same_idempotency_key_does_nothing(lake: kl.Lake, form: str) -> None:
    twin = create(lake, "commit")
    rows = [row(1, a=1, b="x")]
    first = twin.upsert(rows, form=form)
    once = twin.table.update(twin.frame([row(1, a=2)], form), idempotency_key="batch 7")
    twin.model.update([row(1, a=2)])
    again = twin.table.update(twin.frame([row(1, a=3)], form), idempotency_key="batch 7")
    assert (again.snapshot_id, again.rows) == (once.snapshot_id, once.rows)
    twin.table.update(twin.frame([row(1, b="y")], form), idempotency_key="batch 8")
    twin.model.update([row(1, b="y")])
    twin.check()
    assert len(twin.table.history()) == 3
    assert first.snapshot_id != once.snapshot_id


def test_versions_of_commits_never_fall(lake: kl.Lake) -> None:
    table = create(lake, "commit").table
    before = datetime.now(UTC) - timedelta(seconds=1)
    ranges = [table.update([row(1, a=number)]).versions for number in range(3)]
    versions = [found[0] for found in ranges if found is not None and found[0] == found[1]]
    assert len(versions) == 3
    assert versions == sorted(versions)
    assert before <= datetime.fromtimestamp(versions[0] / 1e6, UTC) <= datetime.now(UTC)


@pytest.mark.parametrize("verb", ["upsert", "update", "delete", "overwrite"])
def test_a_write_of_no_rows(lake: kl.Lake, verb: str) -> None:
    twin = create(lake)
    twin.upsert([row(1, a=1, b="x")], version=1)
    names = ["k", "day"] if verb == "delete" else SCHEMA.names
    empty = SCHEMA.empty_table().select(names)
    for rows in ([], empty, frame_of(lake, empty)):
        commit = getattr(twin.table, verb)(rows, version=2)
        assert (commit.rows, commit.versions) == (0, None)
    if verb == "overwrite":
        twin.model.overwrite([], 2)
    twin.check()
    assert len(twin.table.history()) == 4


def test_overwrite_of_everything_forgets_versions(lake: kl.Lake) -> None:
    twin = create(lake)
    twin.upsert([row(1, a=1, b="x"), row(2, a=1, b="x")], version=100)
    twin.delete([row(3)], version=100)
    twin.overwrite([row(1, a=2, b="y")], version=1)
    twin.check()
    twin.update([row(1, a=3), row(2, a=3), row(3, a=3)], version=2)
    twin.check()
    twin.check_stamps()
    twin.check(commits=2)


def test_overwrite_of_a_partition(lake: kl.Lake) -> None:
    twin = create(lake)
    twin.upsert([row(k, day, a=k, b="x") for k in range(4) for day in (MONDAY, TUESDAY)], version=100)
    new = [row(1, a=7, b="y"), row(9, a=7, b="y")]
    twin.table.overwrite(twin.frame(new), where="day = DATE '2026-01-05'", version=1)
    twin.model.overwrite(new, 1, replaces=lambda key: key[1] == MONDAY)
    twin.check()
    twin.table.update(twin.frame([row(k, day, a=8) for k in (1, 2) for day in (MONDAY, TUESDAY)]), version=2)
    twin.model.update([row(k, day, a=8) for k in (1, 2) for day in (MONDAY, TUESDAY)], 2)
    twin.check()


@pytest.mark.parametrize("where", ["a = 1", "day = DATE '2026-01-05' AND k = 1", "k > 2"])
def test_overwrite_of_what_is_no_partition_is_refused(lake: kl.Lake, where: str) -> None:
    twin = create(lake)
    twin.upsert([row(k, a=k, b="x") for k in range(4)], version=1)
    before = snapshots(lake, twin.table.name)
    with pytest.raises(kl.KeylakeError, match="partition"):
        twin.table.overwrite([row(1, a=2, b="y")], where=where, version=2)
    assert snapshots(lake, twin.table.name) == before
    twin.check()


def test_rows_that_an_overwritten_partition_does_not_hold_are_refused(lake: kl.Lake) -> None:
    twin = create(lake)
    twin.upsert([row(1, day, a=1, b="x") for day in (MONDAY, TUESDAY)], version=5)
    with pytest.raises(kl.KeylakeError):
        twin.table.overwrite([row(1, TUESDAY, a=2, b="y")], where="day = DATE '2026-01-05'", version=6)
    twin.check()


def test_a_branch_takes_writes_of_its_own(lake: kl.Lake) -> None:
    twin = create(lake)
    twin.upsert([row(1, a=1, b="x")], version=1)
    lake.spark.sql(f"ALTER TABLE {twin.sql_name} CREATE BRANCH draft").collect()
    draft = twin.table.branch("draft")
    draft.update([row(1, a=2), row(2, a=2)], version=3)
    twin.update([row(1, b="y")], version=2)
    twin.check()
    assert {(r.k, r.a, r.b) for r in draft.read().collect()} == {(1, 2, "x"), (2, 2, None)}
    assert [info.verb for info in draft.history()] == ["update", "upsert"]
    assert [info.verb for info in twin.table.history()] == ["update", "upsert"]
    assert draft.get(k=2, day=MONDAY) is not None
    assert twin.table.get(k=2, day=MONDAY) is None
    assert {r.k for r in twin.table.read(at="draft").collect()} == {1, 2}
    with pytest.raises(kl.KeylakeError, match="nowhere"):
        twin.table.branch("nowhere")


def test_a_filter_on_a_value_sees_merged_rows(lake: kl.Lake) -> None:
    twin = create(lake)
    twin.upsert([row(k, a=k, b="x") for k in range(6)], version=1)
    twin.update([row(k, a=10 * k) for k in range(3)], version=2)
    twin.delete([row(5)], version=2)
    for where, keys in (("a < 3", {0}), ("a = 10", {1}), ("b = 'x' AND a >= 4", {1, 2, 4}), ("a = 5", set())):
        assert {r.k for r in twin.table.read(where=where).collect()} == keys, where
    assert {r.k for r in twin.table.read(columns=["k"], where="a = 10").collect()} == {1}


def test_a_table_is_written_from_itself(lake: kl.Lake) -> None:
    """A statement that reads its target writes the columns it names, and no others."""
    twin = create(lake, "commit")
    twin.upsert([row(k, a=k, b="x") for k in range(4)])
    before = lake.spark.table(twin.sql_name)
    t = twin.sql_name
    lake.spark.sql(f"INSERT INTO {t} (k, day, b) SELECT k, day, 'y' FROM {t} WHERE k = 1").collect()
    twin.model.update([row(1, b="y")])
    twin.table.update(before.where("k = 2").selectExpr("day", "k", "a * 10 AS a"))
    twin.model.update([row(2, a=20)])
    twin.table.delete(twin.table.read(columns=["k", "day"], where="a = 3"))
    twin.model.delete([row(3)])
    twin.check()
    assert [set(info.columns) for info in twin.table.history()] == [set(), {"a"}, {"b"}, {"a", "b"}]


@pytest.mark.slow
def test_of_overlapping_writes_the_later_commit_wins(lake: kl.Lake) -> None:
    """A slow write begins, quick ones commit, and the slow one commits after them."""
    for thousands in (250, 1000, 4000, 16_000):
        table = create(lake, versions="commit").table
        table.upsert([{"k": key, "day": MONDAY, "a": 0, "b": "base"} for key in (1, 2)])
        text = "concat('slow', sha2(cast(id AS STRING), 256)) AS b"
        rows = lake.spark.range(0, thousands * 1000, 1, 2).selectExpr(
            "id AS k", f"DATE '{MONDAY}' AS day", "1L AS a", text
        )
        slow = threading.Thread(target=table.upsert, args=(rows,), kwargs={"stream": "slow"})
        slow.start()
        table.upsert([{"k": 1, "day": MONDAY, "a": 2, "b": "quick"}])
        table.delete([{"k": 2, "day": MONDAY}])
        slow.join()
        newest = table.history()[0]
        if newest.stream == "slow":
            break
    assert newest.stream == "slow", "the writes have not overlapped"
    versions = [commit.versions for commit in table.history()]
    assert [each for each in versions if each] == sorted((each for each in versions if each), reverse=True)
    for _ in range(2):
        found = [table.get(k=key, day=MONDAY) for key in (1, 2)]
        assert [(row.a, row.b[:4]) for row in found if row] == [(1, "slow"), (1, "slow")]
        table.compact("full")
