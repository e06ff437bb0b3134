"""A log in a topic of Kafka: it begins, is written to by processes of keylake and by other producers, moved and ended.

It is of the core; its tests are here, beside others that start a broker.
"""

import json
import multiprocessing
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

import keylake as kl
import keylake.local
from integration.log.logged_table import SCHEMA, Both, made, shown
from integration.twin import fresh_name
from keylake._log.store import Closed
from pipelines.broker import Broker

KEPT = {"retention.ms": "-1", "retention.bytes": "-1"}


@pytest.fixture
def local(warehouse: Path, lake: kl.Lake) -> Iterator[keylake.local.LocalLake]:
    assert lake
    with keylake.local.open(warehouse) as local:
        yield local


@pytest.fixture
def both(lake: kl.Lake, local: keylake.local.LocalLake, broker: Broker) -> Both:
    return made(lake, local, kl.KafkaLog(broker.servers, fresh_name("log").replace(".", "_")))


def topic_of(both: Both) -> str:
    return both.here.log.state().place.split()[1]


def sent(broker: Broker, topic: str, value: object, **headers: str) -> None:
    """A message of another producer."""
    producer = Producer({"bootstrap.servers": broker.servers})
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    producer.produce(topic, value=data, headers=[(name, text.encode()) for name, text in headers.items()])
    assert producer.flush(20) == 0


def test_writes_go_through_the_topic_to_files(both: Both) -> None:
    both.table.upsert([{"id": 1, "a": 1, "b": "one"}, {"id": 2, "a": 2, "b": "two"}])
    logged = both.here.log.update({"id": 1, "a": 10}, stream="web")
    assert (logged.number, logged.rows) == (0, 1)
    both.here.log.upsert([{"id": 3, "a": 3, "b": "three"}])
    both.here.log.delete({"id": 2})
    before, after = {1: (1, "one"), 2: (2, "two")}, {1: (10, "one"), 3: (3, "three")}
    assert shown(both.here) == shown(both.table) == before
    assert shown(both.here, fresh=True) == after
    assert both.here.get(id=2, fresh=True) is None
    assert both.here.log.state().waiting == both.table.log.state().waiting == 3
    assert [(entry.number, entry.verb, entry.stream) for entry in both.here.log.entries()] == [
        (0, "update", "web"),
        (1, "upsert", None),
        (2, "delete", None),
    ]
    moved = both.table.log.move()
    assert (moved.entries, moved.rows, moved.commits) == (3, 3, 1)
    assert shown(both.here) == shown(both.table) == shown(both.here, fresh=True) == after
    assert both.table.log.move().entries == 0
    both.here.log.update({"id": 1, "a": 11})
    assert shown(both.table, fresh=True)[1] == (11, "one"), "a server moves before a fresh read"


def test_rows_of_other_producers(both: Both, broker: Broker) -> None:
    topic = topic_of(both)
    sent(broker, topic, {"id": 1, "a": 1, "b": "one"}, verb="upsert", stream="java")
    sent(broker, topic, [{"id": 2, "a": 2}, {"id": 3, "a": 3}])
    both.here.log.update({"id": 2, "b": "two"})
    sent(broker, topic, {"id": 3}, verb="delete")
    sent(broker, topic, [])
    expected = {1: (1, "one"), 2: (2, "two")}
    assert shown(both.here, fresh=True) == expected
    entries = list(both.here.log.entries())
    assert [(entry.number, entry.stream) for entry in entries] == [(0, "java"), (1, None), (2, None), (3, None)]
    assert both.table.log.move().entries == 5
    assert shown(both.table) == shown(both.here) == expected


def test_values_of_messages_have_the_types_of_the_table(
    lake: kl.Lake, local: keylake.local.LocalLake, broker: Broker
) -> None:
    schema = pa.schema(
        [
            ("id", pa.int64()), ("at", pa.timestamp("us", tz="UTC")), ("price", pa.decimal128(9, 2)),
            ("raw", pa.binary()), ("tags", pa.list_(pa.struct([("word", pa.string())]))),
        ]
    )  # fmt: skip
    spec = kl.TableSpec.from_arrow(schema, name=fresh_name("log"), key="id", ordering="at")
    table, topic = lake.create(spec), fresh_name("t").replace(".", "_")
    table.log.begin(kl.KafkaLog(broker.servers, topic))
    here = local.table(spec.name)
    full = {"id": 1, "at": "2026-11-01T12:00:00Z", "price": "1.50", "raw": "AAE=", "tags": [{"word": "x"}]}
    sent(broker, topic, full)
    sent(broker, topic, {"id": 1, "at": "2026-11-01T11:00:00+00:00", "price": "9.00"})  # late
    row = here.get(id=1, fresh=True)
    assert row is not None
    assert (str(row["price"]), row["raw"], row["tags"][0].word) == ("1.50", b"\0\1", "x")
    assert table.log.move().entries == 2
    moved = table.get(id=1)
    assert moved is not None
    assert moved.model_dump() == row.model_dump()


@pytest.mark.parametrize(
    ("value", "headers", "why"),
    [
        (b"\xff\xfe", {}, "Invalid JSON"),
        (b"", {}, "Invalid JSON"),
        (b'{"id": 1}, {"id": 2}', {}, "Invalid JSON"),
        ({"id": 1, "c": 1}, {}, "c"),
        ({"a": 1}, {}, "id"),
        ({"id": 1, "a": "text"}, {}, "a"),
        ({"id": 1, "a": 1.5}, {}, "a"),
        ({"id": 1, "a": 1}, {"verb": "upsert"}, "'b'"),
        ({"id": 1, "a": 1}, {"verb": "replace"}, "its header verb is 'replace'"),
        ({"id": 1, "a": 1}, {"version": "7"}, "version"),
        ({"id": 1, "a": 1}, {"version": "seven"}, "seven"),
        ([[1]], {}, ""),
        (7, {}, ""),
    ],
)
def test_a_message_that_is_no_write_is_told_and_left_out(
    both: Both, broker: Broker, value: object, headers: dict[str, str], why: str
) -> None:
    both.here.log.update({"id": 9, "a": 9})
    sent(broker, topic_of(both), value, **headers)
    both.here.log.update({"id": 8, "a": 8})
    sentence = rf"Entry 1 of the log is no write of .*{why}.*table\.log\.skip\(until=2\)"
    for act in (lambda: both.here.read(fresh=True), both.table.log.move, lambda: list(both.here.log.entries(after=0))):
        with pytest.raises(kl.StoreFailed, match=sentence):
            act()  # type: ignore[operator]
    assert shown(both.table) == {9: (9, None)}, "what is before it was moved"
    both.table.log.skip(until=2)
    assert shown(both.here, fresh=True) == shown(both.table, fresh=True) == {9: (9, None), 8: (8, None)}


def test_transactions_of_other_producers(both: Both, broker: Broker) -> None:
    """Markers of transactions have offsets, and what was aborted has some, too; readers see neither."""
    producer = Producer({"bootstrap.servers": broker.servers, "transactional.id": "t"})
    producer.init_transactions(20)
    topic = topic_of(both)
    for number in range(6):
        producer.begin_transaction()
        producer.produce(topic, json.dumps({"id": number, "a": number}).encode(), partition=0)
        producer.flush(20)
        if number % 2:
            producer.abort_transaction(20)
        else:
            producer.commit_transaction(20)
    expected: dict[int, tuple[object, object]] = {number: (number, None) for number in (0, 2, 4)}
    assert shown(both.here, fresh=True) == expected
    both.here.log.update({"id": 9, "a": 9})
    producer.begin_transaction()
    producer.produce(topic, json.dumps({"id": 7, "a": 7}).encode(), partition=0)
    producer.flush(20)
    assert shown(both.here, fresh=True) == {**expected, 9: (9, None)}, "not what is not committed"
    producer.commit_transaction(20)
    after = {**expected, 9: (9, None), 7: (7, None)}
    until = time.monotonic() + 20
    while shown(both.here, fresh=True) != after:  # its marker comes after the answer
        assert time.monotonic() < until
    both.table.log.move()
    assert shown(both.table) == after
    assert both.table.log.state().waiting == 0


# -------------------------------------------------------------------------------------------------------- its topic


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
    with pytest.raises(kl.DefinitionError, match=f"The log in topic {topic} of .* has 1 entries that are not in files"):
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


# ------------------------------------------------------------------------------------------------------ processes


def _append(warehouse: Path, name: str, key: int, count: int) -> None:
    with keylake.local.open(warehouse) as lake:
        log = lake.table(name).log
        for number in range(count):
            log.update({"id": key, "a": number})


def test_a_write_for_a_log_that_the_topic_was_before(
    lake: kl.Lake, local: keylake.local.LocalLake, broker: Broker
) -> None:
    log = kl.KafkaLog(broker.servers, broker.topic(**KEPT))
    before = made(lake, local, log)
    store = before.table.log._opened().store
    before.table.log.drop()
    with pytest.raises(Closed):
        store.write(b"late")
    after = made(lake, local, log)
    store.write(b"later still")
    with pytest.raises(kl.StoreFailed, match="it was written for another log"):
        after.table.log.move()
    after.table.log.skip(until=1)
    after.here.log.update({"id": 1, "a": 1})
    assert shown(after.table, fresh=True) == {1: (1, None)}


def test_several_processes_append_to_a_topic(both: Both, warehouse: Path) -> None:
    """Forked ones among them, of a process that has clients of its own open."""
    both.here.log.update({"id": 0, "a": 0})
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_append, args=(warehouse, both.table.name, key, 30)) for key in (1, 2, 3)]
    for process in processes:
        process.start()
    seen = 0
    while any(process.is_alive() for process in processes):
        found = sum(int(str(a)) for a, _ in shown(both.here, fresh=True).values())
        assert found >= seen, "a fresh read goes on"
        seen = found
        both.table.log.move()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    expected = {0: (0, None), **dict.fromkeys((1, 2, 3), (29, None))}
    assert shown(both.here, fresh=True) == expected
    both.table.log.move()
    assert shown(both.table) == expected
    assert len(list(both.here.log.entries())) == 91


def test_a_forked_process_has_clients_of_its_own(both: Both) -> None:
    both.here.log.update({"id": 0, "a": 0})
    assert both.here.get(id=0, fresh=True) is not None

    def work() -> None:
        both.here.log.update({"id": 1, "a": 1})
        assert both.here.get(id=1, fresh=True) is not None

    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join(60)
    assert process.exitcode == 0
    both.here.log.update({"id": 2, "a": 2})
    assert set(shown(both.here, fresh=True)) == {0, 1, 2}


@pytest.mark.slow
def test_a_broker_that_is_killed_and_comes_back(lake: kl.Lake, local: keylake.local.LocalLake, tmp_path: Path) -> None:
    """What was acknowledged is there; what was not may be there, and the writer was told that nobody knows."""
    broker = Broker(tmp_path)
    broker.start()
    acknowledged: set[int] = set()
    unknown: set[int] = set()
    try:
        both = made(lake, local, kl.KafkaLog(broker.servers, "t"))
        for number in range(60):
            if number == 20:
                broker.stop(at_once=True)
            if number == 21:
                with pytest.raises(kl.Unavailable, match="does not answer"):
                    both.here.read(fresh=True)
                with pytest.raises(kl.Unavailable, match="does not answer"):
                    both.table.log.move()
                broker.start()
            try:
                both.here.log.update({"id": number, "a": number})
                acknowledged.add(number)
            except (kl.OutcomeUnknown, kl.Unavailable):
                unknown.add(number)
        found = set(shown(both.here, fresh=True))
        assert acknowledged <= found <= acknowledged | unknown
        assert len(unknown) <= 3
        both.table.log.move()
        assert set(shown(both.table)) == found
    finally:
        broker.stop()


def test_settings_of_the_process(both: Both, warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords are in a file, and in nothing that the table keeps."""
    settings = tmp_path / "kafka.properties"
    monkeypatch.setenv("KEYLAKE_KAFKA_SETTINGS", str(settings))
    for text, why in (
        (None, "cannot be read"),
        ("# to log in\nsasl.username\n", "Line 2 of"),
        ("acks=0\n", "sets acks, which a log sets itself"),
        ("no.such.setting=1\n", r"no\.such\.setting"),
    ):
        if text is not None:
            settings.write_text(text)
        with (
            keylake.local.open(warehouse) as other,
            pytest.raises(kl.DefinitionError, match=why),
        ):
            other.table(both.table.name).log.state()
    settings.write_text("client.id=service\n\n")
    with keylake.local.open(warehouse) as other:
        assert other.table(both.table.name).log.update({"id": 1, "a": 1}).number == 0


def test_a_topic_that_is_limited_while_it_is_a_log(both: Both, broker: Broker) -> None:
    """Somebody has set the size of messages below that of an entry: told, and nothing is closed by it."""
    admin = AdminClient({"bootstrap.servers": broker.servers})
    entry = ConfigEntry("max.message.bytes", "500", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic_of(both), incremental_configs=[entry])
    broker._done(admin.incremental_alter_configs([resource]))
    with pytest.raises(kl.Unsupported, match=r"takes at most 500.*fewer rows"):
        both.here.log.update({"id": 1, "b": "x" * 1000})
