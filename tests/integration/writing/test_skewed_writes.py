"""Writes in which a bucket, a partition or a key is hot: their tasks are ranges of keys, and their files are few."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from pyspark.sql.connect.functions import expr

import keylake as kl
from integration.query_plans import changed_settings, planned
from integration.refusals import refused
from integration.twin import fresh_name

TASKS = 16
WORTH_A_TASK = "spark.sql.adaptive.advisoryPartitionSizeInBytes"
SETTINGS = {
    WORTH_A_TASK: "50k",
    "spark.sql.adaptive.coalescePartitions.minPartitionSize": "25k",
    "spark.sql.shuffle.partitions": str(TASKS),
}
ROWS, BUCKETS = 24_000, 8


SCHEMA = pa.schema(
    [
        pa.field("day", pa.int32(), nullable=False),
        pa.field("shop", pa.int64(), nullable=False),
        pa.field("visitor", pa.int64(), nullable=False),
        pa.field("v", pa.int64()),
        pa.field("text", pa.string()),
    ]
)
KEY = ("day", "shop", "visitor")


@pytest.fixture
def small_tasks(lake: kl.Lake) -> Iterator[None]:
    """What is worth a task elsewhere would take a test too long."""
    before = {name: lake.spark.conf.get(name) for name in SETTINGS}
    for name, value in SETTINGS.items():
        lake.spark.conf.set(name, value)
    yield
    for name, old in before.items():
        lake.spark.conf.set(name, str(old))


def visits(lake: kl.Lake, day: str = "1", shop: str = "id", visitor: str = "id") -> DataFrame:
    """Rows in no order, made of expressions over `id`; versions stand several times."""
    spread = lake.spark.range(0, ROWS, 1, 3).selectExpr("id * 7919 % 1000003 AS id")
    return spread.selectExpr(
        f"int({day}) AS day",
        f"bigint({shop}) AS shop",
        f"bigint({visitor}) AS visitor",
        "id AS v",
        "sha2(string(id), 256) AS text",
        "id % 997 AS at",
    )


def created(lake: kl.Lake) -> kl.KeyedTable:
    """Of a shop, all rows are in the same bucket of each day."""
    return lake.create(
        kl.TableSpec.from_arrow(
            SCHEMA,
            name=fresh_name("skewed"),
            key=list(KEY),
            versions="explicit",
            buckets=BUCKETS,
            bucket_by="shop",
            partition_by="day",
        )
    )


def created_by_commits(lake: kl.Lake) -> kl.KeyedTable:
    """One whose writes need no version, so that SQL can make them."""
    return lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("skewed"), key=list(KEY), buckets=BUCKETS))


def written(lake: kl.Lake, frame: DataFrame) -> kl.KeyedTable:
    table = created(lake)
    table.upsert(frame, version="at")
    return table


def rows_of_tasks(table: kl.KeyedTable) -> list[int]:
    """How many rows each task of the only commit has stored."""
    tasks = table.files().groupBy(expr("substring_index(element_at(split(path, '/'), -1), '-', 1)")).sum("rows")
    return sorted(row["sum(rows)"] for row in tasks.collect())


def check_rows(table: kl.KeyedTable, frame: DataFrame) -> int:
    """The table has the newest row of every key of the frame, and nothing else."""
    newest = frame.groupBy(*KEY).agg(expr("max_by(v, at) AS v"), expr("max_by(text, at) AS text"))
    read = table.read().select(*KEY, "v", "text")
    assert newest.exceptAll(read).isEmpty()
    keys = newest.count()
    assert read.count() == keys
    return keys


HOT = {
    "bucket": {"shop": "if(id % 10 < 8, 1, id % 97)"},
    "partition": {"day": "if(id % 10 < 8, 1, id % 3)"},
    "nothing": {"day": "id % 3"},
}


@pytest.mark.slow
@pytest.mark.parametrize("hot", HOT.values(), ids=HOT.keys())
@pytest.mark.usefixtures("small_tasks")
def test_tasks_get_about_as_many_rows_and_files_stay_few(lake: kl.Lake, hot: dict[str, str]) -> None:
    frame = visits(lake, **hot)
    table = written(lake, frame)
    tasks = rows_of_tasks(table)
    assert len(tasks) > 5
    assert max(tasks) <= 2 * ROWS / len(tasks), tasks
    files = table.files().collect()
    buckets = {(file.partition, file.bucket) for file in files}
    assert len(files) < len(buckets) + len(tasks)
    assert sum(tasks) == check_rows(table, frame), "no key is in two files"
    assert planned(lake, f"SELECT * FROM {lake.catalog}.{table.name}")["sections merged"] == 0


@pytest.mark.slow
@pytest.mark.usefixtures("small_tasks")
def test_a_hot_key_has_a_task_of_its_own_and_the_others_share_the_rest(lake: kl.Lake) -> None:
    frame = visits(lake, shop="if(id % 10 < 4, 7, id % 97)", visitor="if(id % 10 < 4, 7, id)")
    frame = frame.withColumn("at", expr("v"))
    table = written(lake, frame)
    hot, *others = rows_of_tasks(table)
    assert hot < 10, "40% of the rows became one"
    assert max(others) <= 1.5 * ROWS / BUCKETS, "a bucket is left whole up to one and a half of its share"
    assert hot + sum(others) == check_rows(table, frame)


@pytest.mark.slow
def test_ties_are_resolved_as_without_ranges(lake: kl.Lake, small_tasks: None) -> None:
    frame = visits(lake, day="id % 2", shop="id % 5", visitor="id % 4000")
    ranges = written(lake, frame)
    assert len(rows_of_tasks(ranges)) > 5
    for name in SETTINGS:
        lake.spark.conf.unset(name)
    whole = written(lake, frame)
    assert whole.read().count() > 0
    assert whole.read().exceptAll(ranges.read()).isEmpty()
    assert ranges.read().exceptAll(whole.read()).isEmpty()


@pytest.mark.usefixtures("small_tasks")
def test_a_bad_row_of_a_large_write_is_named_as_in_a_small_one(lake: kl.Lake) -> None:
    table = created(lake)
    with refused(lake, table.name, kl.BadRows, "'visitor'", "null", "shop=7919"):
        table.upsert(visits(lake, visitor="if(id = 7919, null, id)"), version="at")
    with refused(lake, table.name, kl.BadRows, "shop"):
        table.upsert(visits(lake).withColumn("shop", expr("decimal(shop) + 0.5")), version="at")


@pytest.mark.parametrize("hot", HOT.values(), ids=HOT.keys())
@pytest.mark.usefixtures("small_tasks")
def test_the_rows_of_a_write_are_made_once_and_none_when_it_is_explained(lake: kl.Lake, hot: dict[str, str]) -> None:
    """Some rows leave a trace when they are made, and fail where there is one."""
    name = f"{lake.catalog}.{created_by_commits(lake).name}"
    visits(lake, **hot).createOrReplaceTempView("visits_to_make")
    trace = f"java_method('java.lang.System', 'setProperty', concat('{name}', v), 'made')"
    once = f"if(v % 97 = 0 AND {trace} = 'made', raise_error('a row was made twice'), visitor)"
    insert = f"INSERT INTO {name} SELECT day, shop, {once} AS visitor, v, text FROM visits_to_make"
    for kind in ("", "EXTENDED", "FORMATTED", "COST"):
        plan = str(lake.spark.sql(f"EXPLAIN {kind} {insert}").collect()[0][0])
        assert "Spread" in plan
    lake.spark.sql(insert).collect()
    with pytest.raises(Exception, match="a row was made twice"):
        lake.spark.sql(insert).collect()


@pytest.mark.slow
def test_writes_are_spread_without_adaptive_plans(lake: kl.Lake, small_tasks: None) -> None:
    frame = visits(lake, **HOT["bucket"])
    with changed_settings(lake, {"spark.sql.adaptive.enabled": "false"}):
        table = written(lake, frame)
        lake.spark.sql(
            f"INSERT INTO {lake.catalog}.{created_by_commits(lake).name} SELECT 1, 2, 3, 4, 'x' WHERE rand() > 2"
        )
    tasks = rows_of_tasks(table)
    assert max(tasks) <= 2 * ROWS / len(tasks), tasks
    check_rows(table, frame)


@pytest.mark.slow
@pytest.mark.usefixtures("small_tasks")
def test_the_batches_of_a_stream_are_cut_as_well(lake: kl.Lake, tmp_path: Path) -> None:
    frame = visits(lake, day="if(id % 10 < 8, 1, id % 7)")
    frame.repartition(2).write.parquet(str(tmp_path / "visits"))
    table = created(lake)
    visited = (
        lake.spark.readStream.schema(frame.schema).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "visits"))
    )
    query = visited.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint")).option("version", "at")
    query.trigger(availableNow=True).toTable(f"{lake.catalog}.{table.name}").awaitTermination()
    assert len(table.history()) == 2
    tasks = rows_of_tasks(table)
    assert len(tasks) > 5
    check_rows(table, frame)
