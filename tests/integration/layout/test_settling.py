"""Settling: superseded rows are recorded as Iceberg's own deletions; no data is written again, no answer changes."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from random import Random
from typing import Any, Literal

import pyarrow as pa
import pytest

import keylake as kl
from integration.histories import Shape, operations, shapes
from integration.layout.partial_merge import some_of_each_bucket
from integration.query_plans import counted, explained, planned
from integration.random_runs import of_every
from integration.raw import catalog_of
from integration.twin import Found, Twin, by_key, fresh_name

EXPLICIT = Shape("explicit", buckets=2)
FORMATS = (2, 3)  # positions in files, and deletion vectors
KINDS = {name: (shape, number) for (name, shape), number in zip(shapes(), cycle(FORMATS), strict=False)}
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


@pytest.mark.slow
@of_every("kind", KINDS, today=1)
def test_a_history_that_is_settled_now_and_then(lake: kl.Lake, kind: tuple[Shape, int]) -> None:
    shape, table_format = kind
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


WHOLE = Shape("explicit", buckets=2, reducers={})


@pytest.mark.slow
@pytest.mark.parametrize("table_format", FORMATS)
def test_what_a_read_has_found_is_what_is_settled(lake: kl.Lake, table_format: int) -> None:
    """The first table is settled by what the read before has found, the second by a merge: they are settled alike."""
    random = Random(table_format)
    twins = [created(lake, WHOLE, table_format) for _ in range(2)]
    for version in random.sample(range(9), 5):
        keys = random.sample(range(200), 80)
        rows = [{"id": key, "a": key + version, "b": "text", "c": 0.5, "d": [1], "e": version} for key in keys]
        for twin in twins:
            twin.upsert(rows, version=version)
    assert twins[0].read() == twins[0].expected()
    settled = [[bucket.rows_superseded for bucket in twin.table.compact("settle")] for twin in twins]
    assert settled[0] == settled[1]
    assert sum(settled[0]) == 5 * 80 - len(twins[0].expected())
    for twin in twins:
        assert read_any_way(twin) == [twin.expected()] * 2
        assert catalog_of(lake).load_table(twin.table.name).scan().to_arrow().num_rows == len(twin.expected())


def rows(keys: Sequence[int], value: int) -> list[dict[str, object]]:
    return [{"id": key, "a": value, "b": f"text {value}", "c": None, "d": [value], "e": value} for key in keys]


def after_upserts(lake: kl.Lake, table_format: int = 2) -> Twin:
    """Six times whole rows that overlap, a third of them superseded."""
    twin = created(lake, WHOLE, table_format)
    for number in range(6):
        twin.upsert(rows(range(100 * number, 100 * number + 150), number), version=number)
    return twin


def settled(twin: Twin) -> kl.CompactionReport:
    report = twin.table.compact("settle")
    assert {bucket.reason for bucket in report} <= {"settle"}
    assert {bucket.state for bucket in report} <= {"committed"}
    return report


def plain_rows(twin: Twin) -> pa.Table:
    """What an engine reads that knows nothing of keyed tables."""
    plain = catalog_of(twin.lake).load_table(twin.table.name)
    return plain.scan(selected_fields=(*twin.model.key, *twin.model.columns)).to_arrow()


def is_safe_for_plain_reads(twin: Twin) -> bool:
    snapshot = catalog_of(twin.lake).load_table(twin.table.name).current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    return snapshot.summary["keylake.plain_reads"] == "safe"


@pytest.mark.slow
@of_every("table_format", {str(number): number for number in FORMATS}, today=1)
def test_a_settled_table_needs_no_merge(lake: kl.Lake, table_format: int) -> None:
    twin = after_upserts(lake, table_format)
    every = f"SELECT * FROM {twin.sql_name}"
    count = f"SELECT count(*), min(id), max(id) FROM {twin.sql_name}"
    assert planned(lake, every)["sections merged"] == 2
    assert "BatchScan" in explained(lake, count)
    report = settled(twin)
    assert [(bucket.files_merged, bucket.rows_written) for bucket in report] == [(6, 0)] * 2
    assert sum(bucket.rows_superseded for bucket in report) == 250
    assert "2 buckets settled" in str(report)
    assert twin.table.history(compactions=True)[0].verb == "settle"
    found = planned(lake, every)
    assert (found["sections merged"], found["passed through"], found["files"]) == (0, 12, 12)
    assert "BatchScan" not in explained(lake, count), "metadata says it"
    assert tuple(lake.spark.sql(count).collect()[0]) == (650, 0, 649)
    frame = lake.spark.sql(f"SELECT a FROM {twin.sql_name}")
    assert frame.toArrow().num_rows == 650
    lists_of_positions = 10 if table_format == 2 else 0
    assert counted(frame)["columnsOpened"] == 12 + lists_of_positions, "no key is opened"
    assert read_any_way(twin) == [twin.expected()] * 2
    assert is_safe_for_plain_reads(twin)
    assert by_key(plain_rows(twin), twin.model.key) == twin.expected()
    for commits in range(1, 7):
        twin.check(commits=commits)
    assert len(settled(twin)) == 0, "all is settled"


CONDITIONS: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    "id = 45": lambda row: row["id"] == 45,
    "a = 9": lambda row: row["a"] == 9,
    "a = 0": lambda row: row["a"] == 0,
    "id > 140 AND a < 3": lambda row: row["id"] > 140 and row["a"] < 3,
    "b = 'text 2' AND id < 260": lambda row: row["b"] == "text 2" and row["id"] < 260,
    "c IS NULL": lambda row: row["c"] is None,
}


@pytest.mark.slow
@of_every("table_format", {str(number): number for number in FORMATS}, today=1)
def test_what_comes_later_is_merged_until_it_is_settled_too(lake: kl.Lake, table_format: int) -> None:
    twin = after_upserts(lake, table_format)
    settled(twin)
    twin.upsert(rows(range(40, 60), 9), version=9)
    assert not is_safe_for_plain_reads(twin)
    assert planned(lake, f"SELECT * FROM {twin.sql_name}")["sections merged"] == 2
    assert read_any_way(twin) == [twin.expected()] * 2
    twin.upsert(rows(range(2000, 2050), 9), version=9)
    found = planned(lake, f"SELECT * FROM {twin.sql_name} WHERE id > 100")
    assert found["passed through"] > found["sections merged"], "what is settled stays settled"
    assert sum(bucket.rows_superseded for bucket in settled(twin)) > 0
    assert read_any_way(twin) == [twin.expected()] * 2
    assert by_key(plain_rows(twin), twin.model.key) == twin.expected()
    for condition, keeps in CONDITIONS.items():
        found_rows = lake.spark.sql(f"SELECT * FROM {twin.sql_name} WHERE {condition}").toArrow()
        kept = {key: row for key, row in twin.expected().items() if keeps({"id": key[0]} | row)}
        assert by_key(found_rows, twin.model.key) == kept, condition
    assert lake.spark.sql(f"SELECT * FROM {twin.sql_name} LIMIT 7").toArrow().num_rows == 7


@pytest.mark.slow
def test_tombstones_are_kept_and_hidden(lake: kl.Lake) -> None:
    twin = after_upserts(lake)
    twin.delete([{"id": key} for key in range(0, 400, 3)], version=50)
    twin.upsert(rows(range(0, 400, 9), 60), version=60)
    settled(twin)
    found = planned(lake, f"SELECT * FROM {twin.sql_name}")
    assert found["passed through"] == 14, "all but the two files that have only tombstones"
    assert read_any_way(twin) == [twin.expected()] * 2
    assert twin.table.read().count() == len(twin.expected())
    assert not is_safe_for_plain_reads(twin)
    twin.upsert(rows(range(400), 40), version=40)
    assert read_any_way(twin) == [twin.expected()] * 2, "late data brings nothing back"
    settled(twin)
    assert read_any_way(twin) == [twin.expected()] * 2
    twin.check_stamps()


def test_a_row_of_which_a_tombstone_elsewhere_has_removed_some_values_is_merged(lake: kl.Lake) -> None:
    twin = created(lake, WHOLE, 2)
    twin.update([{"id": 1, "a": 1, "b": "old", "v_a": 9, "v_b": 3}], {"a": "v_a", "b": "v_b"})
    twin.delete([{"id": 1}], version=5)
    settled(twin)
    assert read_any_way(twin) == [twin.expected()] * 2


@pytest.mark.slow
def test_partial_updates_are_settled_when_all_their_columns_are_superseded(lake: kl.Lake) -> None:
    twin = after_upserts(lake)
    twin.update([{"id": key, "a": 7} for key in range(0, 100, 2)], version=7)
    settled(twin)
    assert planned(lake, f"SELECT * FROM {twin.sql_name}")["sections merged"] == 2, "some keys have two rows"
    assert not is_safe_for_plain_reads(twin)
    assert read_any_way(twin) == [twin.expected()] * 2
    assert twin.table.compaction_plan(SETTLING).settlements == (), "settling again would be in vain"
    twin.upsert(rows(range(0, 100, 2), 8), version=8)
    settled(twin)
    assert planned(lake, f"SELECT * FROM {twin.sql_name}")["sections merged"] == 0
    assert is_safe_for_plain_reads(twin)
    assert by_key(plain_rows(twin), twin.model.key) == twin.expected()


@pytest.mark.slow
def test_a_policy_chooses_between_settling_and_merging(lake: kl.Lake) -> None:
    twin = after_upserts(lake)
    assert not twin.table.compaction_plan().settlements, "to merge small runs is as cheap"
    plan = twin.table.compaction_plan(SETTLING)
    assert (len(plan.settlements), len(plan.merges)) == (2, 0)
    assert "2 buckets, 2 to settle" in str(plan)
    assert "settle: 100% of" in str(plan)
    report = twin.table.compact(SETTLING)
    assert {bucket.reason for bucket in report} == {"settle"}
    assert report.bytes_written < sum(bucket.bytes_merged for bucket in report)
    assert len(twin.table.compact(SETTLING)) == 0, "a full tier that is settled is left alone"
    twin.upsert(rows(range(600, 605), 9), version=9)
    assert len(twin.table.compaction_plan(SETTLING).settlements) == 0, "too little is new"
    merged = twin.table.compact("full")
    assert {bucket.reason for bucket in merged} == {"file_count"}
    assert sum(bucket.rows_written for bucket in merged) == 650
    assert read_any_way(twin) == [twin.expected()] * 2


@pytest.mark.slow
@of_every("table_format", {str(number): number for number in FORMATS}, today=1)
def test_a_part_of_settled_runs_is_merged_without_what_others_supersede(lake: kl.Lake, table_format: int) -> None:
    twin = created(lake, WHOLE, table_format)
    for number, keys in enumerate([range(300), range(20), range(20, 40), range(0, 300, 2)]):
        twin.upsert(rows(keys, number), version=number)
    settled(twin)
    assert {merge.reason for merge in twin.table.compact(some_of_each_bucket(twin.table))} == {"superseded"}
    assert read_any_way(twin) == [twin.expected()] * 2
    assert twin.table.read().count() == 300


@pytest.mark.slow
def test_settling_gives_way_to_a_merge(lake: kl.Lake) -> None:
    twin = after_upserts(lake)
    with ThreadPoolExecutor() as threads:
        running = [threads.submit(twin.table.compact, word) for word in ("settle", "full", "settle", "full")]
        for number in range(4):
            twin.upsert(rows(range(100 * number, 100 * number + 50), 70 + number), version=70 + number)
        reports = [each.result() for each in running]
    assert {bucket.state for report in reports for bucket in report} <= {"committed", "lost"}
    assert read_any_way(twin) == [twin.expected()] * 2
    settled(twin)
    assert read_any_way(twin) == [twin.expected()] * 2
