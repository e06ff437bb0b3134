"""Reducers of columns that were added: they are set before the first commit that could have written the column."""

import math
from decimal import Decimal

import numpy as np
import pytest

import keylake as kl
from integration.refusals import refused_in_sql
from integration.schema.evolving import Evolving

SET = "ALTER TABLE {t} SET TBLPROPERTIES "


def test_a_column_that_is_not_written_yet_gets_a_reducer(lake: kl.Lake) -> None:
    table = Evolving(lake, "id BIGINT, a INT, PRIMARY KEY (id)")
    table.run("INSERT INTO {t} VALUES (1, 1)")
    before = table.head
    table.run("ALTER TABLE {t} ADD COLUMNS (c INT, d INT)", SET + "('reduce.c' = 'LatestNotNull')")
    assert table.table.spec.column("c").reducer == kl.LatestNotNull()
    table.run("INSERT INTO {t} VALUES (1, 2, 3, 4)", "INSERT INTO {t} VALUES (1, NULL, NULL, NULL)")
    assert table.rows() == [(1, None, 3, None)]
    written = table.head
    table.run("ALTER TABLE {t} RENAME COLUMN c TO c2", "ALTER TABLE {t} ADD COLUMN e INT")
    table.run("INSERT INTO {t} (id, c2) VALUES (1, NULL)")
    assert table.rows() == [(1, None, 3, None, None)]
    assert table.rows(f"SELECT * FROM {{t}} VERSION AS OF {written}") == [(1, None, 3, None)]
    assert table.rows(f"SELECT * FROM {{t}} VERSION AS OF {before}") == [(1, 1)]
    assert "'reduce.c2' = 'LatestNotNull'" in str(table.rows("SHOW CREATE TABLE {t}"))
    table.same_after_compaction()


@pytest.mark.slow
def test_an_added_column_sums(lake: kl.Lake) -> None:
    """With a state of its own, which follows renames, and goes with the column."""
    table = Evolving(lake, "id BIGINT, a INT, PRIMARY KEY (id)", properties="'reduce.a' = 'Sum'")
    table.run("INSERT INTO {t} VALUES (1, 2147483647)", "ALTER TABLE {t} ADD COLUMN d DOUBLE")
    before = table.head
    table.run(SET + "('reduce.d' = 'Sum')", "INSERT INTO {t} VALUES (1, 1, 0.1), (1, 1, 0.2)")
    with refused_in_sql(lake, table.name, "BAD_ROWS", "column 'a'", "id=1", "widen"):
        table.rows()
    assert table.rows("SELECT id, d FROM {t}") == [(1, 0.30000000000000004)]
    table.run("ALTER TABLE {t} ALTER COLUMN a TYPE BIGINT", "ALTER TABLE {t} RENAME COLUMN d TO total")
    assert table.rows() == [(1, 2147483649, 0.30000000000000004)]
    table.run("INSERT INTO {t} VALUES (1, 1, 0.3)")
    assert table.rows() == [(1, 2147483650, 0.6)], "exact, and rounded once: step by step it is 0.6000000000000001"
    table.same_after_compaction()
    assert table.rows(f"SELECT * FROM {{t}} VERSION AS OF {before}") == [(1, 2147483647)]
    table.run("ALTER TABLE {t} DROP COLUMN total", "INSERT INTO {t} VALUES (1, -1)")
    assert table.rows() == [(1, 2147483649)]
    table.run("ALTER TABLE {t} ADD COLUMN total DOUBLE", SET + "('reduce.total' = 'Sum')")
    table.run("INSERT INTO {t} VALUES (1, 0, 0.7)")
    assert table.rows() == [(1, 2147483649, 0.7)]
    table.same_after_compaction()


# ------------------------------------------------------------------------------------------------------- accumulators


@pytest.mark.slow
def test_added_columns_become_accumulators(lake: kl.Lake) -> None:
    table = Evolving(lake, "id BIGINT, a INT, PRIMARY KEY (id)")
    table.run("INSERT INTO {t} VALUES (1, 1)", "ALTER TABLE {t} ADD COLUMNS (b BIGINT, c DOUBLE, d ARRAY<STRING>)")
    table.run(SET + "('reduce.b' = 'Sum', 'reduce.c' = 'Sum', 'reduce.d' = 'Collect(distinct, limit=2)')")
    assert table.table.spec.column("d").reducer == kl.Collect(distinct=True, limit=2)
    table.run(
        "INSERT INTO {t} VALUES (1, 2, 3, 0.1D, array('x', 'y'))", "INSERT INTO {t} (id, b, c) VALUES (1, 4, 0.2D)"
    )
    table.run("INSERT INTO {t} (id, d) VALUES (1, array('x', 'z', 'y'))")
    assert table.rows() == [(1, 2, 7, 0.1 + 0.2, ["x", "y"])]
    table.run(
        "ALTER TABLE {t} RENAME COLUMN b TO b2",
        "ALTER TABLE {t} DROP COLUMN a",
        "INSERT INTO {t} (id, b2) VALUES (1, 5)",
    )
    assert table.rows() == [(1, 12, 0.1 + 0.2, ["x", "y"])]
    shown = str(table.rows("SHOW CREATE TABLE {t}"))
    assert "'reduce.b2' = 'Sum'" in shown
    assert "'reduce.d' = 'Collect(distinct, limit=2)'" in shown
    table.same_after_compaction()
    table.run(
        "ALTER TABLE {t} DROP COLUMN b2", "ALTER TABLE {t} DROP COLUMN c", "INSERT INTO {t} VALUES (2, array('q'))"
    )
    assert table.rows() == [(1, ["x", "y"]), (2, ["q"])]
    table.run("ALTER TABLE {t} ADD COLUMN c DOUBLE", SET + "('reduce.c' = 'Sum')")
    table.run("INSERT INTO {t} (id, c) VALUES (1, 1.5D)", "INSERT INTO {t} (id, c) VALUES (1, 1.5D)")
    assert table.rows() == [(1, ["x", "y"], 3.0), (2, ["q"], None)]
    table.same_after_compaction()


def test_a_reducer_can_be_changed_until_something_is_written(lake: kl.Lake) -> None:
    grouped = "'versions' = 'commit', 'column_group.g' = 'a, b'"
    table = Evolving(lake, "id BIGINT, a BIGINT, b BIGINT, PRIMARY KEY (id)", grouped)
    table.run(SET + "('reduce.a' = 'Sum', 'reduce.b' = 'Max')", SET + "('reduce.a' = 'Latest')")
    table.run("INSERT INTO {t} VALUES (1, 5, 5)", "INSERT INTO {t} VALUES (1, 3, 3)")
    assert table.rows() == [(1, 3, 5)]
    table.same_after_compaction()


SUM_OF_A = "'versions' = 'commit', 'reduce.a' = 'Sum'"


@pytest.mark.parametrize(
    ("narrow", "wide", "each"),
    [
        ("INT", "BIGINT", 2_000_000_000),
        ("DECIMAL(4, 2)", "DECIMAL(12, 2)", Decimal("60.01")),
        ("FLOAT", "DOUBLE", 0.1),
        ("FLOAT", "DOUBLE", 3e38),
        ("ARRAY<INT>", "BIGINT", [2_000_000_000, 1]),
        ("ARRAY<FLOAT>", "DOUBLE", [0.1, 3e38]),
    ],
)
def test_a_wider_type_shows_the_exact_sum(lake: kl.Lake, narrow: str, wide: str, each: object) -> None:
    """Also of rows that were combined while the column could not hold their sum, or had to round it."""
    table = Evolving(lake, f"id BIGINT, a {narrow}, PRIMARY KEY (id)", SUM_OF_A.replace("Sum", sum_of(narrow)))
    for _ in range(3):
        table.run(f"INSERT INTO {{t}} VALUES (1, CAST({literal(each)} AS {narrow}))")
    table.table.compact("full")
    table.run(f"ALTER TABLE {{t}} ALTER COLUMN a{'.element' if narrow.startswith('ARRAY') else ''} TYPE {wide}")
    assert table.rows() == [(1, tripled(each, wide))]
    table.same_after_compaction()
    table.run("INSERT INTO {t} (id) VALUES (1)", "INSERT INTO {t} VALUES (2, NULL)")
    assert table.rows() == [(1, tripled(each, wide)), (2, None)]


def sum_of(column: str) -> str:
    return "ArraySum" if column.startswith("ARRAY") else "Sum"


def literal(value: object) -> str:
    return f"array({', '.join(map(literal, value))})" if isinstance(value, list) else str(value)


def tripled(value: object, of: str) -> object:
    if isinstance(value, list):
        return [tripled(each, of) for each in value]
    if of == "DOUBLE":
        as_float = float(np.float32(value))
        return math.fsum([as_float] * 3)
    assert isinstance(value, int | Decimal)
    return value * 3


def test_a_sum_that_overflows_says_so_until_its_type_is_wider(lake: kl.Lake) -> None:
    table = Evolving(lake, "id BIGINT, a INT, PRIMARY KEY (id)", SUM_OF_A)
    table.run("INSERT INTO {t} VALUES (7, 2000000000)", "INSERT INTO {t} VALUES (7, 2000000000)")
    for _ in range(2):
        with refused_in_sql(lake, table.name, "BAD_ROWS", "'a'", "id=7", "widen"):
            table.rows()
        table.table.compact("full")
    table.run("ALTER TABLE {t} ALTER COLUMN a TYPE BIGINT")
    assert table.rows() == [(7, 4_000_000_000)]


def test_columns_of_experiments_do_not_accumulate(lake: kl.Lake) -> None:
    table = Evolving(lake, "id BIGINT, a BIGINT, b DOUBLE, PRIMARY KEY (id)", SUM_OF_A)
    table.run("INSERT INTO {t} VALUES (1, 1, 0.5D)", "INSERT INTO {t} VALUES (1, 2, 0.5D)")
    experiment = table.table.experiment("other", add={"score": kl.Float64}, drop=["b"])
    with refused_in_sql(lake, table.name, "DEFINITION", "'score'", "experiment 'other'", "Latest", "add a column"):
        table.run(SET + "('reduce.score' = 'Sum')")
    experiment.update([{"id": 1, "score": 0.5}])
    experiment.update([{"id": 1, "score": 0.25}])
    assert experiment.read().collect() == [(1, 3, 0.25)]
    without = table.table.experiment("bare", add={"rank": kl.Int64}, drop=["a"])
    without.update([{"id": 1, "rank": 4}])
    assert without.read().collect() == [(1, 0.5, 4)]
    experiment.promote()
    table.run("INSERT INTO {t} (id, a) VALUES (1, 3)")
    assert table.rows("SELECT id, a, b, score FROM {t}") == [(1, 6, 0.5, 0.25)]
    table.same_after_compaction("SELECT id, a, b, score FROM {t}")


REFUSED = {
    "('reduce.a' = 'LatestNotNull')": ("DEFINITION", "column 'a'", "add a column"),
    "('reduce.c' = 'Most')": ("DEFINITION", "Most", "LatestNotNull", "Sum", "BitmapOr"),
    "('reduce.c' = 'BoolOr')": ("DEFINITION", "column 'c'", "BoolOr", "of type int", "must be boolean"),
    "('reduce.c' = 'Sum(limit=3)')": ("DEFINITION", "column 'c'", "'limit'", "Sum does not have"),
    "('reduce.c' = 'Collect(limit=0)')": ("DEFINITION", "column 'c'", "limit of Collect is 0", "from 1 to 2147483647"),
    "('reduce.z' = 'LatestNotNull')": ("SCHEMA_MISMATCH", "'z'", "[a, c]"),
    "('reduce.id' = 'LatestNotNull')": ("SCHEMA_MISMATCH", "'id'"),
    "('reduce.c' = 'LatestNotNull', 'team' = 'x')": ("UNSUPPORTED", "two statements"),
    "('ordering' = 'a')": ("UNSUPPORTED", "'ordering'", "copy the rows"),
    "('column_group.g' = 'a, c')": ("UNSUPPORTED", "'column_group.g'", "copy the rows"),
}


def test_changes_of_reducers_that_are_refused(lake: kl.Lake) -> None:
    table = Evolving(lake, "id BIGINT, a INT, PRIMARY KEY (id)")
    table.run("INSERT INTO {t} VALUES (1, 1)", "ALTER TABLE {t} ADD COLUMN c INT")
    for properties, (kind, *words) in REFUSED.items():
        with refused_in_sql(lake, table.name, kind, *words):
            table.run(SET + properties)
    with refused_in_sql(lake, table.name, "UNSUPPORTED", "'reduce.a'"):
        table.run("ALTER TABLE {t} UNSET TBLPROPERTIES ('reduce.a')")
    table.run("INSERT INTO {t} (id, c) VALUES (1, 1)")
    with refused_in_sql(lake, table.name, "DEFINITION", "column 'c'", "can have values already"):
        table.run(SET + "('reduce.c' = 'LatestNotNull')")


@pytest.mark.parametrize("comment", ["", "it''s `a` \"b\""])
def test_comments_are_shown_where_there_are_some(lake: kl.Lake, comment: str) -> None:
    table = Evolving(lake, f"id BIGINT, a INT COMMENT '{comment}', PRIMARY KEY (id)", rest=f"COMMENT '{comment}'")
    table.run(f"ALTER TABLE {{t}} ADD COLUMN b INT COMMENT '{comment}'", "ALTER TABLE {t} ADD COLUMN c INT COMMENT 'x'")
    table.run(f"ALTER TABLE {{t}} ALTER COLUMN c COMMENT '{comment}'")
    ((shown,),) = table.rows("SHOW CREATE TABLE {t}")
    assert str(shown).count("COMMENT '") == (4 if comment else 0)
    lake.spark.sql(str(shown).replace(table.name, table.name + "_copy")).collect()
    ((again,),) = lake.spark.sql(f"SHOW CREATE TABLE {table.sql}_copy").collect()
    assert again == str(shown).replace(table.name, table.name + "_copy")
