"""Things that go wrong: a write that fails midway, a server killed in mid-write, a server that is gone."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import functions

import keylake as kl
from integration.histories import Shape, operations
from integration.random_runs import one_of
from integration.refusals import snapshots
from integration.spark_processes import connect_server, kill
from integration.twin import Twin, fresh_name

SHAPE = Shape("explicit", buckets=4)


def written(lake: kl.Lake, rows: int = 50) -> Twin:
    twin = SHAPE.create(lake, fresh_name("faults"))
    for operation in operations(SHAPE, seed=31, count=3, rows=rows):
        operation.apply(twin)
    twin.check()
    return twin


@pytest.mark.slow
def test_a_write_that_fails_midway_leaves_nothing(lake: kl.Lake) -> None:
    twin = written(lake)
    before = snapshots(lake, twin.table.name)
    rows = lake.spark.range(0, 200_000, 1, 8).selectExpr("id", "id AS a")
    late = functions.col("id") == 199_999
    failing = rows.withColumn("a", functions.when(late, functions.raise_error(functions.lit("boom"))).otherwise(rows.a))
    with pytest.raises(Exception, match="boom"):
        twin.table.update(failing, version=10**6)
    nulls = rows.withColumn("id", functions.when(~late, rows.id))
    with pytest.raises(kl.BadRows, match="'id'"):
        twin.table.update(nulls, version=10**6)
    assert snapshots(lake, twin.table.name) == before
    twin.check()
    twin.update([{"id": 1, "a": 5}], version=10**6)
    twin.check()


@one_of("patience", [0.0, 0.7])
def test_a_server_killed_in_mid_write(tmp_path: Path, patience: float) -> None:
    """The table reads as before, or as after; the next write, by another server, works."""
    with connect_server(tmp_path) as first:
        twin = written(kl.connect(first.url))
        rows = twin.lake.spark.range(0, 2_000_000, 1, 16).selectExpr("id", "id AS a", "uuid() AS b")
        raised: list[BaseException] = []

        def write() -> None:
            try:
                twin.table.update(rows, version=10**6)
            except BaseException as error:  # noqa: BLE001 - looked at below, in the test's own thread
                raised.append(error)

        before = len(list(tmp_path.rglob("*.parquet")))
        writer = threading.Thread(target=write)
        writer.start()
        deadline = time.monotonic() + 60
        while len(list(tmp_path.rglob("*.parquet"))) == before:
            assert time.monotonic() < deadline, "the write did not begin"
            time.sleep(0.01)
        time.sleep(patience)
        kill(first)
        writer.join(60)
        assert not writer.is_alive(), "the caller waits for a server that is gone"
        assert [type(error) for error in raised] == [kl.ServerUnreachable], raised

    with connect_server(tmp_path) as second, kl.connect(second.url) as lake:
        again = Twin(lake, lake.table(twin.table.name), twin.model, twin.schema, twin.commits)
        again.check()
        assert len(again.table.history()) == len(twin.commits)
        again.update([{"id": 1, "a": 5}], version=10**7)
        again.check()


@pytest.mark.slow
def test_a_server_that_is_gone(tmp_path: Path) -> None:
    with connect_server(tmp_path) as server:
        lake = kl.connect(server.url)
        twin = written(lake)
        kill(server)
        for verb in (
            lambda: twin.table.update([{"id": 1, "a": 1}], version=1),
            lambda: twin.table.get(id=1),
            lake.tables,
            twin.table.history,
        ):
            began = time.monotonic()
            with pytest.raises(kl.ServerUnreachable) as raised:
                verb()
            assert time.monotonic() - began < 15
            assert "\n" not in str(raised.value)


def test_no_server_there() -> None:
    began = time.monotonic()
    with pytest.raises(kl.ServerUnreachable, match="localhost:1"):
        kl.connect("sc://localhost:1")
    assert time.monotonic() - began < 15


@one_of("stage", ["writing", "committing", "settling"])
def test_a_server_killed_in_a_compaction(tmp_path: Path, stage: str) -> None:
    """The table reads the same before and after, the next compaction ends the work, and no file is left over."""
    with connect_server(tmp_path, {"spark.master": "local[1]"}) as first:
        twin = written(kl.connect(first.url))
        many = twin.lake.spark.range(0, 600_000, 1, 4).selectExpr("id", "id AS a", "uuid() AS b")
        for version in (10**6, 10**6 + 1):
            twin.table.update(many, version=version)
        rows = checksum(twin.table)
        snapshots_before = len(twin.table.history(compactions=True))
        with ThreadPoolExecutor(1) as threads:
            compaction = threads.submit(twin.table.compact, "settle" if stage == "settling" else "full")
            wait_for(lambda: any(tmp_path.rglob(f"*{'settle' if stage == 'settling' else 'compact'}-*.parquet")))
            if stage == "committing":
                with kl.connect(first.url) as other:
                    table = other.table(twin.table.name)
                    wait_for(lambda: len(table.history(compactions=True)) > snapshots_before)
            kill(first)
            assert type(compaction.exception(60)) is kl.ServerUnreachable

    with connect_server(tmp_path) as second, kl.connect(second.url) as lake:
        table = lake.table(twin.table.name)
        assert checksum(table) == rows
        assert len(table.history(compactions=True)) >= snapshots_before + (stage == "committing")
        table.compact("full")
        assert checksum(table) == rows
        assert all(bucket.depth == 1 for bucket in table.compaction_plan())
        cleaned = table.clean(kl.RetentionPolicy(orphan_days=0))
        assert stage == "committing" or cleaned.orphans_deleted > 0
        known = lake.spark.sql(f"SELECT DISTINCT file_path FROM {lake.catalog}.{table.name}.all_files").collect()
        assert {Path(row[0].removeprefix("file:")) for row in known} == set(tmp_path.rglob("*.parquet"))
        assert checksum(table) == rows


def checksum(table: kl.KeyedTable) -> tuple[object, ...]:
    return tuple(table.read().selectExpr("count(*)", "sum(crc32(concat_ws('/', id, a, b)))").collect()[0])


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)
