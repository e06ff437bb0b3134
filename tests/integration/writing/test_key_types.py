"""Keys of every allowed type, at their extremes: written, replaced, deleted, looked up and found by a filter."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import product
from uuid import UUID

import pyarrow as pa
import pytest
from pyspark.sql import functions

import keylake as kl
from integration.random_runs import of_every
from integration.twin import Twin, by_key, comparable, frame_of, fresh_name

INT_MAX, LONG_MAX = 2**31 - 1, 2**63 - 1
DATES = [date(1, 1, 1), date(1582, 10, 4), date(1969, 12, 31), date(1970, 1, 1), date(2026, 2, 28), date(9999, 12, 31)]
TIMES = [
    datetime(1, 1, 2, 0, 0, 0, 1),
    datetime(1582, 10, 4, 23),
    datetime(1883, 11, 18, 12, 3, 58),
    datetime(1969, 12, 31, 23, 59, 59, 999_999),
    datetime(1970, 1, 1),
    datetime(1970, 1, 1, 0, 0, 0, 1),
    datetime(2026, 3, 29, 2, 30),
    datetime(9999, 12, 30, 23, 59, 59, 999_999),
]
# U+FFFF and U+E000 stand behind the surrogate pairs of U+10000 and U+1F600 in Java's order, and before them in bytes.
TEXTS = [
    "",
    "\0",
    "a",
    "A",
    "a\0",
    "ab",
    "é",
    "e\u0301",
    "日本",
    "\ue000",
    "\uffff",
    "\U00010000",
    "\U0001f600",
    "\U0010ffff",
    " ",
    "null",
    "'\"`\\%",
    "x" * 40 + "a",
    "x" * 40 + "b",
    "\U0010ffff" * 20,
    "\uffff" * 20,
    "\U0010ffff" * 20 + "a",
]
BYTES = [
    b"",
    b"\0",
    b"\0\0",
    b"\x01",
    b"\x7f",
    b"\x80",
    b"\xfe",
    b"\xff",
    b"\xff\0",
    b"\xff" * 40,
    b"\xff" * 40 + b"\0",
    b"\x7f" * 40,
]
LARGE = Decimal("9999999999999999999999999999.9999999999")
UUIDS = [UUID(int=0), UUID(int=1), UUID(int=2**127 - 1), UUID(int=2**127), UUID(int=2**128 - 1), UUID(int=0x80 << 56)]

LONG_DECIMALS = [LARGE.copy_negate(), Decimal("-1.0000000000"), Decimal("0E-10"), Decimal("1E-10"), LARGE]
SHORT_DECIMALS = [Decimal(text) for text in ("-9999999.99", "-0.01", "0.00", "0.01", "1.00", "9999999.99")]

KEYS: dict[str, tuple[pa.DataType, list[object]]] = {
    "boolean": (pa.bool_(), [False, True]),
    "int": (pa.int32(), [-INT_MAX - 1, -INT_MAX, -1, 0, 1, 255, 256, INT_MAX - 1, INT_MAX]),
    "long": (pa.int64(), [-LONG_MAX - 1, -LONG_MAX, -INT_MAX - 2, -1, 0, 1, INT_MAX + 1, LONG_MAX - 1, LONG_MAX]),
    "date": (pa.date32(), [*DATES]),
    "timestamp": (pa.timestamp("us"), [*TIMES]),
    "timestamptz": (pa.timestamp("us", tz="UTC"), [time.replace(tzinfo=UTC) for time in TIMES]),
    "string": (pa.string(), [*TEXTS]),
    "binary": (pa.binary(), [*BYTES]),
    "decimal(9,2)": (pa.decimal128(9, 2), [*SHORT_DECIMALS]),
    "decimal(38,10)": (pa.decimal128(38, 10), [*LONG_DECIMALS]),
    "uuid": (pa.uuid(), [*UUIDS]),
}


def create(lake: kl.Lake, key: Mapping[str, pa.DataType], buckets: int) -> Twin:
    columns = [pa.field("a", pa.int64()), pa.field("b", pa.string())]
    schema = pa.schema([*(pa.field(name, type_, nullable=False) for name, type_ in key.items()), *columns])
    name = fresh_name("key_types")
    spec = kl.TableSpec.from_arrow(schema, name=name, key=list(key), versions="explicit", buckets=buckets)
    return Twin.create(lake, spec, schema)


def write(twin: Twin, keys: Sequence[dict[str, object]]) -> None:
    """Every key once, every second again, every third deleted, and one of these brought back."""
    twin.upsert([key | {"a": number, "b": f"first {number}"} for number, key in enumerate(keys)], version=1)
    twin.update([key | {"b": f"second {number}"} for number, key in enumerate(keys) if number % 2 == 0], version=3)
    twin.delete([key for number, key in enumerate(keys) if number % 3 == 1], version=2)
    twin.update([key | {"a": -1} for key in keys[1:2]], version=4)


@of_every("kind", {kind: kind for kind in KEYS}, today=4)
def test_a_key_of_one_column(lake: kl.Lake, kind: str) -> None:
    type_, values = KEYS[kind]
    twin = create(lake, {"k": type_}, buckets=2)
    write(twin, [{"k": value} for value in values])
    twin.check()
    expected = twin.expected()
    for value in (values[0], values[1], values[len(values) // 2], values[-1]):
        assert twin.get({"k": value}) == expected.get((comparable(value),)), value
    for value in (values[0], values[-1]):
        assert twin.explained({"k": value}) == expected.get((comparable(value),)), value


@of_every("kind", {kind: kind for kind in KEYS}, today=4)
def test_filters_on_a_key(lake: kl.Lake, kind: str) -> None:
    """A filter gives what it would give over all rows, whatever it prunes."""
    type_, values = KEYS[kind]
    twin = create(lake, {"k": type_}, buckets=3)
    write(twin, [{"k": value} for value in values])
    everything = twin.table.read().toArrow()
    middle = sorted(str(value) for value in values)[len(values) // 2] if kind == "uuid" else values[len(values) // 2]
    k, at = functions.col("k"), functions.lit(middle)
    for where in (k == at, k >= at, k < at, k.isin(at, at), k != at):
        kept = by_key(frame_of(lake, everything).where(where).toArrow(), ["k"])
        assert by_key(twin.table.read(where=where).toArrow(), ["k"]) == kept, str(where)


@pytest.mark.slow
def test_a_key_of_many_columns(lake: kl.Lake) -> None:
    kinds = {f"k{number}": kind for number, kind in enumerate(KEYS)}
    twin = create(lake, {name: KEYS[kind][0] for name, kind in kinds.items()}, buckets=4)
    longest = max(len(values) for _, values in KEYS.values())
    rows = [
        {name: KEYS[kind][1][(number * stride) % len(KEYS[kind][1])] for name, kind in kinds.items()}
        for stride, number in product((1, 5), range(longest))
    ]
    distinct = list({tuple(row.values()): row for row in rows}.values())
    write(twin, distinct)
    twin.check()
    expected = twin.expected()
    for row in distinct[:3]:
        assert twin.get(row) == expected.get(tuple(map(comparable, row.values()))), row
    assert twin.explained(distinct[0]) == expected.get(tuple(map(comparable, distinct[0].values())))


def test_a_key_is_not_cut_where_its_columns_meet(lake: kl.Lake) -> None:
    twin = create(lake, {"j": pa.string(), "k": pa.string()}, buckets=2)
    pairs = [("a", "bc"), ("ab", "c"), ("abc", ""), ("", "abc"), ("a\0", "b"), ("a", "\0b")]
    twin.upsert([{"j": j, "k": k, "a": n, "b": None} for n, (j, k) in enumerate(pairs)], version=1)
    twin.update([{"j": j, "k": k, "b": k} for j, k in pairs[::2]], version=2)
    twin.check()
