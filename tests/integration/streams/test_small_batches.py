"""Batches of a few rows: the driver writes them, after one job that makes them, and they are what tasks would write."""

import os
from pathlib import Path
from random import Random

import pyarrow.parquet as pq
import pytest

import keylake as kl
from integration.event_log import EventLog
from integration.histories import Operation, Shape, operations, shapes
from integration.query_plans import changed_settings
from integration.random_runs import of_every, seeds
from integration.streams.arriving import arrive, found
from integration.twin import Twin, fresh_name

DRIVER_ROWS = "spark.keylake.write.driver-rows"
CHOSEN = {
    name: shape
    for name, shape in shapes()
    if name in ("explicit", "ordering, compound key", "partitions and groups", "accumulators")
}


def clicks(lake: kl.Lake, files: Path, checkpoint: Path, table: kl.KeyedTable) -> None:
    frame = lake.spark.readStream.schema("id BIGINT, at BIGINT, clicks BIGINT").option("maxFilesPerTrigger", 1)
    assert table.stream(frame.json(str(files)), checkpoint=checkpoint, available_now=True).wait(120)


@pytest.mark.slow
def test_a_small_batch_is_one_job_without_a_shuffle_that_is_read(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events")
    with kl.connect(warehouse=tmp_path / "lake", memory="1g", settings=log.settings()) as lake:
        lake.spark.sql(
            "CREATE TABLE lake.web.clicks (id BIGINT PRIMARY KEY, at BIGINT, clicks BIGINT) USING keylake "
            "CLUSTERED BY (id) INTO 8 BUCKETS TBLPROPERTIES ('ordering' = 'at')"
        ).collect()
        table = lake.table("web.clicks")
        files = tmp_path / "clicks"
        for number, rows in enumerate((10, 1_000, 5_000)):
            arrive(files, f"{number}", *({"id": key, "at": number, "clicks": key} for key in range(rows)))
            before = len(log.jobs())
            clicks(lake, files, tmp_path / "checkpoint", table)
            made = log.jobs()[before:]
            assert made[0] == [1]
            assert len(made) == (1 if rows < 5_000 else 2), made
        assert table.read().count() == 5_000
        assert [commit.rows for commit in table.history()] == [5_000, 1_000, 10]
        arrive(files, "3", {"id": 1, "at": 9, "clicks": 9})
        before = len(log.jobs())
        with changed_settings(lake, {DRIVER_ROWS: "0"}):
            clicks(lake, files, tmp_path / "checkpoint", table)
        assert len(log.jobs()) == before + 2


@of_every("shape", CHOSEN, today=1)
@pytest.mark.parametrize("seed", seeds(few=1, many=3))
def test_a_history_of_batches(lake: kl.Lake, tmp_path: Path, shape: Shape, seed: int) -> None:
    """By the driver and by tasks, also where the last batch comes again, as after a failure right after its commit."""
    draw = Random(seed)
    twin = shape.create(lake, fresh_name("streams"))
    version = "v" if shape.versions == "explicit" else None
    drawn = operations(shape, seed, 120, draw.choice([4, 40]), forms=("spark",))
    history = [each for each in drawn if each.verb == "apply_changes" and each.version == version][:6]
    assert history
    half = len(history) // 2
    for number, operation in enumerate(history):
        _arrive(twin, operation, tmp_path / "changes", number)
        if number in (half, len(history) - 1):
            with changed_settings(lake, {DRIVER_ROWS: draw.choice(["0", "10", "4096"])}):
                _run(lake, twin, tmp_path, version)
            (tmp_path / "checkpoint" / "commits" / f"{number}").unlink()
            (tmp_path / "checkpoint" / "commits" / f".{number}.crc").unlink(missing_ok=True)
    _run(lake, twin, tmp_path, version)
    twin.check()
    twin.check_stamps()
    assert len(twin.table.history()) == len(history)


def _arrive(twin: Twin, operation: Operation, files: Path, number: int) -> None:
    twin.model.apply_changes(operation.rows, "op", operation.version)
    files.mkdir(exist_ok=True)
    path = files / f"{number}.parquet"
    pq.write_table(twin.frame(operation.rows), files / ".hidden")
    os.utime(files / ".hidden", (1_760_000_000 + number,) * 2)  # the oldest comes first
    (files / ".hidden").rename(path)


def _run(lake: kl.Lake, twin: Twin, folder: Path, version: str | None) -> None:
    schema = lake.spark.read.parquet(str(folder / "changes")).schema
    frame = lake.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "changes"))
    query = twin.table.stream(frame, checkpoint=folder / "checkpoint", op="op", version=version, available_now=True)
    assert query.wait(120)


def test_a_batch_that_is_refused_leaves_no_file(
    lake: kl.Lake, table: kl.KeyedTable, warehouse: Path, tmp_path: Path
) -> None:
    files = tmp_path / "clicks"
    rows = [{"id": key, "at": 1, "clicks": key} for key in range(40)]
    arrive(files, "a", *rows)
    clicks(lake, files, tmp_path / "checkpoint", table)
    stored = warehouse.joinpath(*table.name.split("."))
    before = set(stored.rglob("*.parquet"))
    arrive(files, "b", *rows, {"id": None, "at": 2, "clicks": 2})
    with pytest.raises(kl.BadRows, match="'id'"):
        clicks(lake, files, tmp_path / "checkpoint", table)
    assert set(stored.rglob("*.parquet")) == before
    assert len(found(table)) == 40
