"""MERGE INTO a keyed table: the rows that a plain table has after the same statement, or one sentence."""

from collections.abc import Iterator

import pytest
from pyspark.sql.functions import expr

import keylake as kl
from integration.query_plans import changed_settings, explained, rows_of
from integration.random_runs import of_every
from integration.refusals import refused_in_sql
from integration.twin import fresh_name

PEOPLE = """
    (1, 'hr', 100, NAMED_STRUCT('floor', 1, 'desk', 'a')), (2, 'it', 200, NAMED_STRUCT('floor', 2, 'desk', 'b')),
    (3, 'hr', 300, NULL), (4, NULL, NULL, NAMED_STRUCT('floor', 4, 'desk', CAST(NULL AS STRING))),
    (5, 'it', 500, NAMED_STRUCT('floor', 5, 'desk', 'e'))
"""
CHANGES = """(
    SELECT * FROM VALUES (2, 'law', 20), (3, NULL, NULL), (5, 'it', 51), (7, 'law', 70), (8, NULL, 80)
    AS c (id, dep, pay)
)"""
STATEMENTS = {
    "update": "USING {c} c ON t.id = c.id WHEN MATCHED THEN UPDATE SET pay = c.pay + 1",
    "update of all": "USING (SELECT *, NAMED_STRUCT('floor', 9, 'desk', 'z') AS place FROM {c}) c ON t.id = c.id "
    "WHEN MATCHED THEN UPDATE SET *",
    "insert": "USING {c} c ON t.id = c.id WHEN NOT MATCHED THEN INSERT (id, dep, pay) VALUES (c.id, c.dep, c.pay)",
    "insert of all": "USING (SELECT CAST(NULL AS STRUCT<floor: INT, desk: STRING>) AS place, * FROM {c}) c "
    "ON t.id = c.id WHEN NOT MATCHED THEN INSERT *",
    "insert where": "USING {c} c ON t.id = c.id WHEN NOT MATCHED AND dep IS NULL THEN INSERT (pay, id) "
    "VALUES (pay, id) WHEN NOT MATCHED AND pay > 1000 THEN INSERT (id) VALUES (0)",
    "insert of the key": "USING {c} c ON t.id = c.id WHEN MATCHED THEN UPDATE SET pay = 0 "
    "WHEN NOT MATCHED THEN INSERT (id) VALUES (c.id)",
    "delete": "USING {c} c ON t.id = c.id WHEN MATCHED THEN DELETE",
    "delete where": "USING {c} c ON t.id = c.id WHEN MATCHED AND t.pay > c.pay THEN DELETE",
    "first that applies": "USING {c} c ON t.id = c.id WHEN MATCHED AND c.pay < 50 THEN UPDATE SET dep = c.dep "
    "WHEN MATCHED AND t.dep = 'it' THEN DELETE WHEN MATCHED THEN UPDATE SET pay = -1, dep = 'none'",
    "all of them": "USING {c} c ON t.id = c.id WHEN MATCHED AND c.pay IS NULL THEN DELETE "
    "WHEN MATCHED THEN UPDATE SET dep = c.dep, place = NULL "
    "WHEN NOT MATCHED AND c.dep IS NULL THEN INSERT (id, pay) VALUES (id + 100, pay) "
    "WHEN NOT MATCHED THEN INSERT (id, dep, pay) VALUES (c.id, 'new', 1) "
    "WHEN NOT MATCHED BY SOURCE AND t.dep = 'hr' THEN UPDATE SET pay = t.pay * 2 "
    "WHEN NOT MATCHED BY SOURCE THEN DELETE",
    "not matched by source": "USING {c} c ON t.id = c.id WHEN NOT MATCHED BY SOURCE THEN UPDATE SET dep = 'gone'",
    "field of a struct": "USING {c} c ON t.id = c.id WHEN MATCHED THEN UPDATE SET t.place.desk = c.dep, t.pay = 0 "
    "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET place.floor = 99",
    "filter of the target": "USING {c} c ON t.id = c.id AND t.dep = 'it' WHEN MATCHED THEN UPDATE SET pay = 1",
    "filter of the target, by source": "USING {c} c ON t.id = c.id AND t.dep = 'it' "
    "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET pay = 1",
    "null safe": "USING {c} c ON t.dep <=> c.dep AND t.id = c.id WHEN MATCHED THEN UPDATE SET pay = 7",
    "no key in the condition": "USING (SELECT 'hr' AS dep, 5 AS more) c ON t.dep = c.dep "
    "WHEN MATCHED THEN UPDATE SET pay = pay + more",
    "self": "USING {t} c ON t.id = c.id + 1 WHEN MATCHED THEN UPDATE SET pay = c.pay, dep = c.dep",
    "self in a subquery": "USING (SELECT max(id) AS id, sum(pay) AS pay FROM {t}) c ON t.id = c.id "
    "WHEN MATCHED THEN UPDATE SET pay = c.pay - 1000",
    "names": "USING {c} c ON T.ID = C.Id WHEN MATCHED THEN UPDATE SET PAY = C.PAY, `dep` = `c`.`dep`",
    "deletes of several matches": "USING (SELECT * FROM {c} UNION ALL SELECT * FROM {c}) c ON t.id = c.id "
    "WHEN MATCHED THEN DELETE",
    "empty source": "USING (SELECT * FROM {c} WHERE id > 99) c ON t.id = c.id WHEN MATCHED THEN DELETE "
    "WHEN NOT MATCHED BY SOURCE AND id = 1 THEN DELETE",
    "literals": "USING {c} c ON t.id = c.id WHEN MATCHED THEN UPDATE SET pay = NULL, dep = DEFAULT",
}


@pytest.fixture
def pair(lake: kl.Lake) -> Iterator[tuple[str, str]]:
    """A keyed and a plain table of the same rows."""
    keyed, plain = (f"{lake.catalog}.{fresh_name('merge')}" for _ in range(2))
    columns = "id INT NOT NULL, dep STRING, pay INT, place STRUCT<floor: INT, desk: STRING>"
    run(lake, f"CREATE TABLE {keyed} ({columns}, PRIMARY KEY (id)) USING keylake CLUSTERED BY (id) INTO 2 BUCKETS")
    run(lake, f"CREATE TABLE {plain} ({columns}) USING iceberg")
    for name in (keyed, plain):
        run(lake, f"INSERT INTO {name} VALUES {PEOPLE}")
    yield keyed, plain
    for name in (keyed, plain):
        run(lake, f"DROP TABLE {name}")


def run(lake: kl.Lake, statement: str) -> None:
    lake.spark.sql(statement).collect()


def rows(lake: kl.Lake, name: str) -> list[str]:
    return rows_of(lake, f"SELECT * FROM {name}")


@of_every("statement", STATEMENTS, today=3)
def test_as_a_plain_table(lake: kl.Lake, pair: tuple[str, str], statement: str) -> None:
    for name in pair:
        run(lake, f"MERGE INTO {name} AS t " + statement.format(c=CHANGES, t=name))
    assert rows(lake, pair[0]) == rows(lake, pair[1])


def test_merge_into_an_empty_table(lake: kl.Lake) -> None:
    name = f"{lake.catalog}.{fresh_name('merge')}"
    run(lake, f"CREATE TABLE {name} (id INT, pay INT, PRIMARY KEY (id)) USING keylake")
    run(lake, f"MERGE INTO {name} t USING {CHANGES} c ON t.id = c.id WHEN MATCHED THEN DELETE")
    run(lake, f"MERGE INTO {name} t USING {CHANGES} c ON t.id = c.id WHEN NOT MATCHED THEN INSERT (id) VALUES (id)")
    assert [row.id for row in lake.spark.table(name).orderBy("id").collect()] == [2, 3, 5, 7, 8]


def test_several_rows_for_one(lake: kl.Lake, pair: tuple[str, str]) -> None:
    before = rows(lake, pair[0])
    twice = f"(SELECT * FROM {CHANGES} UNION ALL SELECT * FROM {CHANGES})"
    for name in pair:
        with pytest.raises(Exception, match="MERGE_CARDINALITY_VIOLATION"):
            run(lake, f"MERGE INTO {name} t USING {twice} c ON t.id = c.id WHEN MATCHED THEN UPDATE SET pay = c.pay")
    assert rows(lake, pair[0]) == before


def test_only_what_is_assigned_is_written(lake: kl.Lake) -> None:
    """A stream with older versions still writes the columns that the statement has not assigned."""
    name = fresh_name("merge")
    full = f"{lake.catalog}.{name}"
    run(
        lake,
        f"CREATE TABLE {full} (id INT, a INT, b INT, c INT, PRIMARY KEY (id)) USING keylake "
        "TBLPROPERTIES ('versions' = 'explicit')",
    )
    table = lake.table(name)
    table.update([{"id": 1, "a": 1, "b": 1}, {"id": 2, "a": 2, "b": 2}], version=10)
    with changed_settings(lake, {"spark.keylake.write.version": "20"}):
        run(
            lake,
            f"MERGE INTO {full} t USING (SELECT * FROM VALUES (1, 100), (3, 300) AS s (id, a)) s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET a = s.a WHEN NOT MATCHED THEN INSERT (id, a, b) VALUES (id, a, 0) "
            "WHEN NOT MATCHED BY SOURCE THEN DELETE",
        )
    table.update([{"id": key, "a": 15, "b": 15, "c": 15} for key in (1, 2, 3)], version=15)
    assert [tuple(row) for row in table.read().orderBy("id").collect()] == [(1, 100, 15, 15), (3, 300, 0, 15)]


@pytest.mark.slow
def test_merges_with_versions_of_an_ordering_column(lake: kl.Lake) -> None:
    """An action that sets the ordering column says the version; the others take the statement's, never an older one."""
    name = fresh_name("merge")
    full = f"{lake.catalog}.{name}"
    run(
        lake,
        f"CREATE TABLE {full} (id INT, at INT, a INT, PRIMARY KEY (id)) USING keylake "
        "TBLPROPERTIES ('ordering' = 'at')",
    )
    table = lake.table(name)
    table.upsert([{"id": key, "at": 10 * key, "a": 0} for key in (1, 2, 3)])
    source = "(SELECT * FROM VALUES (1, 15), (2, 25), (3, 35), (4, 45) AS s (id, at))"
    into = f"MERGE INTO {full} t USING {source} s ON t.id = s.id "
    both = (
        f"{into} WHEN MATCHED AND t.id = 1 THEN UPDATE SET a = 1, at = s.at "
        "WHEN MATCHED AND t.id = 2 THEN UPDATE SET a = 2 WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED THEN INSERT (id, at, a) VALUES (id, at, 4)"
    )
    with refused_in_sql(lake, name, "VERSION_MISSING", "spark.keylake.write.version"):
        run(lake, both)
    with changed_settings(lake, {"spark.keylake.write.version": "12"}):
        run(lake, both)
        with refused_in_sql(lake, name, "BAD_ROWS", "at", "15"):
            run(
                lake,
                f"{into} AND t.id = 1 WHEN MATCHED THEN UPDATE SET at = 14",
            )
    assert [tuple(row) for row in table.read().orderBy("id").collect()] == [(1, 15, 1), (2, 20, 2), (4, 45, 4)]
    table.update([{"id": 2, "a": -1}], version=19)
    table.update([{"id": 3, "a": -1}], version=29)
    assert [tuple(row) for row in table.read().orderBy("id").collect()] == [(1, 15, 1), (2, 20, 2), (4, 45, 4)]


REFUSED = {
    "the key": ("UNSUPPORTED", ("'id'", "another"), "WHEN MATCHED THEN UPDATE SET id = 9"),
    "no key": ("SCHEMA_MISMATCH", ("'id'", "whole key"), "WHEN NOT MATCHED THEN INSERT (pay) VALUES (c.pay)"),
    "a lossy value": ("BAD_ROWS", ("'pay'", "cast it"), "WHEN MATCHED THEN UPDATE SET pay = c.dep"),
    "a subquery": (
        "UNSUPPORTED",
        ("WHEN MATCHED", "subquery"),
        "WHEN MATCHED AND c.pay > (SELECT 1) THEN UPDATE SET pay = 1",
    ),
    "chance": ("UNSUPPORTED", ("WHEN MATCHED", "rand"), "WHEN MATCHED AND rand() > 0.5 THEN DELETE"),
}


@pytest.mark.parametrize(("kind", "words", "actions"), REFUSED.values(), ids=REFUSED.keys())
def test_merges_that_are_refused(
    lake: kl.Lake, pair: tuple[str, str], kind: str, words: tuple[str, ...], actions: str
) -> None:
    table = pair[0].removeprefix(f"{lake.catalog}.")
    with refused_in_sql(lake, table, kind, *words):
        run(lake, f"MERGE INTO {pair[0]} t USING {CHANGES} c ON t.id = c.id {actions}")


@pytest.mark.slow
def test_columns_of_the_source_are_added(lake: kl.Lake, pair: tuple[str, str]) -> None:
    """WITH SCHEMA EVOLUTION adds what an action takes, members of structs too, widens, and drops nothing."""
    source = """(SELECT * FROM VALUES
        (2, 20000000000, NAMED_STRUCT('floor', 7, 'desk', 'n', 'seat', 1.5D), 'x', ARRAY(1)), (8, 80, NULL, 'y', NULL)
        AS c (id, pay, place, `a b`, tags))"""
    star = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    run(lake, f"MERGE WITH SCHEMA EVOLUTION INTO {pair[0]} t USING {source} c ON t.id = c.id {star}")
    schema = lake.spark.table(pair[0]).schema
    assert schema.names == ["id", "dep", "pay", "place", "a b", "tags"]
    assert [schema[name].dataType.simpleString() for name in ("pay", "place", "tags")] == [
        "bigint", "struct<floor:int,desk:string,seat:double>", "array<int>",
    ]  # fmt: skip
    found = {row.id: row for row in lake.spark.table(pair[0]).collect()}
    assert (found[2].dep, found[2].pay, found[2].place.seat, found[2]["a b"], found[2].tags) == (
        "it", 20000000000, 1.5, "x", [1],
    )  # fmt: skip
    assert (found[8].dep, found[8]["a b"], found[1].tags, found[1].place.desk) == (None, "y", None, "a")
    # Without *, what is assigned to its own name is added; the other columns of the source are not.
    run(
        lake,
        f"MERGE WITH SCHEMA EVOLUTION INTO {pair[0]} t USING (SELECT 1 AS id, 'n' AS note, 2 AS other) c "
        "ON t.id = c.id WHEN MATCHED THEN UPDATE SET t.note = c.note, DEP = 'new'",
    )
    assert lake.spark.table(pair[0]).schema.names == [*schema.names, "note"]
    assert lake.spark.sql(f"SELECT dep, note, pay FROM {pair[0]} WHERE id = 1").first() == ("new", "n", 100)
    frame = lake.spark.sql("SELECT 1 AS id, true AS flag").alias("c")
    frame.mergeInto(pair[0], expr(f"{pair[0]}.id = c.id")).whenMatched().updateAll().withSchemaEvolution().merge()
    assert [row.id for row in lake.spark.table(pair[0]).where("flag").collect()] == [1]
    table = pair[0].removeprefix(f"{lake.catalog}.")
    with refused_in_sql(lake, table, "SCHEMA_MISMATCH", "'n'", "cast it"):
        run(
            lake,
            f"MERGE WITH SCHEMA EVOLUTION INTO {pair[0]} t USING (SELECT 1 AS id, NULL AS n) c ON t.id = c.id {star}",
        )
    with refused_in_sql(lake, table, "DEFINITION", "_merge_info"):
        source = "(SELECT 1 AS id, 2 AS _merge_info)"
        run(lake, f"MERGE WITH SCHEMA EVOLUTION INTO {pair[0]} t USING {source} c ON t.id = c.id {star}")


def test_a_source_is_called_as_a_struct_of_the_table(lake: kl.Lake, pair: tuple[str, str]) -> None:
    """Names that only the source has are its own, whatever the members of the struct are."""
    merge = (
        f"INTO {pair[0]} t USING (SELECT 1 AS id, 7 AS pay, 'x' AS note) place ON t.id = place.id "
        "WHEN MATCHED THEN UPDATE SET pay = place.pay"
    )
    run(lake, f"MERGE WITH SCHEMA EVOLUTION {merge}, t.note = place.note")
    row = lake.spark.sql(f"SELECT pay, note, place.desk FROM {pair[0]} WHERE id = 1").first()
    assert row == (7, "x", "a")


def test_frames_and_branches(lake: kl.Lake, pair: tuple[str, str]) -> None:
    table = lake.table(pair[0].removeprefix(f"{lake.catalog}."))
    table.branch("tmp_draft")
    changes = lake.spark.sql(
        f"SELECT id, dep, pay, CAST(NULL AS STRUCT<floor: INT, desk: STRING>) AS place FROM {CHANGES}"
    )
    before = rows(lake, pair[0])
    changes.alias("c").mergeInto(
        pair[0] + ".branch_tmp_draft", expr(f"{pair[0]}.branch_tmp_draft.id = c.id")
    ).whenMatched().delete().merge()
    assert rows(lake, pair[0]) == before
    assert len(rows(lake, pair[0] + ".branch_tmp_draft")) == len(before) - 3


def test_the_target_stays_where_it_is(lake: kl.Lake, pair: tuple[str, str]) -> None:
    """A merge by key moves the source to the target's buckets, and nothing else."""

    def tree(statement: str) -> list[str]:
        plan = explained(lake, f"MERGE INTO {pair[0]} t USING {pair[1]} c ON t.id = c.id {statement}")
        return [line.lstrip(" :+-") for line in plan.splitlines()[1 : plan.splitlines().index("")]]

    def exchanges(statement: str) -> int:
        return sum(line.startswith("Exchange") for line in tree(statement))

    update = "WHEN MATCHED THEN UPDATE SET pay = c.pay "
    plan = tree(update + "WHEN NOT MATCHED THEN INSERT *")
    join = next(at for at, line in enumerate(plan) if line.startswith("SortMergeJoin"))
    assert [line.split()[0] for line in plan[join + 1 : join + 4]] == ["Project", "BatchScan", "Sort"]
    assert exchanges(update + "WHEN NOT MATCHED THEN INSERT *") == 1
    assert exchanges(update) == 1
    assert exchanges(update + "WHEN NOT MATCHED BY SOURCE THEN DELETE") == 1
    assert exchanges(update + "WHEN NOT MATCHED THEN INSERT (id, pay) VALUES (c.id + 1, 5)") == 2, "another key"


@pytest.mark.slow
def test_a_target_whose_buckets_are_divided(lake: kl.Lake, pair: tuple[str, str]) -> None:
    """Rows that are joined by fewer buckets than are written are moved before they are written."""
    statement = (
        "MERGE INTO {t} t USING (SELECT CAST(id AS INT) AS id, 'x' AS dep FROM range(40)) c ON t.id = c.id "
        "WHEN MATCHED THEN UPDATE SET pay = t.pay + 1 WHEN NOT MATCHED THEN INSERT (id, dep, pay) VALUES (id, dep, 0)"
    )
    table = lake.table(pair[0].removeprefix(f"{lake.catalog}."))
    for buckets, exchanges in ((None, 1), (4, 2), (None, 2)):
        if buckets:
            table.change_buckets(buckets)
        plan = explained(lake, statement.format(t=pair[0]))
        tree = [line.lstrip(" :+-") for line in plan.splitlines()[1 : plan.splitlines().index("")]]
        assert sum(line.startswith("Exchange") for line in tree) == exchanges, plan
        for name in pair:
            run(lake, statement.format(t=name))
        assert rows(lake, pair[0]) == rows(lake, pair[1])
    table.rebucket()
    for name in pair:
        run(lake, statement.format(t=name))
    assert rows(lake, pair[0]) == rows(lake, pair[1])
