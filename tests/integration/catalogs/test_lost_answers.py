"""Verbs of the server over a REST catalog whose answers are lost, before or after it did what it was asked."""

import json
from collections.abc import Iterator

import pytest

import keylake as kl
from integration.catalogs.changes_once import VERBS, check, check_publishing, created, total
from integration.catalogs.conftest import RestServer, opened_by_spark
from integration.catalogs.lossy_proxy import LossyProxy, lossy
from integration.twin import fresh_name
from keylake_pipelines.multi_table.write import TableBatch, write_tables

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


def check_many(lake: kl.Lake, proxy: LossyProxy, fault: str) -> None:
    """One of the commits of a write to three tables gets lost; the write is sent twice, as pipelines do."""
    tables = [created(lake, fresh_name("lost")) for _ in range(3)]
    rows = [(table.name, "u", 2, json.dumps({"k": 1, "s": 10})) for table in tables]
    batches = [TableBatch(table.name, {"log": (0, 9)}) for table in tables]
    frame = lake.spark.createDataFrame(rows, "table STRING, op STRING, version BIGINT, row STRING")
    proxy.lose = fault
    outcomes = write_tables(lake, frame, batches)
    assert proxy.lose is None
    assert [each.error for each in outcomes] == [None] * 3
    again = write_tables(lake, frame, batches)
    for table, first, second in zip(tables, outcomes, again, strict=True):
        assert first.commit is not None
        assert second.commit is not None
        assert first.commit.snapshot_id == second.commit.snapshot_id
        assert total(table) == 10
        assert table.offsets() == {"log": 9}


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["after_409"])
def test_writes_to_many_tables(by_proxy: kl.Lake, proxy: LossyProxy, fault: str) -> None:
    check_many(by_proxy, proxy, fault)


@pytest.mark.nightly
@pytest.mark.parametrize("fault", FAULTS)
def test_writes_to_many_tables_with_every_fault(by_proxy: kl.Lake, proxy: LossyProxy, fault: str) -> None:
    check_many(by_proxy, proxy, fault)
