"""Statements on tables that are not ours: the same plans, rows and errors with keylake's extensions as without them.

The statements are those of `tests/cases/plain_tables`, and each runs on two servers: one of Spark and Iceberg alone,
and the one that the tests share. The tables lie in a catalog of ours, which is Iceberg's own on the other server, in
one of Iceberg's own, and in the session catalog. Streams read one plain table and write another.
"""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

import keylake as kl
from integration.query_plans import changed_settings
from integration.sessions import kept
from integration.shared_lake import TIME_ZONE
from integration.statements.stock_server import stock_server
from integration.twin import fresh_name

CASES = Path(__file__).parents[2] / "cases" / "plain_tables"
ICEBERG = "org.apache.iceberg.spark.SparkCatalog"
OURS = "io.keylake.spark.KeylakeCatalog"
SESSION = "org.apache.iceberg.spark.SparkSessionCatalog"
STREAMS = "streams"
# A change of the table that a stream reads, and what the stream then writes.
STREAMED = {
    "INSERT INTO {t}w VALUES (1, 'a'), (2, 'b')": "id, v",
    "INSERT INTO {t}w VALUES (3, 'c')": "id, v",
    "INSERT INTO {t}w VALUES (4, 'd')": "id, nothing",
    "INSERT INTO {t}w VALUES (5, 'e')": "v AS id, v",
    "ALTER TABLE {t}x ADD COLUMN w INT": "id, v, 1 AS w",
    "DELETE FROM {t}w WHERE id = 1": "id, v, 1 AS w",
}
FILES = ("assignments", "rows", "tables")
FURTHER = ("joins", "procedures", STREAMS)
PLANNED = ("SELECT", "WITH", "INSERT", "UPDATE", "DELETE", "MERGE")


def statements(name: str) -> list[str]:
    text = (CASES / f"{name}.sql").read_text()
    return [line.rstrip(";") for line in text.splitlines() if line and not line.startswith("--")]


def session(address: str, warehouse: Path, catalog: str, of_class: str) -> SparkSession:
    """A session with a catalog, whose name is the same on both servers."""
    opened = kept(SparkSession.builder.remote(address).create())
    prefix = f"spark.sql.catalog.{catalog}"
    for name, value in (("", of_class), (".type", "hadoop"), (".warehouse", str(warehouse))):
        opened.conf.set(prefix + name, value)
    opened.conf.set("spark.sql.defaultCatalog", "spark_catalog")
    opened.conf.set("spark.sql.shuffle.partitions", "8")
    return opened


def told(text: str, warehouse: Path) -> str:
    """What a server says, without what differs from run to run."""
    text = text.split("\n\nJVM stacktrace", maxsplit=1)[0].replace(str(warehouse), "WAREHOUSE")
    text = re.sub(r"#\d+L?", "#", text)
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UUID", text)
    text = re.sub(r"Lambda\S+|rand\(-?\d+\)", "N", text).replace(OURS, ICEBERG)
    text = re.sub(r"plan_id=\d+|CTERelation(?:Def|Ref) \d+|schemaId=\d+|\b\d{15,}\b|@[0-9a-f]{4,}", "N", text)
    return re.sub(r"\b\d{13}\b", "MILLIS", text)


def answers(spark: SparkSession, warehouse: Path, catalog: str, name: str) -> Iterator[str]:
    """What each statement of a file comes to: its plan, and its rows or its error."""
    namespace = f"n_{catalog}"
    for statement in statements(name):
        said = statement.replace("{t}", f"{catalog}.{namespace}.").replace("{c}", catalog).replace("{n}", namespace)
        for asked in ([f"EXPLAIN EXTENDED {said}"] if said.startswith(PLANNED) else []) + [said]:
            try:
                rows = "\n".join(str(row[0] if len(row) == 1 else row) for row in spark.sql(asked).collect())
            except PySparkException as error:
                rows = f"{type(error).__name__} {error.getCondition()}: {error}"
            yield f"{said}\n{told(rows, warehouse)}"


def streamed(spark: SparkSession, warehouse: Path, tables: str) -> Iterator[str]:
    """What streams come to that read one table and write another."""
    for name in ("w", "x"):
        spark.sql(f"CREATE TABLE {tables}{name} (id BIGINT, v STRING) USING iceberg").collect()
    for step, (change, into) in enumerate(STREAMED.items()):
        spark.sql(change.replace("{t}", tables)).collect()
        writer = spark.readStream.table(f"{tables}w").selectExpr(*into.split(", ")).writeStream
        try:
            query = writer.option("checkpointLocation", str(warehouse / "checkpoint")).trigger(availableNow=True)
            query.toTable(f"{tables}x").awaitTermination()
            rows = str(sorted(map(str, spark.table(f"{tables}x").collect())))
        except PySparkException as error:
            rows = f"{type(error).__name__} {error.getCondition()}: {str(error).splitlines()[0]}"
        yield f"stream {step}: {told(rows, warehouse)}"


def ran(address: str, warehouse: Path, catalog: str, of_class: str, names: tuple[str, ...]) -> list[str]:
    spark = session(address, warehouse, catalog, of_class)
    try:
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {catalog}.n_{catalog}").collect()
        return [
            each
            for name in names
            for each in (
                streamed(spark, warehouse, f"{catalog}.n_{catalog}.")
                if name == STREAMS
                else answers(spark, warehouse, catalog, name)
            )
        ]
    finally:
        spark.stop()


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with stock_server(tmp_path_factory.mktemp("stock"), TIME_ZONE) as address:
        yield address


def run_both(lake: kl.Lake, stock: str, folder: Path, catalog: str, classes: tuple[str, str], *names: str) -> None:
    assert lake._server is not None
    with ThreadPoolExecutor(2) as both:
        without = both.submit(ran, stock, folder / "without", catalog, classes[0], names)
        ours = both.submit(ran, lake._server.url, folder / "ours", catalog, classes[1], names)
    differences = [(one, other) for one, other in zip(without.result(), ours.result(), strict=True) if one != other]
    assert not differences, "\n\n".join(f"WITHOUT {one}\nOURS {other}" for one, other in differences)


@pytest.mark.slow
def test_a_plain_table_of_our_catalog_is_as_without_us(lake: kl.Lake, stock: str, tmp_path: Path) -> None:
    run_both(lake, stock, tmp_path, "own", (ICEBERG, OURS), *FILES)


@pytest.mark.nightly
def test_joins_procedures_and_streams_of_our_catalog_are_as_without_us(
    lake: kl.Lake, stock: str, tmp_path: Path
) -> None:
    run_both(lake, stock, tmp_path, "further", (ICEBERG, OURS), *FURTHER)


@pytest.mark.nightly
def test_a_table_of_icebergs_catalog_is_as_without_us(lake: kl.Lake, stock: str, tmp_path: Path) -> None:
    run_both(lake, stock, tmp_path, "icebergs", (ICEBERG, ICEBERG), *FILES, *FURTHER)


@pytest.mark.nightly
def test_a_table_of_the_session_catalog_is_as_without_us(lake: kl.Lake, stock: str, tmp_path: Path) -> None:
    run_both(lake, stock, tmp_path, "spark_catalog", (SESSION, SESSION), *FILES, *FURTHER)


def test_what_a_plain_table_is_assigned_follows_sparks_rules(lake: kl.Lake) -> None:
    name = f"lake.{fresh_name('plain')}"
    run = lake.spark.sql
    run(f"CREATE TABLE {name} (id INT, i INT, s STRUCT<a: STRING, b: STRING>) USING iceberg")
    run(f"INSERT INTO {name} VALUES (1, 1, named_struct('a', 'A', 'b', 'B'))")
    run(f"UPDATE {name} SET s = named_struct('b', 'Y', 'a', 'X')")
    assert [tuple(row.s) for row in run(f"SELECT s FROM {name}").collect()] == [("X", "Y")]
    source = "(SELECT 1 AS id, '6' AS i, named_struct('b', '2', 'a', '1') AS s)"
    run(f"MERGE INTO {name} t USING {source} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET s = s.s")
    assert [tuple(row.s) for row in run(f"SELECT s FROM {name}").collect()] == [("1", "2")]
    for statement in (
        f"UPDATE {name} SET i = '5'",
        f"MERGE INTO {name} t USING {source} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET i = s.i",
    ):
        with pytest.raises(AnalysisException, match="CANNOT_SAFELY_CAST"):
            run(statement)
    strict = changed_settings(lake, {"spark.sql.storeAssignmentPolicy": "STRICT"})
    with strict, pytest.raises(AnalysisException, match="CANNOT_SAFELY_CAST"):
        run(f"UPDATE {name} SET i = 5L")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND") as missing:
        run(f"DELETE FROM {name}_missing WHERE id = 1")
    assert "_merge_info" not in str(missing.value)
    with pytest.raises(AnalysisException, match=r"_missing` cannot be found"):
        run(f"SELECT * FROM {name}_missing WITH ('split-size' = '10')").collect()
