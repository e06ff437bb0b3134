"""Topics as they are met: made anew, deleted, held back by a transaction, of one name in several places, too large."""

import logging
from pathlib import Path

import pytest
from confluent_kafka import Producer

import keylake as kl
from integration.commands import invoked
from integration.twin import fresh_name
from keylake_pipelines.runner.control import states
from pipelines.broker import Broker, as_json
from pipelines.defined import defined
from pipelines.scripted import found

pytestmark = pytest.mark.slow


class Read:
    """Topics of a pattern, read by a pipeline with one run after the other."""

    def __init__(self, lake: kl.Lake, broker: Broker, folder: Path, more: str = "") -> None:
        self.lake, self.broker, self._folder, self._more = lake, broker, folder, more
        self.name = fresh_name("wild").replace(".", "_")

    def topic(self, table: str) -> str:
        return self.broker.topic(1, f"{self.name}_{table}")

    def send(self, topic: str, *rows: object) -> None:
        self.broker.send(topic, [(None, as_json(row)) for row in rows])

    def run(self) -> kl.PipelineReport:
        source = (
            f"  type: kafka\n  bootstrap.servers: {self.broker.servers}\n  topic-pattern: {self.name}[_.].*\n"
            f"  format: json\n  key: id\n{self._more}"
        )
        return kl.run_pipeline(defined(self._folder, self.name, source), self.lake, once=True)

    def rows(self, topic: str) -> dict[int, dict[str, object]]:
        rows: dict[int, dict[str, object]] = found(self.lake.table(f"{self.name}.{topic}"))
        return rows

    def told(self) -> str:
        [state] = [each for each in states(self.lake) if each.name == self.name]
        return str(state.last_error)


@pytest.fixture
def read(lake: kl.Lake, broker: Broker, tmp_path: Path) -> Read:
    return Read(lake, broker, tmp_path)


@pytest.mark.parametrize("messages", [1, 5])
def test_a_topic_that_was_created_anew_is_left_out_alone(read: Read, messages: int) -> None:
    """With fewer messages than were read, or with more, which only its id tells."""
    anew, other = read.topic("a"), read.topic("b")
    read.send(anew, {"id": 1, "v": "old"}, {"id": 2, "v": "old"})
    read.send(other, {"id": 1, "v": "old"})
    read.run()
    read.broker.delete_topic(anew)
    read.topic("a")
    read.send(anew, *({"id": n, "v": "new"} for n in range(messages)))
    read.send(other, {"id": 2, "v": "new"})
    for _ in range(2):
        read.run()
        assert found_values(read.rows(other)) == {1: "old", 2: "new"}
        assert found_values(read.rows(anew)) == {1: "old", 2: "old"}
        assert "created anew" in read.told()
        assert "Send to a topic of another name" in read.told()
    read.broker.delete_topic(other)
    with pytest.raises(kl.SourceFailed, match=r"created anew.*Send to a topic of another name"):
        read.run()


def found_values(rows: dict[int, dict[str, object]]) -> dict[int, object]:
    return {key: row["v"] for key, row in rows.items()}


def test_a_topic_that_is_deleted_holds_up_no_other(read: Read) -> None:
    gone, other = read.topic("a"), read.topic("b")
    read.send(gone, {"id": 1, "v": "old"})
    read.run()
    read.broker.delete_topic(gone)
    read.send(other, {"id": 2, "v": "new"})
    read.run()
    assert found_values(read.rows(other)) == {2: "new"}


def test_the_latest_messages_of_topics_that_come_later(lake: kl.Lake, broker: Broker, tmp_path: Path) -> None:
    """What was there at the first look is passed over, and of a topic that comes later nothing."""
    read = Read(lake, broker, tmp_path, "  scan.startup.mode: latest-offset\n")
    read.run()
    topic = read.topic("a")
    read.send(topic, {"id": 1, "v": "first"})
    read.run()
    assert found_values(read.rows(topic)) == {1: "first"}
    read.send(topic, {"id": 2, "v": "second"})
    assert invoked(lake, "resnapshot", read.name).exit_code == 0
    read.run()
    assert found_values(read.rows(topic)) == {1: "first", 2: "second"}, "no topic is read from its end on"


def test_an_open_transaction_is_told(read: Read, caplog: pytest.LogCaptureFixture) -> None:
    topic = read.topic("a")
    read.send(topic, {"id": 1, "v": "read"})
    producer = Producer({"bootstrap.servers": read.broker.servers, "transactional.id": read.name})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(topic, as_json({"id": 2, "v": "open"}))
    producer.flush(20)
    read.send(topic, {"id": 3, "v": "behind"})
    with caplog.at_level(logging.WARNING):
        read.run()
    assert found_values(read.rows(topic)) == {1: "read"}
    said = f"A transaction that is open holds back 2 messages of partition {topic}-0 from offset 1 on"
    assert said in read.told()
    assert said in caplog.text
    producer.commit_transaction(20)
    read.run()
    assert found_values(read.rows(topic)) == {1: "read", 2: "open", 3: "behind"}
    assert read.told() == "None"


def test_topics_whose_names_end_alike(read: Read, caplog: pytest.LogCaptureFixture) -> None:
    for place in ("eu", "us"):
        topic = read.broker.topic(1, f"{read.name}.{place}.orders")
        read.send(topic, {"id": 1, "v": place})
    with caplog.at_level(logging.WARNING):
        read.run()
    said = f"Rows of {read.name}.eu.orders, {read.name}.us.orders go to one keyed table, {read.name}.orders"
    assert said in caplog.text
    assert said in read.told()


def test_large_messages_are_read_few_at_once(read: Read) -> None:
    topic = read.topic("a")
    for first in range(0, 700, 100):
        read.send(topic, *({"id": n, "v": "x" * 300_000} for n in range(first, first + 100)))
    assert read.run().rows == 700
    assert len(read.rows(topic)) == 700


def test_times_that_no_calendar_has(read: Read) -> None:
    topic = read.broker.topic(1, f"{read.name}_a", **{"message.timestamp.after.max.ms": str(2**63 - 1)})
    producer = Producer({"bootstrap.servers": read.broker.servers})
    producer.produce(topic, as_json({"id": 1, "v": "x"}), timestamp=1_700_000_000_000_000)  # microseconds
    assert producer.flush(20) == 0
    read.run()
    assert found_values(read.rows(topic)) == {1: "x"}
