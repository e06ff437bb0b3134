"""Servers that tests of pipelines share: started once, with databases of their own for each test."""

from collections.abc import Iterator

import pytest

import keylake as kl
from pipelines import postgres_server
from pipelines.broker import Broker
from pipelines.many_tables import few_rows_by
from pipelines.mariadb.mysql_server import MySql
from pipelines.mariadb.server import MariaDb

# Fixtures of servers that `make test-slow` installs, and `make test` does not.
INSTALLED = {"mariadb", "mysql", "logged", "broker", "postgres"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuses a test of such a server among those of `make test`: it would fail where nothing is installed yet."""
    for item in items:
        used = INSTALLED.intersection(getattr(item, "fixturenames", ()))
        if used and not any(item.iter_markers("slow")) and not any(item.iter_markers("nightly")):
            raise pytest.UsageError(f"{item.nodeid} uses the server {min(used)}: mark it slow")


@pytest.fixture(scope="session")
def mariadb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariaDb]:
    """A server with a binary log, for all tests of a worker; `connect()`, `restart()`, `cut_connections()`."""
    server = MariaDb(tmp_path_factory.mktemp("mariadb"))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def mysql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MySql]:
    """The same of MySQL."""
    server = MySql(tmp_path_factory.mktemp("mysql"))
    yield server
    server.stop()


@pytest.fixture(params=["driver", "tasks"])
def writer(request: pytest.FixtureRequest, lake: kl.Lake) -> Iterator[str]:
    """Each of the two that write few rows of many tables: the driver, and tasks where it is to write none."""
    with few_rows_by(lake, request.param):
        yield request.param


@pytest.fixture(params=["mariadb", pytest.param("mysql", marks=pytest.mark.nightly)])
def logged(request: pytest.FixtureRequest) -> MariaDb:
    """Each of the two servers with a binary log."""
    server: MariaDb = request.getfixturevalue(request.param)
    return server


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    broker = Broker(tmp_path_factory.mktemp("kafka"))
    broker.start()
    try:
        yield broker
    finally:
        broker.stop()


@pytest.fixture(scope="session")
def postgres() -> Iterator[postgres_server.Postgres]:
    with postgres_server.running() as server:
        yield server


@pytest.fixture
def postgres_database(postgres: postgres_server.Postgres, request: pytest.FixtureRequest) -> Iterator[str]:
    """A database of the test's own, whose slots are dropped at its end."""
    name = f"d{abs(hash(request.node.nodeid)) % 10**9}"
    with postgres.connect() as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield name
    with postgres.connect() as connection:
        slots = "SELECT slot_name FROM pg_replication_slots WHERE database = %s"
        for (slot,) in connection.execute(slots, (name,)).fetchall():
            postgres.drop_slot(slot)
