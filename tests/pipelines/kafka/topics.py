"""Topics that are logs, and messages of other producers to them."""

import json

from confluent_kafka import Producer

from integration.log.logged_table import Both
from pipelines.broker import Broker

KEPT = {"retention.ms": "-1", "retention.bytes": "-1"}


def topic_of(both: Both) -> str:
    return both.here.log.state().place.split()[1]


def sent(broker: Broker, topic: str, value: object, **headers: str) -> None:
    """A message of another producer."""
    producer = Producer({"bootstrap.servers": broker.servers})
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    producer.produce(topic, value=data, headers=[(name, text.encode()) for name, text in headers.items()])
    assert producer.flush(20) == 0
