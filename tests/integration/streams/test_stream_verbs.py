"""`stream` and `read_stream`: streaming frames into tables, and merged rows out of them."""

import datetime
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame

import keylake as kl
from integration.streams.arriving import arrive, found
from integration.twin import fresh_name


def frame(lake: kl.Lake, folder: Path, columns: str = "id BIGINT, at BIGINT, clicks BIGINT") -> DataFrame:
    folder.mkdir(exist_ok=True)
    return lake.spark.readStream.schema(columns).option("maxFilesPerTrigger", 1).json(str(folder))


def test_batches_are_commits_and_a_query_goes_on(lake: kl.Lake, table: kl.KeyedTable, tmp_path: Path) -> None:
    files = tmp_path / "clicks"
    arrive(files, "a", {"id": 1, "at": 7, "clicks": 7}, {"id": 2, "at": 7, "clicks": 2})
    arrive(files, "b", {"id": 1, "at": 6, "clicks": 6})

    def run() -> None:
        query = table.stream(
            frame(lake, files), checkpoint=tmp_path / "checkpoint", available_now=True, stream="clicks"
        )
        assert query.wait(120)
        assert not query.is_active

    run()
    assert found(table) == [(1, 7, 7, None), (2, 7, 2, None)]
    assert [(commit.verb, commit.stream) for commit in table.history()] == [("update", "clicks")] * 2
    arrive(files, "c", {"id": 3, "at": 1, "clicks": 1})
    run()
    assert len(found(table)) == 3
    assert len(table.history()) == 3


def test_a_query_goes_on_until_it_is_stopped(lake: kl.Lake, table: kl.KeyedTable, tmp_path: Path) -> None:
    files = tmp_path / "clicks"
    query = table.branch("tmp_streamed").stream(
        frame(lake, files), checkpoint=tmp_path / "checkpoint", every=datetime.timedelta(milliseconds=100)
    )
    try:
        arrive(files, "a", {"id": 1, "at": 7, "clicks": 7})
        query.query.processAllAvailable()
        assert query.is_active
        assert query.rows == 1
        assert "active, 1 rows" in str(query)
        assert "<td>active</td>" in query._repr_html_()
        assert not query.wait(0.1)
    finally:
        query.stop()
    assert found(table) == []
    assert found(table.branch("tmp_streamed")) == [(1, 7, 7, None)]


def test_an_experiment_gets_columns_of_its_own(lake: kl.Lake, table: kl.KeyedTable, tmp_path: Path) -> None:
    table.upsert([{"id": 1, "at": 5, "clicks": 0, "city": "Oslo"}])
    ranker = table.experiment("ranker", add={"score": kl.Int64})
    files = tmp_path / "scores"
    arrive(files, "a", {"id": 1, "at": 7, "score": 70})
    scores = frame(lake, files, "id BIGINT, score BIGINT")
    assert ranker.stream(scores, checkpoint=tmp_path / "checkpoint", version=7, available_now=True).wait(120)
    assert [row["score"] for row in ranker.read().collect()] == [70]
    assert found(table) == [(1, 5, 0, "Oslo")]


def test_changes_of_a_source(lake: kl.Lake, table: kl.KeyedTable, tmp_path: Path) -> None:
    """Inserts, updates and deletes by a column of the rows; the versions have a column of their own."""
    files = tmp_path / "changes"
    arrive(files, "a", {"op": "c", "id": 1, "lsn": 1, "clicks": 1}, {"op": "c", "id": 2, "lsn": 2, "clicks": 2})
    arrive(files, "b", {"op": "d", "id": 1, "lsn": 4}, {"op": "u", "id": 2, "lsn": 3, "clicks": 3})
    arrive(files, "c", {"op": "u", "id": 1, "lsn": 2, "clicks": 9})
    changes = frame(lake, files, "op STRING, id BIGINT, lsn BIGINT, clicks BIGINT")
    query = table.stream(changes, checkpoint=tmp_path / "checkpoint", op="op", version="lsn", available_now=True)
    assert query.wait(120)
    assert found(table) == [(2, None, 3, None)]


@pytest.mark.slow
def test_batches_say_watermarks(lake: kl.Lake, tmp_path: Path) -> None:
    """The newest event time less the delay, never an earlier one than before, and at= and triggers go by it."""
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("at", pa.timestamp("us", "UTC"))])
    table = lake.create(kl.TableSpec.from_arrow(schema, name=fresh_name("streams"), key=["id"], ordering="at"))
    files = tmp_path / "events"
    arrive(files, "a", {"id": 1, "at": "2026-11-01T12:00:00Z"}, {"id": 2, "at": "2026-11-01T12:09:00Z"})
    late = datetime.timedelta(minutes=2)

    def run() -> None:
        events = frame(lake, files, "id BIGINT, at TIMESTAMP")
        checkpoint = tmp_path / "checkpoint"
        query = table.stream(events, checkpoint=checkpoint, available_now=True, stream="web", watermark=late)
        assert query.wait(120)

    runs: list[kl.Interval] = []
    run()
    noon = datetime.datetime(2026, 11, 1, 12, tzinfo=datetime.timezone.utc)
    lake.triggers.every(5, table, runs.append, name="five", since=noon)
    assert table.watermarks() == {"web": noon.replace(minute=7)}
    arrive(files, "b", {"id": 3, "at": "2026-11-01T12:03:00Z"})
    run()
    assert table.watermarks() == {"web": noon.replace(minute=7)}
    arrive(files, "c", {"id": 4, "at": "2026-11-01T12:20:00Z"})
    run()
    assert table.watermarks() == {"web": noon.replace(minute=18)}
    assert table.read(at=kl.watermark(noon.replace(minute=10))).count() == 4
    lake.triggers.run_due()
    lake.triggers.remove("five")
    assert [interval.start.minute for interval in runs] == [0, 5, 10]


@pytest.mark.slow
def test_whole_results_replace_the_table(lake: kl.Lake, table: kl.KeyedTable, tmp_path: Path) -> None:
    table.upsert([{"id": 9, "at": 100, "clicks": 0, "city": "Oslo"}])
    files = tmp_path / "clicks"
    arrive(files, "a", {"id": 1, "at": 7, "clicks": 7}, {"id": 2, "at": 7, "clicks": 2})
    arrive(files, "b", {"id": 1, "at": 8, "clicks": 6})
    counted = (
        frame(lake, files)
        .groupBy("id")
        .agg({"at": "max", "clicks": "sum"})
        .toDF("id", "at", "clicks")
        .selectExpr("*", "'' AS city")
    )
    assert table.stream(counted, checkpoint=tmp_path / "all", output="complete", available_now=True).wait(120)
    assert found(table) == [(1, 8, 13, ""), (2, 7, 2, "")]


@pytest.mark.slow
def test_merged_rows_go_from_table_to_table(lake: kl.Lake, table: kl.KeyedTable, tmp_path: Path) -> None:
    """Whatever the first table is told, the second one gets its rows."""
    other = lake.create(replace(table.spec, name=fresh_name("streams")))
    chosen = random.Random(511)
    for number in range(6):
        rows = [
            {
                "id": chosen.randrange(20),
                "at": chosen.randrange(50),
                "clicks": number,
                "city": chosen.choice(["a", None]),
            }
            for _ in range(5)
        ]
        table.upsert(list({row["id"]: row for row in rows}.values()))
        if number % 2:
            stream = table.read_stream(max_commits_per_batch=1)
            assert other.stream(stream, checkpoint=tmp_path / "all", available_now=True).wait(120)
            assert found(other) == found(table)
    some = table.read_stream(["ID", "city"])
    assert some.columns == ["id", "city"]
    assert some.isStreaming


Refused = Callable[[kl.Lake, kl.KeyedTable, Path], object]
REFUSED: dict[str, tuple[Refused, type[kl.KeylakeError], str]] = {
    "no stream": (
        lambda lake, table, folder: table.stream(table.read(), checkpoint=folder),
        kl.BadRows,
        "is no stream",
    ),
    "rows": (lambda lake, table, folder: table.stream([], checkpoint=folder), kl.BadRows, "is no stream"),  # type: ignore[arg-type]
    "no folder": (
        lambda lake, table, folder: table.stream(frame(lake, folder), checkpoint=""),
        kl.DefinitionError,
        "checkpoint is ''",
    ),
    "two times": (
        lambda lake, table, folder: table.stream(
            frame(lake, folder), checkpoint=folder, every="1 minute", available_now=True
        ),
        kl.DefinitionError,
        "takes what is there once",
    ),
    "an interval that is none": (
        lambda lake, table, folder: table.stream(frame(lake, folder), checkpoint=folder, every="soon"),
        kl.KeylakeError,
        "soon",
    ),
    "output": (
        lambda lake, table, folder: table.stream(frame(lake, folder), checkpoint=folder, output="all"),  # type: ignore[arg-type]
        kl.DefinitionError,
        "output is 'all'",
    ),
    "changes of whole results": (
        lambda lake, table, folder: table.stream(frame(lake, folder), checkpoint=folder, op="op", output="complete"),
        kl.DefinitionError,
        "goes with batches of changes",
    ),
    "a watermark that is no time": (
        lambda lake, table, folder: table.stream(frame(lake, folder), checkpoint=folder, watermark=5),  # type: ignore[arg-type]
        kl.DefinitionError,
        "watermark is 5",
    ),
    "a watermark of the future": (
        lambda lake, table, folder: table.stream(
            frame(lake, folder), checkpoint=folder, watermark=datetime.timedelta(minutes=-1)
        ),
        kl.DefinitionError,
        "0 or more",
    ),
    "a watermark of numbers": (
        lambda lake, table, folder: table.stream(
            frame(lake, folder), checkpoint=folder, watermark=datetime.timedelta(minutes=1)
        ),
        kl.DefinitionError,
        "'at', which is no timestamp",
    ),
    "no key": (
        lambda lake, table, folder: table.stream(frame(lake, folder, "at BIGINT, clicks BIGINT"), checkpoint=folder),
        kl.SchemaMismatch,
        "'id'",
    ),
    "no version": (
        lambda lake, table, folder: table.stream(frame(lake, folder, "id BIGINT, clicks BIGINT"), checkpoint=folder),
        kl.VersionMissing,
        "'at'",
    ),
    "another column": (
        lambda lake, table, folder: table.stream(
            frame(lake, folder, "id BIGINT, at BIGINT, clics BIGINT"), checkpoint=folder
        ),
        kl.SchemaMismatch,
        "Did you mean 'clicks'",
    ),
}


@pytest.mark.parametrize(("refused", "error", "words"), REFUSED.values(), ids=REFUSED)
def test_verbs_of_streams_that_are_refused(
    lake: kl.Lake,
    table: kl.KeyedTable,
    tmp_path: Path,
    refused: Refused,
    error: type[kl.KeylakeError],
    words: str,
) -> None:
    with pytest.raises(error, match=words) as raised:
        refused(lake, table, tmp_path / "refused")
    assert "\n" not in str(raised.value)
    assert len(table.history()) == 0


def test_a_bad_row_ends_the_query_with_one_sentence(lake: kl.Lake, table: kl.KeyedTable, tmp_path: Path) -> None:
    files = tmp_path / "clicks"
    arrive(files, "a", {"id": 1, "at": 1, "clicks": 1}, {"id": None, "at": 2, "clicks": 2})
    query = table.stream(frame(lake, files), checkpoint=tmp_path / "checkpoint", available_now=True)
    with pytest.raises(kl.BadRows, match="'id'") as raised:
        query.wait(120)
    assert "\n" not in str(raised.value)
    assert len(table.history()) == 0
