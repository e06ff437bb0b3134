"""Clients that are the first ones on a lake, at the same time."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pyarrow as pa
import pytest

import keylake as kl
from integration.catalogs.conftest import opened_by_spark

CLIENTS = 4
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("a", pa.int64())])


@pytest.mark.slow
def test_all_of_the_first_clients_succeed(lake: kl.Lake, tmp_path: Path) -> None:
    """Each opens a catalog whose database has no tables yet, and makes the first tables of a namespace."""
    assert lake._server is not None
    catalog = {
        "type": "jdbc",
        "uri": f"jdbc:sqlite:{tmp_path}/catalog.db?busy_timeout=30000",
        "jdbc.schema-version": "V1",
        "warehouse": str(tmp_path),
    }
    clients = [kl.connect(lake._server.url) for _ in range(CLIENTS)]
    together = Barrier(CLIENTS)

    def first(number: int) -> str:
        together.wait()
        mine = opened_by_spark(clients[number], "fresh", catalog)
        spec = kl.TableSpec.from_arrow(SCHEMA, name=f"first.t{number}", key="id", buckets=1)
        table = mine.create(spec)
        table.upsert([{"id": number, "a": 1}])
        return table.name

    with ThreadPoolExecutor(CLIENTS) as pool:
        names = list(pool.map(first, range(CLIENTS)))
    found = clients[0].spark.sql("SHOW TABLES IN fresh.first").collect()
    assert sorted(f"first.{row.tableName}" for row in found) == sorted(names)
    for client in clients:
        client.close()
