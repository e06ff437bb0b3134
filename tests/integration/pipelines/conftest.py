"""Servers that tests of pipelines share: started once, with databases of their own for each test."""

from collections.abc import Iterator

import pytest

from integration.pipelines.broker import Broker
from integration.pipelines.mariadb.server import MariaDb


@pytest.fixture(scope="session")
def mariadb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariaDb]:
    """A server with a binary log, for all tests of a worker; `connect()`, `restart()`, `cut_connections()`."""
    server = MariaDb(tmp_path_factory.mktemp("mariadb"))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    broker = Broker(tmp_path_factory.mktemp("kafka"))
    broker.start()
    try:
        yield broker
    finally:
        broker.stop()
