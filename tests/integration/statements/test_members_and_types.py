"""Values of other types, and members of structs in other orders, in every statement that writes to a keyed table."""

from decimal import Decimal
from typing import Any

import pytest

import keylake as kl
from integration.refusals import refused, refused_in_sql, snapshots
from integration.twin import fresh_name

COLUMNS = (
    "id INT, st STRUCT<a: INT, B: STRING>, ar ARRAY<STRUCT<a: INT, b: INT>>, m MAP<STRING, STRUCT<a: INT, b: DOUBLE>>, "
    "fs ARRAY<DOUBLE>, l ARRAY<INT>, mf MAP<STRING, DOUBLE>, f DOUBLE, g FLOAT, d DATE, e DECIMAL(6, 2), "
    "at TIMESTAMP, i INT, PRIMARY KEY (id)"
)
OTHER_ORDER = (
    "named_struct('b', 'x', 'A', 10) AS st, array(named_struct('b', 20, 'a', 10)) AS ar, "
    "map('k', named_struct('b', 0.5, 'a', 7L)) AS m"
)
IN_ORDER = ((10, "x"), [(10, 20)], {"k": (7, 0.5)})


@pytest.fixture
def table(lake: kl.Lake) -> str:
    name = fresh_name("members")
    lake.spark.sql(f"CREATE TABLE lake.{name} ({COLUMNS}) USING keylake CLUSTERED BY (id) INTO 1 BUCKETS")
    return name


def run(lake: kl.Lake, statement: str) -> list[Any]:
    return lake.spark.sql(statement).collect()


def row(lake: kl.Lake, table: str, key: int) -> tuple[object, ...]:
    (found,) = run(lake, f"SELECT st, ar, m FROM lake.{table} WHERE id = {key}")
    return tuple(found.st), [tuple(each) for each in found.ar], {key: tuple(value) for key, value in found.m.items()}


def test_members_are_matched_by_name(lake: kl.Lake, table: str) -> None:
    name = f"lake.{table}"
    frame = lake.spark.sql(f"SELECT 1 AS id, {OTHER_ORDER}")
    frame.writeTo(name).append()
    run(lake, f"INSERT INTO {name} BY NAME SELECT {OTHER_ORDER}, 2 AS id")
    source = f"(SELECT explode(array(3, 4)) AS id, {OTHER_ORDER}) s"
    run(lake, f"INSERT INTO {name} (id) VALUES (3)")
    run(
        lake,
        f"MERGE INTO {name} t USING {source} ON t.id = s.id WHEN MATCHED THEN UPDATE SET st = s.st, ar = s.ar, m = s.m "
        "WHEN NOT MATCHED THEN INSERT (id, st, ar, m) VALUES (s.id, s.st, s.ar, s.m)",
    )
    run(lake, f"INSERT INTO {name} (id) VALUES (5)")
    run(
        lake,
        f"UPDATE {name} SET st = named_struct('b', 'x', 'A', 10), ar = array(named_struct('b', 20, 'a', 10)), "
        "m = map('k', named_struct('b', 0.5, 'a', 7L)) WHERE id = 5",
    )
    assert [row(lake, table, key) for key in range(1, 6)] == [IN_ORDER] * 5
    run(lake, f"UPDATE {name} SET st.a = 11, ar = NULL, m = map('k', NULL) WHERE id = 5")
    assert tuple(run(lake, f"SELECT st, ar, m FROM {name} WHERE id = 5")[0]) == ((11, "x"), None, {"k": None})
    nulls = "CAST(NULL AS STRUCT<b: INT, a: INT>)"
    run(lake, f"UPDATE {name} SET ar = array({nulls}, named_struct('b', NULL, 'a', 1)) WHERE id = 5")
    assert run(lake, f"SELECT ar FROM {name} WHERE id = 5")[0].ar == [None, (1, None)]


@pytest.mark.slow
def test_members_in_frames_of_the_sdk_are_matched_by_name(lake: kl.Lake, table: str) -> None:
    handle = lake.table(table)
    rest = "array(0.5D) AS fs, array(1) AS l, map('k', 0.5D) AS mf, 0.5D AS f, 0.5F AS g, DATE '2021-01-01' AS d, "
    rest += "CAST(1.5 AS DECIMAL(6, 2)) AS e, TIMESTAMP '2021-01-01 00:00:00' AS at, 1 AS i"

    def frame(key: int, further: str = "") -> Any:
        return lake.spark.sql(f"SELECT {OTHER_ORDER}, {key} AS ID{further}")

    handle.overwrite(frame(1, f", {rest}"))
    handle.upsert(frame(2, f", {rest}"))
    handle.update(frame(3))
    handle.apply_changes(frame(4, ", 'U' AS op"), op="op")
    handle.update(frame(5).toArrow())
    handle.update([{"ID": 6, "st": {"b": "x", "A": 10}, "ar": [{"B": 20, "a": 10}], "m": {"k": {"b": 0.5, "A": 7}}}])
    assert [row(lake, table, key) for key in range(1, 7)] == [IN_ORDER] * 6
    with refused(lake, table, kl.BadRows, "'st'", "it lacks member 'B'"):
        handle.update(lake.spark.sql("SELECT 1 AS id, named_struct('a', 1) AS st"))


def test_members_that_do_not_match_are_refused(lake: kl.Lake, table: str) -> None:
    name = f"lake.{table}"
    for struct, why in (
        ("named_struct('a', 1)", "it lacks member 'B'"),
        ("named_struct('a', 1, 'b', 'x', 'c', 2)", "members that the table does not have"),
        ("named_struct('a', 1, 'c', 'x')", "it lacks member 'B'"),
    ):
        with refused_in_sql(lake, table, "BAD_ROWS", "'st'", "STRUCT<a: INT, B: STRING>", why):
            run(lake, f"INSERT INTO {name} BY NAME SELECT 1 AS id, {struct} AS st")
    with refused_in_sql(lake, table, "BAD_ROWS", "'ar.a'", "3000000000"):
        run(lake, f"INSERT INTO {name} (id, ar) VALUES (1, array(named_struct('b', 1, 'a', 3000000000)))")


def test_structs_without_names_are_matched_by_place_where_columns_are(lake: kl.Lake) -> None:
    name = fresh_name("members")
    run(lake, f"CREATE TABLE lake.{name} (id INT PRIMARY KEY, s STRUCT<x: DOUBLE, y: INT>) USING keylake")
    run(lake, f"INSERT INTO lake.{name} VALUES (1, struct(0.5, 4))")
    assert tuple(run(lake, f"SELECT s FROM lake.{name}")[0].s) == (0.5, 4)
    with refused_in_sql(lake, name, "BAD_ROWS", "it lacks member 'x'"):
        run(lake, f"UPDATE lake.{name} SET s = struct(0.5, 4)")


def test_what_comes_back_the_same_is_taken(lake: kl.Lake, table: str) -> None:
    name = f"lake.{table}"
    run(lake, f"INSERT INTO {name} (id, fs, l, mf) VALUES (1, array(0.5, 1.25), array(5L), map('k', 0.1))")
    run(lake, f"INSERT INTO {name} (id) VALUES (2)")
    run(
        lake,
        f"UPDATE {name} SET fs = array(0.5, 1.25), l = array(5L), mf = map('k', 0.1), "
        "f = CAST(12.34 AS DECIMAL(9, 4)), g = CAST(0.1 AS DECIMAL(5, 2)), e = 1.25D, "
        "d = TIMESTAMP '2021-07-04 00:00:00', at = DATE '2021-07-04' WHERE id = 2",
    )
    got = run(
        lake, f"SELECT fs, l, mf, f, round(CAST(g AS DOUBLE), 4), CAST(d AS STRING), e, CAST(at AS STRING) FROM {name}"
    )
    assert [tuple(each)[:3] for each in got] == [([0.5, 1.25], [5], {"k": 0.1})] * 2
    (second,) = [tuple(each)[3:] for each in got if each.f is not None]
    assert second == (12.34, 0.1, "2021-07-04", Decimal("1.25"), "2021-07-04 00:00:00")
    frame = lake.spark.sql("SELECT 3 AS id, TIMESTAMP_NTZ '2020-02-29 00:00:00' AS d, CAST(7.5 AS DECIMAL(3, 1)) AS f")
    lake.table(table).update(frame)
    assert tuple(run(lake, f"SELECT CAST(d AS STRING), f FROM {name} WHERE id = 3")[0]) == ("2020-02-29", 7.5)


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("d", "TIMESTAMP '2021-07-04 10:30:00'", ("'d'", "2021-07-04 10:30:00", "date")),
        ("f", "CAST(0.12345678901234567891 AS DECIMAL(38, 20))", ("'f'", "0.12345678901234567891", "double")),
        ("e", "0.125D", ("'e'", "0.125", "decimal")),
        ("l", "array(1, 3000000000)", ("'l'", "3000000000", "int")),
        ("mf", "map('k', 9007199254740993)", ("'mf.value'", "9007199254740993", "double")),
        ("i", "'5'", ("'i'", "string", "int")),
    ],
)
def test_what_does_not_is_refused(lake: kl.Lake, table: str, column: str, value: str, words: tuple[str, ...]) -> None:
    run(lake, f"INSERT INTO lake.{table} (id) VALUES (1)")
    with refused_in_sql(lake, table, "BAD_ROWS", *words):
        run(lake, f"UPDATE lake.{table} SET {column} = {value}")
    with refused_in_sql(lake, table, "BAD_ROWS", *words):
        run(lake, f"INSERT INTO lake.{table} (id, {column}) VALUES (2, {value})")


def test_conditions_that_no_row_meets(lake: kl.Lake, table: str) -> None:
    name = f"lake.{table}"
    run(lake, f"INSERT INTO {name} (id, i) VALUES (1, 1)")
    before = snapshots(lake, table)
    for nothing in (
        f"DELETE FROM {name} WHERE false",
        f"DELETE FROM {name} WHERE 1 = 0 AND id = 1",
        f"UPDATE {name} SET i = 2 WHERE NULL",
        f"MERGE INTO {name} t USING (SELECT 1 AS id) s ON FALSE WHEN MATCHED THEN DELETE",
    ):
        run(lake, nothing)
    assert snapshots(lake, table) == before
    source = "(SELECT 2 AS id, 5 AS i)"
    merge = f"MERGE INTO {name} t USING {source} s"
    run(
        lake,
        f"{merge} ON FALSE WHEN MATCHED THEN UPDATE SET id = s.id, i = s.i "
        "WHEN NOT MATCHED THEN INSERT (id, i) VALUES (s.id, s.i)",
    )
    run(
        lake,
        f"{merge} ON FALSE AND t.i > 5 WHEN MATCHED THEN UPDATE SET id = s.id "
        "WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id + 1)",
    )
    assert [tuple(each) for each in run(lake, f"SELECT id, i FROM {name} ORDER BY id")] == [(1, 1), (2, 5), (3, None)]


def test_statements_that_are_refused(lake: kl.Lake, table: str) -> None:
    name = f"lake.{table}"
    run(lake, f"INSERT INTO {name} (id, i) VALUES (1, 1)")
    with refused_in_sql(lake, table, "UNSUPPORTED", "the condition of DELETE", "rand()", "not deterministic"):
        run(lake, f"DELETE FROM {name} WHERE rand() > 2")
    with refused_in_sql(lake, table, "UNSUPPORTED", "the condition of UPDATE", "rand()", "not deterministic"):
        run(lake, f"UPDATE {name} SET i = 2 WHERE rand() > 2")
    merge = f"MERGE INTO {name} t USING (SELECT 2 AS id, 5 AS x) s ON t.id = s.id WHEN NOT MATCHED THEN"
    with refused_in_sql(lake, table, "UNSUPPORTED", "`a`", "a member of a column"):
        run(lake, f"{merge} INSERT (id, st.a) VALUES (s.id, s.x)")


@pytest.mark.parametrize("kind", ["TEMPORARY VIEW", "VIEW"])
def test_views_of_a_keyed_table(lake: kl.Lake, table: str, kind: str) -> None:
    name = f"lake.{table}"
    views = (fresh_name(each) for each in ("whole", "few", "joined"))
    whole, few, joined = (f"lake.{each}" if kind == "VIEW" else each.replace(".", "_") for each in views)
    run(lake, f"INSERT INTO {name} (id, i) VALUES (1, 1), (2, 2)")
    run(lake, f"CREATE {kind} {whole} AS SELECT * FROM {name}")
    run(lake, f"CREATE {kind} {few} AS SELECT id FROM {name} WHERE i < 2")
    run(lake, f"CREATE {kind} {joined} AS SELECT t.id FROM {name} t JOIN {name} s ON t.id = s.i")
    run(lake, f"DELETE FROM {whole} WHERE i = 2")
    if kind == "VIEW":
        with_options = f"SELECT id FROM {whole} WITH ('split-size' = '10')"
        assert [each.id for each in run(lake, with_options)] == [1]
    assert [each.id for each in run(lake, f"SELECT id FROM {name}")] == [1]
    for statement in (
        f"UPDATE {whole} SET i = 5",
        f"MERGE INTO {whole} t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
        f"DELETE FROM {few} WHERE id = 1",
        f"DELETE FROM {joined} WHERE id = 1",
    ):
        with refused_in_sql(lake, table, "UNSUPPORTED", "view", "name the table"):
            run(lake, statement)


def test_merges_that_add_members_and_columns(lake: kl.Lake) -> None:
    table = fresh_name("evolving")
    name = f"lake.{table}"
    run(lake, f"CREATE TABLE {name} (id INT PRIMARY KEY, a STRING, x STRUCT<a: INT, c: INT>) USING keylake")
    run(lake, f"INSERT INTO {name} VALUES (1, 'a', named_struct('a', 1, 'c', 3)), (2, 'b', NULL)")
    source = "(SELECT 1 AS id, named_struct('a', 10, 'b', 20, 'c', 30) AS x)"
    for _ in range(2):
        run(
            lake,
            f"MERGE WITH SCHEMA EVOLUTION INTO {name} t USING {source} s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET x = s.x",
        )
    assert run(lake, f"SELECT x FROM {name} WHERE id = 1")[0].x.asDict() == {"a": 10, "c": 30, "b": 20}
    rows = "(SELECT * FROM VALUES (1, 't'), (2, 'u') AS v(id, b))"
    run(
        lake,
        f"MERGE WITH SCHEMA EVOLUTION INTO {name} t USING {rows} s ON t.id = s.id "
        "WHEN MATCHED AND s.id = 1 THEN UPDATE SET a = b WHEN MATCHED THEN UPDATE SET *",
    )
    assert [tuple(each) for each in run(lake, f"SELECT id, a, b FROM {name} ORDER BY id")] == [
        (1, "t", None),
        (2, "b", "u"),
    ]
    steps = "v AS (SELECT id, max(w) AS w FROM (SELECT 1 AS id, length('abc') AS w) GROUP BY id), "
    steps += f"u AS (SELECT v.id, v.w + 1 AS w FROM v JOIN {name} o ON o.id = v.id)"
    merge = f"MERGE WITH SCHEMA EVOLUTION INTO {name} t USING u s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *"
    run(lake, f"WITH {steps} {merge}")
    assert run(lake, f"SELECT w FROM {name} WHERE id = 1")[0].w == 4
    run(lake, f"ALTER TABLE {name} SET TBLPROPERTIES ('write.spark.auto-schema-evolution.enabled' = 'false')")
    run(
        lake,
        f"MERGE WITH SCHEMA EVOLUTION INTO {name} t USING (SELECT 1 AS id, 'w' AS a, 5 AS n) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET a = s.a",
    )
    assert "n" not in lake.spark.table(name).columns
