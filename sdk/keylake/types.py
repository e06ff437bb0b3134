"""Column types: the names people annotate with, and how a Python annotation maps to an Iceberg type and back.

An Iceberg type (`pyiceberg.types`) is how keylake knows a type everywhere else. A name such as `Int32` is an `int` to a
type checker, and says at run time which Iceberg type stores it and which values fit:

    Int32   = Annotated[int, Stored(IntegerType()), <the range of 32 bits>]

Plain Python types have a meaning of their own: `int` is a long, `float` a double, `datetime` a timestamp with zone.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import struct
import typing
import uuid
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from types import GenericAlias
from typing import Annotated, Any, Union

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, GetCoreSchemaHandler, PlainSerializer
from pydantic.fields import FieldInfo
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    PrimitiveType,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)
from typing_extensions import NotRequired, Required, get_type_hints, is_typeddict

from keylake._texts.values import value_of
from keylake.errors import DefinitionError, check_type


@dataclass(frozen=True)
class Stored:
    """The part of an annotation that says how a value is stored.

    >>> Stored(IntegerType())
    Stored(type=IntegerType())
    """

    type: IcebergType


def _with_zone(value: datetime.datetime) -> datetime.datetime:
    if value.tzinfo is None:
        raise ValueError(
            f"{value} has no time zone, so it is no point in time; "
            "give it one (tzinfo=timezone.utc), or declare the column as keylake.Timestamp"
        )
    return value


def _without_zone(value: datetime.datetime) -> datetime.datetime:
    if value.tzinfo is not None:
        raise ValueError(
            f"{value} has a time zone, which a timestamp without zone would drop; "
            "remove it (.replace(tzinfo=None)), or declare the column as keylake.Timestamptz"
        )
    return value


def _time_without_zone(value: datetime.time) -> datetime.time:
    if value.tzinfo is not None:
        raise ValueError(f"{value} has a time zone, which the type time cannot keep; remove it")
    return value


def _single_precision(value: float) -> float:
    try:
        kept = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        kept = None
    if kept != value and value == value:
        raise ValueError(f"{value} is not a 32-bit float; declare the column as keylake.Float64")
    return value


class _Microseconds:
    """Text with more digits than microseconds have is refused, where pydantic would leave them out."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> Any:
        found: Any = handler(source)
        return {**found, "microseconds_precision": "error"}


class _FromText:
    """Text that stands for the value, as in the body of a request, is taken for it: ISO form, or base64.

    JSON is checked without the function: pydantic reads such texts by itself there.
    """

    def __init__(self, type_: PrimitiveType) -> None:
        self._type = type_

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> Any:
        read = BeforeValidator(self._read).__get_pydantic_core_schema__(source, handler)
        return {"type": "json-or-python", "json_schema": handler(source), "python_schema": read}

    def _read(self, value: object) -> object:
        return value_of(value, self._type) if isinstance(value, str) else value


class _OfEnum:
    """The value of a member is taken for the member, as tables and requests have it."""

    def __init__(self, kind: type[enum.Enum]) -> None:
        self._kind = kind

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> Any:
        read = BeforeValidator(self._read).__get_pydantic_core_schema__(source, handler)
        return {"type": "json-or-python", "json_schema": handler(source), "python_schema": read}

    def _read(self, value: object) -> object:
        if isinstance(value, self._kind) or not isinstance(value, str | int):
            return value
        known = {member.value: member for member in self._kind}
        if value not in known:
            raise ValueError(f"it is none of {', '.join(map(repr, known))}")
        return known[value]


def _base64(value: bytes) -> str:
    return b64encode(value).decode()


_IN_BASE64 = PlainSerializer(_base64, return_type=str, when_used="json")  # pydantic's own has the alphabet of URLs
_TIME, _NAIVE, _ZONED = _FromText(TimeType()), _FromText(TimestampType()), _FromText(TimestamptzType())

Bool = Annotated[bool, Stored(BooleanType())]
Int32 = Annotated[int, Stored(IntegerType()), Field(ge=-(2**31), lt=2**31)]
Int64 = Annotated[int, Stored(LongType()), Field(ge=-(2**63), lt=2**63)]
Float32 = Annotated[float, Stored(FloatType()), AfterValidator(_single_precision)]
Float64 = Annotated[float, Stored(DoubleType())]
Date = Annotated[datetime.date, Stored(DateType()), _FromText(DateType())]
Time = Annotated[datetime.time, Stored(TimeType()), _Microseconds(), AfterValidator(_time_without_zone), _TIME]
Timestamp = Annotated[
    datetime.datetime, Stored(TimestampType()), _Microseconds(), AfterValidator(_without_zone), _NAIVE
]
Timestamptz = Annotated[
    datetime.datetime, Stored(TimestamptzType()), _Microseconds(), AfterValidator(_with_zone), _ZONED
]
String = Annotated[str, Stored(StringType())]
Binary = Annotated[bytes, Stored(BinaryType()), _IN_BASE64, _FromText(BinaryType())]
UUID = Annotated[uuid.UUID, Stored(UUIDType()), _FromText(UUIDType())]


def Decimal(precision: int, scale: int = 0) -> Any:  # noqa: N802 - a type name, like its neighbours
    """A decimal of `precision` digits, `scale` of them behind the point.

    Write `Annotated[decimal.Decimal, Decimal(10, 2)]`, which type checkers understand.

    >>> type_of(Decimal(10, 2), "Column 'price'")
    DecimalType(precision=10, scale=2)
    """
    check_type("precision", precision, int, "a whole number from 1 to 38")
    check_type("scale", scale, int, "a whole number from 0 to precision")
    if not 1 <= precision <= 38 or not 0 <= scale <= precision:
        raise DefinitionError(
            f"Decimal({precision}, {scale}) cannot be stored: precision is 1 to 38, scale 0 to precision. "
            "Choose other digits, or store text."
        )
    fits = Field(max_digits=precision, decimal_places=scale)
    return Annotated[decimal.Decimal, Stored(DecimalType(precision, scale)), fits]


def Fixed(length: int) -> Any:  # noqa: N802 - a type name, like its neighbours
    """Values of exactly `length` bytes.

    Write `Annotated[bytes, Fixed(16)]`, which type checkers understand.

    >>> type_of(Fixed(16), "Column 'digest'")
    FixedType(length=16)
    """
    check_type("length", length, int, "a whole number of bytes, at least 1")
    if length < 1:
        raise DefinitionError(f"Fixed({length}) holds no bytes: the length is at least 1. Use Binary for any length.")
    size = Field(min_length=length, max_length=length)
    return Annotated[bytes, Stored(FixedType(length)), size, _IN_BASE64, _FromText(FixedType(length))]


# What a plain Python type means; the value is the name above with the same type, and with its checks.
_PLAIN: dict[object, Any] = {
    bool: Bool,
    int: Int64,
    float: Float64,
    str: String,
    bytes: Binary,
    datetime.date: Date,
    datetime.time: Time,
    datetime.datetime: Timestamptz,
    uuid.UUID: UUID,
}
_NAMES: dict[type[IcebergType], Any] = {
    type(typing.get_args(stored)[1].type): stored for stored in (*_PLAIN.values(), Int32, Float32, Timestamp)
}
_KNOWN = (
    "bool, int, float, str, bytes, date, time, datetime, UUID, an Enum, a Literal, list[X], dict[K, V], "
    "a pydantic model, a TypedDict"
)


def type_of(annotation: object, where: str) -> IcebergType:
    """The Iceberg type of an annotation; `where` begins the sentence of an error.

    What is nested may be null in the table even where the annotation has no None, which only instances check: a Spark
    frame seldom promises that its lists and structs hold no nulls, and could not be written otherwise.

    >>> print(type_of(dict[str, list[Int32]], "Column 'scores'"))
    map<string, list<int>>
    """
    return numbered(_type_of(annotation, where, ()))


def _type_of(annotation: object, where: str, inside: tuple[object, ...]) -> IcebergType:
    plain, metadata = unwrapped(annotation)
    stored = next((item for item in metadata if isinstance(item, Stored)), None)
    if stored is not None:
        return stored.type
    if plain in _PLAIN:
        return _type_of(_PLAIN[plain], where, inside)
    if (words := words_of(plain)) is not None:
        return _type_of_words(words, plain, where)
    origin, arguments = typing.get_origin(plain), typing.get_args(plain)
    if origin is list and len(arguments) == 1:
        return ListType(1, _type_of(without_none(arguments[0])[0], where, inside), element_required=False)
    if origin is dict and len(arguments) == 2:
        key, value = arguments[0], without_none(arguments[1])[0]
        return MapType(1, _type_of(key, where, inside), 2, _type_of(value, where, inside), value_required=False)
    members = _members(plain)
    if members is None:
        raise DefinitionError(_refusal(plain, where))
    if plain in inside:
        raise DefinitionError(f"{where} is a {_said(plain)}, which contains itself. Store its nested part as text.")
    nested: list[NestedField] = []
    for name, member in members:
        type_ = _type_of(without_none(member)[0], f"{where}, field {name!r},", (*inside, plain))
        nested.append(NestedField(0, name, type_, required=False))
    return StructType(*nested)


def words_of(annotation: object) -> tuple[object, ...] | None:
    """The values of a Literal, or of the members of an Enum; None for any other annotation.

    >>> words_of(typing.Literal["web", "app"]), words_of(str)
    (('web', 'app'), None)
    """
    if typing.get_origin(annotation) is typing.Literal:
        return typing.get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return tuple(member.value for member in annotation)
    return None


def _type_of_words(words: tuple[object, ...], annotation: object, where: str) -> IcebergType:
    for kind, type_ in ((str, StringType()), (bool, BooleanType()), (int, LongType())):
        if words and all(isinstance(word, kind) and isinstance(word, bool) == (kind is bool) for word in words):
            return type_
    raise DefinitionError(
        f"{where} is {_said(annotation)}, whose values are {', '.join(map(repr, words)) or 'none'}. "
        "Use texts alone, or whole numbers alone."
    )


def unwrapped(annotation: object) -> tuple[Any, tuple[object, ...]]:
    """An annotation without `Annotated`, and what `Annotated` said; a name such as `Decimal(10, 2)` may be said itself.

    >>> unwrapped(Annotated[str, "a note"])
    (<class 'str'>, ('a note',))
    """
    while True:
        if (alias := getattr(annotation, "__value__", None)) is not None and not isinstance(annotation, type):
            annotation = alias  # type Name = ...
        elif (base := getattr(annotation, "__supertype__", None)) is not None:
            annotation = base  # NewType("Name", ...)
        else:
            break
    if typing.get_origin(annotation) is not Annotated:
        return annotation, ()
    inner, *said = typing.get_args(annotation)
    plain, metadata = unwrapped(inner)
    for item in said:
        metadata += typing.get_args(item)[1:] if typing.get_origin(item) is Annotated else (item,)
    return plain, metadata


def without_none(annotation: object) -> tuple[Any, bool]:
    """`X | None` as X, and whether None was there.

    >>> without_none(int | None)
    (<class 'int'>, True)
    """
    plain, metadata = unwrapped(annotation)
    arguments = typing.get_args(plain)
    if type(None) not in arguments or typing.get_origin(plain) in (Annotated, list, dict):
        return annotation, False
    rest = tuple(argument for argument in arguments if argument is not type(None))
    bare: Any = Union[rest]  # noqa: UP007 - built at run time
    return (Annotated[(bare, *metadata)] if metadata else bare), True


def checked(annotation: object) -> Any:
    """An annotation in which plain types carry the checks of the column type they mean.

    >>> checked(list[int]) == list[Int64]
    True
    """
    bare, optional = without_none(annotation)
    if optional:
        return checked(bare) | None
    plain, metadata = unwrapped(annotation)
    if plain in _PLAIN:
        if not any(isinstance(item, Stored) for item in metadata):
            metadata = (*typing.get_args(_PLAIN[plain])[1:], *metadata)
    elif isinstance(plain, type) and issubclass(plain, enum.Enum):
        metadata = (*metadata, _OfEnum(plain))
    elif (origin := typing.get_origin(plain)) in (list, dict):
        plain = GenericAlias(origin, tuple(checked(argument) for argument in typing.get_args(plain)))
    return Annotated[(plain, *metadata)] if metadata else plain


def named(type_: IcebergType, struct_model: Callable[[StructType], Any]) -> Any:
    """The annotation of an Iceberg type; `struct_model` gives the class for a struct.

    >>> named(LongType(), lambda struct: None) == Int64
    True
    """
    if isinstance(type_, DecimalType):
        return Decimal(type_.precision, type_.scale)
    if isinstance(type_, FixedType):
        return Fixed(len(type_))
    if isinstance(type_, ListType):
        element = named(type_.element_type, struct_model)
        return GenericAlias(list, element if type_.element_required else element | None)
    if isinstance(type_, MapType):
        value = named(type_.value_type, struct_model)
        key = named(type_.key_type, struct_model)
        return GenericAlias(dict, (key, value if type_.value_required else value | None))
    if isinstance(type_, StructType):
        return struct_model(type_)
    return _NAMES[type(type_)]


def annotation_of(field: FieldInfo) -> Any:
    """The whole annotation of a pydantic field, which keeps what `Annotated` said apart.

    >>> class Address(BaseModel):
    ...     zip_code: Int32
    >>> annotation_of(Address.model_fields["zip_code"]) == Int32
    False
    """
    return Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation


def numbered(type_: IcebergType, ids: Iterator[int] | None = None) -> IcebergType:
    """The type with fresh field ids, in Iceberg's order: types that differ in their ids only become equal.

    >>> numbered(ListType(7, StringType(), False)) == numbered(ListType(9, StringType(), False))
    True
    """
    ids = count(1) if ids is None else ids
    if isinstance(type_, ListType):
        return ListType(next(ids), numbered(type_.element_type, ids), type_.element_required)
    if isinstance(type_, MapType):
        key, value = next(ids), next(ids)
        return MapType(key, numbered(type_.key_type, ids), value, numbered(type_.value_type, ids), type_.value_required)
    if isinstance(type_, StructType):
        own = [(next(ids), field) for field in type_.fields]
        return StructType(
            *(NestedField(id_, f.name, numbered(f.field_type, ids), required=f.required, doc=f.doc) for id_, f in own)
        )
    return type_


def _members(plain: Any) -> list[tuple[str, Any]] | None:
    """Name and annotation of each field of a model or TypedDict."""
    if isinstance(plain, type) and issubclass(plain, BaseModel):
        return [(field.alias or name, annotation_of(field)) for name, field in plain.model_fields.items()]
    if not is_typeddict(plain):
        return None
    hints = get_type_hints(plain, include_extras=True)
    qualifiers: tuple[object, ...] = (Required, NotRequired)
    return [
        (name, typing.get_args(hint)[0] if typing.get_origin(hint) in qualifiers else hint)
        for name, hint in hints.items()
    ]


def _said(plain: object) -> str:
    return plain.__name__ if isinstance(plain, type) and not typing.get_args(plain) else str(plain)


def _refusal(plain: Any, where: str) -> str:
    if plain is decimal.Decimal:
        return (
            f"{where} is a Decimal without its digits. "
            "Write Annotated[decimal.Decimal, keylake.Decimal(10, 2)] for ten digits, two of them behind the point."
        )
    if plain in (list, dict):
        return f"{where} is a bare {_said(plain)}. Say what it holds: list[str], dict[str, int]."
    if typing.get_origin(plain) in (set, frozenset, tuple) or plain in (set, frozenset, tuple):
        return f"{where} is a {_said(plain)}, which Iceberg cannot store. Use list[X]."
    return f"{where} has the type {_said(plain)}, which no column can have. Use {_KNOWN}, or a name of keylake.types."
