"""UPDATE, DELETE and MERGE of principals who see a part of the table that they change."""

import random
from collections import Counter

import pytest
from pyspark.errors import PySparkException

import keylake as kl
from integration.access.guarded_server import Guarded, make_orders
from integration.access.orders import REGIONS, ROWS, row
from integration.random_runs import of_every, seeds

TABLES = ("orders", "dated")
COLUMNS = ("id", "region", "amount", "email", "secret")
ALL = "SELECT id, region, amount, email, secret FROM lake.shop.{} ORDER BY id"


Rows = dict[str, list[tuple[object, ...]]]


@pytest.fixture
def rows(guarded: Guarded) -> Rows:
    """The rows of both tables, as they are before each test."""
    given = ((1, "north", 1.0, "ab@x", "s1"), (2, "south", 2.0, "cd@x", "s2"), (3, "north", 3.0, "ef@x", "s3"))
    for name in TABLES:
        guarded.of("owner").sql(f"DELETE FROM lake.shop.{name}")
        guarded.of("owner").sql(inserted(name, [dict(zip(COLUMNS, each, strict=True)) for each in given]))
    return {name: everything(guarded, name) for name in TABLES}


def everything(guarded: Guarded, table: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in guarded.of("owner").spark.sql(ALL.format(table)).collect()]


@pytest.mark.slow
@of_every("table", TABLES, today=1)
def test_a_statement_changes_the_rows_that_are_seen(guarded: Guarded, rows: Rows, table: str) -> None:
    fay = guarded.of("fay")
    (first, second, third) = rows[table]
    fay.sql(f"UPDATE lake.shop.{table} SET amount = amount + 10")
    assert everything(guarded, table) == [with_amount(first, 11.0), second, with_amount(third, 13.0)]
    fay.sql(f"DELETE FROM lake.shop.{table} WHERE id >= 2")
    assert everything(guarded, table) == [with_amount(first, 11.0), second]
    fay.sql(f"""
        MERGE INTO lake.shop.{table} t USING (SELECT * FROM VALUES (1), (2) AS v(id)) s ON t.id = s.id
        WHEN MATCHED THEN UPDATE SET amount = 100.0D
    """)
    assert everything(guarded, table) == [with_amount(first, 100.0), second]
    fay.sql(f"""
        MERGE INTO lake.shop.{table} t USING (SELECT * FROM VALUES (7) AS v(id)) s ON t.id = s.id
        WHEN NOT MATCHED BY SOURCE THEN DELETE
    """)
    assert everything(guarded, table) == [second]


def with_amount(row: tuple[object, ...], amount: float) -> tuple[object, ...]:
    return (*row[:2], amount, *row[3:])


@of_every("table", TABLES, today=1)
def test_a_writer_of_columns_updates_those_columns(guarded: Guarded, rows: Rows, table: str) -> None:
    gus = guarded.of("gus")
    gus.sql(f"UPDATE lake.shop.{table} SET amount = 5.0D WHERE region = 'north' AND id < 3")
    gus.sql(f"""
        MERGE INTO lake.shop.{table} t USING (SELECT * FROM VALUES (3, 6.0D), (2, 6.0D) AS v(id, amount)) s
        ON t.id = s.id WHEN MATCHED THEN UPDATE SET amount = s.amount
    """)
    first, second, third = rows[table]
    changed = [with_amount(first, 5.0), second, with_amount(third, 6.0)]
    assert everything(guarded, table) == changed
    for statement in (
        f"UPDATE lake.shop.{table} SET region = 'north'",
        f"UPDATE lake.shop.{table} SET amount = 1.0D, secret = 'x'",
        f"DELETE FROM lake.shop.{table} WHERE id = 1",
        f"MERGE INTO lake.shop.{table} t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
        f"""MERGE INTO lake.shop.{table} t USING (SELECT * FROM VALUES (9) AS v(id)) s ON t.id = s.id
            WHEN NOT MATCHED THEN INSERT (id, region) VALUES (s.id, 'north')""",
    ):
        with pytest.raises(kl.AccessDenied, match="Gus may not write"):
            gus.sql(statement)
    assert everything(guarded, table) == changed


ATTACKS = {
    "hidden condition": ("UPDATE {0} SET amount = 0.0D WHERE secret = 's2'", "may not read column 'secret'"),
    "hidden value": ("UPDATE {0} SET region = secret", "may not read column 'secret'"),
    "hidden key of a merge": (
        "MERGE INTO {0} t USING (SELECT * FROM VALUES ('s1') AS v(k)) s ON t.secret = s.k WHEN MATCHED THEN DELETE",
        "may not read column 'secret'",
    ),
    "hidden in a subquery": (
        "DELETE FROM {0} WHERE id IN (SELECT u.id FROM {0} u WHERE u.secret LIKE 's%')",
        "may not read column 'secret'",
    ),
    "masked value": ("UPDATE {0} SET region = email", "may not use column 'email'"),
    "masked by itself": ("UPDATE {0} SET email = concat(email, '!')", "may not use column 'email'"),
    "masked condition": ("DELETE FROM {0} WHERE email = 'ab@x'", "may not use column 'email'"),
    "masked in a source": (
        "MERGE INTO {0} t USING (SELECT * FROM {0}) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET region = s.email",
        "may not use column 'email'",
    ),
    "masked in an insert": (
        "INSERT INTO {0} (id, email) SELECT id, email FROM {0}",
        r"may not use column 'email'|lacks the ordering column",
    ),
    "states of versions": ("DELETE FROM {0} WHERE _merge_info.columns.secret IS NULL AND id = -1", None),
    "error on a hidden row": ("UPDATE {0} SET amount = 1 / (id - 2) WHERE id <> 5", None),
    "error in a condition": ("DELETE FROM {0} WHERE 1 / (id - 2) > 5", None),
    "hidden row by its key": ("UPDATE {0} SET amount = 9.0D WHERE id = 2", None),
    "everything": ("INSERT OVERWRITE {0} SELECT * FROM {0}", "may not"),
}


@of_every("table", TABLES, today=1)
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_statement_tells_nothing_of_what_is_hidden(guarded: Guarded, rows: Rows, table: str, attack: str) -> None:
    statement, refusal = ATTACKS[attack]
    fay = guarded.of("fay")
    if refusal is not None:
        with pytest.raises((kl.KeylakeError, PySparkException), match=refusal):
            fay.sql(statement.format(f"lake.shop.{table}"))
        assert everything(guarded, table) == rows[table]
    else:
        fay.sql(statement.format(f"lake.shop.{table}"))
        assert [each for each in everything(guarded, table) if each[0] == 2] == [rows[table][1]]


@of_every("table", TABLES, today=1)
def test_plans_and_histories_have_no_rows_that_are_hidden(guarded: Guarded, rows: Rows, table: str) -> None:
    fay = guarded.of("fay")
    for words in ("EXPLAIN", "EXPLAIN EXTENDED", "EXPLAIN COST", "EXPLAIN FORMATTED"):
        (text,) = fay.spark.sql(f"{words} UPDATE lake.shop.{table} SET amount = 4.0D WHERE id > 0").collect()
        assert not any(each in text[0] for each in ("s1", "s2", "cd@x", "ab@x", "south"))
    assert everything(guarded, table) == rows[table]
    fay.sql(f"UPDATE lake.shop.{table} SET amount = 4.0D WHERE id > 0")
    newest = fay.table(f"shop.{table}").history()[0]
    assert newest.writer == "fay"
    assert newest.rows == 2


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("seed", seeds(1, 4))
def test_random_statements_change_the_part_of_their_rule(guarded: Guarded, table: str, seed: int) -> None:
    """The same as statements of the owner that say the condition of the rule themselves."""
    drawn = random.Random(seed)
    owner, fay = guarded.of("owner"), guarded.of("fay")
    owner.sql("DROP TABLE IF EXISTS lake.shop.twin_of_part")
    make_orders(owner, "twin_of_part", ordering="at" if table == "dated" else None)
    owner.sql(f"DELETE FROM lake.shop.{table}")
    for name in (table, "twin_of_part"):
        again = random.Random(seed)
        given = [row(again, key) for key in again.sample(range(ROWS), 150)]
        owner.sql(inserted(name, given, has_time=table == "dated"))
    for _ in range(12):
        said, part = changed(drawn)
        fay.sql(said.format(f"lake.shop.{table}"))
        owner.sql(part.format("lake.shop.twin_of_part"))
        assert Counter(everything(guarded, table)) == Counter(everything(guarded, "twin_of_part")), said


def inserted(name: str, rows: list[dict[str, object]], has_time: bool | None = None) -> str:
    """An INSERT, which says its time where that is the version of rows."""
    values = ", ".join(
        f"({each['id']}, {text(each['region'])}, {each['amount']}D, {text(each['email'])}, {text(each['secret'])})"
        for each in rows
    )
    at, now = (", at", ", now()") if name == "dated" or has_time else ("", "")
    names = ", ".join(COLUMNS)
    return f"INSERT INTO lake.shop.{name} ({names}{at}) SELECT *{now} FROM VALUES {values}"


def text(value: object) -> str:
    return "NULL" if value is None else f"'{value}'"


CONDITIONS = (
    "t.id < {n}",
    "t.amount > {m}",
    "t.id % 3 = {n} % 3",
    "100 / nullif(t.id - {n}, 0) > 1",
    "t.region = 'north' OR t.id > {m}",
    "t.region IS NULL OR t.amount < {m}",
)


def changed(drawn: random.Random) -> tuple[str, str]:
    """A statement of the principal, and that of the owner."""
    numbers = {"n": drawn.randrange(ROWS), "m": drawn.randrange(ROWS)}
    where = drawn.choice((" AND ", " OR ")).join(f"({each.format(**numbers)})" for each in drawn.sample(CONDITIONS, 2))
    part = f"t.region = 'north' AND ({where})"
    to, keys = drawn.choice(REGIONS), drawn.sample(range(ROWS), 40)
    values = ", ".join(f"({key}, {key}.5D)" for key in keys)
    source = f"(SELECT * FROM VALUES {values} AS v(id, amount)) s"
    matched = (
        f"MERGE INTO {{0}} t USING {source} ON {{on}} WHEN MATCHED AND {{where}} THEN UPDATE SET amount = s.amount"
    )
    statement = drawn.choice(
        (
            "UPDATE {0} t SET amount = t.amount + t.id WHERE {where}",
            f"UPDATE {{0}} t SET region = {text(to)} WHERE {{where}}",
            "DELETE FROM {0} t WHERE {where} AND t.id % 4 = 0",
            matched,
            f"{matched} WHEN NOT MATCHED THEN INSERT (id, amount) VALUES (s.id, s.amount)",
        )
    )
    said = statement.replace("{where}", f"({where})").replace("{on}", "t.id = s.id")
    of_part = statement.replace("{where}", f"({part})").replace("{on}", "t.id = s.id AND t.region = 'north'")
    return said, of_part
