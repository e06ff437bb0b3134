"""Payloads of a stream: columns appear between two batches, and of two writers at a time."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame

import keylake as kl
from integration.twin import fresh_name


def created(lake: kl.Lake) -> kl.KeyedTable:
    spec = kl.TableSpec.from_arrow(pa.schema([("id", pa.int64())]), name=fresh_name("json"), key="id", buckets=1)
    return lake.create(spec)


def found(table: kl.KeyedTable, *columns: str) -> list[tuple[object, ...]]:
    rows = table.read(columns=["id", *columns]).orderBy("id").toArrow().to_pylist()
    return [tuple(row.values()) for row in rows]


@pytest.mark.slow
def test_columns_appear_while_a_stream_runs(lake: kl.Lake, tmp_path: Path) -> None:
    """Each batch is written once, through the session that Spark gives to the batch."""
    table = created(lake)
    name, catalog = table.name, lake.catalog
    files = tmp_path / "events"
    files.mkdir()

    def arrive(number: int, *payloads: str) -> None:
        rows = [{"id": id_, "payload": payload} for id_, payload in enumerate(payloads)]
        (files / f"{number}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def write(batch: DataFrame, number: int) -> None:
        import keylake

        target = keylake.connect(catalog=catalog, spark=batch.sparkSession).table(name)
        target.update_json(batch, idempotency_key=f"events {number}", stream="events")

    def run() -> None:
        frame = lake.spark.readStream.schema("id LONG, payload STRING").option("maxFilesPerTrigger", 1).json(str(files))
        query = frame.writeStream.foreachBatch(write).option("checkpointLocation", str(tmp_path / "checkpoint"))
        assert query.trigger(availableNow=True).start().awaitTermination(300)

    arrive(1, '{"a": 1}', '{"a": 2}')
    arrive(2, '{"a": 1.5, "b": {"x": 1}}', '{"b": {"y": "s"}}')
    run()
    assert found(table, "a", "b") == [(0, 1, {"x": 1, "y": None}), (1, 2, {"x": None, "y": "s"})]
    table.alter(rename={"a": "c"})
    # A server that dies after its commit and before the checkpoint's runs the batch again.
    for left in (tmp_path / "checkpoint" / "commits").glob("*1*"):
        left.unlink()
    arrive(3, '{"a": "text"}', "broken")
    run()
    table = lake.table(name)
    assert found(table, "c", "a") == [(0, 1, "text"), (1, 2, None)]
    kept = table.read(columns=["id", "_rescued"]).orderBy("id").toArrow()["_rescued"].to_pylist()
    assert [[(each["field"], each["value"]) for each in row] for row in kept] == [[("a", "1.5")], [(None, "broken")]]
    assert len([commit for commit in table.history() if commit.stream == "events"]) == 3


def test_two_writers_add_the_same_columns(lake: kl.Lake) -> None:
    """One of them is first; the other's values go into the columns that are there then, or are rescued."""
    table = created(lake)

    def write(number: int) -> kl.JsonCommit:
        value = "1" if number % 2 else '"x"'
        payload = f'{{"a": {value}, "own{number}": {number}}}'
        rows = lake.spark.createDataFrame([(number, payload)], "id long, payload string")
        return kl.KeyedTable(table._handle, table._model).update_json(rows)

    with ThreadPoolExecutor(3) as pool:
        commits = list(pool.map(write, range(3)))
    now = lake.table(table.name)
    assert set(now.spec.column_names) - {"_rescued"} == {"id", "a", "own0", "own1", "own2"}
    values = {row[0]: row[1] for row in found(now, "a")}
    rescued = sum(commit.rescued for commit in commits)
    if str(now.spec.column("a").type) == "string":
        assert (values, rescued) == ({0: "x", 1: "1", 2: "x"}, 0)
    else:
        assert (values, rescued) == ({0: None, 1: 1, 2: None}, 2)
    assert [row[1 + row[0]] for row in found(now, "own0", "own1", "own2")] == [0, 1, 2]  # type: ignore[operator,index]
    draft = now.branch("tmp_json")
    rows = lake.spark.createDataFrame([(7, '{"later": true}')], "id long, payload string")
    assert draft.update_json(rows).added == ("later",)
    assert found(lake.table(now.name), "later")[-1] == (2, None)
    assert found(draft, "later")[-1] == (7, True)
