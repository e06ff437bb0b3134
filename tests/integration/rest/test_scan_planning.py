"""Scans that the server plans for engines that ask it to: rows are the same as without, also under writers."""

from pathlib import Path
from threading import Event, Thread
from typing import Any

import pyarrow as pa
import pytest

import keylake as kl
from integration.rest.endpoint import Endpoint
from integration.rest.stock_catalog import opened_strangely
from integration.twin import fresh_name

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("a", pa.int64()), ("t", pa.string())])
FILTERS = ["true", "id = 7", "id IN (3, 11, 400)", "a > 95", "a IS NULL", "t = 'x' AND ID < 4", "id > 1000"]


@pytest.fixture(scope="module")
def planned(lake: kl.Lake, endpoint: Endpoint) -> str:
    """The name of a catalog whose scans the server plans."""
    name = opened_strangely(lake, endpoint, "planned_there")
    lake.spark.conf.set(f"spark.sql.catalog.{name}.scan-planning-mode", "server")
    return name


def keyed_table(lake: kl.Lake, buckets: int = 4) -> kl.KeyedTable:
    """A table with files that overlap, rows that were replaced, and deleted ones."""
    spec = kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("planned"), key="id", buckets=buckets)
    table = lake.create(spec)
    table.upsert(pa.table({"id": range(100), "a": range(100), "t": ["x"] * 100}, SCHEMA))
    table.update([{"id": 7, "a": None}, {"id": 8, "a": 800}])
    table.delete([{"id": 3}])
    return table


def rows_of(lake: kl.Lake, name: str, where: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in lake.spark.sql(f"SELECT id, a, t FROM {name} WHERE {where}").collect())


def plan(endpoint: Endpoint, name: str, **request: Any) -> Any:
    reply = endpoint.ask("POST", f"/v1/lake/namespaces/{name.replace('.', '/tables/')}/plan", request)
    assert reply.status == 200, reply.text
    assert reply.json["status"] == "completed"
    return reply.json


@pytest.mark.parametrize("where", FILTERS)
def test_merged_rows_by_a_plan_of_the_server(lake: kl.Lake, planned: str, where: str) -> None:
    table = keyed_table(lake)
    found = rows_of(lake, f"{planned}.{table.name}", where)
    assert found == rows_of(lake, f"lake.{table.name}", where)


@pytest.mark.slow
def test_plain_rows_by_a_plan_of_the_server(lake: kl.Lake, planned: str) -> None:
    name = fresh_name("planned")
    lake.spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.planned")
    lake.spark.sql(
        f"CREATE TABLE lake.{name} (id BIGINT, a BIGINT, t STRING) PARTITIONED BY (bucket(4, id)) "
        "TBLPROPERTIES ('format-version' = '3', 'write.delete.mode' = 'merge-on-read')"
    )
    lake.spark.sql(f"INSERT INTO lake.{name} SELECT id, id, 'x' FROM range(100)")
    lake.spark.sql(f"DELETE FROM lake.{name} WHERE id % 3 = 0")
    lake.spark.sql(f"ALTER TABLE lake.{name} RENAME COLUMN a TO b")
    lake.spark.sql(f"ALTER TABLE lake.{name} RENAME COLUMN b TO a")
    lake.spark.sql(f"INSERT INTO lake.{name} VALUES (400, NULL, 'y')")
    for where in FILTERS:
        assert rows_of(lake, f"{planned}.{name}", where) == rows_of(lake, f"lake.{name}", where)
    (first,) = lake.spark.sql(f"SELECT min(snapshot_id) FROM lake.{name}.snapshots WHERE parent_id IS NULL").first()
    at = f"VERSION AS OF {first}"
    assert rows_of(lake, f"{planned}.{name} {at}", "id < 9") == rows_of(lake, f"lake.{name} {at}", "id < 9")


def test_a_plan_names_the_files_that_a_filter_wants(lake: kl.Lake, endpoint: Endpoint) -> None:
    name = fresh_name("planned")
    lake.spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.planned")
    lake.spark.sql(f"CREATE TABLE lake.{name} (id BIGINT)")
    for first in (0, 10, 20):
        lake.spark.sql(f"INSERT INTO lake.{name} SELECT /*+ COALESCE(1) */ id FROM range({first}, {first + 10})")
    assert len(plan(endpoint, name)["file-scan-tasks"]) == 3
    test = {"type": "eq", "term": "ID", "value": 15}
    for _ in range(2):
        (task,) = plan(endpoint, name, filter=test, **{"case-sensitive": False})["file-scan-tasks"]
        assert task["residual-filter"] == test | {"term": "id"}
    assert plan(endpoint, name, filter=test | {"term": "id", "value": 99}).get("file-scan-tasks", []) == []


def test_what_a_plan_refuses(lake: kl.Lake, endpoint: Endpoint) -> None:
    name = keyed_table(lake).name
    place = f"/v1/lake/namespaces/{name.replace('.', '/tables/')}/plan"
    test = {"type": "eq", "term": "no_such", "value": 1}
    assert "the filter does not fit the table" in endpoint.ask("POST", place, {"filter": test}).error[1]
    gone = endpoint.ask("POST", place, {"snapshot-id": 5})
    assert (gone.status, "has no snapshot 5 any more" in gone.error[1]) == (404, True)
    added = endpoint.ask("POST", place, {"start-snapshot-id": 1, "end-snapshot-id": 2})
    assert (added.status, added.error[0]) == (406, "UnsupportedOperationException")
    assert endpoint.ask("POST", f"{place.removesuffix('plan')}/plan", {}).status == 404
    assert endpoint.ask("POST", place.replace(name.rpartition(".")[2], "gone"), {}).status == 404


def test_plans_under_a_writer(lake: kl.Lake, planned: str) -> None:
    """Each read has all keys, with the values of one commit."""
    table = keyed_table(lake, buckets=1)
    done = Event()

    def write() -> None:
        for number in range(12):
            table.upsert(pa.table({"id": range(100), "a": [number] * 100, "t": ["x"] * 100}, SCHEMA))
        done.set()

    writer = Thread(target=write)
    writer.start()
    table.upsert(pa.table({"id": range(100), "a": [-1] * 100, "t": ["x"] * 100}, SCHEMA))
    while not done.is_set():
        found = rows_of(lake, f"{planned}.{table.name}", "id >= 0")
        assert len(found) == 100
        assert len({row[1] for row in found}) == 1
    writer.join()


def test_the_server_has_planned(lake: kl.Lake, endpoint: Endpoint, planned: str, warehouse: Path) -> None:
    """Iceberg's client asks the server, and does not read manifests by itself: it reads rows though these are gone."""
    table = keyed_table(lake)
    expected = rows_of(lake, f"{planned}.{table.name}", "true")
    folder = warehouse.joinpath(*table.name.split("."), "merged-state")
    away = [file.rename(file.with_suffix(".away")) for file in folder.rglob("metadata/*.avro")]
    assert away
    assert rows_of(lake, f"{planned}.{table.name}", "true") == expected
    for file in away:
        file.rename(file.with_suffix(".avro"))
