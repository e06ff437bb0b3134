"""The parts that the models of a pipeline's definition share: names of keys, lists in one text, durations, secrets.

A key of YAML such as `scan.startup.mode` is the field `scan_startup_mode` in Python. Models are strict and frozen, and
know all of their keys. Keys that end in `.*` are free: what stands for the star is the key of a mapping.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PlainSerializer,
    SecretStr,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic.fields import FieldInfo
from typing_extensions import Self

from keylake.errors import DefinitionError
from keylake_pipelines.definition.errors import said, without_followers
from keylake_pipelines.definition.patterns import Pattern

_UNUSED = "unused"  # marks fields that other programs know, and that mean nothing here
_SECRET_NAMES = re.compile(r"password|passwd|secret|jaas|token|credential|private", re.IGNORECASE)
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zµ]+)\s*", re.IGNORECASE)
_UNITS = {
    "milliseconds": ("ms", "milli", "millis", "millisecond"),
    "seconds": ("s", "sec", "secs", "second"),
    "minutes": ("m", "min", "mins", "minute"),
    "hours": ("h", "hour"),
    "days": ("d", "day"),
}
_MINUTES_OF_A_DAY = 24 * 60
_UNIT_OF = {word: unit for unit, words in _UNITS.items() for word in (unit, *words)}


class Definition(BaseModel):
    """A part of a pipeline's definition."""

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        validate_by_name=True,
        validate_by_alias=True,
        validate_default=True,
        hide_input_in_errors=True,
    )

    @classmethod
    def free_keys(cls) -> Iterator[tuple[str, str]]:
        """The fields with free keys, with what these begin with."""
        for name, field in cls.model_fields.items():
            if (alias := str(field.validation_alias)).endswith(".*"):
                yield name, alias[:-1]

    @model_validator(mode="wrap")
    @classmethod
    def _told_in_sentences(cls, data: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        try:
            return handler(cls._with_free_keys(data) if isinstance(data, dict) else data)
        except ValidationError as error:
            if info.context is not None:  # of whoever knows better where it stands
                raise
            names = tuple(cls.model_fields)
            found = [said(each, cls.__name__, known=names) for each in without_followers(error.errors(), names)]
            raise DefinitionError(" ".join(found)) from None

    def __repr_args__(self) -> Iterator[tuple[str | None, object]]:
        """The fields that were given, without the defaults."""
        yield from ((name, getattr(self, name)) for name in type(self).model_fields if name in self.model_fields_set)

    @classmethod
    def _with_free_keys(cls, data: dict[str, Any]) -> dict[str, Any]:
        left: dict[str, Any] = {}
        for key, value in data.items():
            free = [prefix for _, prefix in cls.free_keys() if key.startswith(prefix) and len(key) > len(prefix)]
            known = any(key == field.validation_alias for field in cls.model_fields.values())
            if known or not free:
                left[key] = value
            else:
                left.setdefault(f"{free[0]}*", {})[key.removeprefix(free[0])] = value
        return left


def named(name: str, text: str, **more: Any) -> FieldInfo:
    """A field with the name that its key has in YAML, and what it means."""
    return cast("FieldInfo", Field(validation_alias=name, serialization_alias=name, description=text, **more))


def unused(name: str) -> FieldInfo:
    """A key that other programs know; it is accepted, and told as ignored."""
    return named(name, "Known from Flink CDC; ignored.", json_schema_extra={_UNUSED: True})


def is_unused(field: FieldInfo) -> bool:
    """A field means nothing here."""
    extra = field.json_schema_extra
    return isinstance(extra, dict) and bool(extra.get(_UNUSED))


def _names(value: object) -> object:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return tuple(cast("list[object]", value)) if isinstance(value, list) else value


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _upper(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


def duration(value: object) -> object:
    """A length of time from text; what is no text stays.

    >>> duration("1 minute"), duration("250ms")
    (datetime.timedelta(seconds=60), datetime.timedelta(microseconds=250000))
    """
    if not isinstance(value, str):
        return value
    found = _DURATION.fullmatch(value)
    unit = _UNIT_OF.get(found[2].lower()) if found else None
    if found is None or unit is None:
        raise ValueError(f"is {value!r}. Use a length of time such as '30 s' or '1 minute'.")
    return datetime.timedelta(**{unit: float(found[1])})


def _above_zero(value: datetime.timedelta) -> datetime.timedelta:
    if value <= datetime.timedelta(0):
        raise ValueError(f"is {duration_text(value)}. Use a length of time above 0, such as '30 s'.")
    return value


def _fills_a_day(value: datetime.timedelta) -> datetime.timedelta:
    minutes, rest = divmod(value, datetime.timedelta(minutes=1))
    if rest or minutes < 1 or _MINUTES_OF_A_DAY % minutes:
        raise ValueError(f"is {duration_text(value)}. Use whole minutes that divide a day: 1 minute, 5 minutes, 1 h.")
    return value


def duration_text(value: datetime.timedelta) -> str:
    """A length of time as text, in the largest unit that has a whole number.

    >>> duration_text(datetime.timedelta(minutes=1)), duration_text(datetime.timedelta(seconds=90))
    ('1 min', '90 s')
    """
    millis = value // datetime.timedelta(milliseconds=1)
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000)):
        if millis and millis % size == 0:
            return f"{millis // size} {unit}"
    return f"{millis} ms"


def _options(value: object) -> object:
    """Free options; those whose names sound of secrets are kept as secrets."""
    if not isinstance(value, Mapping):
        return value
    mapping = cast("Mapping[str, object]", value)
    return {
        name: SecretStr(each) if isinstance(each, str) and _SECRET_NAMES.search(name) else each
        for name, each in mapping.items()
    }


def _keys_by_table(value: object) -> object:
    if isinstance(value, Mapping):
        return {table: _names(names) for table, names in cast("Mapping[str, object]", value).items()}
    return _names(value)


def _pattern(value: object) -> object:
    if isinstance(value, str):
        Pattern(value)
    return value


TablePattern = Annotated[str, BeforeValidator(_pattern)]
"""Source tables, as `Pattern` reads them."""


def _texts(value: object) -> object:
    return (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else value  # pyright: ignore[reportUnknownArgumentType]


Conditions = Annotated[
    tuple[str, ...],
    BeforeValidator(_texts),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
"""One condition in SQL, or a list of them."""


Names = Annotated[
    tuple[str, ...],
    BeforeValidator(_names),
    PlainSerializer(", ".join),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
"""Names in one text with commas between them, or in a list."""

KeysByTable = Annotated[
    tuple[str, ...] | Mapping[str, tuple[str, ...]],
    BeforeValidator(_keys_by_table),
    PlainSerializer(lambda v: {k: ", ".join(n) for k, n in v.items()} if isinstance(v, Mapping) else ", ".join(v)),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": {"type": "string"}}]}),
]
"""The columns of the key of all tables, or of each by its name."""

KeyOfEach = Annotated[
    Mapping[str, tuple[str, ...]],
    BeforeValidator(_keys_by_table),
    PlainSerializer(lambda keys: {table: ", ".join(names) for table, names in keys.items()}),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": "string"}}),
]
"""The columns of the key of each table by its name."""

Options = Annotated[Mapping[str, str | SecretStr], BeforeValidator(_options)]
"""Free options by their names."""

NO_OPTIONS: Mapping[str, str | SecretStr] = {}
NO_KEYS: Mapping[str, tuple[str, ...]] = {}

Duration = Annotated[
    datetime.timedelta,
    BeforeValidator(duration),
    PlainSerializer(duration_text),
    WithJsonSchema({"type": "string", "examples": ["30 s", "1 minute"]}),
]
SomeTime = Annotated[Duration, AfterValidator(_above_zero)]
"""A length of time above 0."""

IntervalLength = Annotated[Duration, AfterValidator(_fills_a_day)]
"""A length of intervals that fill a day."""

Lower = BeforeValidator(_lower)
Upper = BeforeValidator(_upper)
Secret = Annotated[SecretStr, WithJsonSchema({"type": ["string", "number"], "examples": ["${DB_PASSWORD}"]})]
Count = Annotated[int, Field(ge=1)]
Port = Annotated[int, Field(ge=1, le=65535)]
