"""The topic of a log: what it has to be, how it begins and ends, and what is told where it is gone."""

import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

import keylake as kl
import keylake.local
from integration.log.logged_table import SCHEMA, Both, made, shown
from integration.twin import fresh_name
from pipelines.broker import Broker
from pipelines.kafka.topics import KEPT, sent, topic_of

pytestmark = pytest.mark.slow


def test_topics_that_cannot_be_a_log(lake: kl.Lake, local: keylake.local.LocalLake, broker: Broker, both: Both) -> None:
    table = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("log"), key="id"))
    used = broker.topic(**KEPT)
    sent(broker, used, {"id": 1})
    wrong: list[tuple[str, type[kl.KeylakeError], str]] = [
        (broker.topic(3, **KEPT), kl.DefinitionError, "has 3 partitions"),
        (broker.topic(**KEPT | {"retention.ms": "60000"}), kl.DefinitionError, "retention.ms=60000"),
        (broker.topic(**KEPT | {"cleanup.policy": "compact"}), kl.DefinitionError, "cleanup.policy=compact"),
        (used, kl.DefinitionError, "has messages"),
        (topic_of(both), kl.DefinitionError, "has messages: it is the log of another table"),
    ]
    for topic, error, why in wrong:
        for of_table in (table.log, local.table(table.name).log):
            with pytest.raises(error, match=why):
                of_table.begin(kl.KafkaLog(broker.servers, topic))
    with pytest.raises(kl.NothingToDo, match="has no log"):
        table.log.state()
    with pytest.raises(kl.Unavailable, match=r"The topic t of 127.0.0.1:1 does not answer"):
        table.log.begin(kl.KafkaLog("127.0.0.1:1", "t"))
    for servers, topic in (("host", "t"), ("host:9092", "a b"), ("host:9092", "..")):
        with pytest.raises(kl.DefinitionError, match=r"servers=|topic="):
            kl.KafkaLog(servers, topic)
    with pytest.raises(kl.DefinitionError, match=r"Use a kl.FileLog\(\) or kl.KafkaLog"):
        table.log.begin("topic")  # type: ignore[arg-type]


@pytest.mark.parametrize("is_made", [True, False])
def test_a_log_in_a_topic_ends_and_begins_anew(
    lake: kl.Lake, local: keylake.local.LocalLake, broker: Broker, is_made: bool
) -> None:
    topic = fresh_name("t").replace(".", "_") if is_made else broker.topic(**KEPT, **{"max.message.bytes": "100000"})
    log = kl.KafkaLog(broker.servers, topic)
    both = made(lake, local, log)
    both.here.log.update({"id": 1, "a": 1})
    with pytest.raises(
        kl.DefinitionError, match=f"log in topic {topic} of .* has entries that are not in files of the table: 1"
    ):
        both.here.log.drop()
    both.here.log.update({"id": 1, "a": 2})  # it goes on
    with pytest.raises(kl.Unsupported, match="bytes, and"):
        both.here.log.update({"id": 1, "b": "x" * (200_000 if not is_made else 65 << 20)})
    both.table.log.move()
    both.table.log.drop()
    with pytest.raises(kl.NothingToDo, match="has no log"):
        both.here.log.update({"id": 1, "a": 3})
    assert (topic in AdminClient({"bootstrap.servers": broker.servers}).list_topics(timeout=20).topics) != is_made
    both.here.log.begin(log)
    both.here.log.update({"id": 1, "a": 4})
    assert shown(both.here, fresh=True) == shown(both.table, fresh=True) == {1: (4, None)}
    both.table.log.drop(lost=True)


def test_who_appends_while_a_log_in_a_topic_ends_is_told(both: Both, warehouse: Path) -> None:
    """A process that knows nothing of the end, whatever it has read of the table, cannot append any more."""
    with keylake.local.open(warehouse) as other:
        there = other.table(both.table.name)
        there.log.update({"id": 1, "a": 1})
        both.table.log.move()
        store = both.table.log._opened().store
        assert store.close() == 1
        with pytest.raises(kl.NothingToDo, match="was ended"):
            there.log.update({"id": 2, "a": 2})
        store.close(is_closed=False)
        assert there.log.update({"id": 2, "a": 2}).number >= 1
        assert shown(there, fresh=True) == {1: (1, None), 2: (2, None)}
        assert both.table.log.move().rows == 1


def test_a_topic_that_is_gone_or_another_is_told_and_there_is_a_way_on(
    both: Both, warehouse: Path, broker: Broker
) -> None:
    both.here.log.update({"id": 1, "a": 1})
    both.table.log.move()
    topic, admin = topic_of(both), AdminClient({"bootstrap.servers": broker.servers})
    with keylake.local.open(warehouse) as first, keylake.local.open(warehouse) as second:
        broker._done(admin.delete_topics([topic]))
        time.sleep(1)
        for verb in verbs_of_logs(both, first.table(both.table.name)):
            with pytest.raises(kl.StoreFailed, match=r"The log in topic .* is gone"):
                verb()
        broker.topic(name=topic, **KEPT)
        for verb in verbs_of_logs(both, second.table(both.table.name)):
            with pytest.raises(kl.StoreFailed, match=r"The log in topic .* is gone"):
                verb()
    both.table.log.drop(lost=True)
    assert shown(both.table, fresh=True) == {1: (1, None)}


def verbs_of_logs(both: Both, there: keylake.local.LocalTable) -> list[Callable[[], object]]:
    return [
        both.table.log.move, both.table.log.state, lambda: both.table.get(id=1, fresh=True), there.log.state,
        lambda: there.log.update({"id": 2, "a": 2}), lambda: there.read(fresh=True), both.here.log.state,
        lambda: both.here.log.update({"id": 2, "a": 2}),
    ]  # fmt: skip


def test_messages_that_a_topic_has_deleted_before_they_were_moved(both: Both, broker: Broker) -> None:
    for number in range(4):
        both.here.log.update({"id": number, "a": number})
    broker.delete_before(topic_of(both), 0, 3)  # the claim is offset 0
    sentence = r"Entries 0 to 1 of the log are gone.*table\.log\.skip\(until=2\)"
    with pytest.raises(kl.StoreFailed, match=sentence):
        both.table.log.move()
    with pytest.raises(kl.StoreFailed, match=sentence):
        both.here.read(fresh=True)
    both.table.log.skip(until=2)
    assert shown(both.table, fresh=True) == {2: (2, None), 3: (3, None)}


def test_entries_of_a_topic_are_kept_for_a_time(lake: kl.Lake, local: keylake.local.LocalLake, broker: Broker) -> None:
    topic = fresh_name("t").replace(".", "_")
    both = made(lake, local, kl.KafkaLog(broker.servers, topic, keep=timedelta(seconds=0)))
    for number in range(3):
        both.here.log.update({"id": number, "a": number})
    both.table.log.move()
    time.sleep(0.1)
    both.here.log.update({"id": 3, "a": 3})
    both.table.log.move()
    time.sleep(0.1)
    both.table.log.move()
    state = both.here.log.state()
    assert state.first > 0
    assert state.waiting == 0
    with pytest.raises(kl.SnapshotExpired, match="is not kept any more"):
        list(both.here.log.entries(after=-1))
    both.here.log.update({"id": 9, "a": 9})
    assert len(shown(both.here, fresh=True)) == 5


def test_an_undo_of_a_move_of_a_topic_stays(both: Both) -> None:
    both.table.upsert([{"id": 1, "a": 1, "b": "one"}])
    both.here.log.update({"id": 1, "a": 2})
    both.table.log.move()
    both.table.undo(both.table.history()[0].snapshot_id)
    assert shown(both.here, fresh=True) == shown(both.table, fresh=True) == {1: (1, "one")}
    both.here.log.update({"id": 1, "a": 3})
    assert shown(both.here, fresh=True) == shown(both.table, fresh=True) == {1: (3, "one")}
