"""Texts, members of enums and numbers of numpy in the place of values: in rows of a class, and in rows of dicts."""

import datetime
import enum
import json
import uuid
from typing import Any, Literal

import numpy as np
import pytest
from pydantic import TypeAdapter
from pyiceberg.types import (
    BinaryType,
    DateType,
    IcebergType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
    TimeType,
)

import keylake as kl
from keylake._values.misfit import Misfit
from keylake._values.objects import fit_objects

UTC = datetime.timezone.utc
NOON = datetime.datetime(2026, 11, 1, 12, tzinfo=UTC)


class Mood(enum.Enum):
    GOOD = "good"
    BAD = "bad"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Visit(kl.Table, name="texts.visit", buckets=1):
    """A row with every kind that JSON has no form of."""

    user: uuid.UUID = kl.key()
    mood: Mood = kl.key()
    at: datetime.datetime = kl.ordering()
    day: datetime.date | None = kl.column()
    clock: datetime.time | None = kl.column()
    local: kl.Timestamp | None = kl.column()
    digest: bytes | None = kl.column()
    level: Level | None = kl.column()
    source: Literal["web", "app"] | None = kl.column()
    moods: list[Mood] | None = kl.column()
    count: kl.Int32 | None = kl.column()
    is_new: bool | None = kl.column()
    ratio: float | None = kl.column()


WHOLE = Visit(
    user=uuid.UUID(int=7),
    mood=Mood.GOOD,
    at=NOON.replace(microsecond=5),
    day=NOON.date(),
    clock=datetime.time(10, 30, 1, 500000),
    local=datetime.datetime(2026, 11, 1, 12),
    digest=b"\xff\xfe hi",
    level=Level.HIGH,
    source="web",
    moods=[Mood.BAD, Mood.GOOD],
    count=3,
    is_new=True,
    ratio=0.5,
)


def test_a_body_of_json_is_a_row_in_either_way() -> None:
    body = json.loads(WHOLE.model_dump_json())
    assert body["digest"] == "//4gaGk="
    assert Visit(**body) == Visit.model_validate(body) == TypeAdapter(Visit).validate_python(body) == WHOLE
    assert Visit.model_validate_json(json.dumps(body)) == WHOLE
    types = {column.name: str(column.type) for column in Visit.table_spec().columns}
    assert (types["mood"], types["level"], types["source"], types["moods"]) == (
        "string",
        "long",
        "string",
        "list<string>",
    )
    assert Visit.model_json_schema()["properties"]["at"]["format"] == "date-time"


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("at", "2026-11-01T12:00:00.1234567Z", "no time in ISO form with at most six digits"),
        ("at", "1793534400", "no time in ISO form"),
        ("at", "2026-11-01T12:00:00", "no time zone"),
        ("at", "2026-02-30T12:00:00Z", "no time in ISO form"),
        ("day", "2026-11-01T00:00:00", "no date in ISO form"),
        ("day", "20261101", "no date in ISO form"),
        ("clock", "25:00", "no time of day in ISO form"),
        ("digest", "*", "no base64"),
        ("user", "7", "no text of a uuid"),
        ("mood", "fine", "none of 'good', 'bad'"),
        ("level", 3, "none of 1, 2"),
        ("source", "fax", "'web' or 'app'"),
        ("count", "3", "integer"),
        ("count", np.float64(1.5), "integer"),
    ],
)
def test_other_texts_are_refused(column: str, value: Any, told: str) -> None:
    with pytest.raises(kl.BadRows, match=f"Column '{column}' of Visit is .*{told}"):
        Visit(**{**WHOLE.model_dump(), column: value})


def test_numbers_of_numpy_are_those_of_python() -> None:
    given = {"count": np.int64(3), "is_new": np.bool_(True), "ratio": np.float32(0.5)}
    assert Visit(**{**WHOLE.model_dump(), **given}) == WHOLE


@pytest.mark.parametrize(
    ("type_", "values", "expected"),
    [
        (TimestamptzType(), ["2026-11-01T12:00Z", "2026-11-01 13:00:00+01:00", NOON, None], [NOON, NOON, NOON, None]),
        (TimestampType(), ["2026-11-01T12:00:00.000005"], [datetime.datetime(2026, 11, 1, 12, 0, 0, 5)]),
        (DateType(), ["2026-11-01"], [NOON.date()]),
        (StringType(), [Mood.GOOD, "bad"], ["good", "bad"]),
        (LongType(), [Level.LOW, np.int16(7)], [1, 7]),
    ],
)
def test_rows_of_dicts_take_them(type_: IcebergType, values: list[object], expected: list[object]) -> None:
    assert fit_objects(values, type_).to_pylist() == expected


@pytest.mark.parametrize(
    ("type_", "value", "told"),
    [
        (TimestamptzType(), "noon", "no time in ISO form"),
        (TimestamptzType(), "2026-11-01T12:00", "no time zone"),
        (TimeType(), "noon", "no time of day"),
        (BinaryType(), "text", "text is not parsed"),
        (LongType(), "12", "text is not parsed"),
        (LongType(), Mood.GOOD, "text is not parsed"),
    ],
)
def test_a_text_in_a_dict_that_does_not_fit_is_told(type_: IcebergType, value: object, told: str) -> None:
    with pytest.raises(Misfit) as raised:
        fit_objects([None, value], type_)
    assert (raised.value.position, told in raised.value.why) == (1, True)


def test_a_literal_of_two_kinds_is_no_column() -> None:
    with pytest.raises(kl.DefinitionError, match="Use texts alone, or whole numbers alone"):

        class Mixed(kl.Table, name="texts.mixed"):
            k: Literal[1, "a"] = kl.key()
