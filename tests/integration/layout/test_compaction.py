"""Compaction never changes an answer: random histories with merges in between, and what compaction says of itself."""

from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest

import keylake as kl
from integration.histories import Shape, operations, shapes
from integration.random_runs import of_every_shape
from integration.raw import catalog_of
from integration.refusals import refused, refused_in_sql
from integration.twin import Twin, by_key, fresh_name

SHAPES = dict(shapes())
EXPLICIT = Shape("explicit", buckets=2)

# Files of tests have some kilobytes: with these, merges take a part of the runs, and a stretch has several files.
POLICIES: dict[str, kl.CompactionPolicy | None] = {
    "full": None,
    "settle": None,
    "pairs": kl.CompactionPolicy(tier_runs=2, max_files=2, least_freed_share=0, superseded_share=1),
    "newest": kl.CompactionPolicy(
        tier_runs=2, max_files=1000, least_freed_share=0, superseded_share=1, max_bytes=20_000, target_file_bytes=9000
    ),
    "settling": kl.CompactionPolicy(settle_share=0, superseded_share=0.9),
    "superseded": kl.CompactionPolicy(superseded_share=0.2, max_bytes=30_000, target_file_bytes=1000),
}


def compacted(twin: Twin, policy: str) -> kl.CompactionReport:
    """What a policy makes of the table; without one, the policy that has this name."""
    return twin.table.compact(POLICIES[policy] or policy)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1])
@of_every_shape
def test_a_history_with_compactions(lake: kl.Lake, shape: Shape, seed: int) -> None:
    random = Random(seed)
    twin = shape.create(lake, fresh_name("compaction"))
    merges = 0
    for number, operation in enumerate(operations(shape, 100 + seed, count=9, rows=random.choice([4, 40]))):
        operation.apply(twin)
        if number % 2:
            policy = random.choice(list(POLICIES))
            merges += len(compacted(twin, policy))
            assert twin.read() == twin.expected(), (number, policy)
    twin.check_stamps()
    merges += len(compacted(twin, "full"))
    assert merges > 0
    twin.check()
    twin.check_stamps()
    twin.check(commits=3)
    assert all(bucket.depth <= 1 for bucket in twin.table.compaction_plan("full"))
    for operation in operations(shape, 200 + seed, count=2, rows=20):
        operation.apply(twin)
        twin.check()


def rows(first: int, after: int, value: int) -> list[dict[str, object]]:
    return [{"id": key, "a": value, "b": None, "c": 0.5, "d": None, "e": None} for key in range(first, after)]


def after_upserts(lake: kl.Lake, count: int) -> Twin:
    twin = EXPLICIT.create(lake, fresh_name("compaction"))
    for number in range(count):
        twin.upsert(rows(0, 500, number), version=number)
    return twin


def test_a_plan_shows_picture_and_reason(lake: kl.Lake) -> None:
    twin = after_upserts(lake, 2)
    before = twin.table.history(compactions=True)
    plan = twin.table.compaction_plan()
    assert len(plan) == 2
    assert [len(bucket.runs) for bucket in plan] == [2, 2]
    assert [bucket.depth for bucket in plan] == [2, 2]
    assert {bucket.reason for bucket in plan.merges} == {"superseded"}
    assert "about 50% of" in str(plan)
    assert "2 merges of" in str(plan)
    assert twin.table.history(compactions=True) == before, "nothing was done"


@pytest.mark.slow
def test_a_report_says_what_was_done(lake: kl.Lake) -> None:
    twin = after_upserts(lake, 5)
    report = twin.table.compact()
    assert [(merge.state, merge.files_merged, merge.files_written) for merge in report] == [("committed", 5, 1)] * 2
    assert sum(merge.rows_merged for merge in report) == 2500
    assert sum(merge.rows_written for merge in report) == 500
    assert "2 merges, 10 files became 2" in str(report)
    assert [commit.verb for commit in twin.table.history(compactions=True)[:2]] == ["compact", "compact"]
    assert "nothing to merge" in str(twin.table.compact())
    twin.check()


@pytest.mark.slow
def test_sql_does_the_same(lake: kl.Lake) -> None:
    twin = after_upserts(lake, 5)
    found = lake.spark.sql(f"CALL {lake.catalog}.system.compact(table => '{twin.table.name}')").collect()
    assert {row["state"] for row in found} == {"committed"}
    twin.check()


@pytest.mark.slow
def test_late_data_does_not_bring_a_deleted_row_back(lake: kl.Lake) -> None:
    twin = after_upserts(lake, 2)
    twin.delete([{"id": key} for key in range(100)], version=50)
    compacted(twin, "full")
    twin.upsert(rows(0, 200, 7), version=40)
    twin.check()
    assert len(twin.read()) == 400
    compacted(twin, "full")
    twin.check()


def test_late_data_in_a_younger_run_stays_deleted(lake: kl.Lake) -> None:
    twin = Shape("explicit", buckets=1).create(lake, fresh_name("compaction"))
    whole = dict.fromkeys("abcde")
    twin.upsert([{"id": number} | whole for number in range(50)], 1)
    twin.delete([{"id": 1}], 9)
    twin.upsert([{"id": number} | whole for number in range(2, 50)], 9)
    twin.update([{"id": 1, "a": 3}], 3)
    forgetting = kl.CompactionPolicy(tombstone_seconds=0, settle_share=None)
    for _ in range(3):
        twin.table.compact(forgetting)
        twin.check()


@pytest.mark.slow
def test_tombstones_go_after_their_time(lake: kl.Lake) -> None:
    twin = after_upserts(lake, 2)
    twin.delete([{"id": key} for key in range(100)], version=50)
    name = f"{lake.catalog}.{twin.table.name}"
    stored = f"SELECT sum(record_count) FROM {name}.files"
    compacted(twin, "full")
    twin.upsert(rows(200, 210, 9), version=60)
    assert lake.spark.sql(stored).collect()[0][0] == 510
    forgetting = kl.CompactionPolicy(superseded_share=0, least_freed_share=0, tombstone_seconds=0)
    twin.table.compact(forgetting)
    assert lake.spark.sql(stored).collect()[0][0] == 400, "rows that are only a tombstone are gone"
    twin.check()
    twin.table.upsert(twin.frame(rows(0, 1, 3)), version=1)
    assert twin.table.get(id=0) is not None, "and hold nothing down any more"


@pytest.mark.slow
def test_a_branch_is_compacted_by_itself(lake: kl.Lake) -> None:
    twin = after_upserts(lake, 5)
    lake.spark.sql(f"ALTER TABLE {lake.catalog}.{twin.table.name} CREATE BRANCH side").collect()
    side = twin.table.branch("side")
    assert len(side.compact()) == 2
    assert [bucket.depth for bucket in side.compaction_plan()] == [1, 1]
    assert side.compaction_policy() == twin.table.compaction_policy()
    assert side.clean() == twin.table.clean()
    assert [bucket.depth for bucket in twin.table.compaction_plan()] == [5, 5]
    twin.check()


@pytest.mark.slow
def test_files_that_overlap_nothing_stay(lake: kl.Lake) -> None:
    twin = EXPLICIT.create(lake, fresh_name("compaction"))
    for number in range(6):
        twin.upsert(rows(number * 1000, number * 1000 + 500, number), version=number)
    assert len(twin.table.compact()) == 0, "a merge would free nothing"
    few = kl.CompactionPolicy(max_files=4, tier_runs=4)
    report = twin.table.compact(few)
    assert {merge.reason for merge in report} == {"file_count"}
    assert all(bucket.files <= 4 for bucket in twin.table.compaction_plan())
    twin.check()


@pytest.mark.slow
def test_two_compactions_and_a_writer_at_once(lake: kl.Lake) -> None:
    twin = after_upserts(lake, 6)
    with ThreadPoolExecutor() as threads:
        running = [threads.submit(compacted, twin, "full") for _ in range(2)]
        for number in range(4):
            twin.upsert(rows(100 * number, 100 * number + 50, 70 + number), version=70 + number)
        reports = [each.result() for each in running]
    twin.check()
    compacted(twin, "full")
    twin.check()
    name = f"{lake.catalog}.{twin.table.name}"
    known = {row[0] for row in lake.spark.sql(f"SELECT file_path FROM {name}.all_files").collect()}
    states = [merge.state for report in reports for merge in report]
    assert set(states) <= {"committed", "lost"}
    location = lake.spark.sql(f"SELECT file_path FROM {name}.files LIMIT 1").collect()[0][0]
    folder = location.split("/data/")[0] + "/data"
    listed = lake.spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(folder).select("path")
    there = {row[0].removeprefix("file:") for row in listed.collect()}
    assert there == {path.removeprefix("file:") for path in known}, "a lost race leaves no file behind"


# ------------------------------------------------------------------------------------------------------------ policies


def test_a_table_has_a_policy(lake: kl.Lake) -> None:
    twin = after_upserts(lake, 2)
    assert twin.table.compaction_policy() == kl.CompactionPolicy()
    lazy = kl.CompactionPolicy(superseded_share=0.9)
    twin.table.set_compaction_policy(lazy)
    assert twin.table.compaction_policy() == lazy
    assert not twin.table.compaction_plan().merges
    assert twin.table.compaction_plan("full").merges


def test_what_contradicts_itself_is_refused(lake: kl.Lake) -> None:
    twin = after_upserts(lake, 1)
    name = twin.table.name
    with refused(lake, name, kl.DefinitionError, "max_files 3", "at least tier_runs, which is 4"):
        twin.table.set_compaction_policy(kl.CompactionPolicy(max_files=3))
    with refused(lake, name, kl.DefinitionError, "superseded_share 2"):
        twin.table.compact(kl.CompactionPolicy(superseded_share=2))
    with refused_in_sql(lake, name, "DEFINITION", "there is no compaction policy 'all'", "'maintenance'"):
        lake.spark.sql(f"CALL {lake.catalog}.system.compact(table => '{name}', policy => 'all')").collect()
    with refused_in_sql(lake, name, "DEFINITION", "has no [tiers]"):
        setting = """TBLPROPERTIES ('keylake.compaction' = '{"tiers": 3}')"""
        lake.spark.sql(f"ALTER TABLE {twin.sql_name} SET {setting}").collect()
    assert twin.table.compaction_policy() == kl.CompactionPolicy()


def test_there_must_be_a_table_and_a_branch(lake: kl.Lake) -> None:
    twin = after_upserts(lake, 1)
    name = twin.table.name
    with refused_in_sql(lake, name, "NOT_FOUND", "no branch 'gone'"):
        lake.spark.sql(f"CALL {lake.catalog}.system.compact(table => '{name}', branch => 'gone')").collect()
    lake.drop(name)
    with pytest.raises(kl.TableNotFound, match=name):
        twin.table.compact()


# ----------------------------------------------------------------------------------------------------------- cleaning


@pytest.mark.slow
def test_a_cleaning_keeps_what_is_asked_for(lake: kl.Lake) -> None:
    twin = after_upserts(lake, 5)
    lake.spark.sql(
        f"ALTER TABLE {twin.sql_name} CREATE TAG second AS OF VERSION {twin.commits[1].snapshot_id}"
    ).collect()
    compacted(twin, "full")
    assert twin.table.clean().snapshots_expired == 0, "a week of the past is kept unless said"
    twin.table.set_retention_policy(kl.RetentionPolicy(days=0, snapshots=2))
    assert twin.table.retention_policy().snapshots == 2
    cleaned = twin.table.clean()
    assert cleaned.snapshots_expired == 4, "of seven, two are the newest and one has a tag"
    assert cleaned.files_deleted > 0
    twin.check()
    at = twin.table.read(at="second").toArrow()
    assert set(at.column("a").to_pylist()) == {1}
    with refused(lake, twin.table.name, kl.DefinitionError, "snapshots 0", "at least 1"):
        twin.table.clean(kl.RetentionPolicy(snapshots=0))


def test_a_reader_of_an_old_snapshot_goes_on_until_it_expires(lake: kl.Lake) -> None:
    twin = after_upserts(lake, 4)
    before = twin.table.read(at=twin.commits[2])
    compacted(twin, "full")
    assert set(before.toArrow().column("a").to_pylist()) == {2}
    twin.check(commits=3)
    twin.table.clean(kl.RetentionPolicy(days=0))
    with pytest.raises(kl.KeylakeError):
        twin.read(commits=3)
    twin.check()


# ------------------------------------------------------------------------------------------------ the merged branch


@pytest.mark.slow
@pytest.mark.parametrize("shape", [SHAPES["explicit"], SHAPES["partitions and groups"]], ids=["explicit", "partitions"])
def test_any_engine_reads_the_merged_branch(lake: kl.Lake, shape: Shape) -> None:
    twin = shape.create(lake, fresh_name("compaction"))
    for operation in operations(shape, 400, count=6, rows=40):
        operation.apply(twin)
    twin.delete([dict(zip(twin.model.key, key, strict=True)) for key in list(twin.model.read())[:3]], version=99)
    done = twin.table.refresh_merged()
    plain = catalog_of(lake).load_table(twin.table.name)
    merged = plain.snapshot_by_name("merged")
    assert merged is not None
    assert merged.snapshot_id == done.snapshot_id
    assert merged.summary is not None
    assert merged.summary["keylake.merged_of"] == str(twin.commits[-1].snapshot_id)
    assert merged.summary["keylake.plain_reads"] == "safe"
    names = (*twin.model.key, *twin.model.columns)
    rows = plain.scan(snapshot_id=merged.snapshot_id, selected_fields=names).to_arrow()
    assert rows.num_rows == done.rows
    assert by_key(rows, twin.model.key) == twin.expected()
    assert {name for name in plain.metadata.refs if "merged" in name} == {"merged"}
    twin.check()
    twin.update([dict(zip(twin.model.key, next(iter(twin.model.written)), strict=True)) | {"c": 7.0}], version=100)
    apart = [dict(zip(twin.model.key, key, strict=True)) | {"id": 10**6} for key in twin.model.written]
    twin.delete(apart, version=101)  # beyond all other keys
    twin.table.refresh_merged()
    plain = catalog_of(lake).load_table(twin.table.name)
    rows = plain.scan(snapshot_id=plain.metadata.refs["merged"].snapshot_id, selected_fields=names).to_arrow()
    assert by_key(rows, twin.model.key) == twin.expected()


def test_nothing_written_is_nothing_merged(lake: kl.Lake) -> None:
    twin = EXPLICIT.create(lake, fresh_name("compaction"))
    with refused(lake, twin.table.name, kl.NothingToDo, "no commit yet"):
        twin.table.refresh_merged()
