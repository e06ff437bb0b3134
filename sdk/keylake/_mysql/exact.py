"""Decimals in the bytes of the log: groups of nine digits in four bytes; the first bit is turned, all of a negative.

12.5 as DECIMAL(4, 2)  ──  8C 32
"""

from __future__ import annotations

from functools import lru_cache

_DIGITS = 9
_BYTES_OF_DIGITS = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)  # of a group of up to nine digits


@lru_cache
def _groups(digits: int, scale: int) -> tuple[tuple[tuple[int, int], ...], int]:
    """Bytes and digits of each group, and how many groups stand before the point."""
    whole = digits - scale
    before = [(_BYTES_OF_DIGITS[whole % _DIGITS], whole % _DIGITS)] if whole % _DIGITS else []
    before += [(4, _DIGITS)] * (whole // _DIGITS)
    after = [(4, _DIGITS)] * (scale // _DIGITS)
    after += [(_BYTES_OF_DIGITS[scale % _DIGITS], scale % _DIGITS)] if scale % _DIGITS else []
    return (*before, *after), len(before)


def size_of_decimal(digits: int, scale: int) -> int:
    """How many bytes it takes."""
    return sum(size for size, _ in _groups(digits, scale)[0])


def decimal_text(data: bytes, digits: int, scale: int) -> str:
    """Its digits.

    >>> decimal_text(bytes.fromhex("8c32"), 4, 2), decimal_text(bytes.fromhex("73cd"), 4, 2)
    ('12.50', '-12.50')
    """
    groups, groups_before = _groups(digits, scale)
    negative = not data[0] & 0x80
    raw = bytearray(data)
    raw[0] ^= 0x80
    if negative:
        raw = bytearray(each ^ 0xFF for each in raw)
    place = 0
    texts: list[str] = []
    for size, width in groups:
        texts.append(str(int.from_bytes(raw[place : place + size], "big")).zfill(width))
        place += size
    before = "".join(texts[:groups_before]).lstrip("0") or "0"
    after = "".join(texts[groups_before:])
    return f"{'-' if negative else ''}{before}{'.' if after else ''}{after}"
