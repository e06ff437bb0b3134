"""Errors of the server are error conditions with an SQLSTATE, for any client of Spark."""

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

import keylake as kl
from integration.twin import fresh_name
from keylake.errors import from_server


@pytest.fixture(scope="module")
def table(lake: kl.Lake) -> kl.KeyedTable:
    schema = pa.schema([("id", pa.int64()), ("a", pa.int32())])
    table = lake.create(kl.TableSpec.from_arrow(schema, name=fresh_name("conditions"), key="id", buckets=2))
    table.upsert([{"id": 1, "a": 1}])
    return table


def failed(lake: kl.Lake, statement: str) -> PySparkException:
    with pytest.raises(PySparkException) as raised:
        lake.spark.sql(statement).collect()
    return raised.value


def test_a_procedure_that_refuses(lake: kl.Lake, table: kl.KeyedTable) -> None:
    error = failed(lake, "CALL lake.system.compaction_plan(table => 'ns.no_such_table')")
    assert (error.getCondition(), error.getSqlState()) == ("KEYLAKE_NOT_FOUND", "42P01")
    assert type(from_server(error)) is kl.TableNotFound
    assert "no_such_table" in str(error.getMessageParameters())
    assert "SQLSTATE" not in str(from_server(error))


@pytest.mark.parametrize(
    ("procedure", "argument"),
    [
        ("rollback(table => '{table}', to => NULL)", "to"),
        ("publish(table => '{table}', branch => 'main', head => NULL)", "head"),
        ("change_buckets(table => '{table}', buckets => NULL)", "buckets"),
        ("adopt_commit(table => '{table}', snapshot_id => NULL, rule => 'upsert')", "snapshot_id"),
        ("move_consumer(table => '{table}', name => NULL)", "name"),
        ("create_table(table => 'ns.none', spec => NULL)", "spec"),
    ],
)
def test_a_required_argument_that_is_null(lake: kl.Lake, table: kl.KeyedTable, procedure: str, argument: str) -> None:
    error = failed(lake, f"CALL lake.system.{procedure.format(table=table.name)}")
    assert error.getCondition() == "KEYLAKE_DEFINITION"
    assert f"argument '{argument}' of the procedure is NULL" in str(error)


def test_a_statement_that_the_analyzer_refuses(lake: kl.Lake, table: kl.KeyedTable) -> None:
    error = failed(lake, f"INSERT INTO lake.{table.name} SELECT 5L AS id, 'text' AS a")
    assert (error.getCondition(), error.getSqlState()) == ("KEYLAKE_BAD_ROWS", "22000")
    assert type(from_server(error)) is kl.BadRows


def test_a_row_that_a_task_refuses(lake: kl.Lake, table: kl.KeyedTable) -> None:
    """Spark passes on errors of tasks that are error conditions as they are, without the text of an aborted job."""
    error = failed(lake, f"INSERT INTO lake.{table.name} SELECT IF(id = 3, NULL, id) AS id, 1 AS a FROM range(5)")
    assert (error.getCondition(), error.getSqlState()) == ("KEYLAKE_BAD_ROWS", "22000")
    assert "Job aborted" not in str(error)
    assert type(from_server(error)) is kl.BadRows
    assert [row["id"] for row in table.read().collect()] == [1]


def test_a_lazy_frame_has_the_class_of_the_sdk(lake: kl.Lake, table: kl.KeyedTable) -> None:
    """An error of the server is one of ours and one of pyspark's, wherever a frame is run."""
    frame = table.read()
    for call in (
        lambda: lake.spark.sql(f"INSERT INTO lake.{table.name} SELECT 5L AS id, 'text' AS a").collect(),
        lambda: frame.selectExpr("CAST(NULL AS BIGINT) AS id", "a").writeTo(f"lake.{table.name}").append(),
    ):
        with pytest.raises(kl.BadRows, match=r"^\[KEYLAKE_BAD_ROWS\] .* SQLSTATE: 22000$") as raised:
            call()
        assert isinstance(raised.value, PySparkException)
        assert raised.value.getCondition() == "KEYLAKE_BAD_ROWS"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {table} SET a = 5.5",
        "UPDATE {table} SET a = a + 0.5",
        "INSERT INTO {table} SELECT id, id + 0.5 FROM range(5)",
    ],
)
def test_a_value_that_an_expression_refuses_has_the_class_of_the_sdk(
    lake: kl.Lake, table: kl.KeyedTable, statement: str
) -> None:
    """Spark's function `raise_error` says it, on the driver or in a task, with a condition of Spark."""
    with pytest.raises(kl.BadRows, match="without changing it; no row was written") as raised:
        lake.spark.sql(statement.format(table=f"lake.{table.name}")).collect()
    assert isinstance(raised.value, PySparkException)


def test_an_error_that_users_raise_is_of_spark_alone(lake: kl.Lake) -> None:
    with pytest.raises(PySparkException, match="mine") as raised:
        lake.spark.sql("SELECT raise_error('mine')").collect()
    assert not isinstance(raised.value, kl.KeylakeError)
