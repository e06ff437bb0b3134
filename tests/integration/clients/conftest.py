"""One Thrift server for all clients that speak to it."""

from collections.abc import Iterator

import pytest

import keylake as kl
from integration.clients.thrift_server import ThriftServer


@pytest.fixture(scope="session")
def thrift_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThriftServer]:
    server = ThriftServer(tmp_path_factory.mktemp("thrift") / "lake")
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def thrift_lake(thrift_server: ThriftServer) -> Iterator[kl.Lake]:
    with thrift_server.lake() as lake:
        yield lake
