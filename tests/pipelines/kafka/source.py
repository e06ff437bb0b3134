"""A source that reads topics."""

from typing import Any

import keylake as kl
from keylake_pipelines.kafka.messages import MessageFormat
from keylake_pipelines.kafka.offsets import Topics
from keylake_pipelines.kafka.source import KafkaSource
from pipelines.broker import Broker

JSON = MessageFormat("json", key=("id",))


def source_of(lake: kl.Lake, broker: Broker, topic: str, said: MessageFormat = JSON, **words: Any) -> KafkaSource:
    return KafkaSource(lake._session, Topics(broker.servers, (topic,), **words), said)
