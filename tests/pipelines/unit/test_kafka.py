"""What is said of topics and of their messages, and refused."""

from datetime import datetime
from typing import Any

import pytest

import keylake as kl
from keylake_pipelines.kafka import source
from keylake_pipelines.kafka.messages import MessageFormat
from keylake_pipelines.kafka.offsets import PartitionOffsets, Topics, lost, planned, replaced, topic_number


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"servers": " "}, "servers is empty"),
        ({"names": ()}, "Name topics, or give a pattern"),
        ({"pattern": "a.*"}, "Name topics, or give a pattern"),
        ({"names": ("a b",)}, "'a b' is no name of a topic"),
        ({"start": datetime(2026, 1, 1)}, "has no time zone"),
        ({"lost": "ignore"}, "lost='ignore' is unknown"),
        ({"settings": {"kafka.group.id": "x"}}, "'kafka.group.id' is set by the source itself"),
        ({"settings": {"isolation.level": "bogus"}}, "isolation.level is 'bogus'"),
    ],
)
def test_topics_that_cannot_be_read(words: dict[str, Any], sentence: str) -> None:
    with pytest.raises(kl.DefinitionError, match=sentence):
        Topics(**({"servers": "host:9092", "names": ("orders",)} | words))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"name": "csv"}, "There is no format 'csv'"),
        ({"name": "avro"}, "Format 'avro' has no schema"),
        ({"name": "avro", "schema": "{}", "schemas": {1: "{}"}}, "Both schema= and schemas="),
        ({"name": "avro", "schema": "record"}, "A schema of Avro is no JSON"),
        ({"name": "json", "schema": "{}"}, "takes no schemas of Avro"),
        ({"name": "json", "version": "a..b"}, "is no path of a field"),
        ({"name": "debezium-json", "placeholder": "hex:6"}, "'hex:6' is not hexadecimal behind hex:"),
    ],
)
def test_formats_that_cannot_be(words: dict[str, Any], sentence: str) -> None:
    with pytest.raises(kl.DefinitionError, match=sentence):
        MessageFormat(**words)


def test_settings_are_not_shown() -> None:
    topics = Topics("host:9092", ("a",), settings={"kafka.sasl.jaas.config": "password='secret'"})
    assert "secret" not in repr(topics)
    assert topics.client_settings["sasl.jaas.config"] == "password='secret'"
    assert topics.client_settings["isolation.level"] == "read_committed"


@pytest.mark.parametrize("most", [1, 3, 10, 1000])
def test_a_poll_takes_as_much_as_it_may(most: int) -> None:
    there = [PartitionOffsets("a", number, 0, latest) for number, latest in enumerate((0, 1, 5, 500))]
    at = dict.fromkeys((each.name for each in there), 0)
    taken = planned(there, at, most)
    assert all(each.begin < each.end <= there[each.number].latest for each in taken)
    count = sum(each.end - each.begin for each in taken)
    assert min(most, 506) <= count <= max(most, 3)  # each that has something gives a message at least


def test_what_is_lost() -> None:
    assert lost(PartitionOffsets("a", 0, 5, 9), 5) is None
    assert lost(PartitionOffsets("a", 0, 5, 9), 9) is None
    assert lost(PartitionOffsets("a", 0, 5, 9), 10) is None


def test_topics_that_are_others_now() -> None:
    only = "up to offset 10, and the broker has messages up to 9 only"
    assert only in str(replaced(PartitionOffsets("a", 0, 5, 9), 10, None))
    there = PartitionOffsets("a", 0, 0, 90, topic_id="x")
    assert replaced(there, 10, topic_number("x")) is None
    assert replaced(there, 10, None) is None
    assert "its topic was created anew since then" in str(replaced(there, 10, topic_number("y")))


@pytest.mark.parametrize(
    "said",
    [
        "A task failed: Timeout of 60000ms expired before the position for partition a-0 (TimeoutException)",
        "org.apache.kafka.common.errors.TimeoutException: Timeout expired while fetching topic metadata",
        "Cannot fetch record for offset 7 in 120000 milliseconds (TimeoutException)",
        "(org.apache.kafka.common.errors.DisconnectException)",
    ],
)
def test_what_spark_says_of_brokers_that_have_gone(said: str) -> None:
    assert source._NO_ANSWER.search(said)
