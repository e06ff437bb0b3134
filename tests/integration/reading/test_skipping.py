"""What a read leaves out, or answers by itself, never shows in its answer: filters, limits, counts, joins, slices."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa
import pytest

import keylake as kl
from integration.histories import COMPOUND, TEXT, Shape, operations
from integration.query_plans import counted, explained, planned
from integration.twin import Found, Twin, by_key, comparable, fresh_name
from model.model import Row

EXPLICIT = Shape("explicit", buckets=2)
SMALL_FILES = (
    "'write.parquet.row-group-size-bytes'='1024', 'write.parquet.page-row-limit'='8', "
    "'write.parquet.row-group-check-min-record-count'='8'"
)


@contextmanager
def settings(lake: kl.Lake, **given: object) -> Iterator[None]:
    """Session settings for a while; the names have underscores for dots."""
    names = {name: name.replace("__", ".") for name in given}
    before = {full: lake.spark.conf.get(full) for full in names.values()}
    for name, full in names.items():
        lake.spark.conf.set(full, str(given[name]))
    yield
    for full, old in before.items():
        lake.spark.conf.set(full, str(old))


def whole_rows(first: int, after: int, value: int = 0) -> list[Row]:
    """Rows of all columns, whose `a` is the key and a bit more."""
    columns = {"b": None, "c": 0.5, "d": None, "e": None}
    return [{"id": key, "a": key + value, **columns} for key in range(first, after)]


def with_clean_sections(lake: kl.Lake) -> Twin:
    """Two key ranges, written apart, so that each bucket has two sections of one run."""
    twin = EXPLICIT.create(lake, fresh_name("skipping"))
    twin.upsert(whole_rows(0, 1000), version=1)
    twin.upsert(whole_rows(2000, 3000), version=2)
    return twin


def after_a_history(lake: kl.Lake, shape: Shape, seed: int) -> Twin:
    twin = shape.create(lake, fresh_name("skipping"))
    for operation in operations(shape, seed, count=6, rows=60):
        operation.apply(twin)
    return twin


def rows_of(lake: kl.Lake, twin: Twin, condition: str) -> Found:
    return by_key(lake.spark.sql(f"SELECT * FROM {twin.sql_name} {condition}").toArrow(), twin.model.key)


# ------------------------------------------------------------------------------------------------------------- filters


def is_above(value: object, bound: float) -> bool:
    """As Spark compares: NaN is above every number."""
    return isinstance(value, int | float) and (math.isnan(value) or value > bound)


FILTERS: dict[str, Callable[[Row], bool]] = {
    "a = 42": lambda row: row["a"] == 42,
    "a > 90": lambda row: is_above(row["a"], 90),
    "NOT (a > 0)": lambda row: row["a"] is not None and not is_above(row["a"], 0),
    "a IS NULL": lambda row: row["a"] is None,
    "a <=> NULL": lambda row: row["a"] is None,
    "b IS NOT NULL": lambda row: row["b"] is not None,
    "b LIKE 'text 7%'": lambda row: str(row["b"]).startswith("text 7"),
    "b >= 'text 95'": lambda row: row["b"] is not None and str(row["b"]) >= "text 95",
    "c > 13": lambda row: is_above(row["c"], 13),
    "c = 0.0": lambda row: row["c"] == 0.0,
    "c <= -0.0 AND c >= 0.0": lambda row: row["c"] == 0.0,
    "isnan(c)": lambda row: isinstance(row["c"], float) and math.isnan(row["c"]),
    "e IN (1, 2, 3)": lambda row: row["e"] in (1, 2, 3),
    "e NOT IN (1, 2, 3)": lambda row: row["e"] is not None and row["e"] not in (1, 2, 3),
    "a < 0 AND b > 'text 9'": lambda row: not is_above(row["a"] or 0, -1) and str(row["b"] or "") > "text 9",
    "(a = 1 AND e = 2) OR c < -1": lambda row: (
        (row["a"] == 1 and row["e"] == 2) or (isinstance(row["c"], float) and row["c"] < -1)
    ),
    "id = 7": lambda row: row["id"] == 7,
    "id IN (1, 5, 200)": lambda row: row["id"] in (1, 5, 200),
    "id > 20 AND a > 50": lambda row: is_above(row["id"], 20) and is_above(row["a"], 50),
    "id = 3 OR a = 4": lambda row: row["id"] == 3 or row["a"] == 4,
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [81])
def test_filters_keep_what_they_say(lake: kl.Lake, seed: int) -> None:
    twin = after_a_history(lake, EXPLICIT, seed)
    rows = [{"id": key[0], **row} for key, row in twin.model.read().items()]
    kept = {condition: [row["id"] for row in rows if keeps(row)] for condition, keeps in FILTERS.items()}
    each = [f"SELECT {place}, id FROM {twin.sql_name} WHERE {one}" for place, one in enumerate(FILTERS)]
    found: dict[str, list[object]] = {condition: [] for condition in FILTERS}
    for place, key in lake.spark.sql(" UNION ALL ".join(each)).collect():
        found[list(FILTERS)[place]].append(key)
    assert {condition: sorted(keys) for condition, keys in found.items()} == {
        condition: sorted(keys) for condition, keys in kept.items()
    }
    assert sum(map(bool, kept.values())) > len(FILTERS) / 2


def test_a_filter_on_a_value_leaves_out_sections(lake: kl.Lake) -> None:
    twin = with_clean_sections(lake)
    for condition, files in {
        "a > 1500": 2,
        "a = 1500": 0,
        "a IS NULL": 4,
        "b = 'x'": 0,
        "id < 9 AND a > 1500": 0,
    }.items():
        query = f"SELECT * FROM {twin.sql_name} WHERE {condition}"
        assert planned(lake, query)["files"] == files, condition
        assert len(lake.spark.sql(query).collect()) == (1000 if condition == "a > 1500" else 0)


@pytest.mark.slow
def test_a_filter_on_a_value_skips_within_clean_files(lake: kl.Lake) -> None:
    twin = EXPLICIT.create(lake, fresh_name("skipping"))
    lake.spark.sql(f"ALTER TABLE {twin.sql_name} SET TBLPROPERTIES ({SMALL_FILES})").collect()
    twin.upsert(whole_rows(0, 4000), version=1)
    frame = lake.spark.sql(f"SELECT id FROM {twin.sql_name} WHERE a BETWEEN 100 AND 110")
    assert len(frame.collect()) == 11
    assert counted(frame)["rowsIn"] < 400
    twin.upsert(whole_rows(0, 4000, value=5000), version=2)
    assert frame.collect() == [], "rows that compete are not chosen by their values"


def test_an_older_value_does_not_come_back(lake: kl.Lake) -> None:
    twin = with_clean_sections(lake)
    twin.upsert(whole_rows(0, 1000, value=10_000), version=3)
    query = f"SELECT * FROM {twin.sql_name} WHERE a < 500"
    assert planned(lake, query)["sections merged"] == 2
    assert lake.spark.sql(query).collect() == []


def test_both_zeros_are_one_to_a_filter(lake: kl.Lake) -> None:
    twin = EXPLICIT.create(lake, fresh_name("skipping"))
    many = lake.spark.range(40_000)
    twin.table.update(many.selectExpr("id", "if(id % 100 = 0, -0.0D, double(id)) AS c"), version=1)
    twin.table.update(many.where("id % 7 = 0").selectExpr("id", "1L AS a"), version=2)
    for condition, count in {
        "c = 0.0": 400,
        "c <= 0.0": 400,
        "c IN (0.0, 7.0)": 401,
        "c >= 0.0 AND c < 1": 400,
    }.items():
        (row,) = lake.spark.sql(f"SELECT count(*), sum(a) FROM {twin.sql_name} WHERE {condition}").collect()
        assert row[0] == count, condition


GAP = {
    "DATE'1582-10-10'": pa.date32(),
    "TIMESTAMP'1582-10-10 12:00:00Z'": pa.timestamp("us", tz="UTC"),
    "TIMESTAMP_NTZ'1582-10-10 12:00:00'": pa.timestamp("us"),
}


@pytest.mark.slow
@pytest.mark.parametrize("literal", GAP)
def test_days_that_one_calendar_only_has(lake: kl.Lake, literal: str) -> None:
    """Of a value where nothing is merged and where something is, and of a key."""
    for key, value in (("k", "d"), ("d", "k")):
        types = {"k": pa.int64(), "d": GAP[literal]}
        schema = pa.schema([pa.field(name, type_, nullable=name != key) for name, type_ in types.items()])
        table = lake.create(kl.TableSpec.from_arrow(schema, name=fresh_name("skipping"), key=key, buckets=1))
        one = f"INSERT INTO {lake.catalog}.{table.name} SELECT 1L AS k, {literal} AS d"
        lake.spark.sql(one).collect()
        for condition in (f"d = {literal}", f"d IN ({literal}, {literal})", f"d >= {literal}", f"d <= {literal}"):
            assert table.read(where=condition).count() == 1, (key, condition)
        assert table.read(where=f"d < {literal}").count() == 0
        lake.spark.sql(one).collect()
        assert table.read(where=f"d = {literal} AND {value} IS NOT NULL").count() == 1, "merged"
    found = table.read().toArrow().to_pylist()[0]
    row = table.get(d=found["d"])
    assert row is not None
    assert row["k"] == found["k"]


# -------------------------------------------------------------------------------------------------------------- limits


@pytest.mark.parametrize("seed", [83])
def test_a_limit_gives_as_many_rows_as_there_are(lake: kl.Lake, seed: int) -> None:
    twin = after_a_history(lake, EXPLICIT, seed)
    expected = twin.expected()
    for limit in (1, 3, len(expected) - 1, len(expected), len(expected) + 9):
        found = rows_of(lake, twin, f"LIMIT {limit}")
        assert len(found) == min(limit, len(expected))
        assert found.items() <= expected.items()


def test_a_limit_takes_no_more_than_it_needs(lake: kl.Lake) -> None:
    twin = with_clean_sections(lake)
    query = f"SELECT * FROM {twin.sql_name} LIMIT 5"
    assert planned(lake, query)["files"] == 1
    assert len(lake.spark.sql(query).collect()) == 5


# ------------------------------------------------------------------------------------------- counts and smallest keys

ASKED = "SELECT count(*) AS n, min({key}) AS low, max({key}) AS high FROM {table}"


@pytest.mark.parametrize(
    "shape", [EXPLICIT, Shape("ordering", COMPOUND), Shape("commit", TEXT)], ids=lambda shape: str(list(shape.key))
)
def test_counts_and_bounds_of_a_history(lake: kl.Lake, shape: Shape) -> None:
    twin = shape.create(lake, fresh_name("skipping"))
    for operation in operations(shape, 85, count=5, rows=30):
        operation.apply(twin)
        keys = list(twin.model.read())
        for place, name in enumerate(shape.key):
            (row,) = lake.spark.sql(ASKED.format(key=name, table=twin.sql_name)).collect()
            (count,) = lake.spark.sql(f"SELECT count(*) FROM {twin.sql_name}").collect()
            of_column = sorted(comparable(key[place]) for key in keys)
            assert count[0] == row["n"] == len(keys)
            assert [row["low"], row["high"]] == ([of_column[0], of_column[-1]] if keys else [None, None])


def test_what_metadata_answers_is_not_scanned(lake: kl.Lake) -> None:
    twin = EXPLICIT.create(lake, fresh_name("skipping"))
    both = ASKED.format(key="id", table=twin.sql_name)
    bounds = f"SELECT min(id), max(id) FROM {twin.sql_name}"

    def answers(query: str) -> tuple[bool, list[object]]:
        return "BatchScan" not in explained(lake, query), list(lake.spark.sql(query).collect()[0])

    assert answers(both) == (True, [0, None, None])
    twin.upsert(whole_rows(0, 100), version=1)
    twin.upsert(whole_rows(200, 300), version=2)
    assert answers(both) == (True, [200, 0, 299])
    assert answers(f"SELECT count(id) FROM {twin.sql_name}") == (True, [200])
    assert answers(f"SELECT count(a) FROM {twin.sql_name}") == (False, [200])
    assert answers(f"SELECT count(*) FROM {twin.sql_name} WHERE id > 250") == (False, [49])
    assert answers(f"SELECT count(*) + max(id) FROM {twin.sql_name}") == (True, [499])
    twin.upsert(whole_rows(50, 60), version=3)
    assert answers(bounds) == (True, [0, 299])
    assert answers(both) == (False, [200, 0, 299])
    twin.delete([{"id": 0}], version=4)
    assert answers(bounds) == (False, [1, 299])
    at_first = f"SELECT count(*) FROM {twin.sql_name} VERSION AS OF {twin.commits[0].snapshot_id}"
    assert answers(at_first) == (True, [100])


# --------------------------------------------------------------------------------------------------------------- joins

SOME_KEYS = "(SELECT id FROM range(3000) WHERE id % 1000 = 7)"


def test_a_join_reads_what_the_other_side_has(lake: kl.Lake) -> None:
    twin = with_clean_sections(lake)
    twin.upsert(whole_rows(500, 600), version=3)
    frame = lake.spark.sql(f"SELECT t.* FROM {twin.sql_name} t JOIN {SOME_KEYS} USING (id) WHERE id < 1000")
    assert [row["id"] for row in frame.collect()] == [7]
    numbers = counted(frame)
    assert numbers["numOutputRows"] < 1000
    assert (numbers["sectionsMerged"], numbers["sectionsPassedThrough"]) == (0, 1)


def test_a_join_without_a_shuffle_keeps_its_buckets(lake: kl.Lake) -> None:
    left, right = with_clean_sections(lake), with_clean_sections(lake)
    query = (
        f"SELECT l.id, l.a, r.a FROM {left.sql_name} l JOIN {right.sql_name} r ON l.id = r.id "
        "WHERE r.a IN (17, 2017, 2018)"
    )
    pruning = "spark__sql__optimizer__dynamicPartitionPruning"
    with settings(lake, spark__sql__autoBroadcastJoinThreshold=-1, **{f"{pruning}__reuseBroadcastOnly": "false"}):
        assert "Exchange" not in explained(lake, query).split("===== Subqueries")[0]
        found = sorted(tuple(row) for row in lake.spark.sql(query).collect())
    assert found == [(17, 17, 17), (2017, 2017, 2017), (2018, 2018, 2018)]


# -------------------------------------------------------------------------------------------------------------- slices


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape",
    [EXPLICIT, Shape("explicit", COMPOUND), Shape("ordering", TEXT), Shape("commit", {"id": pa.int32()})],
    ids=lambda shape: f"{shape.versions}, {list(shape.key)}",
)
def test_a_bucket_in_many_tasks_gives_the_same_rows(lake: kl.Lake, shape: Shape) -> None:
    twin = shape.create(lake, fresh_name("skipping"))
    lake.spark.sql(f"ALTER TABLE {twin.sql_name} SET TBLPROPERTIES ({SMALL_FILES})").collect()
    for operation in operations(shape, 86, count=4, rows=600):
        operation.apply(twin)
    query = f"SELECT * FROM {twin.sql_name}"
    whole = planned(lake, query)
    assert whole["tasks"] == whole["buckets read"]
    with settings(lake, spark__sql__files__maxPartitionBytes="100b"):
        cut = planned(lake, query)
        assert cut["tasks"] > cut["sections merged"] + cut["passed through"], "sections are cut by key"
        twin.check()
        twin.check(["b"])
        assert lake.spark.sql(query).count() == len(twin.expected())
        values = lake.spark.sql(f"SELECT a, count(*) FROM {twin.sql_name} GROUP BY a").collect()
        assert sum(row[1] for row in values) == len(twin.expected())
    twin.check()


def test_a_plain_scan_is_cut_and_a_join_is_not(lake: kl.Lake) -> None:
    twin = with_clean_sections(lake)
    plain = f"SELECT * FROM {twin.sql_name}"
    with settings(lake, spark__sql__files__maxPartitionBytes="100b"):
        for query in (
            plain,
            f"{plain} WHERE a > 5",
            f"SELECT a, count(*) FROM {twin.sql_name} GROUP BY a",
            f"{plain} ORDER BY a",
        ):
            assert planned(lake, query)["tasks"] >= 4, query
        for query in (
            f"SELECT id, count(*) FROM {twin.sql_name} GROUP BY id",
            f"SELECT row_number() OVER (PARTITION BY id ORDER BY a) FROM {twin.sql_name}",
            f"{plain} SORT BY id",
        ):
            assert planned(lake, query)["tasks"] == 2, query
        ids = [row["id"] for row in lake.spark.sql(f"{plain} ORDER BY id").collect()]
        assert ids == sorted(key for (key,) in twin.expected())
    assert planned(lake, plain)["tasks"] == 2


# ------------------------------------------------------------------------------------------------------------- metrics


def test_a_scan_says_what_it_merged(lake: kl.Lake) -> None:
    twin = with_clean_sections(lake)
    twin.upsert(whole_rows(500, 600), version=3)
    frame = lake.spark.sql(f"SELECT id, a, b FROM {twin.sql_name}")
    assert len(frame.collect()) == 2000
    numbers = counted(frame)
    assert (numbers["sectionsMerged"], numbers["sectionsPassedThrough"]) == (2, 2)
    assert (numbers["rowsIn"], numbers["rowsOut"]) == (2100, 2000)
    assert numbers["filesOpened"] == numbers["rowGroupsRead"] == 6
    assert numbers["columnsOpened"] > 0
    assert numbers["bytesRead"] > 0
    said = explained(lake, f"SELECT * FROM {twin.sql_name} WHERE id > 100 AND a > 5")
    assert 'key filter: ref(name="id") > 100,' in said
    assert 'value filter: (not_null(ref(name="a")) and ref(name="a") > 5)' in said


def opened(lake: kl.Lake, query: str) -> tuple[int, int]:
    """How many columns of files a query opened, and how many bytes it read."""
    frame = lake.spark.sql(query)
    frame.toArrow()
    numbers = counted(frame)
    return numbers["columnsOpened"], numbers["bytesRead"]


def test_no_column_is_opened_that_cannot_matter(lake: kl.Lake) -> None:
    twin = Shape("explicit", buckets=1).create(lake, fresh_name("skipping"))
    name = twin.sql_name
    keys = range(2000)
    # What random text weighs shows whether it was read.
    twin.table.update(lake.spark.range(2000).selectExpr("id", "id AS a", "uuid() AS b", "0.5D AS c"), version=10)
    _, all_bytes = opened(lake, f"SELECT * FROM {name}")
    count, few_bytes = opened(lake, f"SELECT a FROM {name}")
    assert (count, few_bytes < all_bytes / 2) == (1, True), "one run is passed through: no key, no versions"
    twin.update([{"id": key, "a": -key} for key in keys], version=20)
    twin.update([{"id": key, "c": 1.5} for key in keys], version=30)
    for columns, expected in {
        "id": 3,  # the key of each run
        "id, a": 3 + 2,  # the run that only updates c has none; the newer a needs no version to win
        "b": 3 + 1,
        "id, a, b, c": 3 + 2 + 1 + 2,
    }.items():
        found, found_bytes = opened(lake, f"SELECT {columns} FROM {name}")
        assert found == expected, columns
        assert (found_bytes > 2000 * 16) == ("b" in columns), columns
    late = lake.spark.range(2000).selectExpr("id", "2.5D AS c", "20 + id % 20 AS at")
    twin.table.update(late, version="at")  # some before version 30, some after it
    for columns, expected in {
        "id": 4,
        "a": 4 + 2,
        "b": 4 + 1,
        "c": 4 + 3 + 4,  # a version of each run decides
    }.items():
        assert opened(lake, f"SELECT {columns} FROM {name}")[0] == expected, f"late values of c, and {columns}"
    rows = lake.spark.sql(f"SELECT id, a, c FROM {name} WHERE id IN (4, 15)").collect()
    assert sorted(map(tuple, rows)) == [(4, -4, 1.5), (15, -15, 2.5)]
