"""Filters of keys: Parquet's split-block Bloom filters, which the server puts into files and a look-up asks.

A filter is one of a column in a row group. A hash (XXH64 of the bytes that a page has of a value) names a block of 32
bytes, and a bit in each of its eight numbers. All eight are set where the value is there, and seldom where it is not.
The footer says where filters are, and the CRC-32 of each of their parts: a part is read alone.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import xxhash

from keylake.local.decisions import Flags, Numbers
from keylake.local.keys import Keys
from keylake.local.names import KEY_FILTERS

PART_BYTES = 16 << 10
_BLOCK_BYTES = 32
_SALT = np.array(
    [0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31], np.uint32
)
_BITS_OF_NUMBER = 5
_WIDTHS = {"INT32": 4, "INT64": 8}

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class KeyFilter:
    """The place of a filter in its file, and the checksums of its parts."""

    begin: int
    size: int
    checksums: tuple[int, ...]

    def blocks(self, hashes: Hashes) -> Numbers:
        """The number of the block of each hash."""
        count = np.uint64(self.size // _BLOCK_BYTES)
        return ((hashes >> np.uint64(32)) * count >> np.uint64(32)).astype(np.int64)

    def parts(self, hashes: Hashes) -> list[int]:
        """The parts in which the blocks of hashes lie."""
        found: list[int] = np.unique(self.blocks(hashes) * _BLOCK_BYTES // PART_BYTES).tolist()
        return found

    def place(self, part: int) -> tuple[int, int]:
        """The begin of a part in the file, and its bytes."""
        return self.begin + part * PART_BYTES, min(PART_BYTES, self.size - part * PART_BYTES)

    def checked(self, part: int, content: bytes) -> npt.NDArray[np.uint32]:
        """The blocks of a part as numbers; a ValueError where they are not as they were written."""
        if zlib.crc32(content) != self.checksums[part]:
            raise ValueError("the filter of its keys does not fit its checksum")
        return np.frombuffer(content, np.dtype("<u4")).reshape(-1, _BLOCK_BYTES // 4)

    def may_have(self, hashes: Hashes, parts: Mapping[int, npt.NDArray[np.uint32]]) -> Flags:
        """The hashes that may be there, as flags, by the parts in which their blocks lie."""
        blocks = self.blocks(hashes)
        of_part = PART_BYTES // _BLOCK_BYTES
        there = np.stack([parts[block // of_part][block % of_part] for block in blocks.tolist()])
        low = (hashes & np.uint64(0xFFFFFFFF)).astype(np.uint32)
        bits = (low[:, np.newaxis] * _SALT) >> np.uint32(32 - _BITS_OF_NUMBER)
        flags: Flags = np.logical_and.reduce((there >> bits) & np.uint32(1), axis=1)
        return flags


def filters_of(metadata: Mapping[bytes, bytes] | None) -> dict[tuple[int, int], KeyFilter]:
    """The filters of a file by row group and field id, from the metadata of its footer."""
    said = (metadata or {}).get(KEY_FILTERS.encode())
    if said is None:
        return {}
    found = json.loads(said)
    if found["part_bytes"] != PART_BYTES:  # of a later version
        return {}
    return {
        (each["row_group"], each["field"]): KeyFilter(each["begin"], each["bytes"], tuple(each["crcs"]))
        for each in found["filters"]
    }


class KeyHashes:
    """The hashes of keys, made once for all files."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._known: dict[tuple[int, str, int], Hashes | None] = {}

    def of(self, column: int, physical: str, length: int, which: Numbers) -> Hashes | None:
        """The hashes of some keys' values of a column, counted from the last one; None where Parquet has none of them.

        `physical` is the type of the column in the file, and `length` its bytes where it has a number of them.
        """
        known = (column, physical, length)
        if known not in self._known:
            values: Any = self._keys.columns[column]
            plain = values.tolist() if isinstance(values, np.ndarray) else values.to_pylist()
            self._known[known] = hashes_of(plain, physical, length)
        hashes = self._known[known]
        return None if hashes is None else hashes[which]


def hashes_of(values: Sequence[Any], physical: str, length: int) -> Hashes | None:
    """The hashes of values as a column of a physical type has them; None where it cannot have one of them."""
    found = [_bytes(value, _WIDTHS.get(physical, length)) for value in values]
    if any(each is None for each in found):
        return None
    return np.array([xxhash.xxh64_intdigest(each) for each in found if each is not None], np.uint64)


def _bytes(value: Any, width: int) -> bytes | None:
    """The bytes that a page has of a value; None of a number that the column of the file cannot have.

    >>> list(_bytes(258, 4)), _bytes("a", 0), list(_bytes(Decimal("-2.58"), 3)), _bytes(1 << 40, 4)
    ([2, 1, 0, 0], b'a', [255, 254, 254], None)
    """
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    if isinstance(value, Decimal):
        sign, digits, _ = value.as_tuple()
        number = int("".join(map(str, digits))) * (-1 if sign else 1)
        order: Literal["big", "little"] = "little" if width in _WIDTHS.values() else "big"
    else:
        number, order = int(value), "little"
    try:
        return number.to_bytes(width, order, signed=True)
    except OverflowError:
        return None
