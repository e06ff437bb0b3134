"""Topics of a real broker as a source: what is read, from where on, and what is said when it is gone."""

import json
import os
import random
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.types import DoubleType, LongType, StringType

import keylake as kl
from integration.twin import fresh_name
from keylake._server.statements import Call
from keylake_pipelines.kafka.messages import MessageFormat
from keylake_pipelines.kafka.offsets import Topics
from keylake_pipelines.kafka.source import KafkaSource
from keylake_pipelines.runner.control import states
from keylake_pipelines.runner.loop import run
from keylake_pipelines.source.absence import SourceAway
from keylake_pipelines.source.source import Step
from keylake_pipelines.source.tables import ColumnAdded, ColumnModified, TableCreated
from pipelines.broker import Broker, as_json
from pipelines.kafka.source import JSON, source_of
from pipelines.scripted import found, settings

pytestmark = pytest.mark.slow


def rows_of(steps: tuple[Step, ...]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for step in steps:
        if step.rows is not None:
            rows += step.rows.to_pylist()
    return sorted(rows, key=lambda row: (row["partition"], row["offset"], row["version"] or 0))


def all_of(source: KafkaSource, most: int = 10_000) -> Iterator[tuple[Step, ...]]:
    """Polls until nothing is left."""
    while steps := source.poll(most, 0.0):
        yield steps
        source.written({partition: end for step in steps for partition, end in step.ends.items()})


def test_rows_and_columns(lake: kl.Lake, broker: Broker) -> None:
    """Partitions come up to the size of a poll; columns come before the rows that have them; bad messages are rows."""
    topic = broker.topic(2)
    broker.send(topic, [(None, as_json({"id": n, "n": n})) for n in range(4)])
    broker.send(topic, [(None, as_json({"id": 9, "n": 1.5, "s": "x"})), (b'{"id": 9}', None), (None, b"{no")], 1)
    source = source_of(lake, broker, topic)
    source.begin({})
    first = source.poll(4, 0.0)
    assert first[0].rows is None
    begun = {partition: at for partition, at in first[0].ends.items() if " " not in partition}
    assert begun == {f"{topic}-0": 0, f"{topic}-1": 0}
    created = first[1].changes[0]
    assert isinstance(created, TableCreated)
    assert {each.name: each.type for each in created.schema.columns} == {
        "id": LongType(), "n": DoubleType(), "s": StringType(),
    }  # fmt: skip
    assert created.schema.key == ("id",)
    assert first[2].ends == {f"{topic}-0": 2, f"{topic}-1": 2}
    assert [(row["op"], json.loads(row["row"]), row["version"]) for row in rows_of(first)] == [
        ("u", {"id": 0, "n": 0}, 0),
        ("u", {"id": 1, "n": 1}, 4096),
        ("u", {"id": 9, "n": 1.5, "s": "x"}, 0),
        ("d", {"id": 9}, 4096),
    ]
    assert source.lag().behind == 3
    rest = rows_of(source.poll(100, 0.0))
    assert [row["error"] is None for row in rest] == [True, True, False]
    bad = rest[2]
    assert (bad["row"], bad["partition"], bad["offset"], bad["table"]) == ("{no", f"{topic}-1", 2, None)
    assert "it is no JSON" in bad["error"]
    assert source.poll(100, 0.0) == ()
    newest = source.lag().newest
    assert newest is not None
    assert abs((datetime.now(timezone.utc) - newest).total_seconds()) < 600
    # A column is new, and another one is text from now on.
    broker.send(topic, [(None, as_json({"id": 1, "n": "many", "t": True}))])
    changes = source.poll(100, 5.0)[0].changes
    assert [(type(each), each.column.name) for each in changes if not isinstance(each, TableCreated)] == [
        (ColumnModified, "n"),
        (ColumnAdded, "t"),
    ]
    source.close()


def test_where_partitions_begin(lake: kl.Lake, broker: Broker) -> None:
    topic = broker.topic(1)
    broker.send(topic, [(None, as_json({"id": n})) for n in range(3)])
    before = datetime.now(timezone.utc)
    broker.send(topic, [(None, as_json({"id": n})) for n in range(3, 5)])

    def ids(start: Any) -> list[int]:
        source = source_of(lake, broker, topic, start=start)
        source.begin({})
        try:
            return [json.loads(row["row"])["id"] for steps in all_of(source) for row in rows_of(steps)]
        finally:
            source.close()

    assert ids("earliest") == [0, 1, 2, 3, 4]
    assert ids("latest") == []
    assert ids({f"{topic}-0": 4}) == [4]
    assert ids(before) == [3, 4]
    assert ids(datetime(2100, 1, 1, tzinfo=timezone.utc)) == []
    # What is added while a source runs, or while it does not, is read from its first message on.
    source = source_of(lake, broker, topic, start="latest")
    source.begin({})
    [begun] = source.poll(10, 0.0)
    broker.add_partitions(topic, 2)
    broker.send(topic, [(None, as_json({"id": 7}))], 1)
    assert [row["partition"] for row in rows_of(source.poll(10, 10.0))] == [f"{topic}-1"]
    source.begin(begun.ends)
    assert [row["partition"] for steps in all_of(source) for row in rows_of(steps)] == [f"{topic}-1"]
    source.close()


@pytest.mark.nightly
def test_a_broker_that_goes_while_messages_are_read(
    lake: kl.Lake, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = broker.topic(1)
    broker.send(topic, [(None, as_json({"id": n})) for n in range(3)])
    fast = {"default.api.timeout.ms": "1500", "request.timeout.ms": "1000"}
    source = KafkaSource(lake._session, Topics(broker.servers, (topic,), settings=fast), JSON)
    source.begin({})
    decoded = source._decoded

    def stops(stretches: Any) -> Any:
        broker.stop(at_once=True)
        return decoded(stretches)

    with monkeypatch.context() as patched:
        patched.setattr(source, "_decoded", stops)
        [begun] = source.poll(10, 0.0)
        assert (begun.rows, begun.ends) == (None, {f"{topic}-0": 0}), "what was found before counts"
        with pytest.raises(SourceAway, match="does not answer"):
            source.poll(10, 0.0)
        broker.start()
        with pytest.raises(SourceAway, match=r"does not answer while messages are read: .*TimeoutException"):
            source.poll(10, 0.0)
    broker.start()
    assert len(rows_of(source.poll(10, 0.0))) == 3
    source.close()


def test_messages_that_are_gone(lake: kl.Lake, broker: Broker) -> None:
    topic = broker.topic(1)
    broker.send(topic, [(None, as_json({"id": n})) for n in range(6)])
    broker.delete_before(topic, 0, 4)
    partition = f"{topic}-0"
    source = source_of(lake, broker, topic)
    source.begin({partition: 1})
    with pytest.raises(kl.SourceFailed, match=rf"Messages 1 to 3 of partition {partition} were deleted .* lost: skip"):
        source.poll(10, 0.0)
    skips = source_of(lake, broker, topic, lost="skip")
    skips.begin({partition: 1})
    rows = rows_of(skips.poll(10, 0.0))
    assert [(row["offset"], row["error"] is None) for row in rows] == [(1, False), (4, True), (5, True)]
    assert "Messages 1 to 3" in rows[0]["error"]
    for each in (source, skips):
        each.begin({partition: 9})
        with pytest.raises(kl.SourceFailed, match="was read up to offset 9, and the broker has messages up to 6 only"):
            each.poll(10, 0.0)
    with pytest.raises(kl.TableNotFound, match="has no such topic"):
        lake._session.call(
            Call.of("kafka_offsets", None, settings=json.dumps({"bootstrap.servers": broker.servers}), topics="nowhere")
        )
    fast = {"default.api.timeout.ms": "500", "request.timeout.ms": "400"}
    closed = KafkaSource(lake._session, Topics("127.0.0.1:1", ("a",), settings=fast), JSON)
    with pytest.raises(SourceAway, match=r"Kafka at 127\.0\.0\.1:1 does not answer"):
        closed.poll(10, 0.0)
    for each in (source, skips):
        each.close()


Model = dict[str, dict[int, dict[str, Any]]]


def named(name: str) -> dict[str, str]:
    database, _, table = name.partition(".")
    return {"database": database, "table": table}


class Shop:
    """Random transactions on two tables, as messages of a format, and the rows that there are then."""

    def __init__(self, seed: int, said: str) -> None:
        self._chosen = random.Random(seed)
        self._said = said
        self.tables: Model = {"shop.orders": {}, "shop.people": {}}

    def transaction(self) -> list[tuple[str, bytes | None, bytes | None]]:
        """The table and the message of each change."""
        messages = []
        for _ in range(self._chosen.randrange(1, 8)):
            name = self._chosen.choice(sorted(self.tables))
            rows = self.tables[name]
            key = self._chosen.randrange(30)
            before = rows.get(key)
            what = self._chosen.choice(["delete", "move", "write", "write", "write"]) if before else "write"
            after = None if what == "delete" else {"id": key, "n": self._chosen.randrange(1000)}
            if after and what == "move":
                after["id"] = next(n for n in range(1000) if n not in rows)
            rows.pop(key, None)
            if after:
                rows[after["id"]] = after
            messages += [(name, *each) for each in getattr(self, f"_{self._said}")(name, before, after)]
        return messages

    @staticmethod
    def _debezium(name: str, before: Any, after: Any) -> list[tuple[bytes | None, bytes | None]]:
        op = "c" if before is None else "d" if after is None else "u"
        source = {"db": named(name)["database"], "table": named(name)["table"], "ts_ms": 1}
        key = as_json({"id": (before or after)["id"]})
        change = as_json({"before": before, "after": after, "op": op, "source": source})
        return [(key, change), *([(key, None)] if op == "d" else [])]

    @staticmethod
    def _canal(name: str, before: Any, after: Any) -> list[tuple[bytes | None, bytes | None]]:
        texts = [None if row is None else {k: str(v) for k, v in row.items()} for row in (before, after)]
        changed = {k: v for k, v in (texts[0] or {}).items() if texts[1] and texts[1][k] != v}
        message = {
            **named(name), "es": 1, "isDdl": False, "pkNames": ["id"],
            "mysqlType": {"id": "int", "n": "bigint"},
            "type": "INSERT" if before is None else "DELETE" if after is None else "UPDATE",
            "data": [texts[1] or texts[0]], "old": [changed],
        }  # fmt: skip
        return [(None, as_json(message))]

    @staticmethod
    def _maxwell(name: str, before: Any, after: Any) -> list[tuple[bytes | None, bytes | None]]:
        old = {k: v for k, v in (before or {}).items() if after and after[k] != v}
        message = {
            **named(name), "ts": 1, "primary_key_columns": ["id"],
            "type": "insert" if before is None else "delete" if after is None else "update",
            "data": after or before, "old": old,
        }  # fmt: skip
        return [(None, as_json(message))]


@pytest.mark.parametrize(
    ("said", "rounds"),
    [
        ("debezium", 3),
        pytest.param("canal", 1, marks=pytest.mark.nightly),
        pytest.param("maxwell", 1, marks=pytest.mark.nightly),
    ],
)
def test_random_transactions_in_a_pipeline(lake: kl.Lake, broker: Broker, said: str, rounds: int) -> None:
    """Keyed tables equal the model, with a broker that is killed and a pipeline that begins again in between."""
    name = fresh_name("kafka").replace(".", "_")
    topic = broker.topic(2)
    shop = Shop(int(os.environ["KEYLAKE_SEED"]), said)
    source = source_of(lake, broker, topic, MessageFormat(f"{said}-json"))
    for number in range(rounds):
        messages = [each for _ in range(40) for each in shop.transaction()]
        for partition, table in enumerate(sorted(shop.tables)):
            broker.send(topic, [(key, value) for own, key, value in messages if own == table], partition)
        broker.send(topic, [(None, b"no message")])
        if number == 1:
            broker.stop(at_once=True)
            broker.start()
        report = run(source, lake, settings(name, name, rows=150 + 200 * number))
        assert report.dead_letters == 1
        for table, rows in shop.tables.items():
            assert found(lake.table(f"{name}.{table.split('.')[1]}")) == rows
    [state] = [each for each in states(lake) if each.name == name]
    assert state.lag == "0 rows"


def test_columns_stay_as_wide_as_they_were(lake: kl.Lake, broker: Broker) -> None:
    """A pipeline that begins again knows what messages of earlier runs have told of columns."""
    name = fresh_name("kafka").replace(".", "_")
    topic = broker.topic(1)
    said = MessageFormat("json", key=("id",))
    for values in ([1.5], [1, 2**70]):
        broker.send(topic, [(None, as_json({"id": n, "n": value})) for n, value in enumerate(values)])
        run(source_of(lake, broker, topic, said), lake, settings(name, name, rows=1, behaviour="evolve"))
    assert {row["n"] for row in found(lake.table(f"{name}.{topic}")).values()} == {1.0, 2.0**70}


def test_topics_as_streams(lake: kl.Lake, broker: Broker, tmp_path: Path) -> None:
    """Spark's own stream of a topic goes into a keyed table, exactly once."""
    topic = broker.topic(1)
    table = fresh_name("kafka")
    lake.spark.sql(
        f"CREATE TABLE {lake.catalog}.{table} (id BIGINT, n BIGINT, PRIMARY KEY (id)) USING keylake "
        "CLUSTERED BY (id) INTO 2 BUCKETS TBLPROPERTIES ('versions' = 'explicit')"
    ).collect()
    keyed = lake.table(table)

    def write() -> None:
        options = {"kafka.bootstrap.servers": broker.servers, "subscribe": topic, "startingOffsets": "earliest"}
        messages = lake.spark.readStream.format("kafka").options(**options).load()
        rows = messages.selectExpr("from_json(CAST(value AS STRING), 'id BIGINT, n BIGINT') AS r", "offset AS v")
        frame = rows.selectExpr("r.*", "v")
        assert keyed.stream(frame, checkpoint=tmp_path / "checkpoint", version="v", available_now=True).wait(120)

    broker.send(topic, [(None, as_json({"id": n % 3, "n": n})) for n in range(7)])
    write()
    assert found(keyed) == {0: {"id": 0, "n": 6}, 1: {"id": 1, "n": 4}, 2: {"id": 2, "n": 5}}
    broker.send(topic, [(None, as_json({"id": 1, "n": 70}))])
    write()
    assert found(keyed)[1] == {"id": 1, "n": 70}
