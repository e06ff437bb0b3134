"""Columns that are added, dropped, renamed, widened and moved in SQL, under rows that are there and rows that come."""

from decimal import Decimal

import pytest

import keylake as kl
from integration.refusals import refused_in_sql
from integration.schema.evolving import Evolving

PLAIN = "id BIGINT, a BIGINT, b STRING, PRIMARY KEY (id)"


@pytest.mark.slow
def test_an_added_column_is_null_until_it_is_written(lake: kl.Lake) -> None:
    table = Evolving(lake, PLAIN)
    table.run("INSERT INTO {t} VALUES (1, 10, 'x'), (2, 20, 'y')")
    before = table.head
    table.run("ALTER TABLE {t} ADD COLUMNS (c STRING COMMENT 'new' AFTER a, d DOUBLE FIRST, e DATE)")
    assert table.columns == ["d", "id", "a", "c", "b", "e"]
    assert table.table.spec.column("c").doc == "new"
    assert table.rows() == [(None, 1, 10, None, "x", None), (None, 2, 20, None, "y", None)]
    assert table.rows("SELECT c FROM {t}") == [(None,), (None,)]
    assert table.rows("SELECT count(*), count(c) FROM {t} WHERE c IS NULL") == [(2, 0)]
    table.run("INSERT INTO {t} (id, c) VALUES (2, 'new'), (3, 'only')", "INSERT INTO {t} (id, a) VALUES (2, 21)")
    after = [("new", 2, 21, "y"), ("only", 3, None, None), (None, 1, 10, "x")]
    assert table.rows("SELECT c, id, a, b FROM {t}") == after
    assert table.rows("SELECT id FROM {t} WHERE c = 'new'") == [(2,)]
    assert table.rows("SELECT id FROM {t} WHERE c IS NULL") == [(1,)]
    table.same_after_compaction(
        "SELECT c, id, a, b FROM {t}", "SELECT id FROM {t} WHERE c >= 'a'", "SELECT e, d FROM {t}"
    )
    assert table.rows(f"SELECT * FROM {{t}} VERSION AS OF {before}") == [(1, 10, "x"), (2, 20, "y")]


def test_files_from_before_an_added_column_are_not_opened_for_it(lake: kl.Lake) -> None:
    table = Evolving(lake, PLAIN, rest="CLUSTERED BY (id) INTO 1 BUCKETS")
    table.run("INSERT INTO {t} VALUES (1, 10, 'x'), (2, 20, 'y')")
    table.run("INSERT INTO {t} (id, a) VALUES (1, 11)", "ALTER TABLE {t} ADD COLUMN c INT")
    plan = lake.spark.sql(f"EXPLAIN SELECT id FROM {table.sql} WHERE c = 1").collect()[0][0]
    assert "files: 0" in plan, plan


def test_a_renamed_column_keeps_values_and_versions(lake: kl.Lake) -> None:
    table = Evolving(
        lake,
        "id BIGINT, t BIGINT, a BIGINT, b STRING, c STRING, d INT, PRIMARY KEY (id)",
        "'ordering' = 't', 'column_group.g' = 'b, c', 'reduce.d' = 'LatestNotNull'",
    )
    table.run("INSERT INTO {t} VALUES (1, 100, 10, 'x', 'y', 5)", "INSERT INTO {t} VALUES (1, 200, 11, 'x', 'y', NULL)")
    before = table.head
    for old, new in (("a", "a2"), ("b", "b2"), ("d", "d2"), ("t", "t2"), ("id", "id2")):
        table.run(f"ALTER TABLE {{t}} RENAME COLUMN {old} TO {new}")
    spec = table.table.spec
    assert (spec.key, spec.bucket_by, spec.ordering) == (("id2",), ("id2",), "t2")
    assert spec.column_groups == (kl.ColumnGroup("g", ("b2", "c")),)
    assert spec.column("d2").reducer == kl.LatestNotNull()
    assert table.rows() == [(1, 200, 11, "x", "y", 5)]
    assert table.rows("SELECT a2 FROM {t} WHERE id2 = 1 AND d2 = 5") == [(11,)]
    table.run("INSERT INTO {t} (id2, t2, a2, b2, c) VALUES (1, 150, 0, 'late', 'late'), (2, 1, 0, 'm', 'n')")
    assert table.rows() == [(1, 200, 11, "x", "y", 5), (2, 1, 0, "m", "n", None)]
    table.same_after_compaction()
    assert table.rows(f"SELECT a, b, d FROM {{t}} VERSION AS OF {before} WHERE id = 1 AND t = 200") == [(11, "x", 5)]


def test_names_can_change_places(lake: kl.Lake) -> None:
    table = Evolving(lake, PLAIN)
    table.run("INSERT INTO {t} VALUES (1, 10, 'x')")
    table.run("ALTER TABLE {t} RENAME COLUMN a TO was_a", "ALTER TABLE {t} RENAME COLUMN b TO a")
    table.run("ALTER TABLE {t} RENAME COLUMN was_a TO b", "INSERT INTO {t} (id, a) VALUES (1, 'y')")
    assert table.rows("SELECT a, b FROM {t}") == [("y", 10)]
    table.table.alter(rename={"a": "A"})
    assert table.columns == ["id", "b", "A"]
    table.same_after_compaction()


@pytest.mark.parametrize("compacted", [False, True])
def test_a_name_that_is_dropped_and_added_again_starts_empty(lake: kl.Lake, compacted: bool) -> None:
    table = Evolving(lake, PLAIN)
    table.run("INSERT INTO {t} VALUES (1, 10, 'x'), (2, 20, 'y')", "INSERT INTO {t} (id, a) VALUES (1, 11)")
    before = table.head
    table.run("ALTER TABLE {t} DROP COLUMN a")
    assert table.rows() == [(1, "x"), (2, "y")]
    if compacted:
        table.same_after_compaction()
    table.run("ALTER TABLE {t} ADD COLUMN a BIGINT")
    assert table.rows("SELECT id, a FROM {t}") == [(1, None), (2, None)]
    for condition in ("a = 10", "a = 20", "a > 0", "a IS NOT NULL", "a IN (10, 11, 20)"):
        assert table.rows(f"SELECT id FROM {{t}} WHERE {condition}") == []
    table.run("INSERT INTO {t} (id, a) VALUES (1, 99)")
    assert table.rows("SELECT id, a FROM {t} WHERE a > 0") == [(1, 99)]
    table.same_after_compaction("SELECT id, a, b FROM {t}", "SELECT id FROM {t} WHERE a > 0")
    assert table.rows(f"SELECT id, a FROM {{t}} VERSION AS OF {before} WHERE a > 0") == [(1, 11), (2, 20)]


def test_a_snapshot_is_read_by_the_rules_of_its_columns(lake: kl.Lake) -> None:
    """A column that is gone by now had a reducer, and shared a version; the present spec says nothing of it."""
    table = Evolving(
        lake,
        "id BIGINT, a INT, b INT, c INT, PRIMARY KEY (id)",
        "'reduce.a' = 'LatestNotNull', 'column_group.g' = 'b, c', 'versions' = 'commit'",
    )
    table.run("INSERT INTO {t} VALUES (1, 10, 1, 2)", "INSERT INTO {t} (id, a) VALUES (1, NULL)")
    before = table.head
    table.run("ALTER TABLE {t} DROP COLUMNS (a, b)")
    assert table.table.spec.column_groups == (kl.ColumnGroup("g", ("c",)),)
    table.run("ALTER TABLE {t} DROP COLUMN c", "INSERT INTO {t} (id) VALUES (2)")
    assert table.table.spec.column_groups == ()
    assert table.rows() == [(1,), (2,)]
    assert table.rows(f"SELECT * FROM {{t}} VERSION AS OF {before}") == [(1, 10, 1, 2)]
    table.same_after_compaction()
    table.run("ALTER TABLE {t} ADD COLUMN a INT", "INSERT INTO {t} (id, a) VALUES (1, NULL)")
    assert table.rows() == [(1, None), (2, None)]
    assert table.rows(f"SELECT * FROM {{t}} VERSION AS OF {before}") == [(1, 10, 1, 2)]


@pytest.mark.slow
def test_types_widen(lake: kl.Lake) -> None:
    table = Evolving(lake, "id BIGINT, a INT, b FLOAT, c DECIMAL(5, 2), d DECIMAL(12, 2), PRIMARY KEY (id)")
    table.run(
        "INSERT INTO {t} VALUES (1, 7, 1.5F, 1.25, 3.5), (2, -2147483648, -0.1F, -999.99, 1), (3, 7, 1.5F, 1.25, 2)"
    )
    table.run("INSERT INTO {t} (id, a) VALUES (3, 8)")
    before = table.head
    table.run("ALTER TABLE {t} ALTER COLUMN a TYPE BIGINT", "ALTER TABLE {t} ALTER COLUMN b TYPE DOUBLE")
    table.run(
        "ALTER TABLE {t} ALTER COLUMN c TYPE DECIMAL(20, 2)", "ALTER TABLE {t} ALTER COLUMN d TYPE DECIMAL(15, 2)"
    )
    tenth = -0.10000000149011612  # what the float was
    rows = [
        (1, 7, 1.5, Decimal("1.25"), Decimal("3.50")),
        (2, -(2**31), tenth, Decimal("-999.99"), Decimal("1.00")),
        (3, 8, 1.5, Decimal("1.25"), Decimal("2.00")),
    ]
    assert table.rows() == rows
    table.run("INSERT INTO {t} (id, a, b, c) VALUES (3, 5000000000, 1e300D, 123456789012345678.25)")
    assert table.rows("SELECT id FROM {t} WHERE a = 7") == [(1,)]
    assert table.rows("SELECT id FROM {t} WHERE a = 5000000000") == [(3,)]
    assert table.rows("SELECT id FROM {t} WHERE a < 5000000000 AND a > -5000000000") == [(1,), (2,)]
    assert table.rows("SELECT id FROM {t} WHERE b = 1.5D") == [(1,)]
    assert table.rows("SELECT id FROM {t} WHERE b < -0.1D") == [(2,)]
    assert table.rows("SELECT id FROM {t} WHERE c = 1.25") == [(1,)]
    assert table.rows("SELECT id FROM {t} WHERE c > 10000000") == [(3,)]
    assert table.rows("SELECT id FROM {t} WHERE d = 1") == [(2,)]
    assert table.rows("SELECT max(a), min(a), count(a) FROM {t}") == [(5000000000, -(2**31), 3)]
    table.same_after_compaction("SELECT * FROM {t}", "SELECT id FROM {t} WHERE c = 1.25")
    old = table.rows(f"SELECT a, b FROM {{t}} VERSION AS OF {before} WHERE a = 8")
    assert old == [(8, 1.5)]


def test_comments_and_places(lake: kl.Lake) -> None:
    table = Evolving(lake, PLAIN)
    table.run("INSERT INTO {t} VALUES (1, 10, 'x')")
    table.run("ALTER TABLE {t} ALTER COLUMN b FIRST", "ALTER TABLE {t} ALTER COLUMN id AFTER a")
    table.run("ALTER TABLE {t} ALTER COLUMN a COMMENT 'how many'")
    assert table.columns == ["b", "a", "id"]
    assert table.table.spec.column("a").doc == "how many"
    table.run("INSERT INTO {t} VALUES ('y', 20, 2)")
    assert table.rows() == [("x", 10, 1), ("y", 20, 2)]
    table.same_after_compaction()


@pytest.mark.slow
def test_members_of_columns(lake: kl.Lake) -> None:
    nested = "s STRUCT<x: INT, y: STRING>, l ARRAY<STRUCT<p: INT>>, m MAP<STRING, STRUCT<q: FLOAT>>"
    table = Evolving(lake, f"id BIGINT, {nested}, PRIMARY KEY (id)")
    table.run(
        "INSERT INTO {t} SELECT 1, named_struct('x', 1, 'y', 'one'), array(named_struct('p', 7)), "
        "map('k', named_struct('q', CAST(1.5 AS FLOAT)))"
    )
    before = table.head
    table.run("ALTER TABLE {t} ADD COLUMNS (s.z DOUBLE COMMENT 'third' AFTER x, l.element.r STRING, m.value.u INT)")
    table.run("ALTER TABLE {t} ALTER COLUMN s.x TYPE BIGINT", "ALTER TABLE {t} ALTER COLUMN l.element.p TYPE BIGINT")
    table.run("ALTER TABLE {t} ALTER COLUMN m.value.q TYPE DOUBLE", "ALTER TABLE {t} RENAME COLUMN s.y TO why")
    shown = "SELECT id, s.x, s.z, s.why, l[0].p, l[0].r, m['k'].q, m['k'].u FROM {t}"
    assert table.rows(shown) == [(1, 1, None, "one", 7, None, 1.5, None)]
    table.run(
        "INSERT INTO {t} SELECT 2, named_struct('x', 5000000000L, 'z', 0.5D, 'why', 'two'), "
        "array(named_struct('p', 8L, 'r', 'e')), map('k', named_struct('q', 2.5D, 'u', 3)); "
    )
    both = [(1, 1, None, "one", 7, None, 1.5, None), (2, 5000000000, 0.5, "two", 8, "e", 2.5, 3)]
    assert table.rows(shown) == both
    table.same_after_compaction(shown)
    table.run("ALTER TABLE {t} DROP COLUMN s.why", "ALTER TABLE {t} ADD COLUMN s.why STRING")
    assert table.rows("SELECT id, s.why FROM {t}") == [(1, None), (2, None)]
    assert table.rows(f"SELECT id, s.y FROM {{t}} VERSION AS OF {before}") == [(1, "one")]
    table.same_after_compaction("SELECT id, s.x, s.z, s.why FROM {t}")


def test_a_struct_whose_members_are_all_new(lake: kl.Lake) -> None:
    table = Evolving(lake, "id BIGINT, s STRUCT<x: INT>, PRIMARY KEY (id)")
    table.run("INSERT INTO {t} SELECT 1, named_struct('x', 1)", "INSERT INTO {t} VALUES (2, NULL)")
    table.run("ALTER TABLE {t} ADD COLUMN s.y INT", "ALTER TABLE {t} DROP COLUMN s.x")
    shown = "SELECT id, s IS NULL, s.y FROM {t}"
    assert table.rows(shown) == [(1, False, None), (2, True, None)]
    table.same_after_compaction(shown)


@pytest.mark.slow
def test_buckets_stay_those_of_a_key_that_is_renamed(lake: kl.Lake) -> None:
    table = Evolving(
        lake, "day DATE, id BIGINT, a INT, PRIMARY KEY (day, id)",
        rest="PARTITIONED BY (day) CLUSTERED BY (id) INTO 2 BUCKETS",
    )  # fmt: skip
    table.run("INSERT INTO {t} SELECT DATE'2026-01-01', id, 0 FROM range(20)")
    before = table.head
    table.run("ALTER TABLE {t} RENAME COLUMN id TO user", "ALTER TABLE {t} RENAME COLUMN day TO date")
    assert table.rows("SELECT a FROM {t} WHERE user = 7 AND date = DATE'2026-01-01'") == [(0,)]
    table.run("INSERT INTO {t} VALUES (DATE'2026-01-01', 7, 1), (DATE'2026-01-02', 7, 2)")
    table.table.change_buckets(4)
    table.run("INSERT INTO {t} VALUES (DATE'2026-01-01', 8, 3)")
    shown = "SELECT count(*), sum(a) FROM {t}", "SELECT a FROM {t} WHERE user = 7 AND date = DATE'2026-01-01'"
    assert [table.rows(each) for each in shown] == [[(21, 6)], [(1,)]]
    table.table.rebucket()
    table.same_after_compaction(*shown)
    assert table.rows(f"SELECT a FROM {{t}} VERSION AS OF {before} WHERE id = 7 AND day = DATE'2026-01-01'") == [(0,)]
    table.table.overwrite([{"date": "2026-01-02", "user": 1, "a": 9}][:0], where="date = DATE'2026-01-02'")
    assert table.rows("SELECT count(*) FROM {t}") == [(20,)]


REFUSED = {
    "DROP COLUMN id": ("DEFINITION", "key column 'id'", "cannot be dropped", "copy the rows"),
    "DROP COLUMN t": ("DEFINITION", "ordering column 't'", "cannot be dropped"),
    "ALTER COLUMN id TYPE BIGINT": ("DEFINITION", "key column 'id'", "cannot be retyped"),
    "ALTER COLUMN t TYPE BIGINT": ("DEFINITION", "ordering column 't'", "cannot be retyped"),
    "ADD COLUMN g INT": ("DEFINITION", "'g' is a column group"),
    "ADD COLUMN _merge_info INT": ("DEFINITION", "'_merge_info' is reserved"),
    "ADD COLUMN _bucket INT": ("DEFINITION", "'_bucket' is reserved"),
    "ADD COLUMN _group INT": ("DEFINITION", "'_group' is reserved"),
    "ADD COLUMN `` INT": ("DEFINITION", "has an empty name"),
    "ADD COLUMN _Bucket_x INT": ("DEFINITION", "'_Bucket_x' is reserved"),
    "ADD COLUMN _file INT": ("DEFINITION", "'_file' is reserved"),
    "ADD COLUMN id_bucket INT": ("DEFINITION", "'id_bucket'", "rename"),
    "ADD COLUMN `x.y` INT": ("DEFINITION", "x.y"),
    "ADD COLUMN n INT NOT NULL": ("DEFINITION", "'n' is NOT NULL", "leave NOT NULL out"),
    "RENAME COLUMN a TO _pos": ("DEFINITION", "'_pos' is reserved"),
    "RENAME COLUMN a TO _bucket": ("DEFINITION", "'_bucket' is reserved"),
    "RENAME COLUMN a TO _merge_info": ("DEFINITION", "'_merge_info' is reserved"),
    "RENAME COLUMN a TO g": ("DEFINITION", "'g'"),
    "REPLACE COLUMNS (id INT, z INT)": ("UNSUPPORTED", "REPLACE COLUMNS", "ADD COLUMN"),
    "DROP COLUMN s.x": ("DEFINITION", "'s.x' is the only member", "drop the column"),
}


def test_changes_of_columns_that_are_refused(lake: kl.Lake) -> None:
    columns = "id INT, t INT, a INT, b INT, c INT, s STRUCT<x: INT>, PRIMARY KEY (id)"
    table = Evolving(lake, columns, "'ordering' = 't', 'column_group.g' = 'b, c'")
    table.run("INSERT INTO {t} VALUES (1, 1, 1, 1, 1, NULL)")
    shown = table.columns
    for statement, (kind, *words) in REFUSED.items():
        with refused_in_sql(lake, table.name, kind, *words):
            table.run(f"ALTER TABLE {{t}} {statement}")
    by_spark = ("DROP COLUMN nope", "ADD COLUMN A INT", "RENAME COLUMN a TO b")
    for statement in (
        *by_spark,
        "ALTER COLUMN a TYPE STRING",
        "ALTER COLUMN a TYPE SMALLINT",
        "DROP COLUMN _merge_info",
    ):
        with pytest.raises(Exception, match=r"SQLSTATE|KEYLAKE_"):
            table.run(f"ALTER TABLE {{t}} {statement}")
    assert table.columns == shown
    assert table.rows() == [(1, 1, 1, 1, 1, None)]
