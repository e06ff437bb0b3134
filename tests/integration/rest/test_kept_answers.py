"""Answers that the REST catalog keeps for clients that load tables: never older than what the catalog has."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

import keylake as kl
from integration.random_runs import FIRST
from integration.rest.endpoint import Endpoint, Reply
from integration.spark_processes import connect_server
from integration.twin import fresh_name

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("a", pa.int64())])
MERGES = {"X-Keylake-Client": "merges"}
NEWEST = {"X-Keylake-Freshness": "0"}


def loaded(endpoint: Endpoint, name: str, headers: dict[str, str] | None = None) -> Reply:
    return endpoint.ask("GET", f"/v1/lake/namespaces/{name.replace('.', '/tables/')}", headers=headers)


def pointer(warehouse: Path, name: str) -> str:
    """The location of the newest metadata, as the database says."""
    query = "SELECT metadata_location FROM iceberg_tables WHERE table_namespace = ? AND table_name = ?"
    with closing(sqlite3.connect(warehouse / "catalog.db", timeout=30)) as database:
        return str(database.execute(query, name.split(".")).fetchone()[0])


def test_loads_between_commits_and_drops(lake: kl.Lake, endpoint: Endpoint, warehouse: Path) -> None:
    draw = random.Random(FIRST)
    lake.spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.kept")
    names = [fresh_name("kept") for _ in range(2)]
    tags: dict[str, str] = {}
    is_there = dict.fromkeys(names, False)
    for number in range(40):
        name = draw.choice(names)
        match draw.choice(["create or drop", "change", "load", "load", "load what is known"]):
            case "create or drop":
                lake.spark.sql(f"DROP TABLE lake.{name}" if is_there[name] else f"CREATE TABLE lake.{name} (id BIGINT)")
                is_there[name] = not is_there[name]
            case "change" if is_there[name]:
                lake.spark.sql(f"ALTER TABLE lake.{name} SET TBLPROPERTIES ('n' = '{number}')")
            case "load":
                reply = loaded(endpoint, name)
                assert reply.status == (200 if is_there[name] else 404)
                if is_there[name]:
                    assert reply.json["metadata-location"] == pointer(warehouse, name)
                    tags[pointer(warehouse, name)] = reply.headers["etag"]
            case "load what is known" if is_there[name]:
                known = ", ".join(tags.values())
                status = 304 if pointer(warehouse, name) in tags else 200
                assert loaded(endpoint, name, {"If-None-Match": known}).status == status


def test_a_merged_state_that_the_client_has(lake: kl.Lake, endpoint: Endpoint) -> None:
    table = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("kept"), key="id"))
    table.upsert([{"id": 1, "a": 1}])
    state, stored = loaded(endpoint, table.name, NEWEST), loaded(endpoint, table.name, MERGES)
    assert state.headers["etag"] != stored.headers["etag"]
    for first, headers in ((state, NEWEST), (stored, MERGES)):
        again = loaded(endpoint, table.name, headers | {"If-None-Match": first.headers["etag"]})
        assert (again.status, again.text) == (304, "")
        assert loaded(endpoint, table.name, headers).text == first.text
    table.upsert([{"id": 2, "a": 1}])
    for first, headers in ((state, NEWEST), (stored, MERGES)):
        assert loaded(endpoint, table.name, headers | {"If-None-Match": first.headers["etag"]}).status == 200


@pytest.mark.slow
def test_commits_of_a_second_server_are_there_at_once(lake: kl.Lake, endpoint: Endpoint, warehouse: Path) -> None:
    """Two servers over one catalog: each sees at once what the other has committed, by Connect and by REST."""
    first = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("kept"), key="id"))
    with connect_server(warehouse, {"spark.keylake.catalog.port": "0"}) as server, kl.connect(server.url) as other:
        behind = Endpoint(server.catalog_port, server.url.partition(";token=")[2])
        second = other.table(first.name)
        for number in range(6):
            writer, reader = (first, second) if number % 2 else (second, first)
            writer.upsert([{"id": number, "a": number}])
            assert reader.read().count() == number + 1
            newest = pointer(warehouse, first.name)
            for each in (endpoint, behind):
                assert loaded(each, first.name, MERGES).json["metadata-location"] == newest
