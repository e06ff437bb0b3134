"""A changed bucket count: old and new files beside each other, and the move, which nobody notices."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

import keylake as kl
from integration.changed_rows import expected_changes
from integration.histories import COMPOUND, Operation, Shape, operations
from integration.query_plans import explained, planned
from integration.random_runs import of_every
from integration.raw import catalog_of, in_pyiceberg, in_spark
from integration.refusals import refused, refused_in_sql
from integration.spark_processes import connect_server, kill
from integration.time.appended import appended, at, by_key, expected_appended
from integration.twin import Found, Twin, fresh_name
from integration.twin import by_key as rows_by_key

pytestmark = pytest.mark.usefixtures("without_broadcasts")
SHAPES = {
    "bucketed by one column": Shape("explicit", buckets=2),
    "bucketed by both": Shape("ordering", COMPOUND, buckets=1),
    "partitioned": Shape("commit", COMPOUND, buckets=2, partition_by=("day",)),
}
shaped = of_every("shape", SHAPES, today=1)


def applied(twin: Twin, history: list[Operation]) -> None:
    for operation in history:
        operation.apply(twin)


def mid_move(lake: kl.Lake, shape: Shape, seed: int, rows: int = 40) -> Twin:
    """A table with files of two counts."""
    twin = shape.create(lake, fresh_name("rebucketing"))
    history = operations(shape, seed, count=4, rows=rows)
    applied(twin, history[:2])
    twin.table.change_buckets(2 * shape.buckets)
    applied(twin, history[2:])
    return twin


def counts_of_files(twin: Twin, branch: str = "main") -> set[str]:
    """The names of the partition fields of the live files, which tell the count."""
    table = catalog_of(twin.lake).load_table(twin.table.name)
    snapshot = table.snapshot_by_name(branch)
    assert snapshot is not None
    files = table.scan(snapshot_id=snapshot.snapshot_id).plan_files()
    return {table.specs()[task.file.spec_id].fields[-1].name for task in files}


MOVES = ("rebucket", "full", "settle", "nothing")


def tidied(twin: Twin, how: str) -> None:
    if how == "rebucket":
        twin.table.rebucket()
    elif how in {"full", "settle"}:
        twin.table.compact(how)  # type: ignore[arg-type]


def check_history(twin: Twin, random: Random) -> None:
    """Reads of the past, of what was written, and of what has changed, over some ranges of commits."""
    count = len(twin.commits)
    for _ in range(2):
        after, until = sorted(random.sample(range(count + 1), 2))
        twin.check(commits=until)
        assert appended(twin, after, until) == expected_appended(twin, after, until), (after, until)
        net = twin.table.changes(after=at(twin, after), until=at(twin, until))
        assert by_key(twin, net) == expected_changes(twin, after, until), (after, until)


@pytest.mark.slow
@shaped
def test_a_history_whose_bucket_count_grows(lake: kl.Lake, shape: Shape) -> None:
    random = Random(701)
    twin = shape.create(lake, fresh_name("rebucketing"))
    buckets = shape.buckets
    for number, operation in enumerate(operations(shape, 701, count=7, rows=random.choice([8, 40]))):
        operation.apply(twin)
        if number in {1, 4}:
            buckets *= random.choice([2, 3])
            assert twin.table.change_buckets(buckets).after == twin.table.spec.buckets == buckets
        else:
            tidied(twin, random.choice(MOVES))
        twin.check()
    twin.check_stamps()
    check_history(twin, random)
    twin.table.rebucket()
    assert not [bucket for bucket in twin.table.compaction_plan() if bucket.reason == "rebucket"]
    assert len(counts_of_files(twin)) == 1
    twin.check()
    check_history(twin, random)
    twin.table.rollback(to=twin.commits[2].snapshot_id)
    assert twin.read() == twin.expected(commits=3)
    twin.table.rebucket()
    assert twin.read() == twin.expected(commits=3)


@pytest.mark.slow
def test_an_undo_across_a_change_of_the_count(lake: kl.Lake) -> None:
    for how in ("nothing", "rebucket"):
        twin = mid_move(lake, SHAPES["bucketed by both"], seed=720)
        tidied(twin, how)
        twin.table.undo(after=at(twin, 1), until=at(twin, 3))
        twin.model = twin.model.without(1, 3)
        twin.check()
        twin.table.rebucket()
        twin.check()


def numbered(numbers: range, value: int) -> list[dict[str, object]]:
    return [{"id": number, "a": value} for number in numbers]


@pytest.mark.slow
def test_files_of_an_older_count_come_from_a_branch_after_the_move(lake: kl.Lake) -> None:
    twin = Shape("explicit", buckets=2).create(lake, fresh_name("rebucketing"))
    twin.update(numbered(range(20), 1), version=1)
    draft = twin.table.branch("tmp_draft")
    draft.update(twin.frame(numbered(range(10, 30), 3)), version=3)
    twin.table.change_buckets(8)
    twin.update(numbered(range(15, 40), 2), version=2)
    assert counts_of_files(twin) == {"id_bucket", "id_bucket_8"}
    twin.table.rebucket()
    assert counts_of_files(twin) == {"id_bucket_8"}
    assert counts_of_files(twin, "tmp_draft") == {"id_bucket"}
    draft.publish()
    assert counts_of_files(twin) == {"id_bucket", "id_bucket_8"}
    twin.model.update(numbered(range(10, 30), 3), 3)
    twin.check()
    assert len(twin.table.rebucket()) == 2, "the others stay as they are"
    assert counts_of_files(twin) == {"id_bucket_8"}
    twin.check()


@pytest.mark.parametrize("key", [{"id": pa.int64()}, COMPOUND], ids=["one column", "compound"])
def test_many_buckets_of_one_are_written_in_turn(lake: kl.Lake, key: Mapping[str, pa.DataType]) -> None:
    shape = Shape("explicit", key, buckets=1)
    twin = shape.create(lake, fresh_name("rebucketing"))
    applied(twin, operations(shape, 740, count=2, rows=300))
    twin.table.change_buckets(20)
    (done,) = twin.table.rebucket()
    assert (done.reason, done.files_written) == ("rebucket", 20)
    twin.check()
    twin.check_stamps()
    found = rows_by_key(lake.spark.sql(f"SELECT *, _bucket FROM {twin.sql_name}").toArrow(), twin.model.key)
    assert {k: row["_bucket"] for k, row in found.items()} == {k: twin.table.spec.bucket_of(*k) for k in found}


@pytest.mark.slow
@shaped
def test_a_key_is_still_looked_for_in_one_bucket(lake: kl.Lake, shape: Shape) -> None:
    twin = mid_move(lake, shape, seed=750)
    for moved in (False, True):
        if moved:
            twin.table.rebucket()
        for key in list(twin.expected())[:3]:
            equal = [f"`{name}` = {literal(value)}" for name, value in zip(shape.key, key, strict=True)]
            query = f"SELECT * FROM {twin.sql_name} WHERE {' AND '.join(equal)}"
            found = rows_by_key(lake.spark.sql(query).toArrow(), twin.model.key)
            assert found == {key: twin.expected()[key]}
            assert planned(lake, query)["buckets read"] == 1


def literal(value: object) -> str:
    return f"DATE '{value}'" if isinstance(value, date) else str(value)


@shaped
@pytest.mark.slow
def test_joins_of_a_table_on_its_way(lake: kl.Lake, shape: Shape) -> None:
    half = mid_move(lake, shape, seed=760)
    moved = mid_move(lake, shape, seed=761)
    moved.table.rebucket()
    old, new = (shape.create(lake, fresh_name("rebucketing"), factor * shape.buckets) for factor in (1, 2))
    for number, twin in enumerate((old, new)):
        applied(twin, operations(shape, 762 + number, count=2, rows=40))
    for left, right in ((half, old), (half, moved), (new, half), (moved, new)):
        found = rows_by_key(lake.spark.sql(left_join(left, right)).toArrow(), left.model.key)
        assert found == expected_left_join(left, right), (left.table.name, right.table.name)
    if shape.key.keys() == {"id"}:  # of a compound key, Spark cannot tell by itself
        for left, right in ((half, old), (moved, new)):
            assert "hashpartitioning" not in explained(lake, left_join(left, right))


def left_join(left: Twin, right: Twin) -> str:
    on = " AND ".join(f"l.`{name}` = r.`{name}`" for name in left.model.key)
    return f"SELECT l.*, r.a AS other FROM {left.sql_name} l LEFT JOIN {right.sql_name} r ON {on}"


def expected_left_join(left: Twin, right: Twin) -> Found:
    others = right.expected()
    return {key: row | {"other": others.get(key, {}).get("a")} for key, row in left.expected().items()}


@pytest.mark.slow
def test_a_move_and_writers_at_once(lake: kl.Lake) -> None:
    shape = SHAPES["partitioned"]
    twin = mid_move(lake, shape, seed=770)
    with ThreadPoolExecutor() as threads:
        moves = [threads.submit(twin.table.rebucket) for _ in range(2)]
        applied(twin, operations(shape, 771, count=4, rows=40))
        outcomes = [merge.state for move in moves for merge in move.result()]
    assert set(outcomes) <= {"committed", "lost"}
    twin.check()
    twin.table.rebucket()
    twin.check()
    assert counts_of_files(twin) == {"id_bucket_4"}


@pytest.mark.slow
def test_a_session_that_does_not_know_of_the_change(lake: kl.Lake) -> None:
    twin = Shape("explicit", buckets=2).create(lake, fresh_name("rebucketing"))
    twin.update(numbered(range(20), 1), version=1)
    assert lake._server is not None
    with kl.connect(lake._server.url) as other:
        theirs = replace(twin, lake=other, table=other.table(twin.table.name))
        theirs.check()
        twin.table.change_buckets(4)
        twin.update(numbered(range(10, 30), 2), version=2)
        theirs.update(numbered(range(15, 40), 3), version=3)
        theirs.check()
    twin.check()
    twin.table.rebucket()
    twin.check()


@pytest.mark.slow
def test_a_server_killed_in_mid_move(tmp_path: Path) -> None:
    """What was divided stays so, and another server finishes it."""
    shape = Shape("explicit", buckets=16)
    with connect_server(tmp_path) as first:
        twin = shape.create(kl.connect(first.url), fresh_name("rebucketing"))
        applied(twin, operations(shape, 780, count=3, rows=200))
        twin.table.change_buckets(32)
        commits = len(twin.table.history(compactions=True))
        with ThreadPoolExecutor(1) as threads:
            moving = threads.submit(twin.table.rebucket)
            while len(twin.table.history(compactions=True)) == commits:
                assert not moving.done()
            kill(first)
            assert isinstance(moving.exception(60), kl.ServerUnreachable)
    with connect_server(tmp_path) as second, kl.connect(second.url) as lake:
        again = replace(twin, lake=lake, table=lake.table(twin.table.name))
        again.check()
        assert len(again.table.rebucket()) < 16, "some were divided before"
        assert counts_of_files(again) == {"id_bucket_32"}
        again.check()


@pytest.mark.slow
def test_other_engines_open_a_table_on_its_way(lake: kl.Lake) -> None:
    for name in ("bucketed by one column", "bucketed by both"):
        twin = mid_move(lake, SHAPES[name], seed=800)
        table = catalog_of(lake).load_table(twin.table.name)
        assert len(table.specs()) == 2
        assert len(in_pyiceberg(table)) == in_spark(lake, table).count()
        merged = twin.table.refresh_merged()
        table.refresh()
        rows = table.scan(snapshot_id=merged.snapshot_id, selected_fields=tuple(twin.model.key)).to_arrow()
        assert rows_by_key(rows, twin.model.key).keys() == twin.expected().keys()
        twin.check()


def test_a_count_that_cannot_be_is_refused(lake: kl.Lake) -> None:
    twin = Shape("explicit", buckets=4).create(lake, fresh_name("rebucketing"))
    name = twin.table.name
    for wanted, words in (
        (2, "2 are not more"),
        (4, "such as 8"),
        (6, "take 8,"),
        (9, "take 8 or 12,"),
        (4_000_000, "1000000"),
    ):
        with refused(lake, name, kl.DefinitionError, str(wanted), words):
            twin.table.change_buckets(wanted)
    with refused_in_sql(lake, name, "DEFINITION", "no multiple"):
        lake.spark.sql(f"CALL {lake.catalog}.system.change_buckets('{name}', 10)").collect()
    assert twin.table.spec.buckets == 4
    (row,) = lake.spark.sql(f"CALL {lake.catalog}.system.change_buckets('{name}', 8)").collect()
    assert (row["before"], row["after"]) == (4, 8)
    assert lake.table(name).spec.buckets == 8


def test_more_buckets_are_recommended_when_a_table_has_grown(lake: kl.Lake) -> None:
    shape = Shape("explicit", buckets=2)
    twin = shape.create(lake, fresh_name("rebucketing"))
    applied(twin, operations(shape, 810, count=2, rows=100))
    assert twin.table.bucket_advice().recommended == 2
    twin.table.set_compaction_policy(kl.CompactionPolicy(target_file_bytes=1000))
    advice = twin.table.bucket_advice()
    assert advice.buckets == 2
    assert advice.recommended in {2**power for power in range(2, 12)}
    assert f"each of {advice.recommended} buckets" in advice.reason
    twin.table.change_buckets(advice.recommended)
    assert twin.table.bucket_advice().recommended == advice.recommended
