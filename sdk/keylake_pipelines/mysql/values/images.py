"""Images of rows in events of the log, decoded into JSON.

An image is a bitmap of what is null, then the values of the columns that are present, back to back. Each column has a
reader: how its bytes are taken, and the code that makes JSON of them. The codes of all columns become one function,
which reads an image at a place in bytes, and gives what is wanted of it and the place behind it. It steps over columns
that nobody wants. Neighbours that take as many bytes in every row are taken at once where nothing is null:

    BIGINT, INT, VARCHAR       v0, v1 = unpack1(data, at)
                               at += 12
                               b = at + 1
                               at = b + data[at]
                               v2 = data[b:at]
                               c2 = quoted(v2.decode())
                               return f'{{"id":{v0},"n":{v1},"name":{c2}}}', at
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from itertools import groupby
from string import Template
from typing import Any

from keylake_pipelines.mysql.values.forms import (
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
from keylake_pipelines.mysql.values.json_text import json_text
from keylake_pipelines.mysql.values.literals import NULL, binary_literal, groups_of_decimal, is_no_date, text_literal

# Functions of bytes and the place of an image in them; the last they give is the place behind it.
ReadValues = Callable[[bytes, int], tuple[dict[str, str], int]]
ReadRow = Callable[[bytes, int], tuple[Any, ...]]

_EPOCH = date(1970, 1, 1)
_LARGEST_SHORT_LENGTH = 255  # of texts whose length takes one byte
_FIRST_YEAR = 1900
_SECONDS_OF_DAY = 86_400
_DAYS_KEPT = 2**16  # as texts: those of 179 years
_FUNCTIONS_KEPT = 1024
_HUNDRED = [f"{number:02}" for number in range(100)]
_MINUTES = [f"{hour}:{minute}:" for hour in _HUNDRED[:32] for minute in _HUNDRED[:64]]  # by the bits of both


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


@dataclass(frozen=True)
class Reader:
    """The way to take a value from an image, and the code that makes JSON of it: a text, or a whole number.

    In the code stand `$v` for the value, a number or bytes, `$c` for its JSON, `$own` for what the column has of its
    own, and `$s` for what is kept meanwhile.
    """

    packed: str = ""  # as `struct` has it; nothing for bytes behind their length
    lengths: int = 0  # bytes of the length
    code: str = "$c = $own($v)"
    own: Any = None

    @property
    def size(self) -> int:
        return struct.calcsize(f"<{self.packed}")


# --------------------------------------------------------------------------------------------------- readers of columns

# The numbers that a group of digits consists of, by its bytes: as `struct` has them, their bits, and the bits behind.
_OF_GROUP = {1: [("B", 8, 0)], 2: [("H", 16, 0)], 3: [("B", 8, 16), ("H", 16, 0)], 4: [("I", 32, 0)]}


def _integer(size: int, unsigned: bool) -> Reader:
    if size == 3:
        return Reader("3s", code=f"$c = number($v, 'little', signed={not unsigned})")
    if size == 8 and unsigned:
        return Reader("Q", code="""$c = f'"{$v}"'""")
    packed = {1: "b", 2: "h", 4: "i", 8: "q"}[size]
    return Reader(packed.upper() if unsigned else packed, code="$c = $v")


def _decimal(digits: int, scale: int) -> Reader:
    """Groups of digits become two whole numbers, before the point and behind it; of a negative all bits are turned."""
    groups, before = groups_of_decimal(digits, scale)
    to_come = [digits - scale, scale]
    numbers: list[tuple[int, str, int, int]] = []  # which of the two, the code, bits, a factor
    for i, (size, width) in enumerate(groups):
        part = int(i >= before)
        to_come[part] -= width
        numbers += [(part, code, bits, 10 ** to_come[part] << behind) for code, bits, behind in _OF_GROUP[size]]
    names = [f"${{s}}_{i}" for i in range(len(numbers))]
    first = 1 << numbers[0][2] - 1  # the bit of positives

    def text(sign: str) -> str:
        terms: tuple[list[str], list[str]] = ([], [])
        for name, (part, _, bits, factor) in zip(names, numbers, strict=True):
            positive = f"({name} - {first})" if name == names[0] else name
            negative = f"({(first if name == names[0] else 1 << bits) - 1} - {name})"
            terms[part].append((negative if sign else positive) + (f" * {factor}" if factor > 1 else ""))
        whole, behind = (" + ".join(each) or "0" for each in terms)
        point = f".{{hundred[{behind}]}}" if scale == 2 else f".{{{behind}:0{scale}}}" if scale else ""
        return f"""f'"{sign}{{{whole}}}{point}"'"""

    code = f"{', '.join(names)}, = $own($v)\n$c = {text('')} if {names[0]} >= {first} else {text('-')}"
    layout = struct.Struct(">" + "".join(packed for _, packed, _, _ in numbers))
    return Reader(f"{layout.size}s", code=code, own=layout.unpack)


def _text(lengths: int, codec: tuple[str, str]) -> Reader:
    plain = codec == ("utf-8", "strict")
    return Reader("", lengths, f"$c = quoted($v.decode({'' if plain else ', '.join(map(repr, codec))}))")


def _binary(lengths: int, padded_to: int = 0) -> Reader:
    """The log leaves out the zeros at the end of BINARY."""
    return Reader("", lengths, own=lambda value: binary_literal(value.ljust(padded_to, b"\0")))


def _geometry(lengths: int) -> Reader:
    return Reader("", lengths, own=lambda value: binary_literal(value[4:]))


def _json(lengths: int) -> Reader:
    return Reader("", lengths, own=lambda value: text_literal(json_text(value) if value else "null"))


def _enum(size: int, choices: tuple[str, ...]) -> Reader:
    texts = [text_literal(each) for each in ("", *choices)]  # 0 is the empty text that stands for a wrong value
    return Reader({1: "B", 2: "H"}[size], code="$c = $own[$v]", own=texts)


def _set(size: int, choices: tuple[str, ...]) -> Reader:
    def literal(value: bytes) -> str:
        bits = int.from_bytes(value, "little")
        return text_literal(",".join(each for i, each in enumerate(choices) if bits >> i & 1))

    return Reader(f"{size}s", own=literal)


def _bit(bits: int) -> Reader:
    if bits == 1:
        return Reader("B", code="$c = 'true' if $v else 'false'")
    return Reader(f"{(bits + 7) // 8}s", own=binary_literal)


@lru_cache(_DAYS_KEPT)
def _date(value: bytes) -> str:
    packed = int.from_bytes(value, "little")
    year, month, day = packed >> 9, packed >> 5 & 15, packed & 31
    return NULL if is_no_date(year, month, day) else f'"{year:04}-{month:02}-{day:02}"'


@lru_cache(_DAYS_KEPT)
def _day(packed: int) -> str:
    """The beginning of a DATETIME, or nothing where its day is that of no calendar."""
    year, month = divmod(packed >> 5, 13)
    day = packed & 31
    return "" if is_no_date(year, month, day) else f'"{year:04}-{month:02}-{day:02}T'


@lru_cache(_DAYS_KEPT)
def _day_since(days: int) -> str:
    return f'"{_EPOCH + timedelta(days=days)}T'


def _moment(seconds: int) -> str:
    """The beginning of a TIMESTAMP, or nothing for a zero date."""
    if seconds == 0:
        return ""
    days, second = divmod(seconds, _SECONDS_OF_DAY)
    minute, second = divmod(second, 60)
    hour, minute = divmod(minute, 60)
    return f"{_day_since(days)}{_HUNDRED[hour]}:{_HUNDRED[minute]}:{_HUNDRED[second]}"


def _part_of_second(digits: int) -> tuple[int, str]:
    """The bytes of a part of a second, stored in steps of two digits, and it as a piece of a text."""
    size = (digits + 1) // 2
    stored = f"($v & {256**size - 1}){' // 10' if digits % 2 else ''}"
    return size, f".{{{stored}:0{digits}}}" if digits else ""


def _datetime(digits: int) -> Reader:
    size, part = _part_of_second(digits)
    bits = 8 * size
    code = f"""
$v = number($v, 'big')
$s = day($v >> {bits + 17} & {2**22 - 1})
$c = f'{{$s}}{{minutes[$v >> {bits + 6} & 2047]}}{{hundred[$v >> {bits} & 63]}}{part}"' if $s else 'null'"""
    return Reader(f"{5 + size}s", code=code)


def _timestamp(digits: int) -> Reader:
    size, part = _part_of_second(digits)
    code = f"""
$v = number($v, 'big')
$s = moment($v >> {8 * size})
$c = f'{{$s}}{part}Z"' if $s else 'null'"""
    return Reader(f"{4 + size}s", code=code)


def _time(digits: int) -> Reader:
    size = (digits + 1) // 2

    def literal(value: bytes) -> int:
        packed = int.from_bytes(value, "big") - (0x800000 << 8 * size)
        amount = abs(packed)
        part = (amount & (1 << 8 * size) - 1) * 10 ** (6 - 2 * size)
        clock = amount >> 8 * size
        micros: int = ((clock >> 12) * 3600 + (clock >> 6 & 63) * 60 + (clock & 63)) * 1_000_000 + part
        return -micros if packed < 0 else micros

    return Reader(f"{3 + size}s", own=literal)


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
        KIND.FLOAT: lambda: (FLOAT, Reader("f", code="$c = repr($v)")),
        KIND.DOUBLE: lambda: (DOUBLE, Reader("d", code="$c = repr($v)")),
        KIND.NEWDECIMAL: lambda: (
            decimal_form(column.digits, column.scale),
            _decimal(column.digits, column.scale),
        ),
        KIND.DATE: lambda: (DATE, Reader("3s", own=_date)),
        KIND.NEWDATE: lambda: (DATE, Reader("3s", own=_date)),
        KIND.YEAR: lambda: (YEAR, Reader("B", code=f"$c = $v + {_FIRST_YEAR} if $v else 0")),
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


# ---------------------------------------------------------------------------------------------------- readers of images


def columns_in(columns: Sequence[LoggedColumn], present: bytes) -> tuple[str, ...]:
    """The names of the columns that images have, by their bitmap."""
    return tuple(each.name for i, each in enumerate(columns) if present[i >> 3] >> (i & 7) & 1)


@lru_cache(_FUNCTIONS_KEPT)
def values_reader(columns: tuple[LoggedColumn, ...], present: bytes) -> ReadValues:
    """Reads images with these columns present: their values as JSON, and the place behind the image."""
    names = columns_in(columns, present)
    values = ", ".join(f"{name!r}: f'{{c{i}}}'" for i, name in enumerate(names))
    function: ReadValues = _function(columns, present, names, f"{{{values}}}")
    return function


@lru_cache(_FUNCTIONS_KEPT)
def rows_reader(columns: tuple[LoggedColumn, ...], present: bytes, wanted: tuple[tuple[str, ...], ...]) -> ReadRow:
    """Reads images with these columns present: a JSON object of each of some columns, and the place behind."""
    names = columns_in(columns, present)
    places = {name: i for i, name in enumerate(names)}
    texts: list[str] = []
    for some in wanted:
        members = ",".join(f"{_in_format(text_literal(name))}:{{c{places[name]}}}" for name in some)
        texts.append(f"f{f'{{{{{members}}}}}'!r}")
    function: ReadRow = _function(columns, present, {name for some in wanted for name in some}, ", ".join(texts))
    return function


def _in_format(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


@dataclass(frozen=True)
class _Part:
    """A column that images have: its number among them, and whether it is wanted."""

    number: int
    reader: Reader
    wanted: bool

    def value(self) -> list[str]:
        """The lines that make JSON of a value that was taken."""
        names = {"v": f"v{self.number}", "c": f"c{self.number}", "s": f"s{self.number}", "own": f"own{self.number}"}
        return Template(self.reader.code).substitute(names).strip().split("\n") if self.wanted else []

    def behind_length(self) -> list[str]:
        lengths = self.reader.lengths
        length = "data[at]" if lengths == 1 else f"number(data[at:at + {lengths}], 'little')"
        if not self.wanted:
            return [f"at += {lengths} + {length}"]
        return [f"b = at + {lengths}", f"at = b + {length}", f"v{self.number} = data[b:at]", *self.value()]


def _function(columns: Sequence[LoggedColumn], present: bytes, wanted: Collection[str], result: str) -> Any:
    """The function that reads images: its result is made from `c0` and so on."""
    there = [each for i, each in enumerate(columns) if present[i >> 3] >> (i & 7) & 1]
    parts = [_Part(i, read_by(each)[1], each.name in wanted) for i, each in enumerate(there)]
    size = (len(parts) + 7) // 8
    names: dict[str, Any] = {
        "number": int.from_bytes,
        "quoted": text_literal,
        "day": _day,
        "moment": _moment,
        "minutes": _MINUTES,
        "hundred": _HUNDRED,
        **{f"own{part.number}": part.reader.own for part in parts},
    }
    some_null: list[str] = []
    for part in parts:
        taken = _run([part], names)
        if part.wanted:
            null = f"if nulls & {1 << part.number}:"
            some_null += [null, f"    c{part.number} = 'null'", "else:", *(f"    {line}" for line in taken)]
        else:
            some_null += [f"if not nulls & {1 << part.number}:", *(f"    {line}" for line in taken)]
    none_null = [
        line for _, run in groupby(parts, lambda part: part.reader.packed != "") for line in _run(list(run), names)
    ]
    lines = [
        f"nulls = number(data[at:at + {size}], 'little') & {(1 << len(parts)) - 1}",  # bits that are left over are set
        f"at += {size}",
        "if nulls:",
        *(f"    {line}" for line in some_null),
        "else:",
        *(f"    {line}" for line in none_null),
        f"return {result}, at",
    ]
    source = "\n    ".join(["def read(data, at):", *lines])
    exec(compile(source, "<images of rows>", "exec"), names)
    return names["read"]


def _run(parts: Sequence[_Part], names: dict[str, Any]) -> list[str]:
    """The lines that take neighbours, of which either all or none take as many bytes in every row."""
    if not parts[0].reader.packed:
        return [line for part in parts for line in part.behind_length()]
    layout = struct.Struct("<" + "".join(p.reader.packed if p.wanted else f"{p.reader.size}x" for p in parts))
    taken = [part for part in parts if part.wanted]
    if not taken:
        return [f"at += {layout.size}"]
    unpack = f"unpack{parts[0].number}_{len(parts)}"
    names[unpack] = layout.unpack_from
    values = "".join(f"v{part.number}, " for part in taken)
    return [f"{values}= {unpack}(data, at)", f"at += {layout.size}", *(each for p in taken for each in p.value())]
