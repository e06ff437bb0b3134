"""Statements as text: what is sent, and that no name or value can become more than that."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Literal
from uuid import UUID

import pytest
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
    UUIDType,
)

import keylake as kl
from keylake._server.statements import Call, Commits, Moment, Select, TablePath, dotted, literal, name_parts, quoted

CLICKS = TablePath("features.clicks")


@pytest.mark.parametrize(
    ("name", "in_sql"),
    [
        ("features.clicks", "`lake`.`features`.`clicks`"),
        ("a.b.clicks", "`lake`.`a`.`b`.`clicks`"),
        ("features.`user.profile`", "`lake`.`features`.`user.profile`"),
        ("`with space`.`back``tick`", "`lake`.`with space`.`back``tick`"),
        ("größe.日本", "`lake`.`größe`.`日本`"),
        ("quote's.x; DROP TABLE y", "`lake`.`quote's`.`x; DROP TABLE y`"),
    ],
)
def test_names_of_tables(name: str, in_sql: str) -> None:
    assert TablePath(name).in_sql("lake") == in_sql
    assert name_parts(TablePath(name).name) == name_parts(name)


def test_a_name_is_always_written_the_same_way() -> None:
    assert TablePath("`features`.`clicks`") == CLICKS
    assert TablePath("größe.x").name == "`größe`.x"
    assert dotted(["1st", "a_b", "a.b", "`"]) == "`1st`.a_b.`a.b`.````"


@pytest.mark.parametrize("name", ["clicks", "", ".", "a.", "a..b", "`a.b", "a.`b", "a.`b`c"])
def test_names_that_are_refused_before_anything_is_sent(name: str) -> None:
    with pytest.raises(kl.DefinitionError):
        TablePath(name)


def test_a_branch_is_a_part_of_its_own() -> None:
    assert TablePath("features.clicks", "tmp`1").in_sql("lake") == "`lake`.`features`.`clicks`.`branch_tmp``1`"
    assert quoted("a`b") == "`a``b`"


def test_calls_carry_their_values_apart() -> None:
    nasty = "o'clock :spec \\ ` ü"
    call = Call.of("create_table", TablePath("lake.`a b`.t"), spec=nasty)
    assert call.in_sql("lake") == "CALL `lake`.system.create_table(table => :table, spec => :spec)"
    assert call.parameters("lake") == {"table": "`lake`.lake.`a b`.t", "spec": nasty}
    on_branch = Call.of("commits", TablePath("features.clicks", "b"), write_id=None, at_most=0)
    assert on_branch.parameters("l") == {"table": "`l`.features.clicks", "branch": "b", "at_most": 0}
    assert Call("tables").in_sql("lake") == "CALL `lake`.system.tables()"


@pytest.mark.parametrize(
    ("at", "clause"),
    [
        (17, " VERSION AS OF 17"),
        ("nightly", " VERSION AS OF 'nightly'"),
        ("it's \\ so", " VERSION AS OF 'it\\'s \\\\ so'"),
        (datetime(2026, 1, 1, 12, 30, 0, 5, UTC), " TIMESTAMP AS OF TIMESTAMP '2026-01-01 12:30:00.000005+00:00'"),
        (
            datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=-3.5))),
            " TIMESTAMP AS OF TIMESTAMP '2026-01-01 03:30:00+00:00'",
        ),
    ],
)
def test_moments(at: Moment, clause: str) -> None:
    assert Select(CLICKS, at=at).in_sql("lake") == f"SELECT * FROM `lake`.`features`.`clicks`{clause}"


@pytest.mark.parametrize("at", [datetime(2026, 1, 1), "17", "", " "])
def test_moments_that_are_none(at: Moment) -> None:
    with pytest.raises(kl.KeylakeError, match="at="):
        Select(CLICKS, at=at).in_sql("lake")


def test_a_snapshot_is_read_from_the_table_and_not_from_a_branch() -> None:
    path = TablePath("features.clicks", "b")
    assert Select(path).in_sql("lake") == "SELECT * FROM `lake`.`features`.`clicks`.`branch_b`"
    assert Select(path, part="runs").in_sql("lake") == "SELECT * FROM `lake`.`features`.`clicks`.`branch_b`.`runs`"
    of_moment = Select(path, at=17, part="keyed_files").in_sql("lake")
    assert of_moment == "SELECT * FROM `lake`.`features`.`clicks`.`keyed_files` VERSION AS OF 17"
    assert Select(path, at=17).in_sql("lake") == "SELECT * FROM `lake`.`features`.`clicks` VERSION AS OF 17"
    with pytest.raises(kl.DefinitionError, match="branch"):
        Select(path, at=datetime(2026, 1, 1, tzinfo=UTC)).in_sql("lake")


@pytest.mark.parametrize(
    ("read", "clause"),
    [
        ("appended", " WITH ('after' = '0', 'until' = '18')"),
        ("changes", ".`changes` WITH ('after' = '0', 'until' = '18')"),
        ("changes of every commit", ".`changes` WITH ('after' = '0', 'until' = '18', 'every-commit' = 'true')"),
    ],
)
def test_ranges_of_commits(read: Literal["appended", "changes", "changes of every commit"], clause: str) -> None:
    select = Select(TablePath("features.clicks", "b"), ("a",), commits=Commits(read, 0, 18))
    assert select.in_sql("lake") == f"SELECT `a` FROM `lake`.`features`.`clicks`{clause}"


KEYS: list[tuple[IcebergType, object, str, object]] = [
    (BooleanType(), True, "BOOLEAN", True),
    (IntegerType(), -(2**31), "INT", -(2**31)),
    (LongType(), 2**63 - 1, "BIGINT", 2**63 - 1),
    (DateType(), date(1, 1, 1), "DATE", "0001-01-01"),
    (TimestampType(), datetime(1969, 12, 31, 23, 59, 59, 1), "TIMESTAMP_NTZ", "1969-12-31 23:59:59.000001"),
    (TimestamptzType(), datetime(2026, 1, 1, tzinfo=UTC), "TIMESTAMP", "2026-01-01 00:00:00+00:00"),
    (StringType(), "' OR 1=1 --", "STRING", "' OR 1=1 --"),
    (BinaryType(), b"\x00'", "BINARY", b"\x00'"),
    (DecimalType(10, 2), Decimal("-1.50"), "DECIMAL(10, 2)", "-1.50"),
    (UUIDType(), UUID(int=7), "STRING", "00000000-0000-0000-0000-000000000007"),
]


@pytest.mark.parametrize(("type_", "value", "sql_type", "parameter"), KEYS, ids=str)
def test_a_key_is_looked_up_by_parameters(type_: IcebergType, value: object, sql_type: str, parameter: object) -> None:
    select = Select(CLICKS, ("a`b",), key=(("the key", type_, value),))
    where = f"WHERE `the key` = CAST(:k0 AS {sql_type})"
    assert select.in_sql("lake") == f"SELECT `a``b` FROM `lake`.`features`.`clicks` {where}"
    assert select.parameters() == {"k0": parameter}


def test_a_compound_key() -> None:
    select = Select(CLICKS, key=(("a", LongType(), 1), ("b", StringType(), "x")))
    assert select.in_sql("lake").endswith("WHERE `a` = CAST(:k0 AS BIGINT) AND `b` = CAST(:k1 AS STRING)")


def test_literals_of_statements() -> None:
    assert literal("a'b\\c`d\"e") == "'a\\'b\\\\c`d\"e'"
