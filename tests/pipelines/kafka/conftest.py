"""Lakes and tables of the tests of logs in Kafka."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import keylake as kl
import keylake.local
from integration.log.logged_table import Both, made
from integration.twin import fresh_name
from pipelines.broker import Broker


@pytest.fixture
def local(warehouse: Path, lake: kl.Lake) -> Iterator[keylake.local.LocalLake]:
    assert lake
    with keylake.local.open(warehouse) as local:
        yield local


@pytest.fixture
def both(lake: kl.Lake, local: keylake.local.LocalLake, broker: Broker) -> Both:
    return made(lake, local, kl.KafkaLog(broker.servers, fresh_name("log").replace(".", "_")))
