"""Keyed tables through the REST catalog: clients that merge have them as they are stored, others cannot break them."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import BadRequestError, ForbiddenError, RESTError
from pyiceberg.table import Table
from pyiceberg.table.update import SetLocationUpdate

import keylake as kl
import keylake.local
from integration.catalogs.conftest import opened_by_spark
from integration.rest.endpoint import Endpoint
from integration.twin import fresh_name

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("a", pa.int64())])


@pytest.fixture(scope="module")
def keyed(lake: kl.Lake) -> kl.KeyedTable:
    table = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("served"), key="id", buckets=2))
    table.upsert([{"id": 1, "a": 1}])
    return table


@pytest.fixture(scope="module")
def raw(endpoint: Endpoint, keyed: kl.KeyedTable) -> Table:
    """The table as a client has it that says that it merges."""
    catalog = load_catalog("merging", **endpoint.properties(), **{"header.X-Keylake-Client": "merges"})
    return catalog.load_table(keyed.name)


CHANGES: dict[str, Callable[[Catalog, str], object]] = {
    "dropped": lambda plain, name: plain.drop_table(name),
    "renamed": lambda plain, name: plain.rename_table(name, f"{name}_new"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_another_client_does_not_change_a_keyed_table(plain: Catalog, keyed: kl.KeyedTable, change: str) -> None:
    with pytest.raises(ForbiddenError, match=f"is keyed, and cannot be {change} by .*; use keylake, or Spark with its"):
        CHANGES[change](plain, keyed.name)
    assert [(row.id, row.a) for row in keyed.read().collect()] == [(1, 1)]


def test_another_client_does_not_purge_a_keyed_table(plain: Catalog, keyed: kl.KeyedTable) -> None:
    with pytest.raises(ForbiddenError, match="is keyed, and cannot be dropped"):
        plain.purge_table(keyed.name)


def test_another_client_makes_no_keyed_table(plain: Catalog, raw: Table, keyed: kl.KeyedTable) -> None:
    spec = {"keylake.spec": raw.properties["keylake.spec"]}
    refused = "cannot get the property keylake.spec from an engine that does not know keyed tables"
    with pytest.raises(ForbiddenError, match=refused):
        plain.create_table("served.mine", SCHEMA, properties=spec)
    with pytest.raises(ForbiddenError, match=refused), plain.create_table_transaction("served.mine", SCHEMA) as staged:
        staged.set_properties(spec)
    with pytest.raises(ForbiddenError, match=refused):
        plain.register_table("served.mine", raw.metadata_location)
    assert not plain.table_exists("served.mine")
    table = plain.create_table("served.mine", SCHEMA)
    with pytest.raises(ForbiddenError, match=refused), table.transaction() as change:
        change.set_properties(spec)
    plain.drop_table("served.mine")
    with pytest.raises(RESTError, match=r"the metadata of .* could not be read: .*"):
        plain.register_table("served.mine", f"{raw.metadata_location}.gone")


def test_another_client_puts_no_table_into_the_folder_of_a_keyed_one(plain: Catalog, raw: Table) -> None:
    """Its files would be cleaned away with those that the keyed table does not need."""
    inside = f"{raw.location()}/mine"
    with pytest.raises(BadRequestError, match="lies inside the folder of a table"):
        plain.create_table("served.inside", SCHEMA, location=inside)
    with pytest.raises(BadRequestError, match="holds the whole warehouse"):
        plain.create_table("served.inside", SCHEMA, location=raw.location().rsplit("/", 2)[0])
    assert not plain.table_exists("served.inside")
    plain.create_table("served.inside", SCHEMA)
    moved = plain.load_table("served.inside")
    with pytest.raises(BadRequestError, match="lies inside the folder of a table"):
        plain.commit_table(moved, (), (SetLocationUpdate(location=inside),))
    assert plain.load_table("served.inside").location() == moved.location()
    plain.drop_table("served.inside")


def test_writers_at_once_through_the_catalog(lake: kl.Lake, endpoint: Endpoint) -> None:
    """Spark and clients without a server write to one keyed table; nothing is lost."""
    over = opened_by_spark(lake, "over_busy", endpoint.properties())
    table = over.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("served"), key="id", buckets=2))

    def here(number: int) -> None:
        with keylake.local.open(properties=endpoint.properties()) as opened:
            for k in range(4):
                opened.table(table.name).update([{"id": 10 * number + k, "a": k}])

    def spark(number: int) -> None:
        for k in range(4):
            table.update([{"id": 10 * number + k, "a": k}])

    with ThreadPoolExecutor(3) as threads:
        for each in [threads.submit(write, number) for number, write in enumerate([here, spark, here])]:
            each.result()
    assert lake.table(table.name).read().count() == 12
    assert len(lake.table(table.name).history()) == 12


def test_another_server_with_the_plug_in(lake: kl.Lake, endpoint: Endpoint) -> None:
    over = opened_by_spark(lake, "over_rest", endpoint.properties())
    table = over.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("served"), key="id", buckets=2))
    table.upsert([{"id": 1, "a": 1}, {"id": 2, "a": 2}])
    table.update([{"id": 1, "a": 3}])
    table.delete([{"id": 2}])
    table.compact("full")
    with pytest.raises(kl.TableExists):
        over.create(table.spec)
    behind = lake.table(table.name)
    assert [(row.id, row.a) for row in behind.read().collect()] == [(1, 3)]
    assert [each.snapshot_id for each in behind.history()] == [each.snapshot_id for each in table.history()]
    over.drop(table.name)
    assert table.name not in lake.tables()


@pytest.mark.slow
def test_reads_and_writes_without_a_server_of_spark(lake: kl.Lake, endpoint: Endpoint) -> None:
    with keylake.local.open(properties=endpoint.properties(), catalog="anything") as here:
        made = here.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("served"), key="id", buckets=2))
        made.update([{"id": 1, "a": 1}, {"id": 2, "a": 2}])
        table = lake.table(made.name)
        table.upsert([{"id": 1, "a": 3}])
        assert sorted(made.read().to_arrow()["a"].to_pylist()) == [2, 3]
        assert made.name in here.tables()
        assert repr(made.get(id=1)) == repr(table.get(id=1))


@pytest.mark.slow
def test_spark_without_the_plug_in(lake: kl.Lake, endpoint: Endpoint, keyed: kl.KeyedTable) -> None:
    """Iceberg's own catalog of Spark has plain tables as they are."""
    for key, value in endpoint.properties().items():
        lake.spark.conf.set(f"spark.sql.catalog.iceberg_own.{key}", value)
    lake.spark.conf.set("spark.sql.catalog.iceberg_own", "org.apache.iceberg.spark.SparkCatalog")
    lake.spark.sql("CREATE NAMESPACE iceberg_own.of_spark")
    lake.spark.sql("CREATE TABLE iceberg_own.of_spark.t PARTITIONED BY (bucket(2, id)) AS SELECT id FROM range(9)")
    lake.spark.sql("DELETE FROM iceberg_own.of_spark.t WHERE id < 3")
    lake.spark.sql("ALTER TABLE iceberg_own.of_spark.t SET TBLPROPERTIES ('a' = 'b')")
    assert lake.spark.table("lake.of_spark.t").count() == 6
    with pytest.raises(Exception, match=r"table .* is keyed, and cannot be dropped"):
        lake.spark.sql(f"DROP TABLE iceberg_own.{keyed.name}").collect()
    lake.spark.sql("CREATE OR REPLACE TABLE iceberg_own.of_spark.t AS SELECT 1 AS other")
    assert lake.spark.table("lake.of_spark.t").columns == ["other"]
    lake.spark.sql("DROP TABLE iceberg_own.of_spark.t PURGE")
    assert not lake.spark.catalog.tableExists("lake.of_spark.t")
