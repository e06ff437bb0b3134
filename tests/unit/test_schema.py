"""Tables as classes: what becomes of annotations and roles, strict rows, and classes of tables known by name only."""

from __future__ import annotations

import datetime
import decimal
import json
import uuid
from datetime import UTC, date
from pathlib import Path
from typing import Annotated, Any, Optional

import pyarrow as pa
import pytest
from pydantic import BaseModel, Field, ValidationError
from typing_extensions import TypedDict

import keylake as kl
from keylake import DefinitionError, Float64, Int32, Int64, column, group, key, ordering
from keylake.schema import model_of

CASES = Path(__file__).parents[1] / "cases" / "spec"
MAYBE_INT = int | None
NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=UTC)


class Address(BaseModel):
    street: str
    zip_code: Int32 | None = None


class Spot(TypedDict):
    x: float


class UserProfile(kl.Table, name="features.user_profile", buckets=64):
    """Behaviour of one user on one day.

    Written by two streams.
    """

    user_id: Int64 = key(doc="Who.")
    day: date = key()
    event_time: datetime.datetime = ordering(doc="The newest event wins.")

    behaviour = group("Written by the click stream.")
    clicks: Int32 | None = column(group=behaviour)
    last_page: str | None = column(group=behaviour)
    spend: Float64 | None = column(doc="Yuan since midnight.")
    tags: Optional[list[str]] = column(reduce=kl.LatestNotNull())  # noqa: UP045
    price: Annotated[decimal.Decimal, kl.Decimal(5, 2)] | None
    digest: Annotated[bytes, kl.Fixed(3)] | None
    positive: Annotated[int, Field(gt=0)] | None = None
    ratio: kl.Float32 | None = None
    local_time: kl.Timestamp | None = None
    clock: kl.Time | None = None
    session: uuid.UUID | None = None
    address: Address | None = None
    spot: Spot | None = None
    counts: dict[str, list[int | None]] | None = None
    odd: str | None = column(name="odd name")


KEY: dict[str, Any] = {"user_id": 7, "day": date(2026, 1, 1), "event_time": NOON}


def test_the_spec_of_a_class() -> None:
    spec = UserProfile.table_spec()
    assert (spec.name, spec.buckets, spec.key) == ("features.user_profile", 64, ("user_id", "day"))
    assert (spec.versions, spec.ordering, spec.bucket_by) == ("ordering", "event_time", ("user_id", "day"))
    assert spec.comment == "Behaviour of one user on one day.\n\nWritten by two streams."
    assert spec.column_groups == (kl.ColumnGroup("behaviour", ("clicks", "last_page"), "Written by the click stream."),)
    assert spec.column("tags").reducer == kl.LatestNotNull()
    assert [column.required for column in spec.columns[:4]] == [True, True, False, False]
    assert (spec.column("user_id").doc, spec.column("spend").doc) == ("Who.", "Yuan since midnight.")
    assert {column.name: str(column.type) for column in spec.columns} == {
        "user_id": "long",
        "day": "date",
        "event_time": "timestamptz",
        "clicks": "int",
        "last_page": "string",
        "spend": "double",
        "tags": "list<string>",
        "price": "decimal(5, 2)",
        "digest": "fixed[3]",
        "positive": "long",
        "ratio": "float",
        "local_time": "timestamp",
        "clock": "time",
        "session": "uuid",
        "address": "struct<1: street: optional string, 2: zip_code: optional int>",
        "spot": "struct<1: x: optional double>",
        "counts": "map<string, list<long>>",
        "odd name": "string",
    }


def test_a_row() -> None:
    row = UserProfile(**KEY, clicks=3, odd="x")
    assert (row.clicks, row.spend, row.odd, row["odd name"], row["clicks"]) == (3, None, "x", "x", 3)
    assert row.model_fields_set == {*KEY, "clicks", "odd"}
    assert row == UserProfile(**KEY, clicks=3, **{"odd name": "x"})
    row.clicks = 4
    with pytest.raises(kl.BadRows, match="'clicks' of UserProfile is 2147483648"):
        row.clicks = 2**31
    with pytest.raises(kl.SchemaMismatch, match="UserProfile has no column 'odd'"):
        row["odd"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"user_id": "7"}, {"user_id": 7.0}, {"user_id": True}, {"user_id": None}, {"user_id": 2**63},
        {"day": datetime.datetime(2026, 1, 1)}, {"day": "01.01.2026"},
        {"event_time": None}, {"event_time": NOON.replace(tzinfo=None)},
        {"clicks": 2**31}, {"clicks": 1.5}, {"spend": "1"}, {"last_page": 1}, {"tags": ["a", 1]}, {"tags": ("a",)},
        {"price": decimal.Decimal("1.234")}, {"price": decimal.Decimal(1000)}, {"price": 1.5},
        {"price": decimal.Decimal("NaN")},
        {"digest": b"1234"}, {"digest": b"12"}, {"digest": "123"}, {"positive": 0}, {"ratio": 0.1}, {"ratio": 1e300},
        {"local_time": NOON}, {"clock": datetime.time(1, tzinfo=UTC)}, {"session": "no uuid"},
        {"address": {"street": 1}}, {"address": {}}, {"counts": {"a": [2**63]}}, {"counts": {1: []}}, {"zork": 1},
    ],
    ids=str,
)  # fmt: skip
def test_a_row_that_is_none(wrong: dict[str, Any]) -> None:
    with pytest.raises(kl.BadRows) as raised:
        UserProfile(**{**KEY, **wrong})
    assert next(iter(wrong)) in str(raised.value)
    assert "\n" not in str(raised.value)
    with pytest.raises(ValidationError):
        UserProfile.model_validate({**KEY, **wrong})


def test_rows_in_json() -> None:
    row = UserProfile(
        user_id=7,
        day=date(2026, 1, 1),
        event_time=NOON,
        clicks=3,
        tags=["a"],
        price=decimal.Decimal("1.25"),
        digest=b"\x00\xff\x80",
        local_time=NOON.replace(tzinfo=None),
        clock=NOON.time(),
        session=uuid.UUID(int=7),
        address=Address(street="Ring", zip_code=1010),
        spot={"x": 1.5},
        counts={"a": [1, None]},
        odd="x",
    )
    text = row.model_dump_json(by_alias=True)
    assert json.loads(text)["digest"] == "AP+A"  # standard base64; the one for URLs is read, too
    assert UserProfile.model_validate_json(text.replace("AP+A", "AP-A")) == row
    assert UserProfile.model_validate_json(text) == row
    for wrong in (
        {"event_time": None},
        {"event_time": "noon"},
        {"event_time": "2026-01-01T00:00:00.1234567Z"},
        {"clock": "12:00:00.1234567"},
        {"clicks": "3"},
        {"local_time": "2026-01-01T00:00:00Z"},
    ):
        with pytest.raises(ValidationError, match=next(iter(wrong))):
            UserProfile.model_validate_json(json.dumps(json.loads(text) | wrong))


def test_a_naive_time_gets_a_hint() -> None:
    with pytest.raises(kl.BadRows, match=r"^Column 'event_time' of UserProfile is .*tzinfo=timezone\.utc"):
        UserProfile(**{**KEY, "event_time": datetime.datetime(2026, 1, 1)})


def test_a_row_that_is_read() -> None:
    read = {
        **KEY,
        "event_time": None,
        "session": "00000000-0000-0000-0000-000000000001",
        "address": {"street": "Main", "zip_code": None},
        "counts": [("a", [1, None])],
        "digest": bytearray(b"abc"),
        "odd name": "x",
    }
    row = UserProfile.from_row(read)
    assert row.event_time is None
    assert (row.session, row.address, row.odd) == (uuid.UUID(int=1), Address(street="Main"), "x")
    assert (row.counts, row.digest) == ({"a": [1, None]}, b"abc")


def test_options_of_a_class() -> None:
    class Seen(kl.Table, name="a.b", buckets=3, bucket_by="user", partition_by="day", versions="explicit"):
        user: str = key()
        day: date = key()
        note: str | None

    spec = Seen.table_spec()
    assert (spec.bucket_by, spec.partition_by, spec.versions, spec.comment) == (("user",), ("day",), "explicit", "")
    assert Seen(user="x", day=date(2026, 1, 1)).note is None


def test_a_class_without_a_name_is_a_part_of_others() -> None:
    class Stamped(kl.Table):
        user: str = key()
        at: datetime.datetime = ordering()

    class Seen(Stamped, name="a.seen"):
        note: str | None

    class Heard(Seen, name="a.heard"):
        volume: int | None

    with pytest.raises(DefinitionError, match="Stamped names no table"):
        Stamped.table_spec()
    assert Seen.table_spec().column_names == ("user", "at", "note")
    assert (Heard.table_spec().name, Heard.table_spec().ordering) == ("a.heard", "at")
    assert Heard.table_spec().value_columns == ("at", "note", "volume")


def test_names_of_the_place_where_a_class_stands() -> None:
    class Inner(BaseModel):
        x: float

    small = Annotated[int, Field(lt=10)]

    class Local(kl.Table, name="a.local"):
        user: small = key()
        inner: Inner | None

    assert str(Local.table_spec().column("inner").type) == "struct<1: x: optional double>"
    assert Local(user=1, inner=Inner(x=1.0)).inner == Inner(x=1.0)
    with pytest.raises(kl.BadRows):
        Local(user=10)


@pytest.mark.filterwarnings("ignore:Field name:UserWarning")
def test_columns_named_like_a_method() -> None:
    class Named(kl.Table, name="a.named"):
        name: str = key()
        attributes: dict[str, str] | None
        table_spec: int | None

    row = Named(name="x", attributes={"a": "b"}, table_spec=1)
    assert (row["attributes"], row["table_spec"], Named.table_spec().key) == ({"a": "b"}, 1, ("name",))


# ----------------------------------------------------------------------------------------------------------- refusals


def refusal(body: dict[str, Any], **options: Any) -> str:
    """The sentence that a class of these annotations and values gets."""
    annotations = {name: value[0] for name, value in body.items() if isinstance(value, tuple)}
    values = {name: value[1] if isinstance(value, tuple) else value for name, value in body.items()}
    members = {**{name: value for name, value in values.items() if value is not ...}, "__annotations__": annotations}
    with pytest.raises(DefinitionError) as raised:
        type(kl.Table)("Seen", (kl.Table,), {"__module__": __name__, **members}, **{"name": "a.b", **options})
    return str(raised.value)


def test_definitions_that_are_refused() -> None:
    user = {"user": (int, key())}
    lonely = group("Nobody's.")
    assert "The key is empty" in refusal({"clicks": (MAYBE_INT, None)})
    assert "'clicks' is never None" in refusal({**user, "clicks": (int, ...)})
    assert "'clicks' is never None" in refusal({**user, "clicks": (int, column())})
    assert "Key column 'user' may be None" in refusal({"user": (MAYBE_INT, key())})
    assert "'user' is a double" in refusal({"user": (float, key())})
    assert "must be boolean" in refusal({**user, "clicks": (MAYBE_INT, column(reduce=kl.BoolOr()))})
    assert "'a' and 'b' are both ordering()" in refusal({**user, "a": (int, ordering()), "b": (int, ordering())})
    assert "versions='commit'" in refusal({**user, "at": (int, ordering())}, versions="commit")
    assert "does not have" in refusal({**user, "clicks": (MAYBE_INT, column(group=lonely))})
    assert "Column group 'behaviour' has no columns" in refusal({**user, "behaviour": group("Empty.")})
    assert "buckets is 0" in refusal(user, buckets=0)
    assert "Did you mean 'user'" in refusal(user, bucket_by=["usr"])
    assert "has no namespace" in refusal(user, name="b")
    assert "Decimal without its digits" in refusal({**user, "price": (decimal.Decimal | None, None)})
    assert "no column can have" in refusal({**user, "x": (complex | None, None)})
    assert "no column can have" in refusal({**user, "x": (kl.KeylakeError | None, None)})
    assert "cannot be found" in refusal({**user, "x": ("Nowhere | None", None)})
    assert "differs only in case" in refusal({**user, "User": (MAYBE_INT, None)})
    assert "'_file'" in refusal({**user, "file": (MAYBE_INT, column(name="_file"))})


# ------------------------------------------------------------------------------------------------- from spec to class


@pytest.mark.parametrize("case", [path.stem for path in CASES.glob("*.json") if path.stem != "refused"])
def test_a_class_of_a_spec(case: str) -> None:
    spec = kl.TableSpec.from_json(json.dumps(json.loads((CASES / f"{case}.json").read_text())["spec"]))
    model = model_of(spec)
    assert model.table_spec() is spec
    assert tuple(model.attributes()) == spec.column_names
    with pytest.raises(kl.BadRows):
        model()


def test_names_that_no_attribute_can_have() -> None:
    struct = kl.TableSpec.from_iceberg(
        UserProfile.table_spec().iceberg_schema(), name="a.b", key="odd name", versions="explicit"
    )
    names = ("odd name", "_x", "1st", "class", "json", "table_spec", "größe", "a b", "a_b", "%", "model_config")
    spec = kl.TableSpec(
        name="x.`a table`",
        comment="",
        columns=tuple(kl.Column(name, struct.column("user_id").type, name == "odd name") for name in names),
        key=("odd name",),
        versions="explicit",
        ordering=None,
        buckets=1,
        bucket_by=("odd name",),
    )
    model = model_of(spec)
    assert model.__name__ == "ATable"
    assert set(model.attributes().values()) == {
        "odd_name", "x", "column_1st", "class_", "json_", "table_spec_", "größe", "a_b_", "a_b", "column",
        "model_config_",
    }  # fmt: skip
    row = model(odd_name=1, **{"a b": 2, "%": 3, "a_b": 4})
    assert [row[name] for name in ("odd name", "a b", "%", "a_b", "1st")] == [1, 2, 3, 4, None]
    assert model.from_row({"odd name": 5, "json": 6})["json"] == 6


def test_structs_of_a_spec() -> None:
    model: Any = model_of(UserProfile.table_spec())
    row = model(**KEY, address={"street": "Main"}, counts={"a": [1, None]})
    assert row.address.zip_code is None
    assert row.address.street == "Main"
    with pytest.raises(kl.BadRows):
        model(**KEY, address={"street": 1})
    with pytest.raises(kl.BadRows):
        model(**KEY, address={"avenue": "Main"})
    assert model.from_row({**KEY, "event_time": None}).event_time is None


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"bucket": 8}, "no option 'bucket'. Did you mean 'buckets'"),
        ({"buckets": "8"}, "buckets is '8'. Use a whole number"),
        ({"name": 5}, "name is 5. Use text"),
        ({"bucket_by": 5}, "bucket_by is 5. Use the name"),
    ],
    ids=str,
)
def test_a_wrong_word_beside_the_name(words: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DefinitionError, match=sentence):

        class Seen(kl.Table, **{"name": "a.b", **words}):
            user_id: Int64 = key()


def test_words_of_a_table_that_has_no_name() -> None:
    with pytest.raises(DefinitionError, match="Class Seen has buckets, which belongs to a table"):

        class Seen(kl.Table, buckets=8):
            user_id: Int64 = key()


def test_words_of_pydantic_beside_the_name() -> None:
    class Seen(kl.Table, name="a.b", buckets=8, frozen=True):
        user_id: Int64 = key()

    assert (Seen.table_spec().buckets, Seen.model_config.get("frozen")) == (8, True)


def test_words_of_a_column_of_wrong_types() -> None:
    with pytest.raises(DefinitionError, match="Use a value such as"):
        column(reduce=kl.LatestNotNull)  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match=r"group is 'behaviour'. Use what kl.group"):
        column(group="behaviour")  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match=r"doc is 5. Use text"):
        key(doc=5)  # type: ignore[arg-type]


def test_a_column_that_comes_later_takes_no_attribute_of_another() -> None:
    """Names that no attribute can have get one like it, each its own."""
    first, second = (
        kl.TableSpec.from_arrow(pa.schema([(name, pa.int64()) for name in names]), name="a.b", key="id")
        for names in (["id", "(("], ["id", "((", "((("])
    )
    row = model_of(second, model_of(first)).from_row({"id": 1, "((": 2, "(((": 3})
    assert (row["(("], row["((("]) == (2, 3)


# ------------------------------------------------------------------------------------------- columns of the class


def test_an_attribute_of_the_class_is_the_name_of_the_column() -> None:
    class Home(kl.Table, name="a.home"):
        user_id: int = key()
        copy_of: int | None = column(name="copy of")

    assert (Home.user_id, Home.copy_of) == ("user_id", "copy of")
    assert {"user_id", "copy_of", "from_rows"} <= set(dir(Home))
    with pytest.raises(AttributeError, match="userid"):
        getattr(Home, "userid")  # noqa: B009 - checkers refuse it
    row = Home(user_id=7, copy_of=3)
    assert (row.user_id, row.copy_of) == (7, 3)
    assert kl.null_rate(Home.copy_of, below=0.1).text == "null_rate('copy of')"


def test_a_class_defines_a_column_of_its_parent_again() -> None:
    class First(kl.Table):
        user_id: int = key()
        clicks: int | None = column(doc="First.")

    class Second(First, name="a.second"):
        clicks: int | None = column(doc="Second.")
        city: str | None = column()

    assert Second.table_spec().column("clicks").doc == "Second."
    assert Second(user_id=7) == Second(user_id=7, clicks=None, city=None)
    assert (First.clicks, Second.clicks, Second.user_id) == ("clicks", "clicks", "user_id")
