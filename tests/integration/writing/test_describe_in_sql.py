"""What SQL tells of a keyed table, views over it, and tables like it."""

from datetime import datetime, timezone

import pytest

import keylake as kl
from integration.refusals import refused_in_sql
from integration.twin import fresh_name


@pytest.fixture(scope="module")
def profile(lake: kl.Lake) -> str:
    """A keyed table with writes of two streams and a few odd names."""
    name = fresh_name("told")
    lake.spark.sql(
        f"CREATE TABLE {lake.catalog}.{name} (`user, id` BIGINT, day DATE, at TIMESTAMP, clicks INT, city STRING, "
        "street STRING, PRIMARY KEY (`user, id`, day)) USING keylake PARTITIONED BY (day) "
        "CLUSTERED BY (`user, id`) INTO 4 BUCKETS TBLPROPERTIES ('ordering' = 'at', "
        "'reduce.clicks' = 'LatestNotNull', 'column_group.home' = 'city, street')"
    ).collect()
    frame = lake.spark.range(20).selectExpr("id AS `user, id`", "DATE'2026-11-01' AS day", "now() AS at", "1 AS clicks")
    lake.table(name).update(frame, stream="web", watermark=datetime(2026, 11, 1, tzinfo=timezone.utc))
    lake.table(name).update(frame.limit(3), stream="app")
    return name


def described(lake: kl.Lake, statement: str) -> dict[str, str]:
    return {row[0]: row[1] for row in lake.spark.sql(statement).collect()}


def test_describe_extended(lake: kl.Lake, profile: str) -> None:
    rows = [(row[0], row[1]) for row in lake.spark.sql(f"DESCRIBE TABLE EXTENDED {lake.catalog}.{profile}").collect()]
    told = dict(reversed(rows))  # the first of several
    assert told["clicks"] == "int"
    assert told["Key"] == "`user, id`, day"
    assert (told["Buckets"], told["Bucket By"], told["Partition By"]) == ("4", "`user, id`", "day")
    assert (told["ordering"], told["reduce.clicks"], told["column_group.home"]) == (
        "at",
        "LatestNotNull",
        "city, street",
    )
    assert "23 stored rows" in told["Runs"]
    web, app = lake.table(profile).history()[1], lake.table(profile).history()[0]
    assert told["web"].startswith(f"{web.snapshot_id} of ")
    assert told["app"].startswith(f"{app.snapshot_id} of ")
    titles = [name for name, _ in rows]
    assert titles.index("# Keyed Table") < titles.index("# Last Commit per Stream") < titles.index("# Watermarks")
    assert rows[titles.index("# Watermarks") :] == [("# Watermarks", ""), ("web", "2026-11-01T00:00:00Z")]


def test_describe_without_extended_is_as_ever(lake: kl.Lake, profile: str) -> None:
    assert "Key" not in described(lake, f"DESCRIBE {lake.catalog}.{profile}")
    (row,) = lake.spark.sql(f"DESCRIBE {lake.catalog}.{profile} clicks").filter("info_name = 'data_type'").collect()
    assert row[1] == "int"


def test_describe_of_an_empty_table_and_of_a_branch(lake: kl.Lake, profile: str) -> None:
    name = fresh_name("told")
    lake.spark.sql(f"CREATE TABLE {lake.catalog}.{name} (id INT PRIMARY KEY) USING keylake").collect()
    assert described(lake, f"DESCRIBE EXTENDED {lake.catalog}.{name}")["Runs"] == "0"
    lake.table(profile).branch("tmp_told")
    assert described(lake, f"DESCRIBE EXTENDED {lake.catalog}.{profile}.branch_tmp_told")["Buckets"] == "4"
    plain = fresh_name("told")
    lake.spark.sql(f"CREATE TABLE {lake.catalog}.{plain} (id INT) USING iceberg").collect()
    assert "# Keyed Table" not in described(lake, f"DESCRIBE EXTENDED {lake.catalog}.{plain}")


@pytest.mark.parametrize("kind", ["VIEW", "TEMPORARY VIEW"])
def test_views_show_merged_rows(lake: kl.Lake, profile: str, kind: str) -> None:
    name = fresh_name("told").replace(".", "_")
    view = name if kind == "TEMPORARY VIEW" else f"{lake.catalog}.told.{name}"
    lake.spark.sql(
        f"CREATE {kind} {view} AS SELECT `user, id` AS id, clicks FROM {lake.catalog}.{profile} WHERE day IS NOT NULL"
    ).collect()
    assert lake.spark.table(view).where("id < 20").count() == 20
    values = "(`user, id`, day, at, clicks) VALUES (0, DATE'2026-11-01', now(), NULL), (99, DATE'2026-11-01', now(), 5)"
    lake.spark.sql(f"INSERT INTO {lake.catalog}.{profile} {values}").collect()
    assert lake.spark.table(view).count() == 21
    assert lake.spark.sql(f"SELECT clicks FROM {view} WHERE id = 0").collect()[0][0] == 1
    lake.spark.sql(f"CREATE OR REPLACE {kind} {view} AS SELECT count(*) AS n FROM {lake.catalog}.{profile}").collect()
    assert lake.spark.table(view).collect()[0][0] == 21
    lake.spark.sql(f"DROP VIEW {view}").collect()


def test_a_table_like_another(lake: kl.Lake, profile: str) -> None:
    """Spark takes names of two parts here, and looks for them in its own catalog; with ours in use, they are ours."""
    copy = fresh_name("told")
    current = lake.spark.catalog.currentCatalog()
    lake.spark.sql(f"USE {lake.catalog}").collect()
    try:
        lake.spark.sql(f"CREATE TABLE {copy} LIKE {profile}").collect()
        lake.spark.sql(f"CREATE TABLE IF NOT EXISTS {copy} LIKE {profile}").collect()
        with refused_in_sql(lake, copy, "TABLE_EXISTS", copy.rpartition(".")[2]):
            lake.spark.sql(f"CREATE TABLE {copy} LIKE {profile}").collect()
    finally:
        lake.spark.catalog.setCurrentCatalog(current)
    assert lake.table(copy).spec.property_json() == lake.table(profile).spec.property_json()
    assert [str(each) for each in lake.table(copy).spec.columns] == [
        str(each) for each in lake.table(profile).spec.columns
    ]
    assert lake.table(copy).read().count() == 0
    other = fresh_name("told")
    lake.spark.sql(f"CALL {lake.catalog}.system.create_table_like(table => '{other}', like => '{profile}')").collect()
    assert lake.table(other).spec.property_json() == lake.table(profile).spec.property_json()
