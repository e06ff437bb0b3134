"""Reducers of columns that were added: they are set before the first commit that could have written the column."""

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


def test_a_sum_of_floats_stays_one(lake: kl.Lake) -> None:
    table = Evolving(lake, "id BIGINT, f FLOAT, PRIMARY KEY (id)", properties="'reduce.f' = 'Sum'")
    with refused_in_sql(lake, table.name, "DEFINITION", "'f'", "float", "double", "add a column"):
        table.run("ALTER TABLE {t} ALTER COLUMN f TYPE DOUBLE")


REFUSED = {
    "('reduce.a' = 'LatestNotNull')": ("DEFINITION", "column 'a'", "add a column"),
    "('reduce.c' = 'Most')": ("DEFINITION", "Most", "LatestNotNull"),
    "('reduce.z' = 'LatestNotNull')": ("SCHEMA_MISMATCH", "'z'", "[a, c]"),
    "('reduce.id' = 'LatestNotNull')": ("SCHEMA_MISMATCH", "'id'"),
    "('reduce.c' = 'LatestNotNull', 'team' = 'x')": ("UNSUPPORTED", "two statements"),
    "('ordering' = 'a')": ("UNSUPPORTED", "'ordering'", "copy the rows"),
    "('column_group.g' = 'a, c')": ("UNSUPPORTED", "'column_group.g'", "copy the rows"),
}


def test_what_is_refused(lake: kl.Lake) -> None:
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
