"""Verbs of the server over a REST catalog whose answers are lost, before or after it did what it was asked."""

from collections.abc import Iterator

import pytest

import keylake as kl
from integration.catalogs.changes_once import VERBS, check, check_many, check_publishing
from integration.catalogs.conftest import RestServer, opened_by_spark
from integration.catalogs.lossy_proxy import LossyProxy, lossy

FAULTS = ("before_cut", "before_503", "after_cut", "after_500", "after_503", "after_409", "after_429", "after_401")


@pytest.fixture(scope="module")
def proxy(rest_server: RestServer) -> Iterator[LossyProxy]:
    with lossy(rest_server.uri) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def by_proxy(lake: kl.Lake, rest_server: RestServer, proxy: LossyProxy) -> kl.Lake:
    return opened_by_spark(lake, "lossy", {"type": "rest", "uri": proxy.uri, "token": rest_server.token})


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["after_409"])
@pytest.mark.parametrize("verb", VERBS)
def test_a_change_is_made_once_when_answers_are_lost(
    by_proxy: kl.Lake, proxy: LossyProxy, fault: str, verb: str
) -> None:
    check(by_proxy, proxy, fault, verb)


@pytest.mark.nightly
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("verb", VERBS)
def test_a_change_is_made_once_with_every_fault(by_proxy: kl.Lake, proxy: LossyProxy, fault: str, verb: str) -> None:
    check(by_proxy, proxy, fault, verb)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["after_409", "before_cut"])
def test_rows_are_published_and_picked_once_when_answers_are_lost(
    by_proxy: kl.Lake, proxy: LossyProxy, fault: str
) -> None:
    check_publishing(by_proxy, proxy, fault)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["after_409"])
def test_writes_to_many_tables(by_proxy: kl.Lake, proxy: LossyProxy, fault: str) -> None:
    check_many(by_proxy, proxy, fault)


@pytest.mark.nightly
@pytest.mark.parametrize("fault", FAULTS)
def test_writes_to_many_tables_with_every_fault(by_proxy: kl.Lake, proxy: LossyProxy, fault: str) -> None:
    check_many(by_proxy, proxy, fault)
