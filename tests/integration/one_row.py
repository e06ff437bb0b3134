"""Tables with a column of many kinds, and single rows for them that fit or do not."""

from datetime import UTC, datetime

import pyarrow as pa

import keylake as kl
from integration.twin import fresh_name

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("day", pa.string(), nullable=False),
        pa.field("a", pa.int64()),
        pa.field("i", pa.int32()),
        pa.field("f", pa.float32()),
        pa.field("g", pa.float64()),
        pa.field("s", pa.string()),
        pa.field("b", pa.bool_()),
        pa.field("d", pa.decimal128(5, 2)),
        pa.field("at", pa.timestamp("us")),
        pa.field("when", pa.timestamp("us", tz="UTC")),
        pa.field("n", pa.list_(pa.int32())),
        pa.field("m", pa.map_(pa.string(), pa.int32())),
    ]
)
KEY: dict[str, object] = {"id": 1, "day": "monday"}


def create(lake: kl.Lake, versions: kl.Versions, namespace: str) -> kl.KeyedTable:
    """A table whose versions come from there, with one row in it."""
    ordering = "when" if versions == "ordering" else None
    name = fresh_name(namespace)
    key = ["id", "day"]
    spec = kl.TableSpec.from_arrow(SCHEMA, name=name, key=key, ordering=ordering, versions=versions, buckets=2)
    table = lake.create(spec)
    rows = frame(**KEY, when=datetime(2026, 1, 1, tzinfo=UTC))
    if versions == "explicit":
        table.update(rows, version=1)
    else:
        table.update(rows)
    return table


def frame(**columns: object) -> pa.Table:
    """One row, in which a value may be a typed Arrow array."""
    return pa.table(
        {name: value if isinstance(value, pa.Array) else pa.array([value]) for name, value in columns.items()}
    )


def array(value: object, type_: pa.DataType) -> pa.Array:
    return pa.array([value], type_)


def one(**columns: object) -> pa.Table:
    """One row with these columns beside its key."""
    return frame(**{**KEY, **columns})
