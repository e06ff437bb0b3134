"""The catalog that the server of the tests serves beside Connect."""

from collections.abc import Iterator

import pytest
from pyiceberg.catalog import Catalog

import keylake as kl
from integration.rest.endpoint import Endpoint


@pytest.fixture(scope="session")
def endpoint(lake: kl.Lake) -> Endpoint:
    return Endpoint.of(lake)


@pytest.fixture(scope="module")
def plain(endpoint: Endpoint) -> Iterator[Catalog]:
    """The catalog as PyIceberg has it, which does not know keyed tables."""
    catalog = endpoint.opened()
    yield catalog
    catalog.close()
