# definition
from datetime import datetime, timezone

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType, TimestamptzType

catalog = SqlCatalog("lake", uri="sqlite:///catalog.db", warehouse="file://lake")
catalog.create_namespace("features")
schema = Schema(
    NestedField(1, "user_id", LongType(), required=True),
    NestedField(2, "at", TimestamptzType()),
    NestedField(3, "city", StringType()),
    NestedField(4, "clicks", LongType()),
    identifier_field_ids=[1],
)
profiles = catalog.create_table("features.profile", schema)


# write
def at(hour: int) -> datetime:
    return datetime(2026, 11, 1, hour, tzinfo=timezone.utc)


rows = [{"user_id": user, "at": at(9), "city": "Oslo", "clicks": 0} for user in (7, 8)]
profiles.upsert(pa.Table.from_pylist(rows, schema=schema.as_arrow()))

# partial update
for hour, clicks in ((12, 4), (11, 3)):
    (stored,) = profiles.scan(row_filter="user_id = 7").to_arrow().to_pylist()
    if stored["at"] < at(hour):
        changed = stored | {"at": at(hour), "clicks": clicks}
        profiles.upsert(pa.Table.from_pylist([changed], schema=schema.as_arrow()))

# read
(row,) = profiles.scan(row_filter="user_id = 7").to_arrow().to_pylist()
print(row["city"], row["clicks"])

# history
snapshots = profiles.history()
(row,) = profiles.scan(row_filter="user_id = 7", snapshot_id=snapshots[0].snapshot_id).to_arrow().to_pylist()
print(len(snapshots), row["clicks"])

# errors
try:
    profiles.upsert(pa.Table.from_pylist([{"user_id": 7, "at": at(13), "clicks": "many"}]))
except (pa.ArrowInvalid, ValueError) as error:
    print(type(error).__name__, error)
