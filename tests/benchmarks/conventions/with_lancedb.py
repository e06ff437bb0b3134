# definition
from datetime import datetime, timezone

import lancedb
import pyarrow as pa

columns = [("user_id", pa.int64()), ("at", pa.timestamp("us", tz="UTC")), ("city", pa.string()), ("clicks", pa.int64())]
schema = pa.schema(columns)
profiles = lancedb.connect("lake").create_table("profile", schema=schema)


# write
def at(hour: int) -> datetime:
    return datetime(2026, 11, 1, hour, tzinfo=timezone.utc)


rows = [{"user_id": user, "at": at(9), "city": "Oslo", "clicks": 0} for user in (7, 8)]
newer = profiles.merge_insert("user_id").when_matched_update_all(where="source.at > target.at")
newer.when_not_matched_insert_all().execute(pa.Table.from_pylist(rows, schema))
written = profiles.version

# partial update
for hour, clicks in ((12, 4), (11, 3)):
    older = f"user_id = 7 AND at < TIMESTAMP '{at(hour):%Y-%m-%d %H:%M:%S}+00:00'"
    profiles.update(where=older, values={"at": at(hour), "clicks": clicks})

# read
(row,) = profiles.search().where("user_id = 7").to_list()
print(row["city"], row["clicks"])

# history
versions = [each["version"] for each in profiles.list_versions() if each["version"] >= written]
profiles.checkout(written)
(row,) = profiles.search().where("user_id = 7").to_list()
profiles.checkout_latest()
print(len(versions), row["clicks"])

# errors
try:
    profiles.merge_insert("user_id").when_matched_update_all().execute([{"user_id": 7, "at": at(13), "clicks": "many"}])
except RuntimeError as error:
    print(type(error).__name__, error)
