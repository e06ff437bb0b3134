"""Rows that a client sends to a server that is elsewhere: whole, and forgotten when they are written."""

import datetime
import random
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import keylake as kl
from integration.twin import fresh_name
from keylake._server.frames import chunks_of
from keylake._server.session import MOST_BYTES_AS_THEY_ARE
from keylake.errors import KeylakeError

ROWS = 40_000
START = datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.UTC)
NESTED = pa.struct([("n", pa.int32()), ("texts", pa.list_(pa.string()))])
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("flag", pa.bool_()),
        ("small", pa.float32()),
        ("amount", pa.decimal128(20, 3)),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("local", pa.timestamp("us")),
        ("text", pa.large_string()),
        ("bytes", pa.binary()),
        ("nested", NESTED),
        ("pairs", pa.map_(pa.string(), pa.int64())),
    ]
)


@pytest.fixture
def remote(lake: kl.Lake) -> Iterator[kl.Lake]:
    """The same server, by its address alone."""
    assert lake._server is not None
    with kl.connect(lake._server.url, catalog=lake.catalog) as opened:
        yield opened


def drawn(draw: random.Random, key: int) -> dict[str, object]:
    values: dict[str, object] = {
        "flag": draw.random() < 0.5,
        "small": key / 4,
        "amount": Decimal(draw.randrange(10**18)).scaleb(-3),
        "day": datetime.date(2026, 1, 1) + datetime.timedelta(days=draw.randrange(300)),
        "at": START + datetime.timedelta(microseconds=draw.randrange(10**12)),
        "local": START.replace(tzinfo=None) + datetime.timedelta(microseconds=draw.randrange(10**12)),
        "text": f"þ {draw.randrange(10**9)} 🌊",
        "bytes": draw.randbytes(8),
        "nested": {"n": key, "texts": ["a", None, str(key)]},
        "pairs": [(str(key), key), ("none", None)],
    }
    return {"id": key} | {name: None if draw.random() < 0.1 else value for name, value in values.items()}


@pytest.mark.slow
def test_many_rows_are_written_as_they_are(remote: kl.Lake) -> None:
    draw = random.Random(36)
    rows = pa.Table.from_pylist([drawn(draw, key) for key in range(ROWS)], SCHEMA)
    assert rows.nbytes > 4 * MOST_BYTES_AS_THEY_ARE
    table = remote.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("sent"), key="id"))
    assert table.upsert(rows).rows == ROWS
    found = table.read(columns=list(SCHEMA.names)).orderBy("id").toArrow()
    assert found.cast(SCHEMA).to_pylist() == rows.to_pylist()


def test_the_same_rows_are_sent_again(remote: kl.Lake) -> None:
    rows = pa.table({"id": range(ROWS), "text": [f"a text of some letters, {number % 7}" for number in range(ROWS)]})
    chunks = [*chunks_of(pa.concat_tables([rows] * 8))]
    assert len({*chunks}) == len(chunks) > 1
    session = remote._session
    with session.local_frame(rows) as first:
        with session.local_frame(rows) as second:
            assert second.count() == ROWS
        assert first.count() == ROWS
    with session.local_frame(rows) as third:
        assert third.count() == ROWS


def test_rows_are_forgotten_afterwards(remote: kl.Lake) -> None:
    session = remote._session
    rows = pa.table({"text": [f"a text of some letters, {number}" for number in range(ROWS)]})
    with session.local_frame(rows) as frame:
        assert frame.count() == ROWS
    with pytest.raises(KeylakeError, match="has no rows any more that were sent under"), session.asking():
        frame.count()


def test_a_class_checks_rows_as_a_write_does(remote: kl.Lake) -> None:
    class Sent(kl.Table, name=fresh_name("validated")):
        id: int = kl.key()
        small: kl.Float32 | None = kl.column()

    table = remote.create(Sent)
    for wrong in ([{"id": 1, "small": 0.1}], [{"id": None, "small": 1}], [{"id": 1}], [{"id": 1, "smal": 1}], 5):
        rows: Any = wrong
        with pytest.raises(KeylakeError) as refused:
            table.upsert(rows)
        with pytest.raises(type(refused.value)) as checked:
            Sent.validate(rows)
        assert str(checked.value) == str(refused.value)
    right = Sent.validate([{"id": 1, "small": 0.5}])
    table.upsert(right)
    assert table.to_arrow().to_pylist() == right.to_pylist()
    assert table.to_arrow([Sent.small], where=f"{Sent.id} = 1").to_pylist() == [{"small": 0.5}]
    made = kl.Table.from_frame(table.read(), name=fresh_name("of_spark"), key="id")
    assert made.table_spec().columns == Sent.table_spec().columns
    with pytest.raises(kl.BadRows, match=r"checked by the server when they are written. Give frame\.toArrow"):
        Sent.validate(table.read())
