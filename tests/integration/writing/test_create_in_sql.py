"""Keyed tables defined by the clauses of Spark's CREATE TABLE: the same tables as the SDK makes, or one sentence."""

from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

import keylake as kl
import keylake.local
from integration.refusals import refused_in_sql
from integration.twin import fresh_name

PROFILE = """
    CREATE TABLE {name} (
        user_id BIGINT COMMENT 'who',
        day DATE,
        at TIMESTAMP,
        clicks BIGINT COMMENT 'how often',
        city STRING,
        `a, street` STRING,
        PRIMARY KEY (user_id, day)
    )
    USING keylake
    COMMENT 'what a user did in a day'
    PARTITIONED BY (day)
    CLUSTERED BY (user_id) INTO 8 BUCKETS
    TBLPROPERTIES (
        'ordering' = 'at', 'reduce.clicks' = 'LatestNotNull', 'column_group.home' = 'city, `a, street`',
        'column_group_doc.home' = 'where they live', 'groups' = '64', 'hash' = 'xxhash64',
        'keylake.retention' = '{{"days": 7}}', 'write.parquet.compression-level' = '3'
    )
"""
SCHEMA = pa.schema(
    [
        pa.field("user_id", pa.int64(), nullable=False),
        pa.field("day", pa.date32(), nullable=False),
        pa.field("at", pa.timestamp("us", tz="UTC")),
        pa.field("clicks", pa.int64()),
        pa.field("city", pa.string()),
        pa.field("a, street", pa.string()),
    ]
)


def test_all_words(lake: kl.Lake) -> None:
    name = fresh_name("created")
    lake.spark.sql(PROFILE.format(name=f"{lake.catalog}.{name}")).collect()
    made = lake.table(name).spec
    expected = kl.TableSpec.from_arrow(
        SCHEMA,
        name=name,
        key=["user_id", "day"],
        ordering="at",
        buckets=8,
        bucket_by=["user_id"],
        partition_by=["day"],
        reducers={"clicks": kl.LatestNotNull()},
        column_groups=[kl.ColumnGroup("home", ("city", "a, street"), doc="where they live")],
        groups=64,
        hash="xxhash64",
        comment="what a user did in a day",
    )
    assert made.property_json() == expected.property_json()
    assert made.comment == expected.comment
    assert [(each.name, each.doc) for each in made.columns if each.doc] == [("user_id", "who"), ("clicks", "how often")]
    assert lake.table(name).retention_policy().days == 7


def test_partitions_in_another_order_than_the_key(lake: kl.Lake, warehouse: Path) -> None:
    """Each value lies in the partition of its own column, for every writer and reader."""
    name = fresh_name("created")
    lake.spark.sql(
        f"CREATE TABLE lake.{name} (day DATE, city STRING, id INT, a INT, PRIMARY KEY (day, city, id)) USING keylake "
        "PARTITIONED BY (city, day) CLUSTERED BY (id) INTO 2 BUCKETS"
    ).collect()
    lake.spark.sql(f"INSERT INTO lake.{name} VALUES (DATE'2026-01-02', 'Oslo', 1, 1), (DATE'2026-01-03', '', 2, 2)")
    table = lake.table(name)
    with keylake.local.open(warehouse) as here:
        here.table(name).update([{"day": date(2026, 1, 2), "city": "Oslo", "id": 1, "a": 5}])
        assert here.table(name).read().to_arrow().num_rows == 2
    for kind in ("settle", "full"):
        table.compact(kind)
        assert table.check("pages").is_ok
        assert [row.a for row in table.read(where="city = 'Oslo'").collect()] == [5]
        assert [row.a for row in table.read(where="day = DATE'2026-01-03'").collect()] == [2]
        assert table.get(day=date(2026, 1, 3), city="", id=2)


def test_the_defaults_are_those_of_the_sdk(lake: kl.Lake) -> None:
    name = fresh_name("created")
    lake.spark.sql(f"CREATE TABLE {lake.catalog}.{name} (id INT PRIMARY KEY, a STRING) USING keylake").collect()
    schema = pa.schema([pa.field("id", pa.int32(), nullable=False), pa.field("a", pa.string())])
    assert lake.table(name).spec.property_json() == kl.TableSpec.from_arrow(schema, name=name, key="id").property_json()
    lake.spark.sql(f"INSERT INTO {lake.catalog}.{name} VALUES (1, 'x'), (2, 'y'), (1, 'z')").collect()
    assert lake.table(name).read().count() == 2
    again = f"CREATE TABLE IF NOT EXISTS {lake.catalog}.{name} (id INT PRIMARY KEY) USING keylake"
    lake.spark.sql(again).collect()
    with pytest.raises(Exception, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        lake.spark.sql(again.replace("IF NOT EXISTS ", "")).collect()


@pytest.mark.parametrize("part", ["all words", "few words", "names"])
def test_a_shown_statement_makes_the_same_table(lake: kl.Lake, part: str) -> None:
    name, copy = fresh_name("created"), fresh_name("created")
    statement = {
        "all words": PROFILE,
        "few words": "CREATE TABLE {name} (id BIGINT, a INT, PRIMARY KEY (id)) USING keylake",
        "names": "CREATE TABLE {name} (`from` BIGINT, `a``b c` INT, PRIMARY KEY (`from`, `a``b c`)) USING keylake "
        "CLUSTERED BY (`a``b c`) INTO 3 BUCKETS TBLPROPERTIES ('versions' = 'explicit')",
    }[part]
    lake.spark.sql(statement.format(name=f"{lake.catalog}.{name}")).collect()
    if part != "few words":
        lake.spark.sql(f"ALTER TABLE {lake.catalog}.{name} SET TBLPROPERTIES ('team' = 'growth')").collect()
    ((shown,),) = lake.spark.sql(f"SHOW CREATE TABLE {lake.catalog}.{name}").collect()
    assert "USING keylake" in shown
    assert "keylake.spec" not in shown
    lake.spark.sql(shown.replace(name, copy)).collect()
    one, two = lake.table(name).spec, lake.table(copy).spec
    assert one.property_json() == two.property_json()
    assert [str(each) for each in one.columns] == [str(each) for each in two.columns]
    ((again,),) = lake.spark.sql(f"SHOW CREATE TABLE {lake.catalog}.{copy}").collect()
    assert again == shown.replace(name, copy)


KEY = "PRIMARY KEY (id)"


@pytest.mark.parametrize(
    ("columns", "clauses", "words"),
    [
        ("id BIGINT", "", ["needs a key", "PRIMARY KEY"]),
        (f"id BIGINT, {KEY}", "PARTITIONED BY (years(at))", ["years(at)", "CLUSTERED BY"]),
        (f"id BIGINT, {KEY}", "PARTITIONED BY (a)", ["partition_by", "'a'", "[id]"]),
        (f"id BIGINT, {KEY}", "CLUSTERED BY (a) INTO 4 BUCKETS", ["bucket_by", "'a'"]),
        (f"id BIGINT, {KEY}", "CLUSTERED BY (id) SORTED BY (a) INTO 4 BUCKETS", ["SORTED BY"]),
        (f"id BIGINT, {KEY}", "TBLPROPERTIES ('ordering' = 'when')", ["when"]),
        (f"id BIGINT, {KEY}", "TBLPROPERTIES ('Ordering' = 'at')", ["'Ordering'", "'ordering'"]),
        (f"id BIGINT, {KEY}", "TBLPROPERTIES ('buckets' = '4')", ["CLUSTERED BY"]),
        (f"id BIGINT, {KEY}", "TBLPROPERTIES ('versions' = 'clock')", ["clock", "'commit'"]),
        (f"id BIGINT, {KEY}", "TBLPROPERTIES ('reduce.a' = 'Most')", ["Most", "LatestNotNull"]),
        (f"id BIGINT, {KEY}", "TBLPROPERTIES ('reduce.z' = 'LatestNotNull')", ["'z'"]),
        (f"id BIGINT, {KEY}", "TBLPROPERTIES ('column_group.g' = 'a, ')", ["column_group.g", "backticks"]),
        (f"id BIGINT, {KEY}", "TBLPROPERTIES ('column_group_doc.g' = 'x')", ["column_group.g"]),
        (f"id BIGINT, {KEY}", "TBLPROPERTIES ('groups' = '4')", ["'hash'"]),
        (f"id BIGINT, {KEY}", "TBLPROPERTIES ('groups' = 'four', 'hash' = 'crc32')", ["four"]),
        (f"id BIGINT, {KEY}", "TBLPROPERTIES ('keylake.spec' = '{}')", ["keylake.spec"]),
        (f"id BIGINT, UNIQUE (a), {KEY}", "", ["UNIQUE"]),
        (f"id BIGINT, CHECK (a > 0), {KEY}", "", ["CHECK"]),
    ],
)
def test_what_a_statement_cannot_say(lake: kl.Lake, columns: str, clauses: str, words: list[str]) -> None:
    name = fresh_name("created")
    statement = f"CREATE TABLE {lake.catalog}.{name} (a BIGINT, at TIMESTAMP, {columns}) USING keylake {clauses}"
    with refused_in_sql(lake, name, "DEFINITION", *words):
        lake.spark.sql(statement).collect()
    assert name not in [str(each) for each in lake.tables()]


def test_plain_tables_have_no_primary_key(lake: kl.Lake) -> None:
    name = fresh_name("created")
    with refused_in_sql(lake, name, "DEFINITION", "USING keylake"):
        lake.spark.sql(f"CREATE TABLE {lake.catalog}.{name} (id INT PRIMARY KEY) USING iceberg").collect()
    lake.spark.sql(f"CREATE TABLE {lake.catalog}.{name} (id INT) USING iceberg").collect()
    ((shown,),) = lake.spark.sql(f"SHOW CREATE TABLE {lake.catalog}.{name}").collect()
    assert "USING iceberg" in shown


@pytest.mark.parametrize(
    "columns",
    [
        "id STRING COLLATE UTF8_LCASE, v INT, PRIMARY KEY (id)) USING keylake",
        "id INT, v STRING COLLATE UNICODE_CI, PRIMARY KEY (id)) USING keylake",
        "id INT, v STRUCT<a: ARRAY<STRING COLLATE UTF8_LCASE>>, PRIMARY KEY (id)) USING keylake",
        "id INT, v MAP<STRING, STRING COLLATE UTF8_LCASE>, PRIMARY KEY (id)) USING keylake",
        "id INT, v STRING, PRIMARY KEY (id)) USING keylake DEFAULT COLLATION UTF8_LCASE",
    ],
)
def test_collations_are_refused(lake: kl.Lake, columns: str) -> None:
    """Iceberg's schema has no place for them: they were dropped, and keys compared by their bytes."""
    name = fresh_name("collated")
    with refused_in_sql(
        lake, name, "UNSUPPORTED", "compare by their bytes", "ollat" if "DEFAULT" not in columns else ""
    ):
        lake.spark.sql(f"CREATE TABLE {lake.catalog}.{name} ({columns}").collect()


def test_collations_of_queries_and_added_columns_are_refused(lake: kl.Lake) -> None:
    name, sql = fresh_name("collated"), lake.spark.sql
    with refused_in_sql(lake, name, "UNSUPPORTED", "'id'", "UTF8_LCASE"):
        sql(
            f"CREATE TABLE {lake.catalog}.{name} USING keylake TBLPROPERTIES ('key' = 'id') "
            "AS SELECT 'a' COLLATE UTF8_LCASE AS id"
        ).collect()
    sql(
        f"CREATE TABLE {lake.catalog}.{name} (id STRING, v STRING COLLATE UTF8_BINARY, PRIMARY KEY (id)) USING keylake"
    ).collect()
    for change in ("ADD COLUMN w STRING COLLATE UTF8_LCASE", "ALTER COLUMN v TYPE STRING COLLATE UTF8_LCASE"):
        with refused_in_sql(lake, name, "UNSUPPORTED", "UTF8_LCASE"):
            sql(f"ALTER TABLE {lake.catalog}.{name} {change}").collect()
    sql(f"INSERT INTO {lake.catalog}.{name} SELECT 'a' COLLATE UTF8_LCASE, 'b' COLLATE UTF8_LCASE").collect()
    assert lake.table(name).read().collect() == [("a", "b")]
