"""Engines that do not merge read branches, tags and archived states of keyed tables through the REST catalog."""

from collections.abc import Iterator

import duckdb
import duckdb_extension_avro
import duckdb_extension_httpfs
import duckdb_extension_iceberg
import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog

import keylake as kl
from integration.duck import duck_with
from integration.rest.endpoint import Endpoint
from integration.twin import fresh_name
from keylake import Float64

NEWEST = {"header.X-Keylake-Freshness": "0"}
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("a", pa.int64()), ("b", pa.string())])
MAIN = [(1, 7, "x"), (2, 2, "x")]
BRANCH = [(1, 1, "x"), (2, 2, "y")]
TAG = [(1, 1, "x"), (2, 2, "x")]


@pytest.fixture(scope="module")
def newest(endpoint: Endpoint) -> Iterator[Catalog]:
    catalog = load_catalog("newest", **endpoint.properties(), **NEWEST)
    yield catalog
    catalog.close()


@pytest.fixture(scope="module")
def table(lake: kl.Lake) -> kl.KeyedTable:
    """Main, a branch and a tag with rows of their own; the branch and main have composed rows."""
    table = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("refs_by_rest"), key="id", buckets=2))
    table.upsert([{"id": 1, "a": 1, "b": "x"}, {"id": 2, "a": 2, "b": "x"}])
    table.states.archive("2026-11-01")
    lake.spark.sql(f"ALTER TABLE lake.{table.name} CREATE TAG spring").collect()
    table.branches.create("audit")
    table.branch("audit").update([{"id": 2, "b": "y"}])
    table.update([{"id": 1, "a": 7}])
    return table


def rows(found: pa.Table) -> list[tuple[object, ...]]:
    return sorted(tuple(row.values()) for row in found.to_pylist())


def path_of(space: str, name: str) -> str:
    return f"/v1/lake/namespaces/{space}/tables/{name}"


def test_pyiceberg_reads_a_branch(newest: Catalog, table: kl.KeyedTable) -> None:
    space, name = table.name.split(".")
    for spelled in (f"{table.name}.branch_audit", (space, f"{name}.branch_audit")):
        assert newest.table_exists(spelled)
        assert rows(newest.load_table(spelled).scan().to_arrow()) == BRANCH
    assert rows(newest.load_table(f"{table.name}.tag_spring").scan().to_arrow()) == TAG
    assert rows(newest.load_table(table.name).scan().to_arrow()) == MAIN
    assert newest.list_tables(space).count((space, name)) == 1, "branches are no tables of a list"


def test_duckdb_reads_a_branch(endpoint: Endpoint, table: kl.KeyedTable) -> None:
    space, name = table.name.split(".")
    with duck_with(duckdb_extension_avro, duckdb_extension_httpfs, duckdb_extension_iceberg) as duck:
        duck.execute(f"ATTACH 'lake' AS lake (TYPE iceberg, ENDPOINT '{endpoint.uri}', TOKEN '{endpoint.token}')")
        for ref, expected in (("branch_audit", BRANCH), ("tag_spring", TAG)):
            found = duck.execute(f'SELECT * FROM lake."{space}"."{name}.{ref}" ORDER BY id').fetchall()
            assert found == expected
        with pytest.raises(duckdb.Error, match="read only"):
            duck.execute(f'INSERT INTO lake."{space}"."{name}.branch_audit" VALUES (3, 3, \'z\')')


def test_spark_reads_a_branch(lake: kl.Lake, endpoint: Endpoint, table: kl.KeyedTable) -> None:
    lake.spark.conf.set("spark.sql.catalog.of_refs", "org.apache.iceberg.spark.SparkCatalog")
    for option, value in (endpoint.properties() | NEWEST | {"cache-enabled": "false"}).items():
        lake.spark.conf.set(f"spark.sql.catalog.of_refs.{option}", value)
    space, name = table.name.split(".")
    assert rows(lake.spark.table(f"of_refs.{table.name}.branch_audit").toArrow()) == BRANCH
    assert rows(lake.spark.table(f"of_refs.{space}.`{name}.branch_audit`").toArrow()) == BRANCH
    assert rows(lake.spark.table(f"of_refs.{table.name}.tag_spring").toArrow()) == TAG


def test_a_branch_is_followed(newest: Catalog, table: kl.KeyedTable) -> None:
    table.branches.create("followed")
    branch = table.branch("followed")
    plain = newest.load_table(f"{table.name}.branch_followed")
    assert rows(plain.scan().to_arrow()) == MAIN
    branch.update([{"id": 1, "a": 8}])
    assert rows(plain.refresh().scan().to_arrow()) == [(1, 8, "x"), (2, 2, "x")]
    branch.delete([{"id": 2}])
    assert rows(plain.refresh().scan().to_arrow()) == [(1, 8, "x")]


def test_archived_states_by_a_header(endpoint: Endpoint, table: kl.KeyedTable) -> None:
    for time in ("2026-11-01", "2026-11-01T01:00:00+01:00"):
        catalog = load_catalog("then", **endpoint.properties(), **NEWEST, **{"header.X-Keylake-As-Of": time})
        assert rows(catalog.load_table(table.name).scan().to_arrow()) == TAG
        catalog.close()
    space, name = table.name.split(".")
    path = path_of(space, name)
    answer = endpoint.ask("GET", path, headers={"X-Keylake-As-Of": "2026-12-01"})
    assert answer.status == 404
    assert "no archived state of 2026-12-01T00:00:00Z" in answer.error[1]
    answer = endpoint.ask("GET", path, headers={"X-Keylake-As-Of": "2026-11-01T09:00"})
    assert answer.status == 400
    assert answer.error[1].startswith("X-Keylake-As-Of is '2026-11-01T09:00'; use a date or a time with a zone")
    answer = endpoint.ask("GET", f"{path}.branch_audit", headers={"X-Keylake-As-Of": "2026-11-01"})
    assert answer.status == 400
    assert "name two states; leave one of them out" in answer.error[1]


def test_refs_that_are_none(endpoint: Endpoint, table: kl.KeyedTable, plain: Catalog) -> None:
    space, name = table.name.split(".")
    for ref in ("branch_nobody", "tag_audit", "branch_spring"):
        answer = endpoint.ask("GET", path_of(space, f"{name}.{ref}"))
        assert (answer.status, answer.error[0]) == (404, "NoSuchTableException")
        assert f"'{ref.partition('_')[2]}'" in answer.error[1]
        assert endpoint.ask("HEAD", path_of(space, f"{name}.{ref}")).status == 404
    merges = {"X-Keylake-Client": "merges"}
    assert endpoint.ask("GET", path_of(space, f"{name}.branch_audit"), headers=merges).status == 404
    plain.create_table((space, "plain"), SCHEMA)
    assert endpoint.ask("GET", path_of(space, "plain.branch_main")).status == 404
    table.experiment("trial", add={"score": Float64})
    answer = endpoint.ask("GET", path_of(space, f"{name}.branch_experiment_trial"))
    assert answer.status == 406
    assert "is an experiment" in answer.error[1]


def test_refs_are_read_only(endpoint: Endpoint, table: kl.KeyedTable) -> None:
    space, name = table.name.split(".")
    commit = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"owner": "me"}}]}
    for path, headers in (
        (path_of(space, f"{name}.branch_audit"), {}),
        (path_of(f"{space}%1F{name}", "branch_audit"), {}),
        (path_of(space, name), {"X-Keylake-As-Of": "2026-11-01"}),
    ):
        answer = endpoint.ask("POST", path, body=commit, headers=headers)
        assert answer.status == 403
        assert "is read only for an engine that does not know its versions" in answer.error[1]
