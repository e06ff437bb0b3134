"""The catalog that the server of the tests serves beside Connect."""

from collections.abc import Iterator

import pytest
from pyiceberg.catalog import Catalog

import keylake as kl
from integration.rest.endpoint import Endpoint
from integration.rest.held_commits import Relay, relayed


@pytest.fixture(scope="session")
def endpoint(lake: kl.Lake) -> Endpoint:
    return Endpoint.of(lake)


@pytest.fixture(scope="module")
def plain(endpoint: Endpoint) -> Iterator[Catalog]:
    """The catalog as PyIceberg has it, which does not know keyed tables."""
    catalog = endpoint.opened()
    yield catalog
    catalog.close()


@pytest.fixture(scope="module")
def relay(lake: kl.Lake, endpoint: Endpoint) -> Iterator[Relay]:
    """The catalog at another port, which holds commits back."""
    with relayed(endpoint, lake.spark) as relay:
        yield relay
