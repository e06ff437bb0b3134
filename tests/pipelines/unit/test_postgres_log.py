"""The log of PostgreSQL, from bytes to rows: messages, parts of transactions, types, columns over time."""

import json
import struct
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest
from pyiceberg.types import DecimalType, IntegerType, ListType, StringType

from keylake.errors import DefinitionError, Unsupported
from keylake_pipelines.postgres import transactions
from keylake_pipelines.postgres.differences import aligned, changed_meanwhile, changes_of_table
from keylake_pipelines.postgres.forms import Form, PostgresType, Unfit, form_of
from keylake_pipelines.postgres.messages import (
    ABSENT,
    EPOCH,
    Begin,
    Commit,
    Delete,
    Insert,
    Message,
    Relation,
    RelationColumn,
    Truncate,
    Update,
    decoded,
)
from keylake_pipelines.postgres.positions import version_of_part
from keylake_pipelines.postgres.rows import Layout
from keylake_pipelines.postgres.server import Server
from keylake_pipelines.postgres.tables import Catalog, Column, Table
from keylake_pipelines.postgres.transactions import Pending, Transactions
from keylake_pipelines.source.absence import SourceAway
from keylake_pipelines.source.source import Step
from keylake_pipelines.source.tables import ColumnAdded, ColumnDropped, ColumnRenamed, SourceTable

TYPES = {
    23: PostgresType(23, "int4", "b", 0, 0, -1, ",", False),
    25: PostgresType(25, "text", "b", 0, 0, -1, ",", False),
    1007: PostgresType(1007, "_int4", "b", 23, 0, -1, ",", True),
    1114: PostgresType(1114, "timestamp", "b", 0, 0, -1, ",", False),
    1184: PostgresType(1184, "timestamptz", "b", 0, 0, -1, ",", False),
    1082: PostgresType(1082, "date", "b", 0, 0, -1, ",", False),
    1700: PostgresType(1700, "numeric", "b", 0, 0, -1, ",", False),
    9000: PostgresType(9000, "price", "d", 0, 1700, (10 << 16 | 2) + 4, ",", False),
    9001: PostgresType(9001, "mood", "e", 0, 0, -1, ",", False),
}


def column(number: int, name: str, type_: int = 25) -> Column:
    return Column(number, name, type_, -1, "", form_of(type_, -1, 0, TYPES))


def table(*columns: Column, unpublished: Sequence[int] = ()) -> Table:
    return Table(7, SourceTable(("app", "public", "t")), "", columns, (1,), frozenset(unpublished))


def logged(*columns: Column) -> Relation:
    return Relation(
        7, "public", "t", "d", tuple(RelationColumn(each.name, each.type, each.modifier) for each in columns)
    )


# ------------------------------------------------------------------------------------------------------ messages


def values(*texts: str | None) -> bytes:
    sent = [b"n" if text is None else b"t" + struct.pack(">i", len(text.encode())) + text.encode() for text in texts]
    return struct.pack(">h", len(sent)) + b"".join(sent)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"B" + struct.pack(">qqI", 100, 5, 9), Begin(100, EPOCH + timedelta(microseconds=5), 9)),
        (b"C" + struct.pack(">Bqqq", 0, 100, 140, 5), Commit(100, 140)),
        (
            b"R"
            + struct.pack(">I", 7)
            + b"public\0t\0d"
            + struct.pack(">hB", 1, 1)
            + b"id\0"
            + struct.pack(">Ii", 23, -1),
            Relation(7, "public", "t", "d", (RelationColumn("id", 23, -1),)),
        ),
        (b"I" + struct.pack(">I", 7) + b"N" + values("1", None, "ü"), Insert(7, ("1", None, "ü"))),
        (b"U" + struct.pack(">I", 7) + b"N" + struct.pack(">h", 1) + b"u", Update(7, (ABSENT,), None, False)),
        (b"U" + struct.pack(">I", 7) + b"K" + values("1") + b"N" + values("2"), Update(7, ("2",), ("1",), False)),
        (b"U" + struct.pack(">I", 7) + b"O" + values("1") + b"N" + values("1"), Update(7, ("1",), ("1",), True)),
        (b"D" + struct.pack(">I", 7) + b"K" + values("1", None), Delete(7, ("1", None))),
        (b"T" + struct.pack(">iBII", 2, 0, 7, 8), Truncate((7, 8))),
    ],
)
def test_messages(data: bytes, message: Message) -> None:
    assert decoded(data) == message


def test_what_is_no_message_is_refused() -> None:
    with pytest.raises(ValueError, match="begins with b'z'"):
        decoded(b"z")


# -------------------------------------------------------------------------------------------------- transactions

ID, TEXT, BIG = column(1, "id", 23), column(2, "text"), column(3, "big")
NOW = table(ID, TEXT, BIG)
AT = EPOCH + timedelta(days=9000)


def rows_of(*changes: Message, part: int = 10_000, missing: str = "found") -> list[tuple[str, dict[str, object], int]]:
    """The rows of one transaction: op, columns, and the number of the part as the version tells it."""

    def fill(begun: Begin, pending: Sequence[Pending]) -> None:
        for each in pending:
            if each.moved:
                each.values = [missing if value is ABSENT else value for value in each.values]

    reader = Transactions(lambda _: (Layout(NOW, NOW.columns), ()), fill, lambda _: None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transactions, "ROWS_OF_A_PART", part)
        for message in (Begin(100, AT, 9), logged(ID, TEXT, BIG), *changes, Commit(100, 140)):
            reader.take(message)
    step: Step = reader.step({})
    found = step.rows.to_pylist() if step.rows is not None else []
    assert reader.between
    assert {each["at"] for each in found} <= {AT}
    return [(each["op"], json.loads(each["row"]), each["version"] - version_of_part(100, 0)) for each in found]


def test_a_part_has_the_newest_values_of_a_key() -> None:
    assert rows_of(
        Insert(7, ("1", "a", "x")),
        Update(7, ("1", "b", ABSENT), None, False),
        Update(7, ("2", "c", ABSENT), None, False),
        Insert(7, ("3", None, "z")),
        Delete(7, ("3", None, None)),
    ) == [("c", {"id": 1, "text": "b", "big": "x"}, 0), ("u", {"id": 2, "text": "c"}, 0), ("d", {"id": 3}, 0)]


def test_parts_have_versions_of_their_own() -> None:
    changes = [Update(7, ("1", str(each), ABSENT), None, False) for each in range(5)]
    assert rows_of(*changes, part=2) == [("u", {"id": 1, "text": text}, part) for part, text in enumerate("134")]


def test_a_changed_key_is_a_delete_and_a_row_with_all_values() -> None:
    moved = Update(7, ("2", "b", ABSENT), ("1", None, None), False)
    assert rows_of(moved) == [("d", {"id": 1}, 0), ("c", {"id": 2, "text": "b", "big": "found"}, 0)]
    before = Insert(7, ("1", "a", "x"))
    assert rows_of(before, moved)[1] == ("c", {"id": 2, "text": "b", "big": "x"}, 0)
    whole = Update(7, ("2", "b", ABSENT), ("1", "a", "y"), True)
    assert rows_of(whole)[1] == ("c", {"id": 2, "text": "b", "big": "y"}, 0)


def test_a_whole_old_row_is_no_changed_key() -> None:
    same = Update(7, ("1", "b", ABSENT), ("1", "a", "y"), True)
    assert rows_of(same) == [("u", {"id": 1, "text": "b", "big": "y"}, 0)]


def test_versions_end_before_they_overlap() -> None:
    assert version_of_part(40, 0) > version_of_part(0, 40_959)
    with pytest.raises(Unsupported, match="409,600,000"):
        version_of_part(0, 40_960)


# --------------------------------------------------------------------------------------------- columns over time


def test_changes_of_columns_are_known_by_their_numbers() -> None:
    before = table(ID, TEXT, BIG, column(4, "a"), column(5, "b"))
    after = table(ID, column(4, "b"), column(5, "a"), column(6, "text"), unpublished=[2, 3])
    found = list(changes_of_table(before, after))
    name = before.name
    assert found[:2] == [ColumnDropped(name, "text"), ColumnDropped(name, "big")]
    renames = [(each.name, each.to) for each in found if isinstance(each, ColumnRenamed)]
    assert renames == [("b", "a_renamed"), ("a", "b"), ("a_renamed", "a")] or renames[0][1].endswith("_renamed")
    assert isinstance(found[-1], ColumnAdded)
    assert found[-1].after == "a"


@pytest.mark.parametrize(
    ("names", "numbers", "certain"),
    [
        (["id", "text", "big"], [1, None, 3], True),  # before text was dropped, and old became big
        (["id", "text", "old"], [1, None, 3], False),  # or both have new names
        (["id", "old", "more"], [1, 3, 4], True),
        (["id"], [1], True),
        (["id", "large"], [1, 3], True),
        (["id", "text"], [1, None], False),  # or it is called big now
    ],
)
def test_rows_from_before_a_change_find_their_columns(
    names: list[str], numbers: list[int | None], certain: bool
) -> None:
    now = table(ID, BIG, column(4, "more"), unpublished=[2])
    past = [RelationColumn(name, 23 if name == "id" else 25, -1) for name in names]
    found, is_certain = aligned(past, now, {3: frozenset({"large"})})
    assert ([each and each.number for each in found], is_certain) == (numbers, certain)


@pytest.mark.parametrize(
    ("known", "now", "gone", "renames"),
    [
        ("id a b", {1: "id", 2: "c", 3: "b"}, [], {"a": "c"}),
        ("id a b", {1: "number", 2: "a", 3: "b"}, [], {"id": "number"}),
        ("id a b", {1: "id", 2: "c", 3: "a"}, [], {"a": "c", "b": "a"}),
        ("id a b", {1: "id", 3: "b", 4: "c"}, [2], {}),  # or a was dropped, and c is new
        ("id a b", {1: "id", 2: "b"}, [3], {}),  # a got the name of one that was dropped
        ("id a", {1: "id", 2: "a", 3: "b"}, [], {}),
        ("id a b", {1: "number", 3: "b", 4: "c"}, [2], {"id": "number"}),
        ("id", {2: "number"}, [1], {}),
    ],
)
def test_columns_that_got_names_while_nobody_looked(
    known: str, now: dict[int, str], gone: list[int], renames: dict[str, str]
) -> None:
    before = table(*(column(at, name) for at, name in enumerate(known.split(), 1))).schema
    after = replace(table(*(column(at, name) for at, name in now.items()), unpublished=gone), key=(min(now),))
    found = changed_meanwhile(Catalog({after.number: after}, {after.number: ()}), {"log": 7}, [before])
    assert {each.name: each.to for each in found if isinstance(each, ColumnRenamed)} == renames


# --------------------------------------------------------------------------------------------------------- types


@pytest.mark.parametrize(
    ("number", "text", "shown"),
    [
        (23, "-5", -5),
        (25, 'a"\n\\ü\x01', 'a"\n\\ü\x01'),
        (1007, "{1,NULL}", [1, None]),
        (1114, "2020-02-29 12:30:00.5", "2020-02-29T12:30:00.5"),
        (1184, "2020-02-29 12:30:00+00", "2020-02-29T12:30:00Z"),
        (1700, "NaN", "NaN"),
        (9000, "1.50", "1.50"),
        (9001, "happy", "happy"),
        (12345, "of no known type", "of no known type"),
    ],
)
def test_values(number: int, text: str, shown: object) -> None:
    assert json.loads(form_of(number, -1, 0, TYPES).json(text)) == shown


@pytest.mark.parametrize(
    ("number", "dimensions", "text"),
    [
        (1114, 0, "infinity"),
        (1114, 0, "0044-03-15 12:00:00 BC"),
        (1114, 0, "10000-01-01 00:00:00"),
        (1184, 0, "-infinity"),
        (1184, 0, "0044-03-15 12:00:00+00 BC"),
        (1082, 0, "infinity"),
        (1082, 0, "0044-03-15 BC"),
        (9000, 0, "NaN"),
        (1007, 1, "{{1,2},{3,4}}"),
    ],
)
def test_values_that_no_type_holds(number: int, dimensions: int, text: str) -> None:
    with pytest.raises(Unfit):
        form_of(number, -1, dimensions, TYPES).json(text)


@pytest.mark.parametrize(
    ("number", "texts"),
    [
        (1114, ["2020-02-29 12:30:00.5", "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"]),
        (1184, ["2020-02-29 12:30:00+00", "0001-01-01 00:00:00.000001+00", "9999-12-31 23:59:59.999999+00"]),
        (1082, ["2020-02-29", "0001-01-01", "9999-12-31"]),
        (9000, ["1.50", "-0.01", "0"]),
        (1700, ["1.50", "NaN", "-Infinity", "1" * 50]),
    ],
)
def test_values_of_a_column_at_once(number: int, texts: list[str]) -> None:
    form = form_of(number, -1, 0, TYPES)
    for some in (texts, texts[:1], []):
        assert form.jsons(some) == [form.json(text) for text in some]


@pytest.mark.parametrize(
    ("number", "text", "others"),
    [
        (1114, "2020-02-29 12:30:00", ["infinity", "-infinity", "0044-03-15 12:00:00 BC", "10000-01-01 00:00:00"]),
        (1184, "2020-02-29 12:30:00+00", ["infinity", "0044-03-15 12:00:00+00 BC", "10000-01-01 00:00:00+00"]),
        (1184, "2020-02-29 12:30:00+00", ["2020-02-29 12:30:00+01", "2020-02-29 12:30:00+00:19"]),
        (1082, "2020-02-29", ["infinity", "-infinity", "0044-03-15 BC", "10000-01-01"]),
        (9000, "1.50", ["NaN"]),
    ],
)
def test_one_value_of_a_column_that_its_type_does_not_hold(number: int, text: str, others: list[str]) -> None:
    form = form_of(number, -1, 0, TYPES)
    for other in others:
        with pytest.raises(Unfit):
            form.jsons([text, other, text])


def test_types_hold_their_values() -> None:
    def type_of(number: int, modifier: int = -1, dimensions: int = 0) -> object:
        form: Form = form_of(number, modifier, dimensions, TYPES)
        return form.type

    assert type_of(9000) == DecimalType(10, 2)
    assert type_of(1700, (5 << 16 | (-3 & 0x7FF)) + 4) == DecimalType(8, 0)
    assert type_of(1700, (3 << 16 | 5) + 4) == DecimalType(5, 5)
    assert type_of(1700, (50 << 16 | 2) + 4) == StringType()
    assert type_of(1007, dimensions=2) == ListType(
        1, ListType(1, IntegerType(), element_required=False), element_required=False
    )


def test_an_address_is_shown_without_its_password() -> None:
    assert "secret" not in repr(Server("postgresql://me:secret@db:6543/shop"))
    with pytest.raises(DefinitionError) as refused:
        Server("postgresql://me:secret@db:5432:x/?y")
    assert "secret" not in str(refused.value)
    assert refused.value.__cause__ is None


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (psycopg.OperationalError("connection failed: Connection refused"), True),
        (psycopg.OperationalError("could not translate host name"), True),
        (psycopg.OperationalError('connection failed: FATAL:  password authentication failed for user "a"'), False),
        (psycopg.OperationalError("connection failed: FATAL:  the database system is starting up"), True),
        (psycopg.OperationalError('connection failed: FATAL:  database "a" does not exist'), False),
        (psycopg.OperationalError('ERROR:  replication slot "a" is active for PID 7'), True),
        (psycopg.OperationalError('ERROR:  publication "a" does not exist'), False),
        (psycopg.OperationalError("ERROR:  no such thing"), False),
        (psycopg.OperationalError("FATAL:  sorry, too many clients already"), True),
        (psycopg.InterfaceError("the connection is closed"), True),
        (psycopg.errors.AdminShutdown("terminating connection"), True),
        (psycopg.errors.DeadlockDetected("deadlock detected"), True),
        (psycopg.errors.ConfigurationLimitExceeded("all replication slots are in use"), False),
        (psycopg.errors.InsufficientPrivilege("permission denied for table t"), False),
    ],
)
def test_what_may_pass_is_another_error(error: psycopg.Error, passes: bool) -> None:
    failure = Server("host=db").failed(error, "reading")
    assert isinstance(failure, SourceAway) == passes
    assert str(failure).startswith("PostgreSQL at db:5432 failed at reading: ")
