"""Pure parts of the source of MariaDB and MySQL: statements, types, places, offsets and images of rows."""

import re
from decimal import Decimal

import pytest
from pyiceberg.types import BinaryType, BooleanType, DecimalType, IntegerType, LongType, StringType

from keylake_pipelines.mysql.catalog import CatalogColumn
from keylake_pipelines.mysql.differences import Outcome
from keylake_pipelines.mysql.keys import BEGIN, KeyColumn, Offsets
from keylake_pipelines.mysql.known import KnownTables, Selection
from keylake_pipelines.mysql.places import file_and_byte, place_of, version_of
from keylake_pipelines.mysql.statements import (
    Create,
    statement_of,
)
from keylake_pipelines.mysql.values.forms import form_of
from keylake_pipelines.mysql.values.literals import FROM_TEXT
from keylake_pipelines.source.tables import (
    ColumnAdded,
    ColumnDropped,
    ColumnRenamed,
    KeyChanged,
    SourceColumn,
    SourceTable,
    TableCreated,
    TableDropped,
    TableRefused,
    TableRenamed,
    TableTruncated,
)

T = ("shop", "t")


def test_a_table_of_a_query() -> None:
    """A log of rows has its columns alone; a session that logs statements leaves out what cannot be known."""
    tables = KnownTables(Selection((re.compile(".*"),)), {})

    def refused(text: str) -> str:
        statement = statement_of(text, "shop")
        assert isinstance(statement, Create)
        [change] = tables.follow(statement).changes
        assert isinstance(change, TableCreated)
        return change.schema.refused

    parts = "PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (3))"
    assert refused(f"CREATE TABLE t (a INT PRIMARY KEY) {parts}") == ""
    assert "whose binlog_format is not ROW" in refused("CREATE TABLE u (PRIMARY KEY (a)) SELECT a FROM t")


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("bigint(20) unsigned", DecimalType(20, 0)),
        ("int(10) unsigned", LongType()),
        ("mediumint(8) unsigned", IntegerType()),
        ("bit(1)", BooleanType()),
        ("bit(9)", BinaryType()),
        ("decimal(38,3)", DecimalType(38, 3)),
        ("decimal(65,30)", StringType()),
        ("set('a','b')", StringType()),
        ("varchar(9) character set binary", BinaryType()),
        ("time(6)", LongType()),
    ],
)
def test_types(definition: str, expected: object) -> None:
    form = form_of(definition)
    assert form is not None
    assert form.type == expected


def test_an_unknown_type_has_no_form() -> None:
    assert form_of("uuid") is None


def test_places_and_versions_grow() -> None:
    place = place_of("log.000012", 4711)
    assert file_and_byte(place, "log.000999") == ("log.000012", 4711)
    assert place < version_of(place, 0) < version_of(place, 0) + 1 < version_of(place, 1)
    assert place_of("log.000012", 2**32 - 1) < place_of("log.000013", 4)


def test_offsets_of_keys_grow_and_lead_back() -> None:
    def key(name: str, definition: str) -> KeyColumn:
        form = form_of(definition)
        assert form is not None
        return KeyColumn(name, form, definition)

    numbers = Offsets([key("id", "bigint(20) unsigned")])
    assert numbers.first_value(numbers.after(BEGIN, "18446744073709551614")) == (18446744073709551614, None)
    several = Offsets([key("id", "int(11)"), key("no", "int(11)")])
    first = several.after(BEGIN, "7")
    second = several.after(first, "7")
    assert first < second < several.after(second, "8")
    assert several.first_value(second) == (7, None)
    days = Offsets([key("day", "datetime(6)")])
    assert days.first_value(days.after(BEGIN, "2026-03-01 10:20:30.5")) == ("2026-03-01 10:20:00", None)
    texts = Offsets([key("name", "varchar(9)")])
    assert texts.first_value(texts.after(BEGIN, "12345")) == (None, 12345)
    prices = Offsets([key("price", "decimal(9,2)")])
    assert prices.first_value(prices.after(BEGIN, "-1.50")) == (-2, None)


@pytest.mark.parametrize(
    ("form", "text", "expected"),
    [
        ("time", "-00:00:01.5", "-1500000"),
        ("date", "0000-00-00", "null"),
        ("datetime", "2026-00-01 00:00:00", "null"),
        ("timestamp", "2026-01-01 00:00:00.120", '"2026-01-01T00:00:00.120Z"'),
        ("exact", "0012", '"12"'),
        ("boolean", b"\0", "false"),
    ],
)
def test_literals_of_mysql(form: str, text: str | bytes, expected: str) -> None:
    assert FROM_TEXT[form](text) == expected


def known(**tables: str) -> KnownTables:
    import re

    catalog = {
        ("shop", name): (tuple(CatalogColumn(each, "int(11)", "") for each in columns.split()), ("id",), "")
        for name, columns in tables.items()
    }
    return KnownTables(Selection((re.compile(r"shop\..*"),)), catalog)


def followed(tables: KnownTables, *statements: str) -> list[object]:
    found: list[object] = []
    for text in statements:
        statement = statement_of(text, "shop")
        assert statement is not None
        outcome = tables.follow(statement)
        found += [*outcome.changes, *(("again", name) for name in sorted(outcome.again))]
    return found


def test_a_ghost_takes_the_place_of_its_table_with_its_changes() -> None:
    tables = known(t="id a b")
    table = SourceTable(T)
    assert (
        followed(tables, "CREATE TABLE _t_gho LIKE t", "ALTER TABLE _t_gho ADD c INT, RENAME COLUMN a TO x, DROP b")
        == []
    )
    assert not tables.takes(("shop", "_t_gho"))
    assert followed(tables, "RENAME TABLE t TO _t_del, _t_gho TO t", "DROP TABLE _t_del") == [
        ColumnAdded(table, SourceColumn("c", IntegerType())),
        ColumnRenamed(table, "a", "x"),
        ColumnDropped(table, "b"),
        ("again", T),
    ]
    schema = tables.schema(T)
    assert schema is not None
    assert [column.name for column in schema.columns] == ["id", "x", "c"]


def test_a_table_that_only_looks_like_a_ghost_is_a_table() -> None:
    assert known(_t_old="id").takes(("shop", "_t_old"))
    assert not known(_t_old="id", t="id").takes(("shop", "_t_old"))


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE t DROP PARTITION p1",
        "ALTER TABLE shop.t WAIT 5 TRUNCATE PARTITION p1, p2",
        "ALTER TABLE other EXCHANGE PARTITION p WITH TABLE t",
        "ALTER TABLE t CONVERT TABLE other TO PARTITION p VALUES LESS THAN (3)",
        "ALTER TABLE t CONVERT TO CHARACTER SET latin1",
        "ALTER TABLE t ADD INDEX (a), IMPORT TABLESPACE",
        "ALTER TABLE t PERFORM MAGIC (1, 2)",
        "TRANSMUTE TABLE `shop`.`t` INTO gold",
    ],
)
def test_rows_that_a_statement_may_have_changed_are_read_once_more(text: str) -> None:
    tables = known(t="id a", other="id a")
    statement = statement_of(text, "shop")
    assert statement is not None
    assert T in tables.follow(statement).reread


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE t ADD INDEX (a), ADD CONSTRAINT c CHECK (a > 0), COMMENT = 'x', ENGINE = InnoDB",
        "ALTER ONLINE TABLE t ALTER COLUMN a SET DEFAULT 4, ALGORITHM = INPLACE, LOCK = NONE",
        "ALTER TABLE t ADD PARTITION (PARTITION p VALUES LESS THAN (9)), AUTO_INCREMENT 7",
        "ALTER TABLE t REORGANIZE PARTITION p INTO (PARTITION q VALUES LESS THAN (9))",
        "ALTER TABLE t PARTITION BY HASH (id) PARTITIONS 4",
        "ALTER TABLE t RENAME INDEX a TO b, DROP FOREIGN KEY f, ENABLE KEYS",
        "CREATE INDEX i ON t (a)",
        "ANALYZE TABLE t",
    ],
)
def test_statements_that_leave_rows_and_columns_as_they_are(text: str) -> None:
    tables = known(t="id a", other="id a")
    statement = statement_of(text, "shop")
    outcome = Outcome() if statement is None else tables.follow(statement)
    assert (outcome.changes, outcome.again, outcome.reread) == ([], set(), set())


@pytest.mark.parametrize(
    ("text", "names", "again"),
    [
        ("ALTER TABLE t RENAME COLUMN a TO b, RENAME COLUMN b TO a", "id a b c", True),
        ("ALTER TABLE t CHANGE a b INT, CHANGE b c INT, CHANGE c a INT", "id a b c", True),
        ("ALTER TABLE t RENAME COLUMN a TO b, RENAME COLUMN b TO d", "id b d c", False),
        ("ALTER TABLE t RENAME COLUMN b TO a, DROP a", "id a c", False),
        ("ALTER TABLE t ADD a INT, DROP a", "id b c a", True),
        ("ALTER TABLE t RENAME COLUMN a TO z, ADD a INT", "id z b c a", False),
    ],
)
def test_names_of_a_statement_are_those_of_before_it(text: str, names: str, again: bool) -> None:
    tables = known(t="id a b c")
    assert (("again", T) in followed(tables, text)) == again
    schema = tables.schema(T)
    assert schema is not None
    assert " ".join(column.name for column in schema.columns) == names


def test_columns_that_swap_names_with_the_key() -> None:
    changes = followed(known(t="id a"), "ALTER TABLE t CHANGE id a INT, CHANGE a id INT")
    assert changes == [KeyChanged(SourceTable(T), ("a",)), ("again", T)]


def test_columns_of_a_period_are_left_out() -> None:
    tables = known(t="id a")
    assert tables.period(T, ["id", "a", "row_start", "row_end"], ["id", "row_end"]) == ("row_start", "row_end")
    assert tables.period(T, ["id", "a", "row_start", "row_end"], ["id"]) == ()
    assert known(t="id row_end").period(T, ["id", "row_start", "row_end"], ["id", "row_end"]) == ()
    [created, refused] = followed(
        tables,
        "CREATE TABLE u (id INT PRIMARY KEY, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START, e TIMESTAMP(6) GENERATED"
        " ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (s, e)) WITH SYSTEM VERSIONING",
        "ALTER TABLE t ADD s BIGINT UNSIGNED AS ROW START, ADD e BIGINT UNSIGNED AS ROW END",
    )
    assert isinstance(created, TableCreated)
    assert [column.name for column in created.schema.columns] == ["id"]
    assert tables.period(("shop", "u"), ["id", "s", "e"], ["id", "e"]) == ("s", "e")
    assert isinstance(refused, TableRefused)


@pytest.mark.parametrize(
    "definition", ["INET6", "UUID", "BLOB COMPRESSED", "VARCHAR(9) COMPRESSED CHARACTER SET utf8mb3"]
)
def test_a_column_that_cannot_be_read_refuses_its_table(definition: str) -> None:
    tables = known(t="id a")
    [change] = followed(tables, f"ALTER TABLE t ADD b {definition}")
    assert isinstance(change, TableRefused)
    assert not tables.watches(T)
    [created] = followed(tables, f"CREATE TABLE u (id INT PRIMARY KEY, b {definition})")
    assert isinstance(created, TableCreated)
    assert created.schema.refused
    followed(tables, "DROP TABLE u", "CREATE TABLE u (id INT PRIMARY KEY)")
    assert tables.takes(("shop", "u"))


def test_words_around_a_statement() -> None:
    tables = known(t="id a")
    assert followed(tables, "ALTER TABLE t NOWAIT RENAME COLUMN a TO b") == [ColumnRenamed(SourceTable(T), "a", "b")]
    assert followed(tables, "SET STATEMENT x = 1, y = 'FOR' FOR TRUNCATE TABLE t") == [TableTruncated(SourceTable(T))]
    assert followed(tables, "DROP TABLE IF EXISTS t WAIT 10") == [TableDropped(SourceTable(T))]


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE t DROP PRIMARY KEY, ADD CONSTRAINT p PRIMARY KEY USING BTREE (a)",
        "ALTER TABLE t ADD PRIMARY KEY (a)",
    ],
)
def test_statements_that_give_another_key(text: str) -> None:
    assert followed(known(t="id a"), text) == [KeyChanged(SourceTable(T), ("a",)), ("again", T)]


def test_a_key_that_no_statement_said_is_found_before_rows() -> None:
    tables = known(t="id a")
    columns = (SourceColumn("id", IntegerType()), SourceColumn("a", IntegerType()))
    assert tables.observe(T, columns, ("id",)) == ()
    assert tables.observe(T, columns, ("a",)) == (KeyChanged(SourceTable(T), ("a",)),)


def test_a_renamed_table_keeps_its_columns() -> None:
    tables = known(t="id a")
    assert followed(tables, "ALTER TABLE t RENAME TO u") == [TableRenamed(SourceTable(T), SourceTable(("shop", "u")))]


def test_what_no_statement_said_is_found_before_rows() -> None:
    tables = known(t="id a")
    columns = (SourceColumn("id", IntegerType()), SourceColumn("b", LongType()))
    assert tables.observe(T, columns[:1], ("id",)) == (), "the catalog was ahead of the log"
    assert tables.observe(T, columns, ("id",)) == (ColumnAdded(SourceTable(T), columns[1], "id"),)


def test_decimals_of_keys_are_compared_as_numbers() -> None:
    form = form_of("decimal(9,2)")
    assert form is not None
    assert KeyColumn("p", form, "decimal(9,2)").value("1.50") == Decimal("1.50")
