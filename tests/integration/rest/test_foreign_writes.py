"""Engines that do not merge write to keyed tables through the REST catalog: rows become upserts and deletes."""

import re
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.connect.session import SparkSession

import keylake as kl
from integration.catalogs.lossy_proxy import lossy
from integration.rest.endpoint import Endpoint
from integration.rest.stock_catalog import opened_strangely
from integration.twin import fresh_name

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("a", pa.int64()), ("t", pa.string())])


@pytest.fixture(scope="module")
def stock(lake: kl.Lake, endpoint: Endpoint) -> SparkSession:
    """A session with such a catalog by the name of strange."""
    opened_strangely(lake, endpoint, "strange")
    return lake.spark


def error_of(lake: kl.Lake, statement: str) -> str | None:
    """What a statement has failed with; None where it was made."""
    try:
        lake.spark.sql(statement).collect()
    except PySparkException as error:
        return str(error)
    return None


def created(lake: kl.Lake, **words: object) -> kl.KeyedTable:
    spec = kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("foreign_rows"), key="id", buckets=2, **words)  # type: ignore[arg-type]
    return lake.create(spec)


def rows_of(table: kl.KeyedTable) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in table.read().collect())


# What is then there: keys, values of a, and of t.
STATEMENTS = {
    "INSERT INTO {} VALUES (1, 10, 'i'), (9, 9, 'new')": "0 0 x, 1 10 i, 2 -2 x, 3 3 x, 9 9 new",
    "UPDATE {} SET a = a + 100 WHERE id < 2": "0 100 x, 1 110 i, 2 -2 x, 3 3 x, 9 9 new",
    "DELETE FROM {} WHERE id IN (2, 9)": "0 100 x, 1 110 i, 3 3 x",
    "MERGE INTO {} t USING (SELECT 3L AS id, 33L AS a, 'm' AS t UNION ALL SELECT 5L, 5L, 'x') u ON t.id = u.id "
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *": "0 100 x, 1 110 i, 3 33 m, 5 5 x",
    "INSERT INTO {} VALUES (5, 1, 'one'), (5, 2, 'two')": "0 100 x, 1 110 i, 3 33 m, 5 2 two",
    "INSERT OVERWRITE {} VALUES (7, 7, 'only')": "7 7 only",
    "TRUNCATE TABLE {}": "",
    "INSERT INTO {} SELECT id, id, 'again' FROM range(3)": "0 0 again, 1 1 again, 2 2 again",
}


@pytest.mark.slow
def test_statements_of_another_engine(lake: kl.Lake, stock: SparkSession) -> None:
    table = created(lake)
    table.upsert([{"id": n, "a": n, "t": "x"} for n in range(4)])
    table.update([{"id": n, "a": -n} for n in range(3)])
    for statement, expected in STATEMENTS.items():
        stock.sql(statement.format(f"strange.{table.name}")).collect()
        assert ", ".join(" ".join(map(str, row)) for row in rows_of(table)) == expected, statement
        shown = stock.sql(f"SELECT * FROM strange.{table.name}").collect()
        assert sorted(tuple(row) for row in shown) == rows_of(table), statement
    keys = [commit.idempotency_key for commit in table.history() if commit.idempotency_key]
    assert len(keys) == len(set(keys)) == len(STATEMENTS)
    table.undo(table.history(1)[0])
    assert rows_of(table) == []


def test_rows_of_a_table_with_an_ordering_column(lake: kl.Lake, stock: SparkSession) -> None:
    table = created(lake, ordering="a")
    table.upsert([{"id": 1, "a": 10, "t": "kept"}, {"id": 2, "a": 10, "t": "old"}])
    stock.sql(f"INSERT INTO strange.{table.name} VALUES (1, 5, 'late'), (2, 11, 'newer')").collect()
    assert rows_of(table) == [(1, 10, "kept"), (2, 11, "newer")]
    with pytest.raises(PySparkException, match="is ordered by column 'a', of which a deleted row has no new value"):
        stock.sql(f"DELETE FROM strange.{table.name} WHERE id = 1").collect()
    assert len(rows_of(table)) == 2


REFUSED = {
    "ALTER TABLE {} ADD COLUMN z INT": "takes rows of other engines in one commit to main, and no other change",
    "ALTER TABLE {} CREATE BRANCH b": "takes rows of other engines in one commit to main, and no other change",
    "CALL strange.system.rewrite_data_files(table => '{}', options => map('rewrite-all', 'true'))": "is compacted by",
    "ALTER TABLE {} SET TBLPROPERTIES ('a' = 'b')": "takes rows of other engines",
    "DROP TABLE {}": "cannot be dropped",
}


@pytest.mark.parametrize("statement", REFUSED)
def test_what_another_engine_may_not_do(lake: kl.Lake, stock: SparkSession, statement: str) -> None:
    table = created(lake)
    table.upsert([{"id": n, "a": n, "t": "x"} for n in range(8)])
    table.update([{"id": n, "a": -n} for n in range(3)])
    before, commits = rows_of(table), len(table.history())
    with pytest.raises(PySparkException, match=REFUSED[statement]):
        stock.sql(statement.format(table.name if "CALL" in statement else f"strange.{table.name}")).collect()
    assert rows_of(table) == before
    assert len(table.history()) == commits


def test_tables_whose_rule_cannot_say_it(lake: kl.Lake, stock: SparkSession) -> None:
    explicit = created(lake, versions="explicit")
    with pytest.raises(PySparkException, match="has versions that each write states, which rows of other engines lack"):
        stock.sql(f"INSERT INTO strange.{explicit.name} VALUES (1, 1, 'x')").collect()
    summed = created(lake, reducers={"a": kl.Sum()})
    summed.update([{"id": 1, "a": 5}])
    stock.sql(f"INSERT INTO strange.{summed.name} VALUES (1, 6, 'x')").collect()
    assert rows_of(summed) == [(1, 11, "x")]
    with pytest.raises(PySparkException, match="combines column 'a' of several writes"):
        stock.sql(f"UPDATE strange.{summed.name} SET a = 1").collect()
    assert rows_of(summed) == [(1, 11, "x")]


@pytest.mark.parametrize("fault", ["after_409", "after_503", "before_503", "after_cut", "before_409"])
def test_an_answer_that_is_lost(lake: kl.Lake, endpoint: Endpoint, fault: str) -> None:
    table = created(lake, reducers={"a": kl.Sum()})
    table.update([{"id": 1, "a": 5}])
    with lossy(endpoint.uri) as proxy:
        catalog = opened_strangely(lake, endpoint, f"lossy_{fault}", proxy.uri)
        lake.spark.table(f"{catalog}.{table.name}").collect()
        proxy.lose = fault
        told = error_of(lake, f"INSERT INTO {catalog}.{table.name} VALUES (1, 1, 'x')")
        assert told is None or re.search("Commit ?[Ss]tate ?[Uu]nknown|Error occurred while processing POST", told), (
            told
        )
        expected = [5 if told is not None and fault.startswith("before") else 6]
        assert [row.a for row in table.read().collect()] == expected
        lake.spark.sql(f"INSERT INTO {catalog}.{table.name} VALUES (1, 1, 'x')").collect()
        assert [row.a for row in table.read().collect()] == [expected[0] + 1]


@pytest.mark.slow
def test_a_statement_conflicts_with_what_it_has_not_read(lake: kl.Lake, endpoint: Endpoint) -> None:
    table = created(lake)
    table.upsert([{"id": n, "a": 0, "t": "x"} for n in range(4)])
    catalogs = [opened_strangely(lake, endpoint, f"writer_{number}") for number in range(3)]

    def count_up(catalog: str) -> int:
        done = 0
        for _ in range(4):
            told = error_of(lake, f"UPDATE {catalog}.{table.name} SET a = a + 1 WHERE id = 2")
            assert told is None or re.search("Cannot commit|onflict|Found|Requirement failed", told), told
            done += told is None
        return done

    with ThreadPoolExecutor(len(catalogs)) as threads:
        done = sum(threads.map(count_up, catalogs))
    assert done >= 3
    assert [row.a for row in table.read().where("id = 2").collect()] == [done], "no update is lost"
