"""One server with an access policy, for all tests of a worker."""

from collections.abc import Iterator

import pytest

from integration.access.guarded_server import Guarded, guarded_server, make_shop


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    with guarded_server(tmp_path_factory.mktemp("guarded")) as guarded:
        yield guarded


@pytest.fixture(scope="module")
def guarded(server: Guarded) -> Guarded:
    """The server, with tables that only the tests of one file have changed."""
    make_shop(server.of("owner"))
    return server
