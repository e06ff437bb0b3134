"""Streaming queries that write to keyed tables through Spark's own `toTable`."""

from pathlib import Path

import pytest
from pyspark.sql.streaming import StreamingQuery

import keylake as kl
from integration.refusals import snapshots
from integration.streams.arriving import arrive, found


def written(
    lake: kl.Lake, table: kl.KeyedTable, folder: Path, columns: str, mode: str = "append", counted: bool = False
) -> StreamingQuery:
    """A query over all files that are there, to its end."""
    frame = lake.spark.readStream.schema(columns).option("maxFilesPerTrigger", 1).json(str(folder))
    if counted:
        frame = (
            frame.groupBy("id")
            .agg({"at": "max", "clicks": "sum"})
            .toDF("id", "at", "clicks")
            .selectExpr("*", "'' AS city")
        )
    query = (
        frame.writeStream.outputMode(mode)
        .option("checkpointLocation", str(folder.with_suffix(".checkpoint")))
        .trigger(availableNow=True)
        .toTable(f"{lake.catalog}.{table.spec.name}")
    )
    assert query.awaitTermination(120)
    return query


@pytest.mark.slow
def test_batches_are_updates(lake: kl.Lake, table: kl.KeyedTable, tmp_path: Path) -> None:
    """Columns that the stream lacks stay absent, late rows lose, and each batch is a commit."""
    table.upsert([{"id": 1, "at": 5, "clicks": 0, "city": "Oslo"}])
    files = tmp_path / "clicks"
    arrive(files, "a", {"id": 1, "at": 7, "clicks": 7}, {"id": 2, "at": 7, "clicks": 2})
    arrive(files, "b", {"id": 1, "at": 6, "clicks": 6}, {"id": 2, "at": 9, "clicks": 4})
    written(lake, table, files, "id BIGINT, at BIGINT, clicks BIGINT")
    assert found(table) == [(1, 7, 7, "Oslo"), (2, 9, 4, None)]
    assert len(snapshots(lake, table.spec.name)) == 3
    arrive(files, "c", {"id": 3, "at": 1, "clicks": 1})
    written(lake, table, files, "id BIGINT, at BIGINT, clicks BIGINT")
    assert len(found(table)) == 3


def test_a_batch_that_is_run_again_is_committed_once(lake: kl.Lake, table: kl.KeyedTable, tmp_path: Path) -> None:
    """A server that dies after its commit and before the checkpoint's runs the batch again."""
    files = tmp_path / "again"
    arrive(files, "a", {"id": 1, "at": 7, "clicks": 7})
    written(lake, table, files, "id BIGINT, at BIGINT, clicks BIGINT")
    (files.with_suffix(".checkpoint") / "commits" / "0").unlink()
    (files.with_suffix(".checkpoint") / "commits" / ".0.crc").unlink(missing_ok=True)
    before = snapshots(lake, table.spec.name)
    written(lake, table, files, "id BIGINT, at BIGINT, clicks BIGINT")
    assert snapshots(lake, table.spec.name) == before
    assert found(table) == [(1, 7, 7, None)]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["complete", "update"])
def test_modes_of_output(lake: kl.Lake, table: kl.KeyedTable, tmp_path: Path, mode: str) -> None:
    """Complete mode replaces the table by each batch; update mode writes the groups that a batch has changed."""
    table.upsert([{"id": 9, "at": 100, "clicks": 0, "city": "Oslo"}])
    files = tmp_path / mode
    arrive(files, "a", {"id": 1, "at": 7, "clicks": 7}, {"id": 2, "at": 7, "clicks": 2})
    arrive(files, "b", {"id": 1, "at": 8, "clicks": 6})
    written(lake, table, files, "id BIGINT, at BIGINT, clicks BIGINT", mode, counted=True)
    kept = [] if mode == "complete" else [(9, 100, 0, "Oslo")]
    assert found(table) == [(1, 8, 13, ""), (2, 7, 2, ""), *kept]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("clicks BIGINT, at BIGINT", "id"),
        ("id BIGINT, clicks BIGINT", "at"),
        ("id BIGINT, at BIGINT, town STRING", "town"),
    ],
    ids=["no key", "no version", "another column"],
)
def test_streams_that_are_refused(
    lake: kl.Lake, table: kl.KeyedTable, tmp_path: Path, columns: str, words: str
) -> None:
    files = tmp_path / "refused"
    arrive(files, "a", {"id": 1, "at": 7, "clicks": 7, "town": "Oslo"})
    with pytest.raises(Exception, match=f"KEYLAKE_(SCHEMA_MISMATCH|VERSION_MISSING).*{words}"):
        written(lake, table, files, columns)
    assert snapshots(lake, table.spec.name) == []
