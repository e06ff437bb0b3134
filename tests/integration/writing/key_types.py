"""Keys of every type."""

from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

import pyarrow as pa

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
