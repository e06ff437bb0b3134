"""Frames of a log: how numbered entries lie one after the other in a file, and where they end.

length of the entry | CRC-32 of number and entry | number | entry
4 bytes               4 bytes                      8 bytes  `length` bytes
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

HEADER = b"keylake log 1\n\0\0"  # the first bytes of each segment

_FRAME = struct.Struct("<IIQ")
_NUMBER = struct.Struct("<Q")
LONGEST_ENTRY = 64 << 20  # bytes


@dataclass(frozen=True)
class Frame:
    """An entry with its number; `end` is the place behind it in the bytes that it was read from."""

    number: int
    entry: bytes
    end: int


def framed(number: int, entry: bytes) -> bytes:
    """The bytes of an entry in a segment.

    >>> frame_at(framed(7, b"rows"), 0, 7)
    Frame(number=7, entry=b'rows', end=20)
    """
    return _FRAME.pack(len(entry), _checksum(number, entry), number) + entry


def frame_at(data: bytes, start: int, number: int) -> Frame | None:
    """The frame that begins at a place, if it is whole, undamaged, and has the number.

    >>> frame_at(framed(7, b"rows")[:-1], 0, 7) is None
    True
    """
    if start + _FRAME.size > len(data):
        return None
    length, checksum, found = _FRAME.unpack_from(data, start)
    begin, end = start + _FRAME.size, start + _FRAME.size + length
    if found != number or end > len(data):
        return None
    entry = data[begin:end]
    return Frame(number, entry, end) if _checksum(number, entry) == checksum else None


def frame_behind(data: bytes, start: int, number: int) -> Frame | None:
    """The frame with a number somewhere behind a place: what lies between is damaged.

    >>> frame_behind(b"damaged" + framed(7, b"rows"), 0, 7).entry
    b'rows'
    """
    sought = _NUMBER.pack(number)
    at = data.find(sought, start)
    while at >= 0:
        begin = at + _NUMBER.size - _FRAME.size
        frame = frame_at(data, begin, number) if begin >= start else None
        if frame is not None:
            return frame
        at = data.find(sought, at + 1)
    return None


def is_cut(data: bytes, start: int) -> bool:
    """The bytes from a place on are the beginning of a frame, or nothing: what a writer leaves that was ended.

    >>> is_cut(framed(7, b"rows")[:9], 0), is_cut(bytes(40), 0), is_cut(framed(7, b"rows") + b"more", 0)
    (True, True, False)
    """
    if start + _FRAME.size > len(data) or not any(data[start:]):
        return True
    return start + _FRAME.size + int(_FRAME.unpack_from(data, start)[0]) > len(data)


def _checksum(number: int, entry: bytes) -> int:
    return zlib.crc32(entry, zlib.crc32(_NUMBER.pack(number)))
