"""Joins, groupings and windows that Spark does where tables lie, and the same ones with shuffles: rows are equal."""

import threading
from datetime import date
from itertools import permutations
from random import Random

import pyarrow as pa
import pytest

import keylake as kl
from integration.histories import COMPOUND, TEXT, Shape, operations
from integration.query_plans import changed_settings, rows_of
from integration.random_runs import of_every, seeds
from integration.twin import Twin, fresh_name

pytestmark = pytest.mark.usefixtures("without_broadcasts")
BUCKETING = "spark.sql.sources.v2.bucketing"
SHUFFLED = {f"{BUCKETING}.enabled": "false"}
DAY = date(1970, 1, 1)
SHAPES = {
    "one column": Shape("explicit"),
    "a text": Shape("explicit", TEXT),
    "two columns": Shape("explicit", COMPOUND),
    "partitioned": Shape("explicit", COMPOUND, partition_by=("day",)),
    "key groups": Shape("explicit", COMPOUND, key_groups=7),
}
HOW = ("INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI")


def filled(lake: kl.Lake, shape: Shape, seed: int, buckets: int | None = None) -> Twin:
    twin = shape.create(lake, fresh_name("joins"), buckets)
    for operation in operations(shape, seed, count=3, rows=40):
        operation.apply(twin)
    return twin


def checked(lake: kl.Lake, query: str) -> object:
    """The rows of a query, once they have been seen to be those that it gives with shuffles."""
    found = rows_of(lake, query)
    with changed_settings(lake, SHUFFLED):
        assert found == rows_of(lake, query), query
    return found


def moved(lake: kl.Lake, query: str) -> tuple[int, int]:
    """How many shuffles and sorts a query has, once it has been seen to give what it gives with shuffles."""
    assert checked(lake, query), query
    explained = kl.explain_join(lake.spark.sql(query))
    return explained.shuffles, explained.sorts


def on(shape: Shape, left: str, right: str) -> str:
    """The key, its columns from the last to the first: a query may name them in any order."""
    return " AND ".join(f"{left}.{name} = {right}.{name}" for name in reversed(list(shape.key)))


@pytest.mark.slow
@of_every("shape", SHAPES, today=1)
def test_joins_by_the_key_move_and_sort_nothing(lake: kl.Lake, shape: Shape) -> None:
    one, two, three = (filled(lake, shape, seed).sql_name for seed in (51, 52, 53))
    for how in HOW if shape == SHAPES["two columns"] else HOW[:1]:
        columns = "l.*" if how.startswith("LEFT ") else "l.*, r.a, r.b"
        query = f"SELECT {columns} FROM {one} l {how} JOIN {two} r ON {on(shape, 'l', 'r')}"
        assert moved(lake, query) == (0, 0), how
    chained = f"SELECT l.a, r.b, q.* FROM {one} l LEFT JOIN {two} r ON {on(shape, 'l', 'r')}"
    assert moved(lake, f"{chained} LEFT JOIN {three} q ON {on(shape, 'l', 'q')}") == (0, 0)
    inner = f"SELECT q.* FROM {one} l JOIN {two} r ON {on(shape, 'l', 'r')} JOIN {three} q ON {on(shape, 'r', 'q')}"
    assert moved(lake, inner) == (0, 0)


@pytest.mark.slow
@of_every("shape", SHAPES, today=1)
def test_groupings_and_windows_by_the_key_move_nothing(lake: kl.Lake, shape: Shape) -> None:
    one, two = (filled(lake, shape, seed).sql_name for seed in (54, 55))
    key = ", ".join(reversed(list(shape.key)))
    assert moved(lake, f"SELECT {key}, count(*), max(a) FROM {one} GROUP BY {key}") == (0, 0)
    assert moved(lake, f"SELECT DISTINCT {key} FROM {one}") == (0, 0)
    assert moved(lake, f"SELECT {key}, max(a) OVER (PARTITION BY {key}) FROM {one}") == (0, 0)
    ranked = f"SELECT {key}, a, row_number() OVER (PARTITION BY {key} ORDER BY a) AS n FROM {one}"
    assert moved(lake, f"SELECT * FROM ({ranked}) WHERE n = 1")[0] == 0
    joined = f"SELECT l.*, r.a AS x FROM {one} l JOIN {two} r ON {on(shape, 'l', 'r')}"
    assert moved(lake, f"SELECT {key}, sum(x) FROM ({joined}) GROUP BY {key}") == (0, 0)


def test_tables_that_lie_by_different_columns_are_joined(lake: kl.Lake) -> None:
    """Each with each other, on the one column that all have, whichever is on the left."""
    tables = [filled(lake, SHAPES[shape], 62).sql_name for shape in ("one column", "two columns", "partitioned")]
    for left, right in permutations(tables, 2):
        moved(lake, f"SELECT l.*, r.a AS x FROM {left} l JOIN {right} r ON l.id = r.id")
        moved(lake, f"SELECT l.a, r.b FROM {left} l LEFT JOIN {right} r ON l.a = r.id AND l.b < r.b")


@pytest.mark.slow
def test_a_renamed_filtered_and_grouped_table_still_lies_where_it_lies(lake: kl.Lake) -> None:
    shape = SHAPES["two columns"]
    one, two = (filled(lake, shape, seed).sql_name for seed in (56, 57))
    view = f"SELECT day AS d, id AS u, a AS x FROM {one} WHERE a IS NOT NULL"
    assert moved(lake, f"SELECT v.x, r.b FROM ({view}) v JOIN {two} r ON v.u = r.id AND v.d = r.day") == (0, 0)
    grouped = f"SELECT id, day, max(a) AS x FROM {one} GROUP BY id, day"
    assert moved(lake, f"SELECT g.x, r.b FROM ({grouped}) g JOIN {two} r ON g.id = r.id AND g.day = r.day")[0] == 0
    assert moved(lake, f"SELECT l._bucket, r.* FROM {one} l JOIN {two} r ON l.id = r.id AND l.day = r.day") == (0, 0)


@pytest.mark.slow
def test_buckets_that_are_missing_or_pruned(lake: kl.Lake) -> None:
    shape = Shape("explicit", COMPOUND, buckets=8)
    one, two = (shape.create(lake, fresh_name("joins")) for _ in range(2))
    one.upsert([{"id": n, "day": DAY, "a": n} | dict.fromkeys("bcde") for n in range(9)], 1)
    two.upsert([{"id": n, "day": DAY, "a": n} | dict.fromkeys("bcde") for n in (2, 3, 77)], 1)
    for how in HOW:
        columns = "l.*" if how.startswith("LEFT ") else "l.a, r.a"
        query = f"SELECT {columns} FROM {one.sql_name} l {how} JOIN {two.sql_name} r ON {on(shape, 'l', 'r')}"
        assert moved(lake, query) == (0, 0), how
    pruned = f"SELECT l.a, r.a FROM {one.sql_name} l LEFT JOIN {two.sql_name} r ON {on(shape, 'l', 'r')}"
    assert moved(lake, f"{pruned} WHERE l.id = 3 AND l.day = DATE'1970-01-01'")[0] == 0


@pytest.mark.slow
def test_a_join_on_a_part_of_the_key_is_right(lake: kl.Lake) -> None:
    shape = SHAPES["two columns"]
    one, two = filled(lake, shape, 58), filled(lake, shape, 59)
    query = f"SELECT l.a, r.a FROM {one.sql_name} l JOIN {two.sql_name} r ON l.id = r.id"
    assert moved(lake, query)[0] == 2
    told = str(kl.explain_join(lake.spark.sql(query)))
    assert "lies by id, day, and id without day does not say where a row is" in told
    with pytest.raises(AssertionError, match="without day"):
        kl.assert_no_shuffle(lake.spark.sql(query))
    by_id = Shape("explicit", COMPOUND)
    spec = kl.TableSpec.from_arrow(
        by_id.schema, name=fresh_name("joins"), key=["id", "day"], versions="explicit", buckets=3, bucket_by="id"
    )
    own = lake.create(spec)
    own.upsert([{"id": n, "day": DAY, "a": n} | dict.fromkeys("bcde") for n in range(9)], version=1)
    name = f"lake.{own.name}"
    assert moved(lake, f"SELECT l.a, r.a FROM {name} l JOIN {name} r ON l.id = r.id") == (0, 0)
    assert moved(lake, f"SELECT id, row_number() OVER (PARTITION BY id ORDER BY day) FROM {name}") == (0, 0)


@pytest.mark.slow
def test_ints_meet_longs_where_they_lie(lake: kl.Lake) -> None:
    for others in ({}, {"day": pa.date32()}):
        ints, longs = (Shape("explicit", {"id": type_, **others}) for type_ in (pa.int32(), pa.int64()))
        small, large = filled(lake, ints, 60).sql_name, filled(lake, longs, 61).sql_name
        assert moved(lake, f"SELECT l.a, r.b FROM {small} l JOIN {large} r ON {on(ints, 'l', 'r')}")[0] == 0


@pytest.mark.slow
def test_plain_iceberg_tables_in_the_same_buckets(lake: kl.Lake) -> None:
    one, two = filled(lake, SHAPES["one column"], 62), filled(lake, SHAPES["two columns"], 63)
    plain = f"lake.{fresh_name('plain')}"
    lake.spark.sql(f"CREATE TABLE {plain} (id BIGINT, x BIGINT) USING iceberg PARTITIONED BY (bucket(3, id))")
    lake.spark.sql(f"INSERT INTO {plain} SELECT id, id * 2 FROM range(-20, 40)")
    assert moved(lake, f"SELECT l.a, p.x FROM {one.sql_name} l LEFT JOIN {plain} p ON l.id = p.id") == (0, 1)
    plain = f"lake.{fresh_name('plain')}"
    lake.spark.sql(f"CREATE TABLE {plain} (id BIGINT, day DATE, b INT, x BIGINT) USING iceberg PARTITIONED BY (b)")
    made = "id, DATE'1970-01-01' AS day, lake.system.key_bucket(3, id, DATE'1970-01-01') AS b, id * 2"
    lake.spark.sql(f"INSERT INTO {plain} SELECT {made} FROM range(-20, 40)")
    terms = "l._bucket = p.b AND l.id = p.id AND l.day = p.day"
    assert moved(lake, f"SELECT l.a, p.x FROM {two.sql_name} l LEFT JOIN {plain} p ON {terms}") == (0, 1)


def test_spark_is_not_asked_for_what_it_gets_wrong(lake: kl.Lake) -> None:
    for switch in ("shuffle", "allowJoinKeysSubsetOfPartitionKeys", "partiallyClusteredDistribution"):
        assert lake.spark.conf.get(f"{BUCKETING}.{switch}.enabled") == "false"
    assert lake.spark.conf.get(f"{BUCKETING}.allowCompatibleTransforms.enabled") == "false"


@pytest.mark.slow
def test_one_side_that_is_shuffled_keeps_rows_that_the_first_table_lacks(lake: kl.Lake) -> None:
    """SPARK-59050 and SPARK-54439: samples with keys whose buckets the first of several tables does not have."""
    shape = Shape("explicit", COMPOUND, buckets=8)
    few, many = (shape.create(lake, fresh_name("joins")) for _ in range(2))
    few.upsert([{"id": 1, "day": DAY, "a": 1} | dict.fromkeys("bcde")], 1)
    many.upsert([{"id": n, "day": DAY, "a": n} | dict.fromkeys("bcde") for n in range(40)], 1)
    bucket = "lake.system.key_bucket(8, id, day) AS w"
    ids = "(SELECT id, date_add(DATE'1970-01-01', CAST(id DIV 50 AS INT)) AS day FROM range(60))"
    samples = f"(SELECT /*+ REPARTITION(8, w) */ *, {bucket} FROM {ids})"
    query = f"""SELECT s.id, l.a, r.a FROM {samples} s LEFT JOIN {few.sql_name} l ON {on(shape, "s", "l")}
        LEFT JOIN {many.sql_name} r ON {on(shape, "s", "r")}"""
    assert moved(lake, query) == (1, 1)
    assert len(rows_of(lake, f"SELECT * FROM ({query}) AS t(id, x, y) WHERE y IS NOT NULL")) == 40


def test_groups_of_a_part_of_the_partitions_are_whole(lake: kl.Lake) -> None:
    """SPARK-58968: groups by one of the columns that a table is partitioned by."""
    one = filled(lake, SHAPES["partitioned"], 64)
    assert moved(lake, f"SELECT id, count(*) FROM {one.sql_name} GROUP BY id")[0] == 1
    assert moved(lake, f"SELECT id, row_number() OVER (PARTITION BY id ORDER BY day) FROM {one.sql_name}")[0] == 1


def test_bytes_as_keys(lake: kl.Lake) -> None:
    """SPARK-59054: partitions by bytes, which are equal and not the same."""
    schema = pa.schema([pa.field("k", pa.binary(), nullable=False), ("a", pa.int64())])
    spec = kl.TableSpec.from_arrow(schema, name=fresh_name("joins"), key="k", versions="explicit", buckets=3)
    table = lake.create(spec)
    table.upsert(pa.table({"k": [bytes([n]) for n in range(20)], "a": list(range(20))}, schema=schema), version=1)
    name = f"lake.{table.name}"
    assert moved(lake, f"SELECT l.a, r.a FROM {name} l JOIN {name} r ON l.k = r.k") == (0, 0)
    samples = (
        "(SELECT /*+ REPARTITION(3, w) */ *, lake.system.key_bucket(3, k) AS w FROM VALUES (X'01'), (X'63') AS t(k))"
    )
    assert moved(lake, f"SELECT s.k, r.a FROM {samples} s LEFT JOIN {name} r ON s.k = r.k")[0] == 1


@pytest.mark.slow
def test_a_table_that_is_broadcast_keeps_buckets_that_others_do_not_have(lake: kl.Lake) -> None:
    """Spark tells scans below a broadcast, too, which buckets the tables of a join are in."""
    shape = Shape("explicit")
    one, two = (shape.create(lake, fresh_name("joins")) for _ in range(2))
    other = shape.create(lake, fresh_name("joins"), buckets=16)
    for twin in (one, two, other):
        twin.upsert([{"id": n, "a": n} | dict.fromkeys("bcde") for n in range(40)], 1)
    query = f"""SELECT /*+ BROADCAST(d) */ l.id, d.id AS other, r.a FROM {one.sql_name} l
        JOIN {other.sql_name} d ON l.a = d.a JOIN {two.sql_name} r ON l.id = r.id"""
    assert moved(lake, query) == (0, 0)
    assert lake.spark.sql(query).count() == 40
    unfiltered = f"""SELECT /*+ BROADCAST(d) */ l.id, d.a AS x FROM {one.sql_name} l
        LEFT JOIN {other.sql_name} d ON l.id = d.id LEFT SEMI JOIN {two.sql_name} r ON l.id = r.id"""
    assert moved(lake, unfiltered)[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(few=1, many=8))
def test_random_queries_give_what_they_give_with_shuffles(lake: kl.Lake, seed: int) -> None:
    """Joins of joins, of all kinds, with broadcasts of tables in other buckets, filters and groupings."""
    random = Random(seed)
    shape = SHAPES[random.choice(list(SHAPES))]
    tables = [filled(lake, shape, 70 + 10 * seed + n, random.choice((3, 3, 3, 5))).sql_name for n in range(3)]
    key = list(shape.key)
    query = f"SELECT {', '.join(key)}, a FROM {tables[0]}"
    for _ in range(3):
        how = random.choice(HOW)
        other = random.choice(tables)
        columns = ", ".join([*(f"l.{name}" for name in key), "l.a" if "LEFT " in how else "coalesce(l.a, r.a) AS a"])
        hint = random.choice(("", "", "/*+ BROADCAST(r) */"))
        right = f"(SELECT * FROM {other} WHERE {random.choice(('true', 'a > 20', 'c IS NULL'))})"
        terms = on(shape, "l", "r") if random.random() < 0.8 else "l.a = r.a"
        query = f"SELECT {hint} {columns} FROM ({query}) l {how} JOIN {right} r ON {terms}"
        if random.random() < 0.4:
            query = f"SELECT {', '.join(key)}, max(a) AS a FROM ({query}) GROUP BY {', '.join(key)}"
        if random.random() < 0.2:
            query = f"SELECT {', '.join(key)}, sum(a) OVER (PARTITION BY {', '.join(key)}) AS a FROM ({query})"
        checked(lake, query)


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(few=1, many=8))
def test_random_queries_of_tables_of_several_shapes(lake: kl.Lake, seed: int) -> None:
    """On columns that some lie by and others do not, in subqueries and groupings, too."""
    random = Random(seed)
    shapes = [shape for name, shape in SHAPES.items() if name != "a text"]
    tables = [filled(lake, shape, 170 + 10 * seed + n, random.choice((2, 3, 4))) for n, shape in enumerate(shapes)]
    query = f"SELECT id, a, b FROM {random.choice(tables).sql_name}"
    for _ in range(4):
        right = random.choice(tables)
        by = random.choice(("l.id = r.id", "l.a = r.id", "l.id = r.id AND l.a < r.a", "l.id = r.a"))
        columns = random.choice(("id", "id, day", "id, b")) if len(right.model.key) > 1 else "id"
        joined = f"({query}) l JOIN {right.sql_name} r ON {by}"
        outer = joined.replace(" l JOIN ", " l LEFT JOIN ")
        counted = f"count(*) OVER (PARTITION BY {columns}) AS b"
        query = random.choice(
            (
                f"SELECT l.id, l.a, max(r.b) AS b FROM {outer} GROUP BY l.id, l.a",
                f"SELECT r.id, max(l.a) AS a, r.b FROM {joined} GROUP BY r.id, r.b",
                f"SELECT l.* FROM ({query}) l LEFT ANTI JOIN {right.sql_name} r ON {by} AND r.c IS NULL",
                f"SELECT * FROM ({query}) l WHERE l.id IN (SELECT id FROM {right.sql_name} WHERE a > 10)",
                f"SELECT id, a, {counted} FROM (SELECT r.*, l.a AS x FROM {joined})",
            )
        )
        checked(lake, query)


def test_the_plan_is_read_without_taking_the_output_of_others(
    lake: kl.Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    """What other threads print meanwhile is printed, and no line of the plan is."""
    ended, lines = threading.Event(), 0

    def print_all_the_time() -> None:
        nonlocal lines
        while not ended.is_set():
            print("line")
            lines += 1

    thread = threading.Thread(target=print_all_the_time)
    thread.start()
    try:
        explained = kl.explain_join(lake.spark.range(10).groupBy("id").count())
    finally:
        ended.set()
        thread.join()
    assert explained.shuffles <= 1
    assert capsys.readouterr().out.splitlines() == ["line"] * lines
