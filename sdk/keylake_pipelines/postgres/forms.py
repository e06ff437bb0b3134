"""Types of PostgreSQL as types of columns, and its texts of values as JSON.

A form holds every value of its type, or says of a value that it cannot. What has no type that holds it is its text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring as quoted

from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    StringType,
    TimestampType,
    TimestamptzType,
    UUIDType,
)

from keylake_pipelines.postgres.literals import array_json, map_json, to_base64


class Unfit(ValueError):  # noqa: N818 - as it is said of a value
    """A value that the type of its column does not hold; the text says what and why."""


@dataclass(frozen=True)
class Form:
    """The type that a column gets, and what makes JSON of a value's text; `many` does the same for many at once."""

    type: IcebergType
    json: Callable[[str], str]
    many: Callable[[Sequence[str]], Sequence[str]] | None = None

    def jsons(self, texts: Sequence[str]) -> Sequence[str]:
        """The JSON of each text, in their order; raises Unfit if one of them is."""
        return [*map(self.json, texts)] if self.many is None else self.many(texts)


@dataclass(frozen=True)
class PostgresType:
    """A row of pg_type: `kind` is b, c, d, e, r or m; `element` and `base` are numbers of other types, or 0."""

    number: int
    name: str
    kind: str
    element: int
    base: int
    modifier: int
    delimiter: str
    is_array: bool


TEXT = Form(StringType(), quoted)


def _same(text: str) -> str:
    return text


def _all_same(texts: Sequence[str]) -> Sequence[str]:
    return texts


def _boolean(text: str) -> str:
    return "true" if text == "t" else "false"


def _floating(text: str) -> str:
    return f'"{text}"' if text.endswith(("N", "y")) else text


def _all_floating(texts: Sequence[str]) -> Sequence[str]:
    together = "".join(texts)
    return [*map(_floating, texts)] if "N" in together or "y" in together else texts


def _decimal(text: str) -> str:
    if text == "NaN":
        raise Unfit("NaN is no decimal")
    return f'"{text}"'


def _all_decimals(texts: Sequence[str]) -> Sequence[str]:
    return [*map(_decimal, texts)] if "NaN" in texts else _all_plain(texts)


def _plain(text: str) -> str:
    """A text without signs that JSON would write otherwise."""
    return f'"{text}"'


def _all_plain(texts: Sequence[str]) -> Sequence[str]:
    return _quoted_lines(texts).split("\n") if texts else []


def _quoted_lines(texts: Sequence[str]) -> str:
    """The texts, which have no line ends, in quotes and lines, so that a change of all is one of a single text."""
    return '"' + '"\n"'.join(texts) + '"'


def _binary(text: str) -> str:
    return f'"{to_base64(text)}"'


def _date(text: str) -> str:
    if len(text) != 10:
        raise Unfit(f"{text} lies outside of the years 1 to 9999")
    return f'"{text}"'


def _all_dates(texts: Sequence[str]) -> Sequence[str]:
    return _all_plain(texts) if {*map(len, texts)} == {10} else [*map(_date, texts)]


def _timestamp(text: str) -> str:
    if len(text) > 26 or text[4:5] != "-" or text[10:11] != " " or text.endswith("C"):
        raise Unfit(f"{text} lies outside of the years 1 to 9999")
    return f'"{text[:10]}T{text[11:]}"'


def _all_timestamps(texts: Sequence[str]) -> Sequence[str]:
    lines = _quoted_lines(texts)
    if "C" in lines or not _begin_with_days(texts) or max(map(len, texts)) > 26:
        return [*map(_timestamp, texts)]
    return lines.replace(" ", "T").split("\n")


def _begin_with_days(texts: Sequence[str]) -> bool:
    """Each text begins with a day of a year of four digits, and a blank."""
    return {text[4:11:6] for text in texts} == {"- "}


def _timestamptz(text: str) -> str:
    if len(text) > 29 or text[4:5] != "-" or not text.endswith("+00"):
        raise Unfit(f"{text} lies outside of the years 1 to 9999")
    return f'"{text[:10]}T{text[11:-3]}Z"'


def _all_timestamptz(texts: Sequence[str]) -> Sequence[str]:
    lines = _quoted_lines(texts)
    are_in_utc = lines.count('+00"') == len(texts)
    if not are_in_utc or not _begin_with_days(texts) or max(map(len, texts)) > 29:
        return [*map(_timestamptz, texts)]
    return lines.replace(" ", "T").replace('+00"', 'Z"').split("\n")


_FORMS: Mapping[str, Form] = {
    "bool": Form(BooleanType(), _boolean),
    "int2": Form(IntegerType(), _same, _all_same),
    "int4": Form(IntegerType(), _same, _all_same),
    "int8": Form(LongType(), _same, _all_same),
    "oid": Form(LongType(), _same, _all_same),
    "float4": Form(FloatType(), _floating, _all_floating),
    "float8": Form(DoubleType(), _floating, _all_floating),
    "bytea": Form(BinaryType(), _binary),
    "date": Form(DateType(), _date, _all_dates),
    "timestamp": Form(TimestampType(), _timestamp, _all_timestamps),
    "timestamptz": Form(TimestamptzType(), _timestamptz, _all_timestamptz),
    "uuid": Form(UUIDType(), _plain, _all_plain),
    "hstore": Form(MapType(1, StringType(), 2, StringType(), value_required=False), map_json),
}


def form_of(number: int, modifier: int, dimensions: int, types: Mapping[int, PostgresType]) -> Form:
    """The form of a type by its number (OID), its modifier, and the dimensions that an array was declared with."""
    kind = types.get(number)
    if kind is None:
        return TEXT
    if kind.kind == "d":
        return form_of(kind.base, kind.modifier if modifier < 0 else modifier, dimensions, types)
    if kind.is_array:
        element = form_of(kind.element, modifier, 0, types)
        return _list_form(element, max(dimensions, 1), types[kind.element].delimiter)
    if kind.name == "numeric":
        return _numeric(modifier)
    return _FORMS.get(kind.name, TEXT) if kind.kind == "b" else TEXT


def _numeric(modifier: int) -> Form:
    """A decimal, or text where PostgreSQL allows more digits than a decimal has.

    >>> str(_numeric((10 << 16 | 2) + 4).type), str(_numeric(-1).type)
    ('decimal(10, 2)', 'string')
    """
    if modifier < 0:
        return Form(StringType(), _plain, _all_plain)
    precision, scale = (modifier - 4) >> 16 & 0xFFFF, ((modifier - 4) & 0x7FF ^ 1024) - 1024
    digits = max(precision - min(scale, 0), scale)
    return (
        Form(DecimalType(digits, max(scale, 0)), _decimal, _all_decimals)
        if digits <= 38
        else Form(StringType(), _plain, _all_plain)
    )


def _list_form(element: Form, dimensions: int, delimiter: str) -> Form:
    of: IcebergType = element.type
    for _ in range(dimensions):
        of = ListType(1, of, element_required=False)

    def json(text: str) -> str:
        found, depth = array_json(text, element.json, delimiter)
        if depth not in (0, dimensions):
            raise Unfit(f"{text[:60]} has {depth} dimensions, and the column was declared with {dimensions}")
        return found

    return Form(of, json)
