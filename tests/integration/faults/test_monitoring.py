"""What a server tells to those who watch it: its metrics for Prometheus, and its log as lines of JSON."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

import keylake as kl
from integration.prometheus import PAGE, documented_settings, numbers
from integration.spark_processes import connect_server, free_port
from integration.twin import fresh_name


def of_commits(port: int) -> dict[str, int]:
    """The numbers of commits among them."""
    return {name: number for name, number in numbers(port).items() if "commit" in name or name == "rows_written"}


@pytest.mark.slow
def test_a_server_tells_its_reads_and_caches(tmp_path: Path) -> None:
    port = free_port()
    settings = documented_settings() | {"spark.ui.port": str(port)}
    schema = pa.schema([("id", pa.int64()), ("n", pa.int64())])
    spec = kl.TableSpec.from_arrow(schema, name="features.clicks", key="id", buckets=1)
    with connect_server(tmp_path, settings) as server, kl.connect(server.url) as lake:
        table = lake.create(spec)
        table.upsert([{"id": n, "n": n} for n in range(10)])
        table.update([{"id": n, "n": -n} for n in range(5)])
        before = numbers(port)
        assert table.to_arrow().num_rows == 10
        first = grown(before, port)
        assert (first["rows_in"], first["rows_out"], first["files_opened"], first["read_tasks"]) == (15, 10, 2, 1)
        assert first["bytes_read"] > 0
        assert (first["selection_hits"], first["selection_misses"]) == (0, 1)
        assert table.to_arrow().num_rows == 10
        second = grown(before, port)
        assert second["selection_hits"] == 1
        assert second["footer_hits"] > first["footer_hits"]
        assert second["footer_misses"] == first["footer_misses"]
        assert second["manifest_hits"] > first["manifest_hits"]
        assert second["metadata_hits"] > first["metadata_hits"]
        assert second["metadata_misses"] == first["metadata_misses"]
        assert second["lookups"] == 0
        assert table.get(id=7) is not None
        third = grown(before, port)
        assert (third["lookups"], third["read_tasks"]) == (1, second["read_tasks"])
        assert third["rows_out"] > second["rows_out"]


def grown(before: dict[str, int], port: int) -> dict[str, int]:
    """How much larger the numbers are than they were."""
    return {name: number - before[name] for name, number in numbers(port).items()}


def test_caches_say_what_they_keep_and_how_often_they_answered(lake: kl.Lake) -> None:
    schema = pa.schema([("id", pa.int64()), ("n", pa.int64())])
    table = lake.create(kl.TableSpec.from_arrow(schema, name=fresh_name("caches"), key="id", buckets=1))
    table.upsert([{"id": n, "n": n} for n in range(10)])
    table.update([{"id": n, "n": -n} for n in range(5)])
    assert table.to_arrow().num_rows == 10
    first = {use.cache: use for use in lake.cache()}
    assert table.to_arrow().num_rows == 10
    second = {use.cache: use for use in lake.cache()}
    kinds = ("metadata", "manifests", "footers", "page_indexes", "column_filters", "selections", "catalog_answers")
    assert tuple(second) == kinds
    for name in ("metadata", "manifests", "footers", "selections"):
        assert 0 < second[name].bytes <= second[name].most_bytes, name
        assert second[name].values > 0
        before, after = first[name].hits, second[name].hits
        assert before is not None
        assert after is not None
        assert after > before, name
        assert second[name].misses is not None
    assert second["column_filters"].hits is None  # not counted
    assert "of at most" in str(second["footers"])
    rows = lake.sql(f"CALL {lake.catalog}.system.cache()").collect()
    assert [row["cache"] for row in rows] == list(kinds)


@pytest.mark.slow
def test_a_server_tells_its_commits_and_logs_json(tmp_path: Path) -> None:
    port = free_port()
    settings = documented_settings() | {"spark.ui.port": str(port)}
    schema = pa.schema([("id", pa.int64()), ("n", pa.int64())])
    with connect_server(tmp_path, settings) as server, kl.connect(server.url) as lake:
        nothing = dict.fromkeys(("commits", "commit_retries", "commit_conflicts", "commits_unknown", "rows_written"), 0)
        assert of_commits(port) == nothing
        table = lake.create(kl.TableSpec.from_arrow(schema, name="features.clicks", key="id"))
        table.upsert([{"id": 1, "n": 10}, {"id": 2, "n": 20}])
        table.update([{"id": 1, "n": 11}], idempotency_key="once")
        table.update([{"id": 1, "n": 11}], idempotency_key="once")
        told = of_commits(port)
        assert told == nothing | {"commits": 2, "rows_written": 3}, "a repeated write is not a commit"
        table.compact("full")
        assert of_commits(port) == told | {"commits": 3}, "its rows are not written once more"
        assert all(f"`{name}`" in PAGE.read_text() for name in numbers(port))
    (log,) = tmp_path.glob(".keylake/server-*.log")
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    assert lines
    assert all({"ts", "level", "msg", "logger"} <= line.keys() for line in lines)
