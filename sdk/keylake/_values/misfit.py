"""A value that cannot be stored as its column's type, and the sentence about it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.types import (
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    TimestampType,
    TimestamptzType,
    UUIDType,
)

from keylake._values import arrow_types
from keylake.errors import DefinitionError

_LONGEST_VALUE = 60


class Misfit(Exception):  # noqa: N818 - a finding on its way to a sentence
    """A value that cannot be stored as its column's type: where it is, what it is, and why not."""

    def __init__(self, position: int, value: object, source: str, target: IcebergType, why: str) -> None:
        super().__init__(why)
        self.position = position
        self.value = value
        self.source = source
        self.target = target
        self.why = why
        self.path = ""

    def within(self, step: str, position: int) -> Misfit:
        """The same, seen from the value around it."""
        self.path = f".{step}{self.path}"
        self.position = position
        return self

    def sentence(self, column: str, row: int | None = None) -> str:
        """The sentence of an error: what is wrong, and what to do.

        >>> Misfit(0, 2.5, "double", LongType(), "it has a fraction").sentence("clicks", 3)
        "Column 'clicks', row 3: 2.5 (double) does not fit long: it has a fraction. \
Convert the values, or give the column another type."
        """
        where = f"Column {column + self.path!r}" + ("" if row is None else f", row {row}")
        if self.value is None:
            return f"{where}: it is null, and a {self.target} there never is. Give it a value."
        return (
            f"{where}: {shown(self.value)} ({self.source}) does not fit {self.target}: {self.why}. "
            "Convert the values, or give the column another type."
        )


def shown(value: object) -> str:
    """A value as a sentence shows it.

    >>> shown(float("nan")), shown("a" * 100)[-5:]
    ('NaN', "...a'")
    """
    if value is None:
        return "null"
    if isinstance(value, float) and value != value:
        return "NaN"
    text = repr(value) if isinstance(value, str | bytes | float) else str(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 5]}...{text[-2:]}"


def type_name(type_: Any) -> str:
    """An Arrow type in the words of the columns, where they have one for it.

    >>> type_name(pa.int64()), type_name(pa.duration("s"))
    ('long', 'duration[s]')
    """
    if isinstance(type_, pa.UuidType):
        return "uuid"
    if pa.types.is_decimal(type_):
        return f"decimal({type_.precision}, {type_.scale})"
    try:
        return str(arrow_types.from_arrow(type_, ""))
    except DefinitionError:
        return str(type_)


def family(type_: Any) -> str:
    """The kind of value that an Arrow type holds, whatever its width or unit.

    >>> family(pa.uint8()), family(pa.timestamp("ns", tz="UTC"))
    ('integer', 'timestamptz')
    """
    types = pa.types
    if isinstance(type_, pa.UuidType):
        return "uuid"
    if types.is_timestamp(type_):
        return "timestamp" if type_.tz is None else "timestamptz"
    tests = {
        "boolean": types.is_boolean,
        "integer": types.is_integer,
        "float": types.is_floating,
        "decimal": types.is_decimal,
        "date": types.is_date,
        "time": types.is_time,
        "string": lambda t: types.is_string(t) or types.is_large_string(t) or types.is_string_view(t),
        "fixed": types.is_fixed_size_binary,
        "binary": lambda t: types.is_binary(t) or types.is_large_binary(t) or types.is_binary_view(t),
    }
    return next((name for name, test in tests.items() if test(type_)), "other")


def misfit_at(array: Any, position: int, type_: IcebergType, why: str) -> Misfit:
    """The misfit of one value of an array."""
    one = array[position : position + 1]
    # A time may be finer or farther than Python's, but always has a text.
    is_time = family(array.type) in ("timestamp", "timestamptz", "time")
    value = pc.cast(one, pa.string())[0].as_py() if is_time else one[0].as_py()
    return Misfit(position, value, type_name(array.type), type_, why)


def why_not(source: Any, target: IcebergType) -> str:
    """The reason why a value of a type that may fit does not."""
    if isinstance(target, IntegerType | LongType):
        return f"it is no whole number in the range of {target}"
    if isinstance(target, FloatType | DoubleType):
        return f"a {target} cannot hold all its digits"
    if isinstance(target, DecimalType):
        return f"it has more than {target.precision} digits, or more than {target.scale} behind the point"
    if isinstance(target, DateType):
        return "it is no midnight"
    if isinstance(target, FixedType):
        return f"it has not {len(target)} bytes"
    if isinstance(target, UUIDType):
        return "it is not the text of a uuid"
    if family(source) == "binary":
        return "it is no text in UTF-8"
    return "it is finer than a microsecond or out of range" if family(source) != "string" else "it is too long"


def why_never(source: Any, target: IcebergType) -> str:
    """The reason why no value of a type fits."""
    if family(source) == "timestamp" and isinstance(target, TimestamptzType):
        return (
            "it has no time zone, so it is no point in time (toArrow() keeps the zone; toPandas() drops the zone of "
            "the session, and tz_localize(lake.spark.conf.get('spark.sql.session.timeZone')) gives it back)"
        )
    if family(source) == "timestamptz" and isinstance(target, TimestampType):
        return "it has a time zone, which would be lost"
    if family(source) == "string":
        return "text is not parsed"
    if family(source) == "float" and isinstance(target, DecimalType):
        return "a binary fraction is no decimal"
    return "it is another kind of value"
