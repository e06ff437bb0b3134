"""What a section of a page takes for granted: tables and frames that its reader has."""

from collections.abc import Sequence

import keylake as kl
from integration.documents.blocks import Block, Reader

PROFILE = """
lake.spark.sql("CREATE NAMESPACE IF NOT EXISTS features").collect()
lake.spark.sql(
    "CREATE OR REPLACE TABLE features.profile (user_id BIGINT PRIMARY KEY, at TIMESTAMP, city STRING, clicks BIGINT) "
    "USING keylake CLUSTERED BY (user_id) INTO 4 BUCKETS TBLPROPERTIES ('ordering' = 'at')"
).collect()
"""
PLAIN = """
lake.spark.sql("CREATE NAMESPACE IF NOT EXISTS streams").collect()
lake.spark.sql(
    "CREATE OR REPLACE TABLE streams.orders (id BIGINT NOT NULL, at TIMESTAMP, day DATE, spend DOUBLE) USING iceberg "
    "TBLPROPERTIES ('format-version' = '2')"
).collect()
lake.spark.sql("ALTER TABLE streams.orders SET IDENTIFIER FIELDS id").collect()
lake.spark.sql(
    "INSERT INTO streams.orders SELECT id, TIMESTAMP '2026-11-01 10:00:00Z', DATE '2026-11-01', 2.5 FROM range(10)"
).collect()
"""
FOREIGN = """
from datetime import datetime, timezone
import warnings
import pyarrow as pa
from integration.raw import catalog_of
lake.spark.sql(
    "CREATE TABLE features.foreign (user_id BIGINT PRIMARY KEY, clicks BIGINT) USING keylake "
    "CLUSTERED BY (user_id) INTO 1 BUCKETS"
).collect()
catalog = catalog_of(lake)
foreign = catalog.load_table("features.foreign")
schema = pa.schema([pa.field("user_id", pa.int64(), nullable=False), pa.field("clicks", pa.int64())])
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    foreign.append(pa.Table.from_pylist([{"user_id": 7, "clicks": 3}], schema))
lake.spark.sql("DECLARE OR REPLACE VARIABLE foreign_commit BIGINT").collect()
lake.spark.sql(f"SET VARIABLE foreign_commit = {foreign.current_snapshot().snapshot_id}").collect()
catalog.close()
"""
WEB = """
from datetime import datetime, timezone
table = lake.table("features.profile")
for hour in (9, 12, 13):
    at = datetime(2026, 11, 1, hour, tzinfo=timezone.utc)
    table.update([{"user_id": user, "at": at, "clicks": hour} for user in (7, 8)], stream="web", watermark=at)
"""
ONLINE = """
lake.spark.sql(
    "CREATE TABLE features.online (user_id BIGINT PRIMARY KEY, clicks BIGINT) USING keylake CLUSTERED BY (user_id) "
    "INTO 2 BUCKETS TBLPROPERTIES ('groups' = '8', 'hash' = 'murmur3_32')"
).collect()
lake.spark.sql("INSERT INTO features.online VALUES (7, 3)").collect()
"""

NAMES = """
from datetime import date, datetime, timezone
import keylake as kl
from keylake import Float64, Int64, column, key
import pyarrow as pa
"""
EVENTS = """
lake.spark.sql("CREATE NAMESPACE IF NOT EXISTS features").collect()
lake.spark.sql(
    "SELECT 7L AS user_id, DATE '2026-11-01' AS day, TIMESTAMP '2026-11-01 10:00:00Z' AS at, 3L AS clicks"
).createOrReplaceTempView("events")
"""
ORDERS = """
orders_of_today = [
    {"shop_id": 1, "revenue": 2.5, "orders": 1, "goods": ["tea"]},
    {"shop_id": 1, "revenue": 4.0, "orders": 1, "goods": ["tea", "milk"]},
]
"""
SCORED = """
lake.spark.sql(
    "CREATE TABLE features.scored (user_id BIGINT PRIMARY KEY, score DOUBLE) USING keylake"
).collect()
profiles = lake.table("features.scored")
profiles.upsert([{"user_id": 7, "score": 0.5}])
profiles.experiment("ranker_c", add={"score_c": Float64})
scores = [{"user_id": 7, "score_b": 0.7}]
"""
CHANGING = """
lake.spark.sql("DROP TABLE features.profile").collect()
lake.spark.sql(
    "CREATE TABLE features.profile (user_id BIGINT PRIMARY KEY, clicks INT, street STRING, home STRUCT<city: STRING>) "
    "USING keylake"
).collect()
"""
PAYLOADS = """
payload = '{"name": "eva"}'
lake.spark.createDataFrame([(9, payload)], "id long, payload string").write.mode("overwrite").parquet("arriving")
events = lake.spark.readStream.schema("id long, payload string").parquet("arriving")
"""
LOCAL = """
with kl.connect() as opened:
    opened.spark.sql(
        "CREATE OR REPLACE TABLE lake.shop.users (user_id BIGINT PRIMARY KEY, city STRING, clicks BIGINT) USING keylake"
    ).collect()
    opened.table("shop.users").upsert([{"user_id": 7, "city": "Oslo", "clicks": 6}])
"""
CATALOG = """
import keylake as kl
uri, token = f"http://127.0.0.1:{lake._server.catalog_port}", lake._server.url.partition(";token=")[2]
"""

EXPORT = """
lake.spark.sql("SELECT id, id % 2 AS spend, DATE '2026-11-01' AS day FROM range(10)").write.partitionBy("day").parquet(
    "exports/orders"
)
"""

UPSERTED = PLAIN.replace("streams.orders", "streams.upserted")
HUDI = """
lake.spark.sql(
    "SELECT 'a' AS _hoodie_commit_time, id, TIMESTAMP '2026-11-01 10:00:00Z' AS at, 2.5D AS spend, "
    "DATE '2026-11-01' AS day FROM range(10)"
).write.partitionBy("day").parquet("exports/hudi_orders")
"""

# By page and heading: Python that runs before the first block there.
BEFORE: dict[tuple[str, str], str] = {
    ("sql.md", "Statements"): EVENTS,
    ("sql.md", "Tables"): PROFILE + WEB,
    ("sql.md", "Followers"): ONLINE,
    ("sql.md", "Tables of other engines"): PLAIN + FOREIGN,
    ("guide.md", "Define a table"): NAMES + EVENTS,
    ("guide.md", "Columns that add up"): ORDERS,
    ("guide.md", "Change columns"): CHANGING,
    ("guide.md", "Try out columns"): SCORED,
    ("guide.md", "Write exactly once"): 'lake.spark.sql("CREATE NAMESPACE IF NOT EXISTS shop").collect()',
    ("guide.md", "Write payloads of JSON"): PAYLOADS,
    ("guide.md", "Application code without Spark"): LOCAL,
    ("migration.md", "From plain Iceberg"): EVENTS + PLAIN,
    ("migration.md", "From Hudi"): HUDI,
    ("migration.md", "From Flink upsert tables"): UPSERTED,
    ("catalog.md", "PyIceberg"): CATALOG,
    ("operations.md", "Sizing of buckets"): PROFILE.replace("features.profile", "features.sized"),
    ("operations.md", "Plain tables with equality deletes"): EVENTS + PLAIN,
    ("operations.md", "Plain tables and Parquet files that become keyed tables"): EXPORT,
}


def modules_of(page: Sequence[Block]) -> dict[str, str]:
    """Modules that a page defines, and that Spark's workers import: blocks that begin with the name of a file."""
    files = {block.text.partition("\n")[0]: block.text for block in page if block.is_a_file}
    return {first.removeprefix("# ").removesuffix(".py"): text for first, text in files.items()}


def prepared(reader: Reader, block: Block) -> None:
    """Run what the section of a block takes for granted, once."""
    source = BEFORE.get((block.page, block.heading))
    if source is not None and block.heading not in reader.prepared:
        reader.prepared.add(block.heading)
        reader.names["lake"] = reader.lake
        exec(source, reader.names)


def emptied(lake: kl.Lake) -> None:
    """Drop what an earlier page has left."""
    for space in [row.namespace for row in lake.spark.sql("SHOW NAMESPACES").collect()]:
        for row in lake.spark.sql(f"SHOW TABLES IN {space}").collect():
            lake.spark.sql(f"DROP TABLE {space}.{row.tableName} PURGE").collect()
