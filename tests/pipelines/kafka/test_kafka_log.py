"""A log in a topic of Kafka: it begins, is written to by processes of keylake and by other producers, moved and ended.

It is of the core; its tests are here, beside others that start a broker.
"""

import json
import multiprocessing
import time
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

import keylake as kl
import keylake.local
from integration.log.logged_table import Both, made, shown
from integration.twin import fresh_name
from keylake._log.store import Closed
from pipelines.broker import Broker
from pipelines.kafka.topics import KEPT, sent, topic_of

pytestmark = pytest.mark.slow


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


NO_WRITES: tuple[tuple[object, dict[str, str], str], ...] = (
    (b"\xff\xfe", {}, "Invalid JSON"),
    (b"", {}, "Invalid JSON"),
    (b'{"id": 1}, {"id": 2}', {}, "Invalid JSON"),
    ({"id": 1, "c": 1}, {}, "c: Extra inputs"),
    ({"a": 1}, {}, "id: Field required"),
    ({"id": 1, "a": "text"}, {}, "a: "),
    ({"id": 1, "a": 1.5}, {}, "a: "),
    ([{"id": 1, "a": 1}, {"id": 2, "b": "x"}], {}, "row 1 has not"),
    ({"id": 1, "a": 1}, {"verb": "upsert"}, "'b'"),
    ({"id": 1, "a": 1}, {"verb": "replace"}, "its header verb is 'replace'"),
    ({"id": 1, "a": 1}, {"version": "7"}, "version"),
    ({"id": 1, "a": 1}, {"version": "seven"}, "its header version is 'seven', and no whole number"),
    (b'{"id": 1, "a": 9007199254740993.5}', {}, "write it as text"),
    (b'{"id": 1, "a": NaN}', {}, "write it as text"),
    ([[1]], {}, "Input should be"),
    (7, {}, "Input should be"),
)


def test_messages_that_are_no_writes_are_told_and_left_out(both: Both, broker: Broker) -> None:
    both.here.log.update({"id": 9, "a": 9})
    for number, (value, headers, why) in enumerate(NO_WRITES, 1):
        sent(broker, topic_of(both), value, **headers)
        sentence = rf"Entry {number} of the log is no write of .*{why}.*table\.log\.skip\(until={number + 1}\)"
        with pytest.raises(kl.StoreFailed, match=sentence):
            both.here.read(fresh=True)
        with pytest.raises(kl.StoreFailed, match=sentence):
            both.table.log.move()
        with pytest.raises(kl.StoreFailed, match=sentence):
            list(both.here.log.entries(after=number - 1))
        assert shown(both.table) == {9: (9, None)}, "what is before it was moved"
        both.table.log.skip(until=number + 1)
    both.here.log.update({"id": 8, "a": 8})
    assert shown(both.here, fresh=True) == shown(both.table, fresh=True) == {9: (9, None), 8: (8, None)}


def test_transactions_of_other_producers(both: Both, broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert [entry.rows["id"][0].as_py() for entry in both.here.log.entries()] == [0, 2, 4, 9], "what is committed"
    both.here.log.update({"id": 8, "a": 8})
    monkeypatch.setattr("keylake.local.fresh._WAIT_SECONDS", 0.2)
    with pytest.raises(kl.Unavailable, match="a transaction of another producer is open"):
        both.here.read(fresh=True)  # the order of the log is not known yet
    both.table.log.move()
    with pytest.raises(kl.DefinitionError, match="entries that are not in files"):
        both.here.log.drop()
    monkeypatch.undo()
    producer.commit_transaction(20)
    after = {**expected, **{key: (key, None) for key in (7, 8, 9)}}
    until = time.monotonic() + 20
    while shown(both.here, fresh=True) != after:  # its marker comes after the answer
        assert time.monotonic() < until
    both.table.log.move()
    assert shown(both.table) == after
    assert both.table.log.state().waiting == 0


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
