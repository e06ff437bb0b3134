"""The group of an online key-value store that a key falls into: the same arithmetic as in the server.

What is hashed is the key as a store sees it: the columns of `bucket_by` as text in UTF-8, with a colon between them.
Whole numbers are decimal, dates are in ISO form, timestamps are microseconds since 1970 in decimal, decimals have all
digits of their scale, uuids are in canonical form, booleans are true or false, and binary is as it is.

- `murmur3_32`: 32 bits, seed 0;
- `murmur3_128`: the x64 form of 128 bits, seed 0: of its two 64-bit words the first, h1;
- `xxhash64`: 64 bits, seed 0;
- `crc32`: as in zip and Ethernet;
- `md5_mod`: all 128 bits as one number, the first byte the highest;
- `fnv1a`: 64 bits;
- `java_string`: Java's `String.hashCode()`, by `Math.floorMod`; for text only;
- `redis_slot`: a Redis cluster's slot, CRC16 (XMODEM) modulo 16384, of what stands in the first pair of braces if
  something does; a group is a range of slots, so `groups` divides 16384.

All but the last two are taken without a sign, modulo the number of groups. Group `g` lies in bucket
`g * buckets // groups`. A name with a dot is that of a Java class of one's own, which only the server can compute.
"""

from __future__ import annotations

import datetime
import decimal
import hashlib
import uuid
import zlib
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import mmh3
import xxhash
from pyiceberg.types import DecimalType, IcebergType
from pyiceberg.utils.datetime import datetime_to_micros

from keylake.errors import Unsupported

SLOTS = 16384


def group_of(types: Sequence[IcebergType], values: Sequence[object], groups: int, hash_name: str) -> int:
    """The group of a key, from 0 to `groups - 1`; `types` and `values` are those of `bucket_by`.

    >>> from pyiceberg.types import LongType, StringType
    >>> group_of([StringType()], ["123456789"], 8192, "crc32"), hex(0xCBF43926 % 8192)
    (6438, '0x1926')
    >>> group_of([StringType(), LongType()], ["{cart}:7", 12], 16384, "redis_slot")
    15997
    """
    key = b":".join(_seen(type_, value) for type_, value in zip(types, values, strict=True))
    if hash_name == "redis_slot":
        return _crc16(_hash_tag(key)) % SLOTS * groups // SLOTS
    if hash_name not in _HASHES:
        raise Unsupported(
            f"The groups of this table come from the Java class {hash_name}, which Python cannot call. "
            "Read the column _group: SELECT *, _group."
        )
    return _HASHES[hash_name](key) % groups


def _seen(type_: IcebergType, value: object) -> bytes:
    """A value of a key column as a store sees it."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(type_, DecimalType) and isinstance(value, decimal.Decimal | int):
        with decimal.localcontext(decimal.Context(prec=76)):
            # Adding zero takes the sign from a zero, which Java does not have.
            text = format(decimal.Decimal(value).quantize(decimal.Decimal(1).scaleb(-type_.scale)) + 0, "f")
    elif isinstance(value, datetime.datetime):
        text = str(datetime_to_micros(value))
    elif isinstance(value, str | int | uuid.UUID | datetime.date):
        text = str(value)
    else:
        raise TypeError(f"{value!r} cannot be part of a key")
    return text.encode()


def _fnv1a(key: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in key:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def _java_string(key: bytes) -> int:
    units = key.decode().encode("utf-16-be")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (value * 31 + (high << 8 | low)) & 0xFFFFFFFF
    return value - (value >> 31 << 32)


def _hash_tag(key: bytes) -> bytes:
    _, _, rest = key.partition(b"{")
    tag, closing, _ = rest.partition(b"}")
    return tag if tag and closing else key


def _crc16(key: bytes) -> int:
    crc = 0
    for byte in key:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc


def _md5(key: bytes) -> int:
    return int.from_bytes(hashlib.md5(key, usedforsecurity=False).digest(), "big")


_HASHES: Mapping[str, Callable[[bytes], int]] = MappingProxyType(
    {
        "murmur3_32": lambda key: mmh3.hash(key, signed=False),
        "murmur3_128": lambda key: mmh3.hash64(key, x64arch=True, signed=False)[0],
        "xxhash64": xxhash.xxh64_intdigest,
        "crc32": zlib.crc32,
        "md5_mod": _md5,
        "fnv1a": _fnv1a,
        "java_string": _java_string,
    }
)
HASHES = (*_HASHES, "redis_slot")
