"""Keyed tables that are created together with their rows: all of it, or no table, no file and no folder."""

from pathlib import Path

import pytest
from pyspark.sql import functions

import keylake as kl
from integration.refusals import refused_in_sql
from integration.twin import fresh_name

FAILING = "CASE WHEN id = 90 THEN raise_error('half-way') ELSE id END"


def rows(lake: kl.Lake, name: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in lake.spark.table(f"{lake.catalog}.{name}").collect())


def files_of(warehouse: Path, name: str) -> list[Path]:
    return list(warehouse.glob(f"**/{name.rpartition('.')[2]}*"))


def test_rows_and_definition_in_one_statement(lake: kl.Lake) -> None:
    name = fresh_name("made")
    lake.spark.sql(
        f"CREATE TABLE {lake.catalog}.{name} USING keylake COMMENT 'by query' "
        "PARTITIONED BY (day) CLUSTERED BY (id) INTO 4 BUCKETS "
        "TBLPROPERTIES ('key' = 'id, day', 'ordering' = 'at', 'reduce.a' = 'LatestNotNull') AS "
        "SELECT id % 50 AS id, DATE'2026-11-01' AS day, timestamp_seconds(id) AS at, id AS a, "
        "CAST(NULL AS STRING) AS b FROM range(100)"
    ).collect()
    spec = lake.table(name).spec
    assert (list(spec.key), spec.buckets, list(spec.bucket_by), list(spec.partition_by), spec.ordering) == (
        ["id", "day"],
        4,
        ["id"],
        ["day"],
        "at",
    )
    assert spec.comment == "by query"
    assert [(row[0], row[3]) for row in rows(lake, name)] == [(key, key + 50) for key in range(50)]  # keys merge, too
    (commit,) = lake.table(name).history()
    assert commit.rows == 50
    lake.spark.sql(
        f"INSERT INTO {lake.catalog}.{name} (id, day, at, b) VALUES (1, DATE'2026-11-01', now(), 'x')"
    ).collect()
    assert [row[3:] for row in rows(lake, name) if row[0] == 1] == [(51, "x")]
    ((shown,),) = lake.spark.sql(f"SHOW CREATE TABLE {lake.catalog}.{name}").collect()
    assert "'key'" not in shown
    assert "PRIMARY KEY" in shown


def test_frames_say_the_key_as_a_property(lake: kl.Lake) -> None:
    name, odd = fresh_name("made"), fresh_name("made")
    frame = lake.spark.range(10).withColumn("a", functions.lit("x"))
    (
        frame.writeTo(f"{lake.catalog}.{name}")
        .using("keylake")
        .tableProperty("key", "id")
        .partitionedBy(functions.partitioning.bucket(3, "id"))
        .create()
    )
    assert lake.table(name).spec.buckets == 3
    assert len(rows(lake, name)) == 10
    quoted = frame.selectExpr("id AS `from, to`", "id AS `a``b c`", "a AS `select`")
    target = quoted.writeTo(f"{lake.catalog}.{odd}").using("keylake")
    target.tableProperty("key", "`from, to`, `a``b c`").createOrReplace()
    assert list(lake.table(odd).spec.key) == ["from, to", "a`b c"]
    assert len(rows(lake, odd)) == 10
    with pytest.raises(Exception, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        frame.writeTo(f"{lake.catalog}.{name}").using("keylake").tableProperty("key", "id").create()


def test_explicit_versions_are_said_by_an_option(lake: kl.Lake) -> None:
    name = fresh_name("made")
    frame = lake.spark.range(4).selectExpr("id % 2 AS id", "id AS v", "id * 10 AS a")
    target = frame.writeTo(f"{lake.catalog}.{name}").using("keylake")
    target = target.tableProperty("key", "id").tableProperty("versions", "explicit")
    with refused_in_sql(lake, name, "VERSION_MISSING", "version"):
        target.create()
    target.option("version", "v").create()
    assert rows(lake, name) == [(0, 2, 20), (1, 3, 30)]


def test_save_as_table(lake: kl.Lake) -> None:
    name = fresh_name("made")
    frame = lake.spark.range(3).withColumn("a", functions.lit("x"))
    with refused_in_sql(lake, name, "DEFINITION", "needs a key", "'key'"):
        frame.write.format("keylake").saveAsTable(f"{lake.catalog}.{name}")
    lake.spark.sql(f"CREATE TABLE {lake.catalog}.{name} (id BIGINT PRIMARY KEY, a STRING) USING keylake").collect()
    frame.write.format("keylake").mode("append").saveAsTable(f"{lake.catalog}.{name}")
    frame.select("id").limit(1).write.mode("append").saveAsTable(f"{lake.catalog}.{name}")  # by name: a partial update
    assert rows(lake, name) == [(0, "x"), (1, "x"), (2, "x")]
    frame.write.format("keylake").mode("ignore").saveAsTable(f"{lake.catalog}.{name}")
    with pytest.raises(Exception, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        frame.write.format("keylake").saveAsTable(f"{lake.catalog}.{name}")
    for provider in ("keylake", "iceberg"):
        with refused_in_sql(lake, name, "DEFINITION" if provider == "keylake" else "UNSUPPORTED", "key"):
            frame.write.format(provider).mode("overwrite").saveAsTable(f"{lake.catalog}.{name}")
    assert len(rows(lake, name)) == 3


@pytest.mark.parametrize(
    ("properties", "query", "words"),
    [
        ("'key' = 'id'", f"SELECT {FAILING} AS id FROM range(100)", ["half-way"]),
        ("'key' = 'id'", "SELECT if(id = 90, NULL, id) AS id, 1 AS a FROM range(100)", ["[KEYLAKE_BAD_ROWS]", "null"]),
        ("'key' = 'id, z'", "SELECT id FROM range(3)", ["[KEYLAKE_DEFINITION]", "'z'", "SQLSTATE: 42000"]),
        ("'key' = 'id,'", "SELECT id FROM range(3)", ["[KEYLAKE_DEFINITION]", "'key'", "backticks"]),
        ("'Key' = 'id'", "SELECT id FROM range(3)", ["[KEYLAKE_DEFINITION]", "lower case", "'key'"]),
        ("'a' = 'b'", "SELECT id FROM range(3)", ["[KEYLAKE_DEFINITION]", "needs a key", "'key' = "]),
        ("'key' = 'id'", "SELECT CAST(id AS DOUBLE) AS id FROM range(3)", ["[KEYLAKE_DEFINITION]", "id"]),
        ("'key' = 'id'", "SELECT 1 AS id, 2 AS ID", ["COLUMN_ALREADY_EXISTS"]),
        ("'key' = 'id'", "SELECT id FROM nowhere", ["TABLE_OR_VIEW_NOT_FOUND"]),
    ],
)
def test_a_failure_leaves_nothing(
    lake: kl.Lake, warehouse: Path, properties: str, query: str, words: list[str]
) -> None:
    name = fresh_name("made")
    with pytest.raises(Exception) as raised:  # noqa: PT011 - the text is looked at below
        lake.spark.sql(
            f"CREATE TABLE {lake.catalog}.{name} USING keylake TBLPROPERTIES ({properties}) AS {query}"
        ).collect()
    assert not [word for word in words if word not in str(raised.value)], str(raised.value)
    assert files_of(warehouse, name) == []
    assert not lake.spark.catalog.tableExists(f"{lake.catalog}.{name}")


def test_the_key_is_said_once(lake: kl.Lake) -> None:
    name = fresh_name("made")
    with refused_in_sql(lake, name, "DEFINITION", "twice", "'key'"):
        lake.spark.sql(
            f"CREATE TABLE {lake.catalog}.{name} (id INT PRIMARY KEY) USING keylake TBLPROPERTIES ('key' = 'id')"
        ).collect()


def test_odd_names(lake: kl.Lake) -> None:
    name = f"{lake.catalog}.made.`it's a ``select`` {fresh_name('made')[5:]}`"
    statement = (
        f"CREATE OR REPLACE TABLE {name} USING keylake TBLPROPERTIES ('key' = '`from`') AS SELECT 1 AS `from`, {{}}"
    )
    for columns in ("'a' AS `it's`", "'b' AS `it's`", "2 AS `by, ``c```"):
        lake.spark.sql(statement.format(columns)).collect()
    assert [tuple(row) for row in lake.spark.sql(f"SELECT `from`, `by, ``c``` FROM {name}").collect()] == [(1, 2)]
    current = lake.spark.catalog.currentCatalog()
    lake.spark.sql(f"USE {lake.catalog}.made").collect()
    try:
        like = name.rpartition(".")[2]
        lake.spark.sql(f"CREATE TABLE {like[:-1]}, too` LIKE {like}").collect()
        assert lake.spark.table(f"{name[:-1]}, too`").columns == ["from", "by, `c`"]
    finally:
        lake.spark.catalog.setCurrentCatalog(current)


def test_if_not_exists_leaves_the_table(lake: kl.Lake) -> None:
    name = fresh_name("made")
    statement = "CREATE TABLE {} {} USING keylake TBLPROPERTIES ('key' = 'id') AS SELECT {} AS id"
    lake.spark.sql(statement.format("IF NOT EXISTS", f"{lake.catalog}.{name}", 1)).collect()
    lake.spark.sql(statement.format("IF NOT EXISTS", f"{lake.catalog}.{name}", 2)).collect()
    assert rows(lake, name) == [(1,)]
    with pytest.raises(Exception, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        lake.spark.sql(statement.format("", f"{lake.catalog}.{name}", 3)).collect()


def test_a_plain_table_stays_one(lake: kl.Lake) -> None:
    name = fresh_name("made")
    lake.spark.sql(f"CREATE TABLE {lake.catalog}.{name} USING iceberg AS SELECT 1 AS id").collect()
    lake.spark.sql(f"CREATE OR REPLACE TABLE {lake.catalog}.{name} USING iceberg AS SELECT 2 AS id").collect()
    lake.spark.sql(f"INSERT INTO {lake.catalog}.{name} VALUES (2)").collect()
    assert rows(lake, name) == [(2,), (2,)]
    assert name not in [str(each) for each in lake.tables()]
