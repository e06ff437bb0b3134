"""Plain tables through the REST catalog: PyIceberg, Spark and DuckDB see what the others have done."""

from contextlib import closing
from pathlib import Path

import duckdb_extension_avro
import duckdb_extension_httpfs
import duckdb_extension_iceberg
import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import SortField, SortOrder
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

import keylake as kl
from integration.catalogs.conftest import opened_by_spark
from integration.duck import duck_with
from integration.raw import catalog_of
from integration.rest.endpoint import Endpoint

SCHEMA = Schema(NestedField(1, "id", LongType(), required=False), NestedField(2, "city", StringType(), required=False))
BY_CITY = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "city"))
BY_ID = SortOrder(SortField(1, IdentityTransform()))


def rows(*cities: str) -> pa.Table:
    return pa.table({"id": pa.array(range(len(cities)), pa.int64()), "city": pa.array(cities, pa.string())})


def test_the_life_of_a_plain_table(lake: kl.Lake, plain: Catalog) -> None:
    plain.create_namespace("life", {"owner": "lena"})
    with pytest.raises(NamespaceAlreadyExistsError):
        plain.create_namespace("life")
    assert plain.load_namespace_properties("life")["owner"] == "lena"
    table = plain.create_table("life.cities", SCHEMA, partition_spec=BY_CITY, sort_order=BY_ID, properties={"a": "b"})
    with pytest.raises(TableAlreadyExistsError):
        plain.create_table("life.cities", SCHEMA)
    table.append(rows("Oslo", "Bergen"))
    found = plain.load_table("life.cities")
    assert (found.spec(), found.sort_order().fields, found.properties["a"]) == (BY_CITY, BY_ID.fields, "b")
    assert sorted(lake.spark.table("lake.life.cities").collect()) == [(0, "Oslo"), (1, "Bergen")]
    lake.spark.sql("INSERT INTO lake.life.cities VALUES (2, 'Narvik')")
    with table.refresh().update_schema() as change:
        change.add_column("people", LongType())
    assert lake.spark.table("lake.life.cities").columns == ["id", "city", "people"]
    plain.rename_table("life.cities", "life.towns")
    assert plain.list_tables("life") == [("life", "towns")]
    assert sorted(plain.load_table("life.towns").scan().to_arrow()["id"].to_pylist()) == [0, 1, 2]
    with pytest.raises(NoSuchTableError, match=r"Table does not exist: life\.cities"):
        plain.load_table("life.cities")
    with pytest.raises(NamespaceNotEmptyError):
        plain.drop_namespace("life")
    registered = plain.register_table("life.copy", plain.load_table("life.towns").metadata_location)
    assert registered.scan().to_arrow().num_rows == 3
    plain.drop_table("life.copy")
    folder = Path(plain.load_table("life.towns").location().removeprefix("file:"))
    assert list(folder.rglob("*.parquet"))
    plain.purge_table("life.towns")
    assert not list(folder.rglob("*.parquet"))
    plain.drop_namespace("life")
    with pytest.raises(NoSuchNamespaceError):
        plain.list_tables("life")


@pytest.mark.parametrize(
    "space", [("blank in",), ("straße",), ("plus+in",), ("p%41%2541",), ("outer", "in ner", "ö")], ids=".".join
)
def test_names_that_are_encoded(lake: kl.Lake, plain: Catalog, space: tuple[str, ...]) -> None:
    for length in range(1, len(space) + 1):
        plain.create_namespace(space[:length])
    name = (*space, "t&a/b=c 1?ü#%20")
    table = plain.create_table(name, SCHEMA)
    table.append(rows("Oslo"))
    assert plain.list_tables(space) == [name]
    assert space in plain.list_namespaces(space[:-1])
    plain.create_namespace((*space, "below"))
    assert plain.list_namespaces(space) == [(*space, "below")]
    quoted = ".".join(f"`{part}`" for part in ("lake", *name))
    assert lake.spark.sql(f"SELECT * FROM {quoted}").collect() == [(0, "Oslo")]
    plain.drop_table(name)
    for part in ((*space, "below"), *(space[:length] for length in range(len(space), 0, -1))):
        plain.drop_namespace(part)


def test_a_table_whose_metadata_is_gone(lake: kl.Lake, endpoint: Endpoint, plain: Catalog) -> None:
    """The table was made by another process: what the server has read once, it need not read again."""
    plain.create_namespace_if_not_exists("damaged")
    with closing(catalog_of(lake)) as behind:
        file = Path(behind.create_table("damaged.t", SCHEMA).metadata_location.removeprefix("file:"))
    away = file.rename(file.with_suffix(".away"))
    for method, path in (("GET", "tables/t"), ("DELETE", "tables/t"), ("POST", "tables/t")):
        told = endpoint.ask(method, f"/v1/lake/namespaces/damaged/{path}", {"requirements": [], "updates": []})
        assert (told.status, told.error[0]) == (500, "ServiceFailureException")
        assert "the metadata of damaged.t could not be read: " in told.error[1]
        assert "nothing was changed; put the file back" in told.error[1]
    away.rename(file)
    kept = plain.load_table("damaged.t")
    file.rename(away)
    assert plain.load_table("damaged.t").metadata == kept.metadata
    away.rename(file)
    plain.drop_table("damaged.t")


def test_two_clients_that_commit_at_once(endpoint: Endpoint, plain: Catalog) -> None:
    """The second commit of two over one state is refused, and made again over the other's."""
    plain.create_namespace("busy")
    first = plain.create_table("busy.t", SCHEMA)
    second = endpoint.opened().load_table("busy.t")
    with first.update_schema() as change:
        change.add_column("one", LongType())
    stale = second.update_schema().add_column("two", LongType())
    with pytest.raises(CommitFailedException, match="Requirement failed: current schema changed"):
        stale.commit()
    with second.refresh().update_schema() as change:
        change.add_column("two", LongType())
    assert plain.load_table("busy.t").schema().column_names == ["id", "city", "one", "two"]
    plain.drop_table("busy.t")


def test_views_of_another_server(lake: kl.Lake, endpoint: Endpoint, plain: Catalog) -> None:
    """Spark makes and changes views through the REST catalog, and PyIceberg lists them."""
    opened_by_spark(lake, "viewed", endpoint.properties())
    plain.create_namespace("shown")
    plain.create_table("shown.t", SCHEMA).append(rows("Oslo", "Bergen"))
    lake.spark.sql("CREATE VIEW viewed.shown.v AS SELECT city FROM viewed.shown.t")
    lake.spark.sql("ALTER VIEW viewed.shown.v SET TBLPROPERTIES ('a' = 'b')")
    assert lake.spark.table("viewed.shown.v").count() == 2
    assert plain.list_views("shown") == [("shown", "v")]
    lake.spark.sql("ALTER VIEW viewed.shown.v RENAME TO viewed.shown.w")
    assert not plain.view_exists("shown.v")
    assert plain.load_view("shown.w").metadata.properties["a"] == "b"
    plain.drop_view("shown.w")
    assert plain.list_views("shown") == []
    plain.drop_table("shown.t")


def test_duckdb_attaches_the_catalog(endpoint: Endpoint, plain: Catalog) -> None:
    plain.create_namespace("duck")
    plain.create_table("duck.t", SCHEMA).append(rows("Oslo", "Bergen"))
    with duck_with(duckdb_extension_avro, duckdb_extension_httpfs, duckdb_extension_iceberg) as duck:
        duck.execute(f"ATTACH 'lake' AS other (TYPE iceberg, ENDPOINT '{endpoint.uri}', TOKEN '{endpoint.token}')")
        assert duck.execute("SELECT id, city FROM other.duck.t ORDER BY id").fetchall() == [(0, "Oslo"), (1, "Bergen")]
        duck.execute("INSERT INTO other.duck.t VALUES (2, 'Narvik')")
    assert plain.load_table("duck.t").scan().to_arrow().num_rows == 3
    plain.drop_table("duck.t")
