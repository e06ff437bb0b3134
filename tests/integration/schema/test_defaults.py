"""Defaults of columns: for the rows of statements that ask for them, and for no row that is there."""

import pytest

import keylake as kl
from integration.refusals import refused_in_sql
from integration.schema.evolving import Evolving

PLAIN = "id BIGINT, a INT DEFAULT 5, b STRING DEFAULT 'it''s', c DOUBLE, PRIMARY KEY (id)"
TYPES = {
    "BOOLEAN": "true", "INT": "-7", "BIGINT": "5000000000", "FLOAT": "1.5", "DOUBLE": "0.1", "STRING": "'x ''y'''",
    "DATE": "DATE'2026-01-02'", "TIMESTAMP": "TIMESTAMP'2026-01-02 03:04:05.678901'",
    "TIMESTAMP_NTZ": "TIMESTAMP_NTZ'2026-01-02 03:04:05.678901'", "DECIMAL(9, 2)": "12.30", "BINARY": "X'00FF'",
}  # fmt: skip


def test_a_default_is_used_where_a_statement_asks_for_it(lake: kl.Lake) -> None:
    table = Evolving(lake, PLAIN)
    table.run("INSERT INTO {t} VALUES (1, 10, 'x', 1), (2, DEFAULT, DEFAULT, DEFAULT)")
    table.run("INSERT INTO {t} (id, b, a) VALUES (3, 'z', DEFAULT)")
    assert table.rows() == [(1, 10, "x", 1.0), (2, 5, "it's", None), (3, 5, "z", None)]
    table.run("UPDATE {t} SET a = DEFAULT, c = 2 WHERE id = 1")
    assert table.rows("SELECT * FROM {t} WHERE id = 1") == [(1, 5, "x", 2.0)]
    table.same_after_compaction()


def test_a_partial_write_says_nothing_of_other_columns(lake: kl.Lake) -> None:
    """Neither INSERT nor UPDATE puts a default over a value, and a new key has no value of what is not written."""
    table = Evolving(lake, PLAIN)
    table.run("INSERT INTO {t} VALUES (1, 10, 'x', 1)", "INSERT INTO {t} (id, c) VALUES (1, 2), (2, 2)")
    table.table.update([{"id": 1, "c": 3.0}])
    assert table.rows() == [(1, 10, "x", 3.0), (2, None, None, 2.0)]


@pytest.mark.slow
def test_merge_inserts_rows_with_defaults(lake: kl.Lake) -> None:
    table = Evolving(
        lake, "id BIGINT, a INT DEFAULT 5, b STRING, c DOUBLE DEFAULT 1.5, d INT, PRIMARY KEY (id)",
        "'versions' = 'commit', 'column_group.g' = 'a, b'",
    )  # fmt: skip
    table.run("INSERT INTO {t} VALUES (1, 10, 'x', 1, 1)")
    merge = "MERGE INTO {t} t USING (SELECT id FROM range(1, 3)) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET d = 7 "
    table.run(merge + "WHEN NOT MATCHED THEN INSERT (id, d) VALUES (s.id, 8)")
    assert table.rows() == [(1, 10, "x", 1.0, 7), (2, 5, None, 1.5, 8)]
    table.run("DELETE FROM {t} WHERE id = 2", merge + "WHEN NOT MATCHED THEN INSERT (id, c) VALUES (s.id, DEFAULT)")
    assert table.rows("SELECT * FROM {t} WHERE id = 2") == [(2, 5, None, 1.5, None)]
    table.run("DELETE FROM {t}", merge + "WHEN NOT MATCHED THEN INSERT (id, b) VALUES (s.id, 'b')")
    assert table.rows("SELECT * FROM {t} WHERE id = 2") == [(2, 5, "b", 1.5, None)]


def test_rows_that_are_there_keep_what_they_have(lake: kl.Lake) -> None:
    table = Evolving(lake, "id BIGINT, a INT, PRIMARY KEY (id)")
    table.run("INSERT INTO {t} VALUES (1, 1)", "ALTER TABLE {t} ADD COLUMN c INT DEFAULT 6 COMMENT 'new' AFTER id")
    table.run("ALTER TABLE {t} ALTER COLUMN a SET DEFAULT 3 + 4", "INSERT INTO {t} VALUES (2, DEFAULT, DEFAULT)")
    assert table.rows() == [(1, None, 1), (2, 6, 7)]
    table.run("UPDATE {t} SET c = DEFAULT WHERE c IS NULL", "ALTER TABLE {t} ALTER COLUMN a DROP DEFAULT")
    table.run("ALTER TABLE {t} RENAME COLUMN c TO d", "ALTER TABLE {t} ALTER COLUMN d TYPE BIGINT")
    table.run("INSERT INTO {t} VALUES (3, DEFAULT, DEFAULT)")
    assert table.rows() == [(1, 6, 1), (2, 6, 7), (3, 6, None)]
    table.run(
        "ALTER TABLE {t} DROP COLUMN d", "ALTER TABLE {t} ADD COLUMN d INT", "INSERT INTO {t} VALUES (4, 1, DEFAULT)"
    )
    assert table.rows("SELECT d FROM {t} WHERE id = 4") == [(None,)]
    table.same_after_compaction()


def test_defaults_of_every_type(lake: kl.Lake) -> None:
    columns = ", ".join(f"c{at} {type_} DEFAULT {value}" for at, (type_, value) in enumerate(TYPES.items()))
    table = Evolving(lake, f"id BIGINT, {columns}, PRIMARY KEY (id)")
    table.run("INSERT INTO {t} VALUES (1" + ", DEFAULT" * len(TYPES) + ")")
    expected = ", ".join(f"CAST({value} AS {type_})" for type_, value in TYPES.items())
    assert table.rows() == table.rows(f"SELECT 1L, {expected}")
    assert table.table.spec.column_names == ("id", *(f"c{at}" for at in range(len(TYPES))))


def test_a_copy_has_the_defaults(lake: kl.Lake) -> None:
    table = Evolving(lake, PLAIN)
    ((shown,),) = table.rows("SHOW CREATE TABLE {t}")
    assert "a INT DEFAULT 5" in str(shown)
    described = [tuple(row)[:3] for row in table.rows("DESCRIBE TABLE EXTENDED {t}")]
    assert ("a", "int", "5") in described
    lake.spark.sql(str(shown).replace(table.name, table.name + "_shown")).collect()
    lake.spark.sql(
        f"CALL {lake.catalog}.system.create_table_like(table => '{table.name}_like', like => '{table.name}')"
    )
    for copy in ("_shown", "_like"):
        table.run("INSERT INTO {t}" + copy + " VALUES (2, DEFAULT, DEFAULT, DEFAULT)")
        assert table.rows("SELECT * FROM {t}" + copy) == [(2, 5, "it's", None)]
    table.run(
        f"CREATE OR REPLACE TABLE {{t}} ({PLAIN.replace('5', '6')}) USING keylake TBLPROPERTIES ('versions' = 'commit')"
    )
    table.run("INSERT INTO {t} VALUES (2, DEFAULT, DEFAULT, DEFAULT)")
    assert table.rows() == [(2, 6, "it's", None)]


REFUSED = {
    "ALTER COLUMN id SET DEFAULT 5": ("key column 'id'", "each row"),
    "ALTER COLUMN t SET DEFAULT 5": ("ordering column 't'", "each row"),
    "ALTER COLUMN a SET DEFAULT year(current_date())": ("default of column 'a'", "a constant"),
    "ADD COLUMN d DATE DEFAULT current_date()": ("default of column 'd'", "a constant"),
    "ADD COLUMN l ARRAY<INT> DEFAULT array(1)": ("default of column 'l'", "a constant"),
    "ADD COLUMN s.y INT DEFAULT 5": ("'s.y'", "only whole columns"),
}


def test_defaults_that_are_refused(lake: kl.Lake) -> None:
    columns = "id INT, t INT, a INT, s STRUCT<x: INT>, PRIMARY KEY (id)"
    table = Evolving(lake, columns, "'ordering' = 't'")
    shown = table.columns
    for statement, words in REFUSED.items():
        with refused_in_sql(lake, table.name, "DEFINITION", *words):
            table.run(f"ALTER TABLE {{t}} {statement}")
    for statement in (
        "ADD COLUMN d INT DEFAULT 'x'",
        "ADD COLUMN d INT DEFAULT a",
        "ADD COLUMN d INT DEFAULT (SELECT 1)",
    ):
        with pytest.raises(Exception, match="SQLSTATE"):
            table.run(f"ALTER TABLE {{t}} {statement}")
    assert table.columns == shown
    for column in ("id INT", "t INT"):
        with refused_in_sql(lake, "evolving.none", "DEFINITION", "has a default", "each row"):
            table.run(
                f"CREATE TABLE {lake.catalog}.evolving.none ({columns.replace(column, column + ' DEFAULT 1')}) "
                "USING keylake TBLPROPERTIES ('ordering' = 't')"
            )
    with refused_in_sql(lake, "evolving.none", "DEFINITION", "for keyed tables"):
        table.run(f"CREATE TABLE {lake.catalog}.evolving.none (id INT, a INT DEFAULT 5) USING iceberg")
