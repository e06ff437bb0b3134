"""Commits to several tables of a catalog in PostgreSQL whose connections are cut, before or after it did as asked."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import keylake as kl
from integration.catalogs.lossy_database import LossyDatabase, lossy_database
from integration.rest.endpoint import Endpoint
from pipelines.postgres_server import PASSWORD, PROGRAMS, running

SPACE = "/v1/pg/namespaces/together"
SCHEMA = {"type": "struct", "fields": [{"id": 1, "name": "id", "type": "long", "required": False}]}

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def database() -> Iterator[LossyDatabase]:
    with running() as postgres, lossy_database(postgres.port) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def served(database: LossyDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """A server whose REST catalog has the catalog `pg`, with three tables."""
    (driver,) = (PROGRAMS.parent / "jars").glob("postgresql-*.jar")
    folder = tmp_path_factory.mktemp("together")
    catalog = {
        "": "io.keylake.spark.KeylakeCatalog",
        ".type": "jdbc",
        ".uri": f"jdbc:postgresql://127.0.0.1:{database.port}/postgres?prepareThreshold=0",  # it sends all of its SQL
        ".jdbc.user": "postgres",
        ".jdbc.password": PASSWORD,
        ".jdbc.schema-version": "V1",
        ".warehouse": str(folder / "tables"),
        ".cache-enabled": "false",
    }
    settings = {"spark.driver.extraClassPath": str(driver), "spark.keylake.catalog.port": "0"}
    settings |= {f"spark.sql.catalog.pg{name}": value for name, value in catalog.items()}
    with kl.connect(warehouse=folder / "own", memory="1g", settings=settings) as lake:
        endpoint = Endpoint.of(lake)
        endpoint.ask("POST", "/v1/pg/namespaces", {"namespace": ["together"]})
        for name in "abc":
            endpoint.ask("POST", f"{SPACE}/tables", {"name": name, "schema": SCHEMA})
        yield endpoint


def metadata(served: Endpoint, name: str) -> Any:
    return served.ask("GET", f"{SPACE}/tables/{name}").json["metadata"]


def part(name: str, number: int) -> dict[str, Any]:
    change = {"action": "set-properties", "updates": {"count": str(number)}}
    return {"identifier": {"namespace": ["together"], "name": name}, "requirements": [], "updates": [change]}


@pytest.mark.parametrize("fault", ["before_cut", "after_cut"])
@pytest.mark.parametrize("number", [1, 2])
def test_a_transaction_is_made_once(served: Endpoint, database: LossyDatabase, fault: str, number: int) -> None:
    before = {name: len(metadata(served, name)["metadata-log"]) for name in "abc"}
    database.lose = fault
    body = {"table-changes": [part(name, number * 10 + len(fault)) for name in "abc"]}
    assert served.ask("POST", "/v1/pg/transactions/commit", body).status == 204
    assert database.lose is None
    for name in "abc":
        now = metadata(served, name)
        assert now["properties"]["count"] == str(number * 10 + len(fault))
        assert len(now["metadata-log"]) == before[name] + 1
        for entry in now["metadata-log"]:
            assert Path(entry["metadata-file"].removeprefix("file:")).exists()
