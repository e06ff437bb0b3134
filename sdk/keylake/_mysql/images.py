"""Images of rows in events of the log, decoded into JSON.

An image is a bitmap of what is null, then the values of the columns that are present, back to back. Each column has a
reader: from the bytes and a place in them to the JSON of its value and the place behind it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from keylake._mysql.forms import (
    BINARY,
    CHOICE,
    DATE,
    DATETIME,
    DOUBLE,
    FLOAT,
    GEOMETRY,
    INTEGER,
    LONG,
    TEXT,
    TIME,
    TIMESTAMP,
    UNSIGNED_LONG,
    YEAR,
    Form,
    bit_form,
    decimal_form,
)
from keylake._mysql.json_text import json_text
from keylake._mysql.literals import NULL, binary_literal, decimal_text, is_no_date, size_of_decimal, text_literal

Reader = Callable[[bytes, int], tuple[str, int]]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_LARGEST_SHORT_LENGTH = 255  # of texts whose length takes one byte
_FIRST_YEAR = 1900


@dataclass(frozen=True)
class LoggedColumn:
    """A column as the log describes it before rows: the number of its type, and what goes with that."""

    name: str
    kind: int
    unsigned: bool = False
    size: int = 0  # bytes of lengths and of numbers of choices; bits; longest text; digits of a second
    scale: int = 0
    digits: int = 0
    codec: tuple[str, str] | None = None  # None for binary columns
    choices: tuple[str, ...] = ()


def _integer(size: int, unsigned: bool) -> Reader:
    if size == 8 and unsigned:
        return lambda data, at: (f'"{int.from_bytes(data[at : at + 8], "little")}"', at + 8)
    return lambda data, at: (str(int.from_bytes(data[at : at + size], "little", signed=not unsigned)), at + size)


def _floating(code: str, size: int) -> Reader:
    unpack = struct.Struct(code).unpack_from
    return lambda data, at: (repr(unpack(data, at)[0]), at + size)


def _decimal(digits: int, scale: int) -> Reader:
    size = size_of_decimal(digits, scale)
    return lambda data, at: (f'"{decimal_text(data[at : at + size], digits, scale)}"', at + size)


def _bytes_with_length(size: int, data: bytes, at: int) -> tuple[bytes, int]:
    begin = at + size
    end = begin + int.from_bytes(data[at:begin], "little")
    return data[begin:end], end


def _text(size: int, codec: tuple[str, str]) -> Reader:
    name, errors = codec

    def read(data: bytes, at: int) -> tuple[str, int]:
        begin = at + size
        end = begin + int.from_bytes(data[at:begin], "little")
        return text_literal(data[begin:end].decode(name, errors)), end

    return read


def _binary(size: int, padded_to: int = 0) -> Reader:
    """The log leaves out the zeros at the end of BINARY."""

    def read(data: bytes, at: int) -> tuple[str, int]:
        value, end = _bytes_with_length(size, data, at)
        return binary_literal(value.ljust(padded_to, b"\0")), end

    return read


def _geometry(size: int) -> Reader:
    def read(data: bytes, at: int) -> tuple[str, int]:
        value, end = _bytes_with_length(size, data, at)
        return binary_literal(value[4:]), end

    return read


def _json(size: int) -> Reader:
    def read(data: bytes, at: int) -> tuple[str, int]:
        value, end = _bytes_with_length(size, data, at)
        return text_literal(json_text(value) if value else "null"), end

    return read


def _enum(size: int, choices: tuple[str, ...]) -> Reader:
    texts = [text_literal(each) for each in ("", *choices)]  # 0 is the empty text that stands for a wrong value
    return lambda data, at: (texts[int.from_bytes(data[at : at + size], "little")], at + size)


def _set(size: int, choices: tuple[str, ...]) -> Reader:
    def read(data: bytes, at: int) -> tuple[str, int]:
        bits = int.from_bytes(data[at : at + size], "little")
        return text_literal(",".join(each for i, each in enumerate(choices) if bits >> i & 1)), at + size

    return read


def _bit(bits: int) -> Reader:
    size = (bits + 7) // 8
    if bits == 1:
        return lambda data, at: ("true" if data[at] else "false", at + 1)
    return lambda data, at: (binary_literal(data[at : at + size]), at + size)


def _date(data: bytes, at: int) -> tuple[str, int]:
    packed = int.from_bytes(data[at : at + 3], "little")
    year, month, day = packed >> 9, packed >> 5 & 15, packed & 31
    return (NULL if is_no_date(year, month, day) else f'"{year:04}-{month:02}-{day:02}"'), at + 3


def _year(data: bytes, at: int) -> tuple[str, int]:
    return str(data[at] + _FIRST_YEAR if data[at] else 0), at + 1


def _part_of_second(data: bytes, at: int, digits: int) -> tuple[int, int]:
    """Microseconds, stored in steps of two digits."""
    size = (digits + 1) // 2
    return int.from_bytes(data[at : at + size], "big") * 10 ** (6 - 2 * size), at + size


def _part_as_text(micros: int, digits: int) -> str:
    return f".{micros:06}"[: digits + 1] if digits else ""


def _datetime(digits: int) -> Reader:
    def read(data: bytes, at: int) -> tuple[str, int]:
        packed = int.from_bytes(data[at : at + 5], "big") - 0x8000000000
        micros, end = _part_of_second(data, at + 5, digits)
        year, month = divmod(packed >> 22, 13)
        day = packed >> 17 & 31
        if is_no_date(year, month, day):
            return NULL, end
        time = f"{packed >> 12 & 31:02}:{packed >> 6 & 63:02}:{packed & 63:02}"
        return f'"{year:04}-{month:02}-{day:02}T{time}{_part_as_text(micros, digits)}"', end

    return read


def _timestamp(digits: int) -> Reader:
    def read(data: bytes, at: int) -> tuple[str, int]:
        seconds = int.from_bytes(data[at : at + 4], "big")
        micros, end = _part_of_second(data, at + 4, digits)
        if seconds == 0:
            return NULL, end  # a zero date
        moment = _EPOCH + timedelta(seconds=seconds)
        return f'"{moment:%Y-%m-%dT%H:%M:%S}{_part_as_text(micros, digits)}Z"', end

    return read


def _time(digits: int) -> Reader:
    size = (digits + 1) // 2

    def read(data: bytes, at: int) -> tuple[str, int]:
        end = at + 3 + size
        packed = int.from_bytes(data[at:end], "big") - (0x800000 << 8 * size)
        amount = abs(packed)
        part = (amount & (1 << 8 * size) - 1) * 10 ** (6 - 2 * size)
        clock = amount >> 8 * size
        micros = ((clock >> 12) * 3600 + (clock >> 6 & 63) * 60 + (clock & 63)) * 1_000_000 + part
        return str(-micros if packed < 0 else micros), end

    return read


def read_by(column: LoggedColumn) -> tuple[Form, Reader]:
    """The form of a column and the reader of its values."""
    from pymysqlreplication.constants import FIELD_TYPE as KIND

    kind, size = column.kind, column.size
    integers = {KIND.TINY: 1, KIND.SHORT: 2, KIND.INT24: 3, KIND.LONG: 4, KIND.LONGLONG: 8}
    if kind in integers:
        form = {4: LONG, 8: UNSIGNED_LONG} if column.unsigned else {8: LONG}
        return form.get(integers[kind], INTEGER), _integer(integers[kind], column.unsigned)
    if kind in (KIND.VARCHAR, KIND.STRING, KIND.VAR_STRING, KIND.BLOB):
        lengths = size if kind == KIND.BLOB else 1 if size <= _LARGEST_SHORT_LENGTH else 2
        if column.codec is not None:
            return TEXT, _text(lengths, column.codec)
        return BINARY, _binary(lengths, size if kind == KIND.STRING else 0)
    makers: dict[int, Callable[[], tuple[Form, Reader]]] = {
        KIND.FLOAT: lambda: (FLOAT, _floating("<f", 4)),
        KIND.DOUBLE: lambda: (DOUBLE, _floating("<d", 8)),
        KIND.NEWDECIMAL: lambda: (
            decimal_form(column.digits, column.scale),
            _decimal(column.digits, column.scale),
        ),
        KIND.DATE: lambda: (DATE, _date),
        KIND.NEWDATE: lambda: (DATE, _date),
        KIND.YEAR: lambda: (YEAR, _year),
        KIND.DATETIME2: lambda: (DATETIME, _datetime(size)),
        KIND.TIMESTAMP2: lambda: (TIMESTAMP, _timestamp(size)),
        KIND.TIME2: lambda: (TIME, _time(size)),
        KIND.ENUM: lambda: (CHOICE, _enum(size, column.choices)),
        KIND.SET: lambda: (CHOICE, _set(size, column.choices)),
        KIND.BIT: lambda: (bit_form(size), _bit(size)),
        KIND.GEOMETRY: lambda: (GEOMETRY, _geometry(size)),
        KIND.JSON: lambda: (TEXT, _json(size)),
    }
    if kind not in makers:
        raise ValueError(f"columns of type {kind} of the protocol cannot be read")
    return makers[kind]()


def image_reader(
    names: Sequence[str], readers: Sequence[Reader], present: bytes
) -> Callable[[bytes, int], tuple[dict[str, str], int]]:
    """Reads images with these columns present: their values as JSON, and the place behind the image."""
    columns = [(name, readers[i]) for i, name in enumerate(names) if present[i >> 3] >> (i & 7) & 1]
    size = (len(columns) + 7) // 8

    def read(data: bytes, at: int) -> tuple[dict[str, str], int]:
        nulls = int.from_bytes(data[at : at + size], "little")
        at += size
        values: dict[str, str] = {}
        for name, reader in columns:
            if nulls & 1:
                values[name] = NULL
            else:
                values[name], at = reader(data, at)
            nulls >>= 1
        return values, at

    return read
