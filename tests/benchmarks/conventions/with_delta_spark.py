# definition
from datetime import datetime, timezone

from delta import DeltaTable, configure_spark_with_delta_pip
from pyspark.sql import SparkSession

builder = (
    SparkSession.builder.master("local[2]")
    .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
)
spark = configure_spark_with_delta_pip(builder).getOrCreate()
profiles = (
    DeltaTable.create(spark)
    .tableName("profile")
    .addColumn("user_id", "BIGINT", nullable=False)
    .addColumn("at", "TIMESTAMP")
    .addColumn("city", "STRING")
    .addColumn("clicks", "BIGINT")
    .execute()
)


# write
def at(hour: int) -> datetime:
    return datetime(2026, 11, 1, hour, tzinfo=timezone.utc)


rows = spark.createDataFrame(
    [(user, at(9), "Oslo", 0) for user in (7, 8)], "user_id BIGINT, at TIMESTAMP, city STRING, clicks BIGINT"
)
merge = profiles.alias("t").merge(rows.alias("s"), "t.user_id = s.user_id")
merge.whenMatchedUpdateAll("s.at > t.at").whenNotMatchedInsertAll().execute()

# partial update
for hour, clicks in ((12, 4), (11, 3)):
    rows = spark.createDataFrame([(7, at(hour), clicks)], "user_id BIGINT, at TIMESTAMP, clicks BIGINT")
    merge = profiles.alias("t").merge(rows.alias("s"), "t.user_id = s.user_id")
    changed = {"at": "s.at", "clicks": "s.clicks"}
    merge = merge.whenMatchedUpdate("s.at > t.at", changed)
    merge.whenNotMatchedInsert(values={"user_id": "s.user_id"} | changed).execute()

# read
row = profiles.toDF().where("user_id = 7").first()
print(row.city, row.clicks)

# history
versions = [each.version for each in profiles.history().where("operation = 'MERGE'").collect()]
row = spark.sql(f"SELECT * FROM profile VERSION AS OF {versions[-1]} WHERE user_id = 7").first()
print(len(versions), row.clicks)

# errors
rows = spark.createDataFrame([(7, at(13), "many")], "user_id BIGINT, at TIMESTAMP, clicks STRING")
merge = profiles.alias("t").merge(rows.alias("s"), "t.user_id = s.user_id")
try:
    merge.whenMatchedUpdate("s.at > t.at", changed).execute()
except Exception as error:  # noqa: BLE001 - an error of Py4J, since a task fails
    print(type(error).__name__, error)
