"""Values as JSON, from the text in which the server gives them in answers to statements; decimals in bytes of the log.

A column of an answer is made JSON at once. What few values have, such as quotes in texts, is left to the way of a
single value.

The log has groups of nine digits in four bytes; the first bit is turned, all of a negative: 12.5 as DECIMAL(4, 2) is
8C 32.
"""

# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

TEXTS = pa.large_string()
NULL = "null"
_NO_VALUE = 251  # in the place of a length, as the next ones
_LONG_LENGTHS = {252: 2, 253: 3, 254: 8}  # bytes of the length that follows
_TIME = re.compile(r"(-?)(\d+):(\d\d):(\d\d)(?:\.(\d{1,6}))?")


text_literal: Callable[[str], str] = encode_basestring


def binary_literal(value: bytes) -> str:
    """Bytes as a JSON text in base64."""
    return f'"{base64.b64encode(value).decode()}"'


def moment_literal(day: str, time: str, zone: str) -> str:
    """A moment as a JSON text in ISO 8601."""
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


def columns_in(packets: Sequence[bytes], count: int) -> list[pa.Array]:
    r"""The values of each column, by rows of so many values in bytes, each value behind its length.

    >>> [column.to_pylist() for column in columns_in([b"\x011\x01a", b"\x0222\xfb"], 2)]
    [[b'1', b'22'], [b'a', None]]
    """
    data = b"".join(packets)
    found = np.frombuffer(data, np.uint8)
    lengths = np.fromiter(map(len, packets), np.int64, len(packets))
    at = np.cumsum(lengths) - lengths
    pieces = np.empty((len(packets), 2 * count), np.int64)  # where each length begins, and each value
    nulls: list[np.ndarray[Any, Any]] = []
    for column in range(count):
        pieces[:, 2 * column] = at
        first = found[at]
        nulls.append(first == _NO_VALUE)
        sizes = np.where(first < _NO_VALUE, first, 0).astype(np.int64)
        at = at + 1
        for code, taken in _LONG_LENGTHS.items():
            longer = np.flatnonzero(first == code)
            for byte in range(taken if len(longer) else 0):
                sizes[longer] |= found[at[longer]].astype(np.int64) << 8 * byte
                at[longer] += 1
        pieces[:, 2 * column + 1] = at
        at = at + sizes
    offsets = pa.py_buffer(np.append(pieces.ravel(), len(data)))
    values = pa.Array.from_buffers(pa.large_binary(), pieces.size, [None, offsets, pa.py_buffer(data)])
    rows = np.arange(len(packets)) * 2 * count
    return [values.take(pa.array(rows + 2 * i + 1, mask=null)) for i, null in enumerate(nulls)]


def column_literals(form: str, values: pa.Array) -> pa.Array:
    r"""The JSON of the values of a column, as `FROM_TEXT` makes it of each.

    >>> column_literals("text", pa.array(["a", 'b"', None], pa.large_binary())).to_pylist()
    ['"a"', '"b\\""', 'null']
    """
    way = _OF_COLUMN.get(form)
    if way is None:
        return pc.fill_null(_one_by_one(form, values), NULL)
    found, odd = way(values)
    if odd is not None:
        odd = pc.fill_null(odd, False)
        if pc.any(odd).as_py():
            found = pc.replace_with_mask(found, odd, _one_by_one(form, values.filter(odd)))
    return pc.fill_null(found, NULL)


def _one_by_one(form: str, values: pa.Array) -> pa.Array:
    way = FROM_TEXT[form]
    return pa.array([None if value is None else way(value) for value in values.to_pylist()], TEXTS)


def _joined(*parts: pa.Array | str) -> pa.Array:
    given = [pa.scalar(part, TEXTS) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*given, pa.scalar("", TEXTS))


def _numbers(values: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    return values.cast(TEXTS).cast(pa.int64()).cast(TEXTS), None


def _exacts(values: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    texts = values.cast(TEXTS)
    return _joined('"', texts, '"'), pc.and_(pc.ascii_is_decimal(texts), pc.starts_with(texts, "0"))


def _floats(values: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """Arrow and Python give the same digits, and Arrow has exponents for others than these, and no fraction of zero."""
    numbers = values.cast(TEXTS).cast(pa.float64())
    texts = numbers.cast(TEXTS)
    amounts = pc.abs(numbers)
    small = pc.and_(pc.less(amounts, 1e-4), pc.not_equal(amounts, 0.0))
    texts = pc.if_else(pc.match_substring(texts, "."), texts, _joined(texts, ".0"))
    return texts, pc.or_(small, pc.greater_equal(amounts, 1e10))


def _texts(values: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    texts = values.cast(TEXTS)
    data = texts.buffers()[2]
    if data is None or not _ESCAPED[np.frombuffer(data, np.uint8)].any():
        return _joined('"', texts, '"'), None
    return _joined('"', texts, '"'), pc.match_substring_regex(texts, r'[\x00-\x1f"\\]')


def _dates(values: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    texts = values.cast(TEXTS)
    return _joined('"', texts, '"'), _of_no_date(texts)


def _moments(zone: str) -> Callable[[pa.Array], tuple[pa.Array, pa.Array | None]]:
    def way(values: pa.Array) -> tuple[pa.Array, pa.Array | None]:
        texts = values.cast(TEXTS)
        return _joined('"', pc.binary_replace_slice(texts, 10, 11, "T"), f'{zone}"'), _of_no_date(texts)

    return way


def _of_no_date(texts: pa.Array) -> pa.Array:
    return pc.or_(pc.starts_with(texts, "0000"), pc.match_substring(texts, "-00"))


_ESCAPED = np.isin(np.arange(256), [*range(32), *b'"\\'])  # bytes of characters that JSON writes otherwise
# The JSON of a column, and for which of its values this is not it.
_OF_COLUMN: dict[str, Callable[[pa.Array], tuple[pa.Array, pa.Array | None]]] = {
    "number": _numbers,
    "year": _numbers,
    "exact": _exacts,
    "float": _floats,
    "double": _floats,
    "text": _texts,
    "choice": _texts,
    "date": _dates,
    "datetime": _moments(""),
    "timestamp": _moments("Z"),
}


def row_literals(names: Sequence[str], columns: Sequence[pa.Array]) -> pa.Array:
    """JSON objects of columns that are JSON, of less than two gigabytes."""
    parts: list[pa.Array | str] = []
    for name, column in zip(names, columns, strict=True):
        parts += [f"{',' if parts else '{'}{text_literal(name)}:", column]
    return _joined(*parts, "}").cast(pa.string())


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
