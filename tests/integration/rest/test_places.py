"""Names and places that a client of the REST catalog gives its own tables: none is that of a keyed table's files."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyspark.errors import PySparkException

import keylake as kl
from integration.rest.endpoint import Endpoint
from integration.twin import fresh_name

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("a", pa.int64())])
COLUMNS = {"type": "struct", "fields": [{"id": 1, "name": "id", "type": "long", "required": False}]}


@pytest.fixture
def table(lake: kl.Lake) -> kl.KeyedTable:
    table = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("places"), key="id", buckets=1))
    table.upsert([{"id": 1, "a": 1}])
    return table


def refused(endpoint: Endpoint, name: str, status: int, says: str, **words: object) -> None:
    told = endpoint.ask("POST", "/v1/lake/namespaces/places/tables", {"name": name, "schema": COLUMNS, **words})
    assert told.status == status, told.text
    assert says in told.error[1]


def test_the_metadata_of_a_merged_state_make_no_table(
    lake: kl.Lake, endpoint: Endpoint, plain: Catalog, table: kl.KeyedTable
) -> None:
    """Such a table would delete the files of the keyed one with its own."""
    location = plain.load_table(table.name).metadata_location
    body = {"name": "mine", "metadata-location": location}
    told = endpoint.ask("POST", "/v1/lake/namespaces/places/register", body)
    assert told.status == 400, told.text
    assert "would have the files of the keyed table" in told.error[1]
    call = f"CALL lake.system.register_table(table => 'places.mine', metadata_file => '{location}')"
    with pytest.raises(PySparkException, match="would have the files of the keyed table"):
        lake.spark.sql(call).collect()
    assert not plain.table_exists("places.mine")
    assert table.read().count() == 1


def test_a_table_hides_no_branch(endpoint: Endpoint, plain: Catalog, table: kl.KeyedTable) -> None:
    table.branches.create("x")
    name = table.name.split(".")[1]
    refused(endpoint, f"{name}.branch_x", 403, f"would hide branch 'x' of the keyed table {table.name}")
    refused(endpoint, f"{name}.tag_x", 403, "would hide tag 'x'", **{"stage-create": True})
    own = fresh_name("places")
    plain.create_table(own, SCHEMA)
    renaming = {
        "source": {"namespace": ["places"], "name": own.split(".")[1]},
        "destination": {"namespace": ["places"], "name": f"{name}.branch_x"},
    }
    assert endpoint.ask("POST", "/v1/lake/tables/rename", renaming).status == 403
    update = {"action": "add-schema", "schema": {**COLUMNS, "schema-id": 0}}
    path = f"/v1/lake/namespaces/places/tables/{name}.branch_x"
    assert endpoint.ask("POST", path, {"requirements": [{"type": "assert-create"}], "updates": [update]}).status == 403
    assert plain.load_table(("places", f"{name}.branch_x")).scan().count() == 1


def test_a_table_lies_in_the_warehouse(
    endpoint: Endpoint, table: kl.KeyedTable, warehouse: Path, tmp_path: Path
) -> None:
    refused(endpoint, "../../../escaped", 400, "does not lie inside the warehouse")
    refused(endpoint, "outside", 400, "does not lie inside the warehouse", location=str(tmp_path / "outside"))
    path = table.name.replace(".", "/")
    refused(endpoint, f"../{path}/inside", 400, "lies inside the folder of a table")
    for folder in ("write.data.path", "write.metadata.path"):
        inside = {folder: str(warehouse / path / "metadata")}
        refused(endpoint, "foldered", 400, "lies inside the folder of a table", properties=inside)
    whole = {"write.data.path": str(warehouse / path)}
    refused(endpoint, "foldered", 400, "is the folder of a table", properties=whole)
    assert not list(tmp_path.rglob("*.json"))


def test_a_table_may_name_folders_of_its_own(plain: Catalog) -> None:
    table = plain.create_table(fresh_name("places"), SCHEMA)
    with table.transaction() as change:
        change.set_properties({"write.data.path": f"{table.location()}/elsewhere", "own": "1"})
    assert plain.load_table(table.name()).properties["own"] == "1"
