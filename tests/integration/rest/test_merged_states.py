"""Engines that do not merge read keyed tables through the REST catalog: the rows of the newest commit."""

from collections.abc import Iterator

import duckdb
import duckdb_extension_avro
import duckdb_extension_httpfs
import duckdb_extension_iceberg
import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyspark.sql.connect.session import SparkSession

import keylake as kl
from integration.duck import duck_with
from integration.histories import Shape, operations
from integration.random_runs import FIRST, of_every_shape_of_registers
from integration.rest.endpoint import Endpoint
from integration.twin import by_key, fresh_name

NEWEST = {"header.X-Keylake-Freshness": "0"}
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("a", pa.int64())])


@pytest.fixture(scope="module")
def newest(endpoint: Endpoint) -> Iterator[Catalog]:
    """The catalog of a client that wants the newest commit."""
    catalog = load_catalog("newest", **endpoint.properties(), **NEWEST)
    yield catalog
    catalog.close()


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with duck_with(duckdb_extension_avro, duckdb_extension_httpfs, duckdb_extension_iceberg) as session:
        yield session


@pytest.fixture(scope="module")
def stock(lake: kl.Lake, endpoint: Endpoint) -> SparkSession:
    """A session in which a catalog of Iceberg's own class is over the REST catalog."""
    settings = endpoint.properties() | NEWEST | {"cache-enabled": "false"}
    lake.spark.conf.set("spark.sql.catalog.plainly", "org.apache.iceberg.spark.SparkCatalog")
    for name, value in settings.items():
        lake.spark.conf.set(f"spark.sql.catalog.plainly.{name}", value)
    return lake.spark


@pytest.mark.slow
@of_every_shape_of_registers
def test_random_histories_by_the_catalog(
    lake: kl.Lake,
    endpoint: Endpoint,
    newest: Catalog,
    duck: duckdb.DuckDBPyConnection,
    stock: SparkSession,
    shape: Shape,
) -> None:
    twin = shape.create(lake, fresh_name("by_rest"))
    space, name = twin.table.name.split(".")
    for number, operation in enumerate(operations(shape, FIRST + 6, count=5, rows=25)):
        print(operation)
        operation.apply(twin)
        if number == 3:
            twin.table.compact("full")
        # DuckDB keeps what it has loaded for as long as it is attached.
        duck.execute(f"ATTACH 'lake' AS lake (TYPE iceberg, ENDPOINT '{endpoint.uri}', TOKEN '{endpoint.token}')")
        plain = newest.load_table((space, name))
        found = {
            "pyiceberg": plain.scan().to_arrow(),
            "DuckDB": duck.execute(f'SELECT * FROM lake."{space}"."{name}"').to_arrow_table(),
            "Spark": stock.table(f"plainly.`{space}`.`{name}`").toArrow(),
        }
        duck.execute("DETACH lake")
        for engine, rows in found.items():
            shown = rows.select([*twin.model.key, *twin.model.columns])
            assert by_key(shown, twin.model.key) == twin.expected(), (engine, number)


def test_what_a_client_loads(lake: kl.Lake, newest: Catalog, endpoint: Endpoint) -> None:
    table = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("by_rest"), key="id", buckets=2))
    assert newest.load_table(table.name).scan().to_arrow().num_rows == 0
    table.upsert([{"id": 1, "a": 1}])
    plain = newest.load_table(table.name)
    assert [field.name for field in plain.schema().fields] == ["id", "a"]
    assert not [name for name in plain.properties if name.startswith("keylake")]
    first = table.update([{"id": 1, "a": 2}])
    plain.refresh()
    (row,) = plain.scan().to_arrow().to_pylist()
    assert row == {"id": 1, "a": 2}
    head = plain.current_snapshot()
    assert head is not None
    assert head.summary is not None
    assert head.summary["keylake.merged_of"] == str(first.snapshot_id)
    before = plain.scan(snapshot_id=head.parent_snapshot_id).to_arrow().to_pylist()
    assert before == [{"id": 1, "a": 1}], "states of the last hour stay"
    path = "/v1/lake/namespaces/{}/tables/{}".format(*table.name.split("."))
    got = endpoint.ask("GET", path)
    assert got.status == 200
    assert endpoint.ask("GET", path, headers={"If-None-Match": got.headers["etag"]}).status == 304
    table.update([{"id": 1, "a": 3}])
    tagged = {"If-None-Match": got.headers["etag"], "X-Keylake-Freshness": "0"}
    assert endpoint.ask("GET", path, headers=tagged).status == 200
    assert newest.table_exists(table.name)


@pytest.mark.parametrize("freshness", ["-1", "soon", "1e3", "0.12345"])
def test_a_freshness_that_is_none(lake: kl.Lake, endpoint: Endpoint, freshness: str) -> None:
    table = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("by_rest"), key="id", buckets=2))
    path = "/v1/lake/namespaces/{}/tables/{}".format(*table.name.split("."))
    answer = endpoint.ask("GET", path, headers={"X-Keylake-Freshness": freshness})
    assert answer.error[1] == f"X-Keylake-Freshness is '{freshness}'; use seconds, such as 0 or 0.5"


def test_states_go_with_the_commits_that_they_show(lake: kl.Lake, newest: Catalog) -> None:
    table = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("by_rest"), key="id", buckets=1))
    for number in range(3):
        table.upsert([{"id": 1, "a": number}, {"id": number, "a": number}])
        assert len(newest.load_table(table.name).snapshots()) == number + 1
    table.compact("full")
    table.layout.clean(kl.RetentionPolicy(days=0))
    found = newest.load_table(table.name)
    assert [found.scan(snapshot_id=each.snapshot_id).count() for each in found.snapshots()] == [3]


@pytest.mark.slow
def test_a_table_that_engines_have_read_is_replaced_and_dropped(lake: kl.Lake, newest: Catalog) -> None:
    name = fresh_name("by_rest")
    for kind in ("keylake TBLPROPERTIES ('key' = 'id')", "iceberg", "keylake TBLPROPERTIES ('key' = 'id')"):
        lake.spark.sql(f"CREATE TABLE lake.{name} USING {kind} AS SELECT 1L AS id, 2L AS a")
        newest.load_table(name).scan().to_arrow()
        lake.spark.sql(f"CREATE OR REPLACE TABLE lake.{name} USING {kind} AS SELECT 3L AS id, 4L AS a")
        assert newest.load_table(name).scan().to_arrow().to_pylist() == [{"id": 3, "a": 4}]
        lake.spark.sql(f"DROP TABLE lake.{name}")


@pytest.mark.slow
def test_duckdb_loads_a_state_that_is_made_meanwhile(
    lake: kl.Lake, endpoint: Endpoint, duck: duckdb.DuckDBPyConnection
) -> None:
    """Its transaction began before the state was there, and it writes to what it has loaded."""
    table = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("by_rest"), key="id", buckets=2))
    table.upsert([{"id": n, "a": n} for n in range(6)])
    table.update([{"id": 1, "a": 7}])
    duck.execute(f"ATTACH 'lake' AS late (TYPE iceberg, ENDPOINT '{endpoint.uri}', TOKEN '{endpoint.token}')")
    name = f"late.{table.name}"
    assert duck.execute(f"SELECT count(*), sum(a) FROM {name}").fetchall() == [(6, 21)]
    duck.execute(f"INSERT INTO {name} VALUES (2, 20), (9, 9)")
    duck.execute(f"UPDATE {name} SET a = 30 WHERE id = 3")
    duck.execute(f"DELETE FROM {name} WHERE id = 4")
    duck.execute("DETACH late")
    found = sorted((row.id, row.a) for row in table.read().collect())
    assert found == [(0, 0), (1, 7), (2, 20), (3, 30), (5, 5), (9, 9)]
