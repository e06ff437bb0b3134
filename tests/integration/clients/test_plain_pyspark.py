"""pyspark's own client of Spark Connect, and pandas-on-Spark over it, which know nothing of our SDK."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, lit

import keylake as kl
from integration.sessions import kept
from integration.twin import fresh_name

CLIENTS = Path(__file__).parents[3] / ".build" / "clients" / "bin"
PANDAS_PROGRAM = Path(__file__).with_name("pandas_program.py")


@pytest.fixture(scope="module")
def spark(lake: kl.Lake) -> Iterator[SparkSession]:
    assert lake._server is not None
    session = kept(SparkSession.builder.remote(lake._server.url).create())
    yield session
    session.stop()


def rows(spark: SparkSession, table: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in spark.table(table).orderBy("id").collect()]


def condition(error: pytest.ExceptionInfo[PySparkException]) -> tuple[str | None, str | None]:
    return error.value.getCondition(), error.value.getSqlState()


def test_frames_statements_and_streams(spark: SparkSession, tmp_path: Path) -> None:
    table = f"lake.{fresh_name('plain')}"
    frame = spark.createDataFrame([(1, "a", 1), (2, "b", 2)], "id bigint, name string, n int")
    frame.writeTo(table).using("keylake").tableProperty("key", "id").create()
    frame.limit(0).select((col("id") + 9).alias("id"), lit("x").alias("name")).writeTo(table).append()
    spark.createDataFrame([(2, 20), (3, 30)], "id bigint, n int").writeTo(table).append()  # only these columns
    assert rows(spark, table) == [(1, "a", 1), (2, "b", 20), (3, None, 30)]

    source = spark.createDataFrame([(3, "c", 3), (4, "d", 4)], "id bigint, name string, n int").alias("s")
    merge = source.mergeInto(table, col("s.id") == col(f"{table}.id"))
    merge.whenMatched().update({"name": col("s.name")}).whenNotMatched().insertAll().merge()
    spark.sql(f"UPDATE {table} SET n = n + :more WHERE name = :name", args={"more": 100, "name": "a"})
    spark.sql(f"DELETE FROM {table} WHERE id = ?", args=[2])
    assert rows(spark, table) == [(1, "a", 101), (3, "c", 30), (4, "d", 4)]

    incoming = tmp_path / "incoming"
    spark.range(4, 6).selectExpr("id", "'stream' AS name").write.parquet(str(incoming))
    stream = spark.readStream.schema("id bigint, name string").parquet(str(incoming)).writeStream
    query = stream.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).toTable(table)
    assert query.awaitTermination(60)
    assert rows(spark, table)[2:] == [(4, "stream", 4), (5, "stream", None)]

    other = f"{table}_saved"
    spark.sql(f"CREATE TABLE {other} (id BIGINT PRIMARY KEY, name STRING, n INT) USING keylake")
    frame.write.mode("append").saveAsTable(other)  # Spark hands no option to a table that it creates so, also no key
    frame.select("id", "name").write.mode("append").saveAsTable(other)
    assert rows(spark, other) == [(1, "a", 1), (2, "b", 2)]

    with pytest.raises(AnalysisException) as unknown:
        spark.sql(f"UPDATE {table} SET nothing = 1")
    assert condition(unknown) == ("UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703")
    with pytest.raises(PySparkException) as refused:
        frame.withColumn("id", lit(None).cast("bigint")).writeTo(table).append()
    assert condition(refused) == ("KEYLAKE_BAD_ROWS", "22000")
    with pytest.raises(PySparkException) as keyless:
        frame.writeTo(f"{table}_keyless").using("keylake").create()
    assert condition(keyless) == ("KEYLAKE_DEFINITION", "42000")


@pytest.mark.slow
def test_pandas_on_spark(lake: kl.Lake) -> None:
    assert lake._server is not None
    assert CLIENTS.exists(), "pandas-on-Spark wants an older pandas: run `make clients`"
    ran = subprocess.run(
        [CLIENTS / "python", PANDAS_PROGRAM, f"lake.{fresh_name('pandas')}"],
        env=os.environ | {"SPARK_REMOTE": lake._server.url, "PYARROW_IGNORE_TIMEZONE": "1"},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "KEYLAKE_SCHEMA_MISMATCH 42804\n"
