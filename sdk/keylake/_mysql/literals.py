"""Values as JSON, from the text in which the server gives them in answers to statements."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from json.encoder import encode_basestring

NULL = "null"
_TIME = re.compile(r"(-?)(\d+):(\d\d):(\d\d)(?:\.(\d{1,6}))?")


def text_literal(value: str) -> str:
    return encode_basestring(value)


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
