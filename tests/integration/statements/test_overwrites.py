"""INSERT OVERWRITE and its forms for frames: of the whole table, of stated partitions, of the partitions written."""

from collections.abc import Iterator

import pytest
from pyspark.sql import functions

import keylake as kl
from integration.random_runs import of_every
from integration.refusals import refused_in_sql
from integration.twin import fresh_name

COLUMNS = "k BIGINT, day DATE, tenant STRING, a BIGINT"
ROWS = """
    SELECT id AS k, DATE '2026-01-01' + CAST(id % 3 AS INT) AS day, IF(id % 2 = 0, 'even', 'o`d') AS tenant, id AS a
    FROM range(12)
"""
STATEMENTS = [
    "INSERT OVERWRITE {t} SELECT k, day, tenant, a * 2 FROM {t} WHERE day = DATE '2026-01-01'",
    "INSERT OVERWRITE {t} VALUES (50, DATE '2026-01-02', 'even', 1), (51, DATE '2026-01-02', 'o`d', NULL)",
    "INSERT OVERWRITE {t} PARTITION (day = DATE '2026-01-03') SELECT k, 'even', a FROM VALUES (60L, 1L) AS v(k, a)",
    "INSERT OVERWRITE {t} PARTITION (day = DATE '2026-01-03', tenant = 'o`d') SELECT 61L, 2L",
    "INSERT OVERWRITE {t} SELECT * FROM {t} WHERE a > 1000",
]
PARTITIONS = {"day": "(day)", "day and tenant": "(day, tenant)", "none": ""}


@pytest.fixture(params=["static", "dynamic"])
def mode(lake: kl.Lake, request: pytest.FixtureRequest) -> Iterator[str]:
    """How Spark takes an overwrite that does not state all partitions."""
    name = "spark.sql.sources.partitionOverwriteMode"
    lake.spark.conf.set(name, request.param)
    yield request.param
    lake.spark.conf.unset(name)


def create(lake: kl.Lake, partition: str) -> str:
    keyed = f"{lake.catalog}.{fresh_name('overwrites')}"
    partitioned = f"PARTITIONED BY {partition}" if partition else ""
    clauses = f"{partitioned} CLUSTERED BY (k) INTO 2 BUCKETS"
    lake.spark.sql(f"CREATE TABLE {keyed} ({COLUMNS}, PRIMARY KEY (k, day, tenant)) USING keylake {clauses}").collect()
    return keyed


def rows(lake: kl.Lake, table: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in lake.spark.sql(f"SELECT * FROM {table} ORDER BY k, day, tenant").collect()]


@pytest.mark.slow
@of_every("partition", {name: name for name in PARTITIONS}, today=1)
def test_overwrites_answer_as_on_a_plain_table(lake: kl.Lake, mode: str, partition: str) -> None:
    keyed = create(lake, PARTITIONS[partition])
    plain = f"{lake.catalog}.{fresh_name('overwrites')}"
    partitioned = f"PARTITIONED BY {PARTITIONS[partition]}" if PARTITIONS[partition] else ""
    lake.spark.sql(f"CREATE TABLE {plain} ({COLUMNS}) USING iceberg {partitioned}").collect()
    for statement in STATEMENTS:
        if "PARTITION (" in statement and statement.split("PARTITION (")[1].count("=") > PARTITIONS[partition].count(
            ","
        ) + bool(partitioned):
            continue
        for table in (keyed, plain):
            lake.spark.sql(f"TRUNCATE TABLE {table}").collect()
            lake.spark.sql(f"INSERT INTO {table} {ROWS}").collect()
            lake.spark.sql(statement.format(t=table)).collect()
        assert rows(lake, keyed) == rows(lake, plain), (mode, statement)


@pytest.mark.parametrize("partition", PARTITIONS)
def test_overwrites_of_a_frame(lake: kl.Lake, partition: str) -> None:
    keyed = create(lake, PARTITIONS[partition])
    table = lake.table(keyed.removeprefix(f"{lake.catalog}."))
    lake.spark.sql(f"INSERT INTO {keyed} {ROWS}").collect()
    before = rows(lake, keyed)
    frame = lake.spark.sql("SELECT 50L AS k, DATE '2026-01-02' AS day, 'even' AS tenant, 1L AS a")
    frame.writeTo(keyed).overwritePartitions()
    new = frame.collect()[0]
    replaced = {
        "none": lambda _row: True,
        "day": lambda row: row[1] == new.day,
        "day and tenant": lambda row: row[1:3] == (new.day, new.tenant),
    }[partition]
    assert rows(lake, keyed) == sorted([*(row for row in before if not replaced(row)), tuple(new)])
    assert table.history()[0].verb == "overwrite"
    commits = len(table.history())
    frame.where("k < 0").writeTo(keyed).overwritePartitions()
    assert len(rows(lake, keyed)) == len([row for row in before if not replaced(row)]) + 1
    assert len(table.history()) == commits + 1
    late = frame.selectExpr("60L AS k", "day", "tenant", "a")
    if partition == "day":
        late.writeTo(keyed).overwrite(functions.col("day") == new.day)
        assert [row[0] for row in rows(lake, keyed) if row[1] == new.day] == [60]
    else:
        with refused_in_sql(lake, table.name, "UNSUPPORTED", "partition_by"):
            late.writeTo(keyed).overwrite(functions.col("a") == 1)


@pytest.mark.slow
def test_many_partitions_at_once(lake: kl.Lake) -> None:
    keyed = create(lake, "(day, tenant)")
    many = "SELECT id AS k, DATE '2020-01-01' + CAST(id AS INT) AS day, 'x' AS tenant, {} AS a FROM range({})"
    lake.spark.sql(many.format(1, 300)).writeTo(keyed).overwritePartitions()
    lake.spark.sql(many.format(2, 200)).writeTo(keyed).overwritePartitions()
    assert sorted(row[3] for row in rows(lake, keyed)) == [1] * 100 + [2] * 200
