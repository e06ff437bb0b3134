"""Values as JSON, from the text in which the server gives them in answers to statements; decimals in bytes of the log.

The log has groups of nine digits in four bytes; the first bit is turned, all of a negative: 12.5 as DECIMAL(4, 2) is
8C 32.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from functools import lru_cache
from json.encoder import encode_basestring

NULL = "null"
_TIME = re.compile(r"(-?)(\d+):(\d\d):(\d\d)(?:\.(\d{1,6}))?")


text_literal: Callable[[str], str] = encode_basestring


def binary_literal(value: bytes) -> str:
    return f'"{base64.b64encode(value).decode()}"'


def moment_literal(day: str, time: str, zone: str) -> str:
    return f'"{day}T{time}{zone}"'


def is_no_date(year: int, month: int, day: int) -> bool:
    """Zero dates, whole or in parts, are dates of no calendar."""
    return year == 0 or month == 0 or day == 0


def micros_of_time(text: str) -> int:
    """Microseconds of a TIME, which may be negative or longer than a day.

    >>> micros_of_time("-838:59:59.5")
    -3020399500000
    """
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no time.")
    sign, hours, minutes, seconds, part = found.groups()
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
    micros = whole * 1_000_000 + int((part or "").ljust(6, "0"))
    return -micros if sign else micros


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode()


def _bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode()


def _number(value: str | bytes) -> str:
    return str(int(value))  # zeros in front come from ZEROFILL and from years


def _exact(value: str | bytes) -> str:
    text = _text(value)
    return f'"{text.lstrip("0") or "0"}"' if text.isdigit() else f'"{text}"'


def _floating(value: str | bytes) -> str:
    return repr(float(value))


def _date(value: str | bytes) -> str:
    text = _text(value)
    return NULL if is_no_date(*map(int, text.split("-"))) else f'"{text}"'


def _moment(zone: str) -> Callable[[str | bytes], str]:
    def literal(value: str | bytes) -> str:
        day, time = _text(value).split(" ")
        return NULL if is_no_date(*map(int, day.split("-"))) else moment_literal(day, time, zone)

    return literal


FROM_TEXT: dict[str, Callable[[str | bytes], str]] = {
    "number": _number,
    "year": _number,
    "exact": _exact,
    "float": _floating,
    "double": _floating,
    "boolean": lambda value: "true" if any(_bytes(value)) else "false",
    "binary": lambda value: binary_literal(_bytes(value)),
    "geometry": lambda value: binary_literal(_bytes(value)[4:]),  # the first four bytes are the SRID
    "text": lambda value: text_literal(_text(value)),
    "choice": lambda value: text_literal(_text(value)),
    "date": _date,
    "datetime": _moment(""),
    "timestamp": _moment("Z"),
    "time": lambda value: str(micros_of_time(_text(value))),
}


_DIGITS = 9
_BYTES_OF_DIGITS = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)  # of a group of up to nine digits


@lru_cache
def groups_of_decimal(digits: int, scale: int) -> tuple[tuple[tuple[int, int], ...], int]:
    """Bytes and digits of each group, and how many groups stand before the point."""
    whole = digits - scale
    before = [(_BYTES_OF_DIGITS[whole % _DIGITS], whole % _DIGITS)] if whole % _DIGITS else []
    before += [(4, _DIGITS)] * (whole // _DIGITS)
    after = [(4, _DIGITS)] * (scale // _DIGITS)
    after += [(_BYTES_OF_DIGITS[scale % _DIGITS], scale % _DIGITS)] if scale % _DIGITS else []
    return (*before, *after), len(before)


def decimal_text(data: bytes, digits: int, scale: int) -> str:
    """The digits of a decimal in the log.

    >>> decimal_text(bytes.fromhex("8c32"), 4, 2), decimal_text(bytes.fromhex("73cd"), 4, 2)
    ('12.50', '-12.50')
    """
    groups, groups_before = groups_of_decimal(digits, scale)
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
