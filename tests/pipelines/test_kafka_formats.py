"""The formats of messages, each from a real topic: rows, types, keys and times, as they come out of Spark."""

import base64
import json
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
import pytest

import keylake as kl
from keylake_pipelines.kafka.messages import MessageFormat
from keylake_pipelines.kafka.offsets import Topics
from keylake_pipelines.kafka.source import KafkaSource
from keylake_pipelines.source.tables import TableCreated
from pipelines.broker import Broker, Bytes, as_json

pytestmark = pytest.mark.slow

Read = tuple[list[tuple[str, Any]], dict[str, str], tuple[str, ...], list[Any]]


def read(lake: kl.Lake, broker: Broker, said: MessageFormat, *messages: tuple[Bytes, Bytes]) -> Read:
    """Operations with their rows, the types and the key of the table, and the times."""
    topic = broker.topic(1)
    broker.send(topic, messages)
    source = KafkaSource(lake._session, Topics(broker.servers, (topic,)), said)
    source.begin({})
    try:
        steps = source.poll(100, 0.0)
        [created] = [each for step in steps for each in step.changes if isinstance(each, TableCreated)]
        given = steps[-1].rows
        assert isinstance(given, pa.Table)
        rows = sorted(given.to_pylist(), key=lambda row: row["version"])
        assert not [row["error"] for row in rows if row["error"]]
        types = {column.name: str(column.type) for column in created.schema.columns}
        return [(row["op"], json.loads(row["row"])) for row in rows], types, created.schema.key, [r["at"] for r in rows]
    finally:
        source.close()


def field(name: str, type_: str, named: str | None = None, **parameters: str) -> dict[str, Any]:
    said: dict[str, Any] = {"field": name, "type": type_, "optional": True}
    return said | ({"name": named} if named else {}) | ({"parameters": parameters} if parameters else {})


def test_debezium_with_schemas(lake: kl.Lake, broker: Broker) -> None:
    columns = [
        field("id", "int64"),
        field(
            "price", "bytes", "org.apache.kafka.connect.data.Decimal", scale="2", **{"connect.decimal.precision": "9"}
        ),
        field("day", "int32", "io.debezium.time.Date"),
        field("at", "int64", "io.debezium.time.MicroTimestamp"),
        field("zoned", "string", "io.debezium.time.ZonedTimestamp"),
        {"field": "tags", "type": "array", "items": {"type": "string"}},
    ]
    row = {"type": "struct", "fields": columns}
    envelope = {"type": "struct", "fields": [{"field": "before", **row}, {"field": "after", **row}]}
    source = {"db": "app", "schema": "public", "table": "orders", "ts_ms": 1_000}
    after = {
        "id": 1, "price": base64.b64encode((150).to_bytes(2, "big")).decode(), "day": 1, "at": 1,
        "zoned": "1970-01-01T02:00:00+02:00", "tags": ["a", None],
    }  # fmt: skip
    key = as_json({"schema": {"type": "struct", "fields": [field("id", "int64")]}, "payload": {"id": 1}})
    created, deleted = (
        as_json({"schema": envelope, "payload": {"source": source, **payload}})
        for payload in ({"op": "c", "before": None, "after": after}, {"op": "d", "before": after, "after": None})
    )
    rows, types, keys, at = read(
        lake, broker, MessageFormat("debezium-json"), (key, created), (key, deleted), (key, None)
    )
    assert rows == [
        ("c", {
            "id": 1, "price": "1.50", "day": "1970-01-02", "at": "1970-01-01T00:00:00.000001",
            "zoned": "1970-01-01T00:00:00Z", "tags": ["a", None],
        }),
        ("d", {"id": 1}),
    ]  # fmt: skip
    assert types == {
        "id": "long", "price": "decimal(9, 2)", "day": "date", "at": "timestamp", "zoned": "timestamptz",
        "tags": "list<string>",
    }  # fmt: skip
    assert keys == ("id",)
    assert at == [datetime(1970, 1, 1, 0, 0, 1, tzinfo=timezone.utc)] * 2


def test_canal_and_maxwell(lake: kl.Lake, broker: Broker) -> None:
    canal = {
        "database": "shop", "table": "orders", "type": "INSERT", "isDdl": False, "es": 1, "pkNames": ["id"],
        "old": None,
        "mysqlType": {"id": "bigint unsigned", "d": "datetime", "t": "text"},
        "data": [
            {"id": "18446744073709551615", "d": "2026-01-01 00:00:00", "t": "7"}, {"id": "2", "d": None, "t": None},
        ],
    }  # fmt: skip
    rows, types, keys, _ = read(lake, broker, MessageFormat("canal-json"), (None, as_json(canal)))
    assert rows == [
        ("c", {"id": "18446744073709551615", "d": "2026-01-01T00:00:00", "t": "7"}),
        ("c", {"id": 2, "d": None, "t": None}),
    ]
    assert types == {"id": "decimal(20, 0)", "d": "timestamp", "t": "string"}
    assert keys == ("id",)
    maxwell = {"database": "shop", "table": "orders", "type": "update", "ts": 1, "data": {"id": 2}, "old": {"id": 1}}
    key = as_json({"database": "shop", "table": "orders", "pk.id": 2})
    rows, types, keys, _ = read(lake, broker, MessageFormat("maxwell-json"), (key, as_json(maxwell)))
    assert (rows, types, keys) == ([("d", {"id": 1}), ("c", {"id": 2})], {"id": "long"}, ("id",))


def number(value: int) -> bytes:
    """A whole number of Avro: zigzag, seven bits a byte."""
    left, found = value << 1 if value >= 0 else (-value << 1) - 1, b""
    while left > 127:
        found, left = found + bytes([left & 127 | 128]), left >> 7
    return found + bytes([left])


def text(value: str) -> bytes:
    return number(len(value.encode())) + value.encode()


ROW = {
    "type": "record", "name": "Row", "fields": [
        {"name": "id", "type": "long"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "city", "type": ["null", "string"]},
    ],
}  # fmt: skip
KEY = {"type": "record", "name": "Key", "fields": [{"name": "id", "type": "long"}]}


def test_avro(lake: kl.Lake, broker: Broker) -> None:
    row = number(7) + number(1) + number(1) + text("Oslo")
    expected = {"id": 7, "at": "1970-01-01T00:00:00.000001Z", "city": "Oslo"}
    one = MessageFormat("avro", key=("id",), schema=json.dumps(ROW), key_schema=json.dumps(KEY))
    rows, types, keys, _ = read(lake, broker, one, (number(7), row), (number(7), None))
    assert rows == [("u", expected), ("d", {"id": 7})]
    assert types == {"id": "long", "at": "timestamptz", "city": "string"}
    assert keys == ("id",)
    # As clients of a registry write it, in an envelope of Debezium; the key of the messages is that of the table.
    source = {"type": "record", "name": "Source", "fields": [{"name": n, "type": "string"} for n in ("db", "table")]}
    envelope = {
        "type": "record", "name": "Envelope", "fields": [
            {"name": "before", "type": ["null", ROW]}, {"name": "after", "type": ["null", "Row"]},
            {"name": "op", "type": "string"}, {"name": "source", "type": source},
        ],
    }  # fmt: skip
    several = MessageFormat("debezium-avro", schemas={3: json.dumps(envelope), 258: json.dumps(KEY)})
    key = b"\0\0\0\1\2" + number(7)
    value = b"\0\0\0\0\3" + number(0) + number(1) + row + text("c") + text("shop") + text("orders")
    rows, types, keys, _ = read(lake, broker, several, (key, value))
    assert rows == [("c", expected)]
    assert types == {"id": "long", "at": "timestamptz", "city": "string"}
    assert keys == ("id",)
