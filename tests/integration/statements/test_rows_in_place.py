"""Rows that statements make of the table's own: written where they lie, or moved where they belong elsewhere."""

from collections.abc import Iterator

import pytest

import keylake as kl
from integration.query_plans import changed_settings, explained
from integration.statements.one_table import COMMIT, create, one, run

OTHER = "(SELECT id AS k, id AS v FROM range(8))"


@pytest.fixture
def version(lake: kl.Lake) -> Iterator[None]:
    """The version of statements, where the table has explicit ones."""
    with changed_settings(lake, {"spark.keylake.write.version": "1"}):
        yield


@pytest.mark.slow
@pytest.mark.parametrize(
    ("properties", "clauses", "key"),
    [
        (COMMIT, "CLUSTERED BY (k) INTO 4 BUCKETS", "k"),
        ("'versions' = 'explicit'", "PARTITIONED BY (day) CLUSTERED BY (k) INTO 2 BUCKETS", "k, day"),
        ("'versions' = 'commit', 'groups' = '16', 'hash' = 'crc32'", "CLUSTERED BY (k) INTO 4 BUCKETS", "k, b"),
    ],
)
@pytest.mark.usefixtures("version")
def test_rows_are_written_where_they_lie(lake: kl.Lake, properties: str, clauses: str, key: str) -> None:
    """What a statement makes of the table's rows comes bucket by bucket in key order, unless the statement moves it."""
    columns = "k BIGINT, day DATE, b STRING, a BIGINT, c BIGINT"
    keyed = create(lake, properties, columns, key, clauses)
    source = "SELECT id AS k, DATE '2026-01-01' AS day, concat('b', id) AS b, id AS a, 1L AS c FROM range(100)"
    options = {"version_value": "1"} if "explicit" in properties else {}
    lake.spark.sql(source).writeTo(keyed).options(**options).append()
    table = lake.table(keyed.removeprefix(f"{lake.catalog}."))

    def moves(statement: str) -> bool:
        plan = explained(lake, statement.format(t=keyed, other=OTHER)).split("===== Subqueries")[0]
        assert ("Exchange" in plan) == ("Sort" in plan), plan
        return "Exchange" in plan

    in_place = (
        "UPDATE {t} SET a = a + 1 WHERE c = 1 AND k % 2 = 0",
        "UPDATE {t} u SET a = (SELECT max(v) FROM {other}) WHERE u.k > (SELECT min(k) FROM {t})",
        "DELETE FROM {t} WHERE k % 10 = 3",
        "DELETE FROM {t}",
    )
    assert [statement for statement in in_place if moves(statement)] == []
    assert moves("DELETE FROM {t} WHERE k IN (SELECT k FROM {other})"), "a subquery that is joined may move rows"
    assert "explicit" in properties or moves("INSERT INTO {t} SELECT * FROM {t}")
    run(lake, in_place[0], t=keyed)
    run(lake, in_place[2], t=keyed)
    table.compact("settle")  # rows of settled runs are read in any order where that is of no use
    run(lake, "UPDATE {t} SET a = a + 1", t=keyed)
    run(lake, "UPDATE {t} SET a = a - 1", t=keyed)
    expected = sum((k + 1 if k % 2 == 0 else k) for k in range(100) if k % 10 != 3)
    assert one(lake, f"SELECT sum(a) FROM {keyed}") == expected
    if "groups" in properties:
        return
    table.change_buckets(2 * table.spec.buckets)
    assert moves(in_place[0]), "the files are still of half as many buckets as are written"
    run(lake, in_place[0], t=keyed)
    run(lake, "DELETE FROM {t} WHERE k = 0", t=keyed)
    table.rebucket()
    assert not moves(in_place[0])
    assert one(lake, f"SELECT sum(a) FROM {keyed}") == expected + 50 - 2
