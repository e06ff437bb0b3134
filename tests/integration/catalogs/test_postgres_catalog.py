"""A catalog in PostgreSQL whose connections are cut, before or after it did what it was asked."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

import keylake as kl
import keylake.local
from integration.catalogs.changes_once import SCHEMA, VERBS, check, check_many, check_publishing, total
from integration.catalogs.conftest import opened_by_spark
from integration.catalogs.lossy_database import LossyDatabase, lossy_database
from integration.twin import fresh_name
from pipelines.postgres_server import PASSWORD, PROGRAMS, Postgres, running

FAULTS = ("before_cut", "after_cut")
# SQLAlchemy leaves a connection that was cut as it is, until it is collected.
of_cut_connections = pytest.mark.filterwarnings(
    "ignore:.*BaseConnection.__del__:pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with running() as postgres:
        yield postgres


@pytest.fixture(scope="module")
def proxy(postgres: Postgres) -> Iterator[LossyDatabase]:
    with lossy_database(postgres.port) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def in_postgres(proxy: LossyDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[kl.Lake]:
    """A catalog of a server with the driver of PostgreSQL."""
    (driver,) = (PROGRAMS.parent / "jars").glob("postgresql-*.jar")
    settings = {"spark.driver.extraClassPath": str(driver), "spark.keylake.maintenance.enabled": "false"}
    folder = tmp_path_factory.mktemp("postgres")
    with kl.connect(warehouse=folder / "own", memory="1g", settings=settings) as lake:
        properties = {
            "type": "jdbc",
            "uri": f"jdbc:postgresql://127.0.0.1:{proxy.port}/postgres?prepareThreshold=0",  # it sends all of its SQL
            "jdbc.user": "postgres",
            "jdbc.password": PASSWORD,
            "jdbc.schema-version": "V1",
            "warehouse": str(folder / "tables"),
        }
        yield opened_by_spark(lake, "lossy", properties)


@pytest.mark.nightly
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("verb", VERBS)
def test_a_change_is_made_once_in_a_catalog_of_postgres(
    in_postgres: kl.Lake, proxy: LossyDatabase, fault: str, verb: str
) -> None:
    check(in_postgres, proxy, fault, verb)


@pytest.mark.nightly
@pytest.mark.parametrize("fault", FAULTS)
def test_rows_are_published_and_picked_once_in_a_catalog_of_postgres(
    in_postgres: kl.Lake, proxy: LossyDatabase, fault: str
) -> None:
    check_publishing(in_postgres, proxy, fault)


@pytest.mark.nightly
@pytest.mark.parametrize("fault", FAULTS)
def test_rows_of_many_tables_in_a_catalog_of_postgres(in_postgres: kl.Lake, proxy: LossyDatabase, fault: str) -> None:
    check_many(in_postgres, proxy, fault)


@of_cut_connections
@pytest.mark.nightly
@pytest.mark.parametrize("fault", FAULTS)
def test_a_small_write_without_a_server_is_made_once(
    in_postgres: kl.Lake, proxy: LossyDatabase, tmp_path: Path, fault: str
) -> None:
    table = in_postgres.create(spec())
    table.update([{"k": 1, "s": 1}], version=1)
    before = len(table.history())
    with without_server(proxy, tmp_path) as here:
        local = here.table(table.name)
        proxy.lose = fault
        local.update([{"k": 3, "s": 10}], version=2)
        assert proxy.lose is None
    assert total(table) == 11
    assert len(table.history()) == before + 1
    gc.collect()


@of_cut_connections
@pytest.mark.nightly
@pytest.mark.parametrize("fault", FAULTS)
def test_a_table_without_a_server_is_made_once(
    in_postgres: kl.Lake, proxy: LossyDatabase, tmp_path: Path, fault: str
) -> None:
    with without_server(proxy, tmp_path) as here:
        proxy.lose = fault
        made = here.create(spec())
        assert proxy.lose is None
        made.update([{"k": 1, "s": 7}], version=1)
    assert total(in_postgres.table(made.name)) == 7
    gc.collect()


def spec() -> kl.TableSpec:
    return kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("lost"), key="k", buckets=2, versions="explicit")


def without_server(proxy: LossyDatabase, folder: Path) -> keylake.local.LocalLake:
    password = PASSWORD.replace(" ", "%20")
    uri = f"postgresql+psycopg://postgres:{password}@127.0.0.1:{proxy.port}/postgres"
    return keylake.local.open(properties={"type": "sql", "uri": uri, "warehouse": str(folder)}, catalog="lossy")
