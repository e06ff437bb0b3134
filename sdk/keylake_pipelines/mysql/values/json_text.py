"""Values of MySQL's type JSON, from the bytes that the log has of them, as the text that the server itself gives.

    type, then   an object or an array:  count, size, entries of keys, entries of values, keys and values
                 a literal, a number, a text
                 a value that JSON has not: its type in SQL, and its bytes

An entry says the type of a value and where it lies, or has the value itself where that is short. Small objects and
arrays have numbers of two bytes, large ones of four.
"""

from __future__ import annotations

import struct
from base64 import b64encode
from decimal import Decimal
from json.encoder import encode_basestring

from keylake_pipelines.mysql.values.literals import decimal_text

_SMALL_OBJECT, _LARGE_OBJECT, _SMALL_ARRAY, _LARGE_ARRAY, _LITERAL = range(5)
_NUMBERS = {5: "<h", 6: "<H", 7: "<i", 8: "<I", 9: "<q", 10: "<Q"}
_DOUBLE, _TEXT, _OPAQUE = 11, 12, 15
_LITERALS = ("null", "true", "false")
_IN_ENTRY = (_LITERAL, 5, 6)  # and numbers of four bytes, of large objects and arrays
_IN_LARGE_ENTRY = (*_IN_ENTRY, 7, 8)
_SQL_TIMESTAMP, _SQL_DATE, _SQL_TIME, _SQL_DATETIME, _SQL_DECIMAL = 7, 10, 11, 12, 246
_FIXED_DIGITS = 15  # a double with more places on one side of the point has an exponent
_LINE = 76  # of base64


def json_text(value: bytes) -> str:
    """The text of a value.

    >>> json_text(bytes.fromhex("02 0200 0c00 050100 0c0a00 0178"))
    '[1, "x"]'
    """
    return _value(value[0], value, 1)


def _value(kind: int, data: bytes, at: int) -> str:
    if kind <= _LARGE_ARRAY:
        return _members(kind, data, at)
    if kind == _LITERAL:
        return _LITERALS[data[at]]
    if kind in _NUMBERS:
        return str(struct.unpack_from(_NUMBERS[kind], data, at)[0])
    if kind == _DOUBLE:
        return double_text(struct.unpack_from("<d", data, at)[0])
    if kind == _TEXT:
        begin, end = _stretch(data, at)
        return _quoted(data[begin:end])
    if kind == _OPAQUE:
        begin, end = _stretch(data, at + 1)
        return _opaque(data[at], data[begin:end])
    raise ValueError(f"values of type {kind} of JSON cannot be read")


def _members(kind: int, data: bytes, at: int) -> str:
    """An object or an array; places are counted from its beginning."""
    is_object, is_large = kind in (_SMALL_OBJECT, _LARGE_OBJECT), kind in (_LARGE_OBJECT, _LARGE_ARRAY)
    number = struct.Struct("<I" if is_large else "<H")
    wide = number.size
    (count,) = number.unpack_from(data, at)
    keys = at + 2 * wide
    entries = keys + (count * (wide + 2) if is_object else 0)
    texts: list[str] = []
    for i in range(count):
        entry = entries + i * (wide + 1)
        member = data[entry]
        here = member in (_IN_LARGE_ENTRY if is_large else _IN_ENTRY)
        text = _value(member, data, entry + 1 if here else at + number.unpack_from(data, entry + 1)[0])
        if is_object:
            (begin,) = number.unpack_from(data, keys + i * (wide + 2))
            (length,) = struct.unpack_from("<H", data, keys + i * (wide + 2) + wide)
            text = f"{_quoted(data[at + begin : at + begin + length])}: {text}"
        texts.append(text)
    inside = ", ".join(texts)
    return f"{{{inside}}}" if is_object else f"[{inside}]"


def _stretch(data: bytes, at: int) -> tuple[int, int]:
    """The places where bytes begin and end, behind their length: seven bits a byte, the lowest first."""
    length = shift = 0
    while True:
        length |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not data[at - 1] & 0x80:
            return at, at + length


def _quoted(text: bytes) -> str:
    return encode_basestring(text.decode())


def double_text(value: float) -> str:
    """The shortest digits that say a double, as the server writes them.

    >>> [double_text(each) for each in (1.0, 2.5, 1e300, 1e-5, 123456789012345.0, 1e15, -1.5e-20)]
    ['1.0', '2.5', '1e300', '0.00001', '123456789012345.0', '1e15', '-1.5e-20']
    """
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    if not value:
        return "-0.0" if sign else "0.0"
    minus, text = "-" if sign else "", "".join(map(str, digits))
    point = len(text) + exponent
    if not -_FIXED_DIGITS < point <= _FIXED_DIGITS:
        return f"{minus}{text[0]}{'.' if text[1:] else ''}{text[1:]}e{point - 1}"
    if point <= 0:
        return f"{minus}0.{'0' * -point}{text}"
    return f"{minus}{text[:point].ljust(point, '0')}.{text[point:] or '0'}"


def _opaque(kind: int, data: bytes) -> str:
    """A value that JSON has not: a decimal, a date or a time; of others the bytes."""
    if kind == _SQL_DECIMAL:
        return decimal_text(data[2:], data[0], data[1])
    if kind in (_SQL_DATE, _SQL_DATETIME, _SQL_TIMESTAMP, _SQL_TIME):
        (packed,) = struct.unpack("<q", data)
        seconds, micros = divmod(abs(packed), 1 << 24)
        hours = seconds >> 12 & (1023 if kind == _SQL_TIME else 31)
        clock = f"{hours:02}:{seconds >> 6 & 63:02}:{seconds & 63:02}.{micros:06}"
        if kind == _SQL_TIME:
            return f'"{"-" if packed < 0 else ""}{clock}"'
        days = seconds >> 17
        years, month = divmod(days >> 5, 13)
        day = f"{years:04}-{month:02}-{days & 31:02}"
        return f'"{day}"' if kind == _SQL_DATE else f'"{day} {clock}"'
    encoded = b64encode(data).decode()
    lines = "\\n".join(encoded[i : i + _LINE] for i in range(0, len(encoded), _LINE))
    return f'"base64:type{kind}:{lines}"'
