"""A declarative pipeline of Spark's own, as the page of pipelines has it: its flow writes into a keyed table."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import keylake as kl
from integration.documents.blocks import blocks
from integration.streams.arriving import arrive
from integration.twin import fresh_name

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[3] / "sdk" / "docs" / "pipelines.md"


def run(lake: kl.Lake, spec: Path) -> subprocess.CompletedProcess[str]:
    assert lake._server is not None
    command = [sys.executable, "-m", "pyspark.pipelines.cli", "run", "--spec", str(spec)]
    environment = os.environ | {"SPARK_REMOTE": lake._server.url}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)


def test_a_flow_writes_what_has_come(lake: kl.Lake, tmp_path: Path) -> None:
    name = fresh_name("declared")
    files = tmp_path / "orders"
    here = {
        "lake.declared.orders": f"{lake.catalog}.{name}",
        "/data/in/orders": str(files),
        "/data/pipelines/shop": str(tmp_path / "storage"),
        "database: declared": f"database: {name.partition('.')[0]}",
        "catalog: lake": f"catalog: {lake.catalog}",
    }
    said = {}
    for block in blocks(PAGE):
        if block.heading == "Spark declarative pipelines":
            text = block.text
            for place, real in here.items():
                text = text.replace(place, real)
            said[block.language] = text
    spec = tmp_path / "spark-pipeline.yaml"
    spec.write_text(said["yaml"])
    (tmp_path / "orders.py").write_text(said["python"])
    lake.spark.sql(said["sql"].strip().removesuffix(";")).collect()
    table = lake.table(name)
    arrive(files, "1", {"id": 1, "at": 2, "total": 10}, {"id": 1, "at": 1, "total": 5}, {"id": 2, "at": 1, "total": 7})
    done = run(lake, spec)
    assert done.returncode == 0, done.stdout + done.stderr
    assert rows(table) == [(1, 2, 10), (2, 1, 7)]
    arrive(files, "2", {"id": 1, "at": 3, "total": 11}, {"id": 2, "at": 0, "total": 1}, {"id": 3, "at": 1, "total": 9})
    done = run(lake, spec)
    assert done.returncode == 0, done.stdout + done.stderr
    assert rows(table) == [(1, 3, 11), (2, 1, 7), (3, 1, 9)]
    assert len(table.history()) == 2, "each batch is a commit"
    # As a table of the pipeline itself it is refused, as the page says.
    said["python"] = said["python"].replace('dp.create_sink("orders", "iceberg", ', "dp.create_streaming_table(")
    said["python"] = said["python"].replace(f'{{"path": "{here["lake.declared.orders"]}"}})', f'"{name}")')
    (tmp_path / "orders.py").write_text(said["python"].replace('target="orders"', f'target="{name}"'))
    assert "CANNOT_UPDATE_PARTITION_COLUMNS" in run(lake, spec).stderr


def rows(table: kl.KeyedTable) -> list[tuple[object, ...]]:
    return [tuple(row) for row in table.read().orderBy("id").collect()]
