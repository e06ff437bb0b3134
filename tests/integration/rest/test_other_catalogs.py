"""A second server with the plug-in: over the REST catalog of the first, and with a catalog that has no views."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import ForbiddenError, RESTError

import keylake as kl
from integration.rest.endpoint import Endpoint
from integration.spark_processes import connect_server
from integration.twin import fresh_name

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("a", pa.int64())])
CATALOG = "io.keylake.spark.KeylakeCatalog"


@pytest.mark.slow
def test_a_second_server_over_the_catalog_of_the_first(lake: kl.Lake, endpoint: Endpoint, tmp_path: Path) -> None:
    over = {f"spark.sql.catalog.over.{name}": value for name, value in endpoint.properties().items()}
    folder = {
        "spark.sql.catalog.folder": CATALOG,
        "spark.sql.catalog.folder.type": "hadoop",
        "spark.sql.catalog.folder.warehouse": str(tmp_path / "folder"),
        "spark.sql.catalog.folder.cache-enabled": "true",
        "spark.sql.catalog.folder.table-default.a": "b",
        "spark.sql.catalog.folder.table-override.c": "d",
    }
    gone = {
        "spark.sql.catalog.gone": CATALOG,
        "spark.sql.catalog.gone.type": "rest",
        "spark.sql.catalog.gone.uri": "http://127.0.0.1:9",
    }
    settings = {"spark.sql.catalog.over": CATALOG, **over, **folder, **gone, "spark.keylake.catalog.port": "0"}
    with connect_server(tmp_path / "lake", settings) as server, kl.connect(server.url, catalog="over") as second:
        table = second.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("second"), key="id", buckets=2))
        table.upsert([{"id": 1, "a": 1}, {"id": 2, "a": 2}])
        first = lake.table(table.name)
        first.update([{"id": 1, "a": 3}])
        table.compact("full")
        for each in (table, first):
            assert sorted((row.id, row.a) for row in each.read().collect()) == [(1, 3), (2, 2)]

        behind = Endpoint(server.catalog_port, server.url.partition(";token=")[2])
        passed_on = load_catalog("passed_on", **behind.properties(warehouse="over"))
        assert passed_on.table_exists(table.name)
        with pytest.raises(ForbiddenError, match="is keyed, and cannot be dropped"):
            passed_on.drop_table(table.name)
        plain = passed_on.create_table("second.plain", SCHEMA)
        plain.append(pa.table({"id": [1], "a": [1]}, SCHEMA))
        assert lake.spark.table("lake.second.plain").count() == 1
        passed_on.drop_table("second.plain")

        told = behind.ask("GET", "/v1/config?warehouse=folder").json
        assert told["defaults"]["table-default.a"] == "b"
        assert told["overrides"]["table-override.c"] == "d"
        folders = load_catalog("folders", **behind.properties(warehouse="folder"))
        folders.create_namespace("a")
        there = folders.create_table("a.t", SCHEMA)
        assert second.spark.table("folder.a.t").count() == 0  # from here on in the cache of the session
        there.append(pa.table({"id": [1], "a": [1]}, SCHEMA))
        assert folders.load_table("a.t").scan().to_arrow().num_rows == 1
        folders.drop_table("a.t")
        again = folders.create_table("a.t", SCHEMA)  # whose files of metadata have the names of the one before
        again.append(pa.table({"id": [1, 2], "a": [1, 2]}, SCHEMA))
        assert folders.load_table("a.t").scan().to_arrow().num_rows == 2
        with pytest.raises(RESTError, match="UnsupportedOperationException"):
            folders.rename_table("a.t", "a.u")
        assert not [
            each
            for each in behind.ask("GET", "/v1/config?warehouse=folder").json["endpoints"]
            if "views" in each or "transactions" in each
        ]
        change = {"identifier": {"namespace": ["a"], "name": "t"}, "requirements": [], "updates": []}
        several = behind.ask("POST", "/v1/folder/transactions/commit", {"table-changes": [change]})
        assert (several.status, several.error[0]) == (406, "UnsupportedOperationException")
        assert several.error[1].startswith("catalog folder cannot change several tables at once")
        told = behind.ask("GET", "/v1/folder/namespaces/a/views")
        assert (told.status, told.error[1]) == (406, "catalog folder has no views")
        unknown = behind.ask("GET", "/v1/config?warehouse=x").error[1]
        assert unknown.endswith("name one that it has as the warehouse: folder, gone, lake, over")
        away = behind.ask("GET", "/v1/config?warehouse=gone")
        assert (away.status, away.error[0]) == (503, "ServiceUnavailableException")
        assert away.error[1].startswith("catalog gone could not be read: the catalog does not answer (")
        assert "answered by 503: [KEYLAKE_UNAVAILABLE] catalog gone could not be read" in server.log.read_text()
        assert "\tat io.keylake.spark.rest" not in server.log.read_text()
