"""What a server tells to those who watch it: its metrics for Prometheus, and its log as lines of JSON."""

import json
import re
from pathlib import Path
from urllib.request import urlopen

import pyarrow as pa
import pytest

import keylake as kl
from integration.spark_processes import connect_server, free_port

PAGE = Path(__file__).parents[3] / "sdk/docs/operations.md"
OF_PLUGIN = "metrics_keylake_driver_plugin_io_keylake_spark_KeylakePlugin_"


def documented_settings() -> dict[str, str]:
    """The settings that the page says for metrics and logs."""
    (block,) = re.findall(r"```properties\n(spark\.ui\.enabled.*?)```", PAGE.read_text(), flags=re.DOTALL)
    return dict(line.split(maxsplit=1) for line in block.splitlines())


def numbers(port: int) -> dict[str, int]:
    """The numbers of commits on the page of Prometheus, by their names."""
    with urlopen(f"http://127.0.0.1:{port}/metrics/prometheus", timeout=30) as page:
        text = page.read().decode()
    return {name: int(number) for name, number in re.findall(OF_PLUGIN + r'(\w+)_Value\{type="gauges"\} (\d+)', text)}


@pytest.mark.slow
def test_a_server_tells_its_commits_and_logs_json(tmp_path: Path) -> None:
    port = free_port()
    settings = documented_settings() | {"spark.ui.port": str(port)}
    schema = pa.schema([("id", pa.int64()), ("n", pa.int64())])
    with connect_server(tmp_path, settings) as server, kl.connect(server.url) as lake:
        nothing = dict.fromkeys(("commits", "commit_retries", "commit_conflicts", "commits_unknown", "rows_written"), 0)
        assert numbers(port) == nothing
        table = lake.create(kl.TableSpec.from_arrow(schema, name="features.clicks", key="id"))
        table.upsert([{"id": 1, "n": 10}, {"id": 2, "n": 20}])
        table.update([{"id": 1, "n": 11}], idempotency_key="once")
        table.update([{"id": 1, "n": 11}], idempotency_key="once")
        told = numbers(port)
        assert told == nothing | {"commits": 2, "rows_written": 3}, "a repeated write is not a commit"
        table.compact("full")
        assert numbers(port) == told | {"commits": 3}, "its rows are not written once more"
        assert all(f"| `{name}` |" in PAGE.read_text() for name in told)
    (log,) = tmp_path.glob(".keylake/server-*.log")
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    assert lines
    assert all({"ts", "level", "msg", "logger"} <= line.keys() for line in lines)
