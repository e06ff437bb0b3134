"""UPDATE, DELETE FROM and TRUNCATE TABLE of keyed tables: the answers of plain Iceberg tables, by writes of rows."""

from collections.abc import Callable, Iterator

import pytest

import keylake as kl
from integration.query_plans import changed_settings, explained
from integration.random_runs import of_every
from integration.refusals import refused_in_sql, snapshots
from integration.statements.one_table import COMMIT, create, one, run
from integration.twin import fresh_name

ROWS = """
    SELECT id AS k, DATE '2026-01-01' + CAST(id % 3 AS INT) AS day, IF(id % 4 = 0, NULL, id * 10) AS a,
        IF(id % 5 = 0, NULL, concat('text ', id)) AS b, id / 7 AS c, CAST(id AS INT) AS `a, b ``c`, 'v' AS `select`,
        IF(id % 6 = 0, NULL, named_struct('x', id, 'y', named_struct('z', 'z', 'w', id))) AS s,
        array(id, NULL) AS n, map('one', id) AS m
    FROM range(12)
"""
KEYED = {
    "commit": "'versions' = 'commit', 'column_group.g' = 'a, b', 'reduce.c' = 'LatestNotNull'",
    "explicit": "'versions' = 'explicit'",
    "partitions": "'versions' = 'commit'",
}
# Each list is run on both tables, which are compared after it.
STATEMENTS = {
    "conditions": [
        "UPDATE {t} SET a = 1 WHERE k = 1",
        "UPDATE {t} SET a = 2 WHERE a IS NULL AND day > DATE '2026-01-01'",
        "UPDATE {t} SET a = a + 1, b = concat(b, '!') WHERE a > 50 OR b = 'text 2'",
        "UPDATE {t} SET b = 'nobody' WHERE CAST(NULL AS BOOLEAN)",
        "UPDATE {t} SET b = 'nobody' WHERE k > 100",
        "DELETE FROM {t} WHERE k = 3 AND day = DATE '2026-01-01'",
        "DELETE FROM {t} WHERE a = NULL",
        "UPDATE {t} SET c = k, a = NULL",
        "UPDATE {t} SET c = -0.1 WHERE k = 2",
    ],
    "subqueries": [
        "UPDATE {t} SET a = -1 WHERE k IN (SELECT k FROM {other} WHERE v > 5)",
        "UPDATE {t} SET a = -2 WHERE k NOT IN (SELECT v FROM {other})",  # a null among them: nothing
        "UPDATE {t} AS u SET b = 'there' WHERE EXISTS (SELECT 1 FROM {other} o WHERE o.k = u.k AND o.v IS NULL)",
        "UPDATE {t} u SET a = (SELECT max(v) FROM {other}) WHERE u.c > (SELECT avg(v) / 10 FROM {other})",
        "UPDATE {t} u SET a = (SELECT max(o.v) FROM {other} o WHERE o.k = u.k) WHERE u.k < 4",
        "DELETE FROM {t} AS u WHERE NOT EXISTS (SELECT 1 FROM {other} o WHERE o.k = u.k) AND u.k > 8",
        "DELETE FROM {t} WHERE k = (SELECT max(k) FROM {t})",
        "UPDATE {t} SET a = 7 WHERE a IN (SELECT a FROM {t} WHERE b IS NULL)",
        "UPDATE {t} u SET a = (SELECT count(*) FROM {t}) WHERE u.k IN (SELECT min(k) FROM {t})",
    ],
    "nested": [
        "UPDATE {t} SET s.x = 5 WHERE k < 7",
        "UPDATE {t} t SET t.s.y.z = 'new', s.x = s.y.w + 1 WHERE k % 2 = 0",
        "UPDATE {t} SET s = named_struct('x', 1L, 'y', s.y) WHERE k = 2",
        "UPDATE {t} SET s = NULL, n = array(1L, 2L), m = map('two', k) WHERE k = 4",
        "UPDATE {t} SET m = map_concat(m, map('three', 3L)), n = NULL WHERE size(n) = 2 AND m['one'] > 8",
        "DELETE FROM {t} WHERE s.y.w = 5",
    ],
    "names": [
        "UPDATE {t} SET `a, b ``c` = `a, b ``c` + 1 WHERE `select` = 'v' AND k < 3",
        "UPDATE {t} SET `SELECT` = 'it''s', A = 3 WHERE K = 1",
        "UPDATE {t} SET a = DEFAULT, b = DEFAULT WHERE k = 2",
        "WITH w AS (SELECT 5 AS k) DELETE FROM {t} WHERE k IN (SELECT k FROM w)",
    ],
    "everything": [
        "UPDATE {t} SET a = k",
        "DELETE FROM {t}",
        "UPDATE {t} SET a = 1",
        "DELETE FROM {t} WHERE k = 1",
        "INSERT INTO {t} (k, day, a, b) VALUES (1, DATE '2026-01-01', 5, NULL)",
        "UPDATE {t} SET b = 'x' WHERE a = 5",
        "TRUNCATE TABLE {t}",
        "TRUNCATE TABLE {t}",
        "INSERT INTO {t} (k, day, c) VALUES (1, DATE '2026-01-01', 1)",
    ],
}


def rows(lake: kl.Lake, table: str) -> list[str]:
    return sorted(str(row) for row in lake.spark.sql(f"SELECT * FROM {table}").toArrow().to_pylist())


Setting = Callable[[object], None]


@pytest.fixture
def setting(lake: kl.Lake) -> Iterator[Setting]:
    """Sets the version of statements; it is unset afterwards."""

    def set_version(version: object) -> None:
        lake.spark.conf.set("spark.keylake.write.version", str(version))

    yield set_version
    lake.spark.conf.unset("spark.keylake.write.version")


@pytest.fixture(scope="module")
def other(lake: kl.Lake) -> str:
    """A plain table to be asked in conditions."""
    name = f"{lake.catalog}.{fresh_name('statements')}"
    run(lake, f"CREATE TABLE {name} USING iceberg AS SELECT id AS k, IF(id = 2, NULL, id) AS v FROM range(8)")
    return name


SOME = [*STATEMENTS["subqueries"][:2], *STATEMENTS["names"][1:]]
CASES = {
    **{name: ("commit", statements) for name, statements in STATEMENTS.items()},
    "explicit versions": ("explicit", SOME),
    "partitions": ("partitions", SOME),
}


@pytest.mark.slow
@of_every("case", CASES, today=1)
def test_updates_answer_as_on_a_plain_table(
    lake: kl.Lake, other: str, case: tuple[str, list[str]], setting: Setting
) -> None:
    kind, statements = case
    setting(2)
    clauses = "PARTITIONED BY (day) CLUSTERED BY (k) INTO 2 BUCKETS" if kind == "partitions" else ""
    keyed = create(lake, KEYED[kind], key="k, day", clauses=clauses)
    plain = f"{lake.catalog}.{fresh_name('statements')}"
    version = {"version_value": "1"} if kind == "explicit" else {}
    run(lake, f"CREATE TABLE {plain} USING iceberg AS {ROWS}")
    lake.spark.table(plain).writeTo(keyed).options(**version).append()
    for statement in statements:
        run(lake, statement, t=keyed, other=other)
        run(lake, statement, t=plain, other=other)
    assert rows(lake, keyed) == rows(lake, plain)


@pytest.mark.slow
def test_a_statement_writes_its_columns_and_no_others(lake: kl.Lake) -> None:
    keyed = create(lake, KEYED["commit"])
    run(lake, f"INSERT INTO {keyed} {ROWS}")
    table = lake.table(keyed.removeprefix(f"{lake.catalog}."))
    for statement, verb, written, columns in (
        ("UPDATE {t} SET c = 1 WHERE k = 1", "update", 1, {"c"}),
        ("UPDATE {t} SET a = 1 WHERE k < 3", "update", 3, {"a", "b"}),  # a group is written whole
        ("UPDATE {t} SET s.x = 1 WHERE k = 1", "update", 1, {"s"}),
        ("DELETE FROM {t} WHERE k IN (1, 2, 50)", "delete", 2, set()),
        ("TRUNCATE TABLE {t}", "overwrite", 0, None),
    ):
        run(lake, statement, t=keyed)
        newest = table.history()[0]
        assert (newest.verb, newest.rows) == (verb, written), statement
        assert columns is None or set(newest.columns) == columns, statement
    assert rows(lake, keyed) == []
    assert len(table.history()) == 6


def test_an_update_reads_little_and_joins_nothing(lake: kl.Lake) -> None:
    keyed = create(lake, KEYED["commit"], clauses="CLUSTERED BY (k) INTO 4 BUCKETS")
    run(lake, f"INSERT INTO {keyed} {ROWS}")
    name = keyed.removeprefix(f"{lake.catalog}.")
    before = snapshots(lake, name)
    plan = explained(lake, f"UPDATE {keyed} SET a = a + 1 WHERE k = 5")
    assert "Join" not in plan
    assert "buckets read: 1," in plan
    assert "_merge_info" not in plan, "a table with commit times reads no versions"
    assert "a#" in plan
    assert "select#" not in plan, "columns that are not needed are not read"
    explained(lake, f"DELETE FROM {keyed}")
    assert snapshots(lake, name) == before, "EXPLAIN runs nothing"


@pytest.mark.slow
def test_updates_with_versions_of_an_ordering_column(lake: kl.Lake, setting: Setting) -> None:
    columns = "k BIGINT, t TIMESTAMP, a BIGINT, b BIGINT"
    keyed = create(lake, "'ordering' = 't'", columns)
    name = keyed.removeprefix(f"{lake.catalog}.")
    run(
        lake,
        f"INSERT INTO {keyed} VALUES (1, TIMESTAMP '2020-01-01 00:00:00', 1, 1),"
        " (2, TIMESTAMP '2090-01-01 00:00:00', 1, 1)",
    )
    run(lake, f"UPDATE {keyed} SET a = 2")  # now, or the row's own version where that is newer
    run(
        lake,
        f"INSERT INTO {keyed} (k, t, a) VALUES (1, TIMESTAMP '2021-01-01 00:00:00', 9),"
        " (2, TIMESTAMP '2089-01-01 00:00:00', 9)",
    )
    assert [tuple(row) for row in lake.spark.sql(f"SELECT k, a FROM {keyed} ORDER BY k").collect()] == [(1, 2), (2, 2)]
    newest = "SELECT _merge_info.version = unix_micros(t) AS same FROM {t} WHERE k = 2"
    assert one(lake, newest.format(t=keyed)) is not False, "it never goes back"

    run(lake, f"UPDATE {keyed} SET t = t + INTERVAL 1 DAY, a = a + 1 WHERE k = 2")
    assert one(lake, f"SELECT date(t) = DATE '2090-01-02' AND a = 3 FROM {keyed} WHERE k = 2") is True
    with refused_in_sql(lake, name, "BAD_ROWS", "'t'", "2088-", "key (2)", "2090-01-02"):
        run(lake, f"UPDATE {keyed} SET t = TIMESTAMP '2088-01-01 00:00:00', a = 9 WHERE k = 2")
    with refused_in_sql(lake, name, "BAD_ROWS", "'t'", "null"):
        run(lake, f"UPDATE {keyed} SET t = NULL WHERE k = 2")

    setting("2091-06-01")
    run(lake, f"UPDATE {keyed} SET b = 5 WHERE k = 2")
    setting("2020-01-01 00:00:00")
    run(lake, f"UPDATE {keyed} SET b = 6 WHERE k = 2")  # an older version never loses against what was read
    assert one(lake, f"SELECT b FROM {keyed} WHERE k = 2") == 6
    run(lake, f"DELETE FROM {keyed} WHERE k = 2")
    run(lake, f"INSERT INTO {keyed} (k, t, a) VALUES (2, TIMESTAMP '2091-05-31 00:00:00', 9)")
    assert one(lake, f"SELECT count(*) FROM {keyed} WHERE k = 2") == 0, "older than the row that was deleted"
    setting("yesterday")
    with refused_in_sql(lake, name, "VERSION_MISSING", "'yesterday'", "timestamp", "spark.keylake.write.version"):
        run(lake, f"UPDATE {keyed} SET b = 7")


@pytest.mark.parametrize(
    ("type_", "newest", "later", "older"),
    [
        ("DATE", "DATE '2090-01-01'", "2090-01-02", "DATE '2089-12-31'"),
        ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ '2090-01-01 00:00:00'", "2090-01-02", "TIMESTAMP_NTZ '2089-12-31 00:00:00'"),
        ("BIGINT", "50L", "60", "49L"),
        ("INT", "50", "60", "49"),
    ],
)
def test_ordering_columns_of_every_type(
    lake: kl.Lake, setting: Setting, type_: str, newest: str, later: str, older: str
) -> None:
    keyed = create(lake, "'ordering' = 't'", f"k BIGINT, t {type_}, a BIGINT")
    name = keyed.removeprefix(f"{lake.catalog}.")
    run(lake, f"INSERT INTO {keyed} VALUES (1, {newest}, 1)")
    if type_ in ("BIGINT", "INT"):
        with refused_in_sql(lake, name, "VERSION_MISSING", "spark.keylake.write.version", "'t'", name):
            run(lake, f"UPDATE {keyed} SET a = 2")
        setting(1)
    run(lake, f"UPDATE {keyed} SET a = 2")
    run(lake, f"INSERT INTO {keyed} VALUES (1, {older}, 3)")
    assert one(lake, f"SELECT a FROM {keyed}") == 2
    with refused_in_sql(lake, name, "BAD_ROWS", "'t'", "key (1)"):
        run(lake, f"UPDATE {keyed} SET t = {older}")
    setting(later)
    run(lake, f"DELETE FROM {keyed}")
    run(lake, f"INSERT INTO {keyed} VALUES (1, {newest}, 4)")
    assert rows(lake, keyed) == []


@pytest.mark.slow
def test_explicit_versions_need_the_setting(lake: kl.Lake, setting: Setting) -> None:
    keyed = create(lake, KEYED["explicit"], "k BIGINT, a BIGINT, b BIGINT")
    name = keyed.removeprefix(f"{lake.catalog}.")
    lake.spark.sql("SELECT 1L AS k, 1L AS a, 1L AS b").writeTo(keyed).options(version_value="10").append()
    for statement in ("UPDATE {t} SET a = 2", "DELETE FROM {t}"):
        with refused_in_sql(lake, name, "VERSION_MISSING", "spark.keylake.write.version", name):
            run(lake, statement, t=keyed)
    setting("1.5")
    with refused_in_sql(lake, name, "VERSION_MISSING", "'1.5'", "long"):
        run(lake, f"UPDATE {keyed} SET a = 2")
    for version, expected in ((20, 20), (15, 20), (5, 20)):
        setting(version)
        run(lake, f"UPDATE {keyed} SET a = {version}")
        assert one(lake, f"SELECT _merge_info.version FROM {keyed}") == expected
        assert one(lake, f"SELECT a FROM {keyed}") == version, "of equal versions the later commit wins"
    run(lake, f"DELETE FROM {keyed}")
    lake.spark.sql("SELECT 1L AS k, 1L AS a").writeTo(keyed).options(version_value="19").append()
    assert rows(lake, keyed) == []


@pytest.mark.slow
def test_branches_tags_and_snapshots(lake: kl.Lake) -> None:
    keyed = create(lake, COMMIT, "k BIGINT, a BIGINT")
    name = keyed.removeprefix(f"{lake.catalog}.")
    run(lake, f"INSERT INTO {keyed} VALUES (1, 1), (2, 2)")
    run(lake, f"ALTER TABLE {keyed} CREATE BRANCH draft")
    run(lake, f"ALTER TABLE {keyed} CREATE TAG final")
    run(lake, f"UPDATE {keyed}.branch_draft SET a = 10 WHERE k = 1")
    run(
        lake,
        f"DELETE FROM {keyed}.branch_draft"
        f" WHERE a = (SELECT max(a) FROM {keyed}) AND k IN (SELECT k FROM {keyed}.tag_final)",
    )
    assert rows(lake, f"{keyed}.branch_draft") == ["{'k': 1, 'a': 10}"]
    assert rows(lake, keyed) == ["{'k': 1, 'a': 1}", "{'k': 2, 'a': 2}"]
    run(lake, f"TRUNCATE TABLE {keyed}.branch_draft")
    assert rows(lake, f"{keyed}.branch_draft") == []
    assert len(rows(lake, keyed)) == 2
    snapshot = snapshots(lake, name)[0]
    for place in ("tag_final", f"snapshot_id_{snapshot}"):
        for statement in ("UPDATE {t} SET a = 1", "DELETE FROM {t}", "TRUNCATE TABLE {t}"):
            with refused_in_sql(lake, name, "UNSUPPORTED", "branch"):
                run(lake, statement, t=f"{keyed}.{place}")
    for statement in ("UPDATE {t} SET a = 1", "DELETE FROM {t}", "TRUNCATE TABLE {t}"):
        with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
            run(lake, statement, t=f"{keyed}_missing")


def test_what_cannot_be_set_is_refused(lake: kl.Lake) -> None:
    keyed = create(lake, KEYED["commit"])
    name = keyed.removeprefix(f"{lake.catalog}.")
    run(lake, f"INSERT INTO {keyed} {ROWS}")
    for kind, words, statement in (
        ("UNSUPPORTED", ("'k'", "key"), "UPDATE {t} SET k = 2"),
        ("UNSUPPORTED", ("'a'", "twice"), "UPDATE {t} SET a = 2, a = 3"),
        ("UNSUPPORTED", ("'s'", "field"), "UPDATE {t} SET s = NULL, s.x = 3"),
        ("UNSUPPORTED", ("'s.y.z'", "twice"), "UPDATE {t} SET s.y.z = 'a', s.y.z = 'b'"),
        ("UNSUPPORTED", ("'c'", "LatestNotNull"), "UPDATE {t} SET c = NULL"),
        ("UNSUPPORTED", ("_bucket",), "UPDATE {t} SET _bucket = 2"),
        ("BAD_ROWS", ("'a'", "string", "long"), "UPDATE {t} SET a = 'x'"),
        ("BAD_ROWS", ("'c'", "double", "decimal"), "UPDATE {t} SET c = 0.123456789012345678901"),
        ("BAD_ROWS", ("'a'", "1.5"), "UPDATE {t} SET a = 1.5D WHERE k = 1"),
        ("BAD_ROWS", ("'s.x'", "string"), "UPDATE {t} SET s.x = 'x'"),
    ):
        with refused_in_sql(lake, name, kind, *words):
            run(lake, statement, t=keyed)
    for statement in ("UPDATE {t} SET nobody = 2", "DELETE FROM {t} WHERE nobody = 2"):
        with pytest.raises(Exception, match="UNRESOLVED_COLUMN"):
            run(lake, statement, t=keyed)


def test_empty_tables(lake: kl.Lake) -> None:
    keyed = create(lake, KEYED["commit"])
    for statement in ("UPDATE {t} SET a = 1", "DELETE FROM {t} WHERE k = 1", "TRUNCATE TABLE {t}", "DELETE FROM {t}"):
        run(lake, statement, t=keyed)
    assert rows(lake, keyed) == []
    run(lake, f"INSERT INTO {keyed} {ROWS}")
    for statement in ("UPDATE {t} SET a = 1 WHERE NULL", "DELETE FROM {t} WHERE NULL"):
        run(lake, statement, t=keyed)
    assert len(rows(lake, keyed)) == 12


def test_a_late_row_after_truncate_is_a_row_and_after_delete_it_is_not(lake: kl.Lake, setting: Setting) -> None:
    keyed = create(lake, KEYED["explicit"], "k BIGINT, a BIGINT")
    setting(20)
    late = lake.spark.sql("SELECT 1L AS k, 1L AS a")
    for statement, left in (("DELETE FROM {t}", 0), ("TRUNCATE TABLE {t}", 1)):
        late.writeTo(keyed).options(version_value="30").append()
        run(lake, statement, t=keyed)
        late.writeTo(keyed).options(version_value="10").append()
        assert len(rows(lake, keyed)) == left, statement


def test_the_idempotency_key_of_the_session(lake: kl.Lake) -> None:
    keyed = create(lake, COMMIT, "k BIGINT, a BIGINT")
    run(lake, f"INSERT INTO {keyed} VALUES (1, 1)")
    with changed_settings(lake, {"spark.keylake.write.idempotency-key": "add one"}):
        for _ in range(2):
            run(lake, f"UPDATE {keyed} SET a = a + 1")
    assert one(lake, f"SELECT a FROM {keyed}") == 2
