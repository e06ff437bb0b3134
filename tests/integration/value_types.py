"""Values of every type, at their extremes and nested."""

from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

import pyarrow as pa

LARGE = Decimal(f"{'9' * 20}.{'9' * 18}")
POINT = pa.struct([pa.field("x", pa.float64()), pa.field("y", pa.list_(pa.int64()))])
TYPES: dict[str, tuple[pa.DataType, list[object]]] = {
    "boolean": (pa.bool_(), [True, False]),
    "int": (pa.int32(), [-(2**31), 2**31 - 1, 0]),
    "long": (pa.int64(), [-(2**63), 2**63 - 1, 0]),
    "float": (
        pa.float32(),
        [0.0, -0.0, float("nan"), float("inf"), float("-inf"), 1.401298464324817e-45, 3.4028234663852886e38],
    ),
    "double": (pa.float64(), [0.0, -0.0, float("nan"), float("inf"), float("-inf"), 5e-324, 1.7976931348623157e308]),
    "date": (pa.date32(), [date(1, 1, 1), date(1582, 10, 10), date(9999, 12, 31)]),
    "timestamp": (
        pa.timestamp("us"),
        [datetime(1, 1, 2, 0, 0, 0, 1), datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime(9999, 12, 30)],
    ),
    "timestamptz": (
        pa.timestamp("us", tz="UTC"),
        [datetime(1, 1, 2, 0, 0, 0, 1, UTC), datetime(2026, 10, 25, 1, 30, tzinfo=UTC)],
    ),
    "string": (pa.string(), ["", "\0", "\U0010ffff", "null", "x" * 10_000]),
    "binary": (pa.binary(), [b"", b"\0", b"\xff" * 100]),
    "fixed": (pa.binary(4), [b"\0\0\0\0", b"\xff\xff\xff\xff"]),
    "decimal": (pa.decimal128(38, 18), [LARGE, LARGE.copy_negate(), Decimal("0E-18")]),
    "short_decimal": (pa.decimal128(5, 2), [Decimal("-999.99"), Decimal("0.01")]),
    "uuid": (pa.uuid(), [UUID(int=0), UUID(int=2**128 - 1)]),
    "list": (pa.list_(pa.int32()), [[], [1], [None], [1, None, 3], list(range(3000))]),
    "map": (pa.map_(pa.string(), pa.float64()), [[], [("a", float("nan"))], [("", None), ("b", -0.0)]]),
    "struct": (POINT, [{"x": None, "y": None}, {"x": -0.0, "y": []}, {"x": float("nan"), "y": [1, None]}]),
    "structs": (pa.list_(POINT), [[], [None], [{"x": 1.0, "y": [1]}, {"x": None, "y": None}]]),
    "maps": (pa.map_(pa.int32(), pa.list_(POINT)), [[], [(1, []), (2, None), (3, [{"x": 2.0, "y": [7]}])]]),
}


def row(key: int) -> dict[str, object]:
    return {"k": key} | {
        f"c_{kind}": values[key % (len(values) + 1)] if key % (len(values) + 1) < len(values) else None
        for kind, (_, values) in TYPES.items()
    }
