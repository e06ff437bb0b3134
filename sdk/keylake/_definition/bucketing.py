"""The bucket of a key, by the same arithmetic as in the server.

    bucket = murmur3(bytes of the columns of bucket_by) without its sign, modulo the number of buckets

- one column: this is Iceberg's own bucket transform;
- several columns, or one that the transform does not take well (a uuid, whose Spark form is text; a boolean, which it
  refuses): the bytes of all columns one after the other, texts and the like with their length in front. The bucket is
  then kept in the hidden column `_bucket`.
"""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Sequence

import mmh3
from pyiceberg.types import BooleanType, DecimalType, IcebergType, UUIDType
from pyiceberg.utils.datetime import date_to_days, datetime_to_micros
from pyiceberg.utils.decimal import decimal_to_bytes


def is_hidden(types: Sequence[IcebergType]) -> bool:
    """The bucket is the stored column `_bucket`, rather than Iceberg's bucket transform of one column.

    >>> from pyiceberg.types import LongType
    >>> is_hidden([LongType()]), is_hidden([UUIDType()])
    (False, True)
    """
    return len(types) > 1 or isinstance(types[0], UUIDType | BooleanType)


def bucket_of(types: Sequence[IcebergType], values: Sequence[object], buckets: int) -> int:
    """The bucket of a key; `types` and `values` are those of `bucket_by`.

    >>> from pyiceberg.types import DateType, LongType
    >>> bucket_of([LongType()], [34], 1000), bucket_of([LongType(), DateType()], [7, datetime.date(2026, 1, 1)], 64)
    (379, 32)
    """
    return buckets_of(types, [[value] for value in values], buckets)[0]


def buckets_of(types: Sequence[IcebergType], columns: Sequence[Sequence[object]], buckets: int) -> list[int]:
    """The buckets of some keys, given by column."""
    hidden = is_hidden(types)
    parts = [[_bytes(type_, value, hidden) for value in column] for type_, column in zip(types, columns, strict=True)]
    hashed = parts[0] if len(parts) == 1 else map(b"".join, zip(*parts, strict=True))
    return [(mmh3.hash(each) & 0x7FFFFFFF) % buckets for each in hashed]


def _bytes(type_: IcebergType, value: object, with_length: bool) -> bytes:
    number = _number(value)
    if isinstance(type_, DecimalType) and isinstance(value, decimal.Decimal | int):
        with decimal.localcontext(decimal.Context(prec=76)):
            told = decimal_to_bytes(decimal.Decimal(value).quantize(decimal.Decimal(1).scaleb(-type_.scale)))
    elif number is not None:
        return number
    elif isinstance(value, str):
        told = value.encode()
    elif isinstance(value, uuid.UUID):
        told = value.bytes
    elif isinstance(value, bytes):
        told = value
    else:
        raise TypeError(f"{value!r} cannot be part of a key")
    return len(told).to_bytes(4, "little") + told if with_length else told


def _number(value: object) -> bytes | None:
    if isinstance(value, bool):
        return b"\x01" if value else b"\x00"
    if isinstance(value, datetime.datetime):
        value = datetime_to_micros(value)
    elif isinstance(value, datetime.date):
        value = date_to_days(value)
    return value.to_bytes(8, "little", signed=True) if isinstance(value, int) else None
