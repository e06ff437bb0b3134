# definition
from datetime import datetime, timezone

import pyarrow as pa
from deltalake import DeltaTable

columns = [("user_id", pa.int64()), ("at", pa.timestamp("us", tz="UTC")), ("city", pa.string()), ("clicks", pa.int64())]
schema = pa.schema(columns)
profiles = DeltaTable.create("lake/profile", schema)


# write
def at(hour: int) -> datetime:
    return datetime(2026, 11, 1, hour, tzinfo=timezone.utc)


rows = [{"user_id": user, "at": at(9), "city": "Oslo", "clicks": 0} for user in (7, 8)]
merge = profiles.merge(pa.Table.from_pylist(rows, schema), "t.user_id = s.user_id", source_alias="s", target_alias="t")
merge.when_matched_update_all("s.at > t.at").when_not_matched_insert_all().execute()

# partial update
for hour, clicks in ((12, 4), (11, 3)):
    rows = pa.Table.from_pylist([{"user_id": 7, "at": at(hour), "clicks": clicks}])
    merge = profiles.merge(rows, "t.user_id = s.user_id", source_alias="s", target_alias="t")
    changed = {"at": "s.at", "clicks": "s.clicks"}
    merge.when_matched_update(changed, "s.at > t.at").when_not_matched_insert(
        {"user_id": "s.user_id"} | changed
    ).execute()

# read
(row,) = profiles.to_pyarrow_table(filters=[("user_id", "=", 7)]).to_pylist()
print(row["city"], row["clicks"])

# history
versions = [each["version"] for each in profiles.history() if each["operation"] != "CREATE TABLE"]
(row,) = DeltaTable("lake/profile", version=versions[-1]).to_pyarrow_table(filters=[("user_id", "=", 7)]).to_pylist()
print(len(versions), row["clicks"])

# errors
rows = pa.Table.from_pylist([{"user_id": 7, "at": at(13), "clicks": "many"}])
merge = profiles.merge(rows, "t.user_id = s.user_id", source_alias="s", target_alias="t")
try:
    merge.when_matched_update(changed, "s.at > t.at").execute()
except Exception as error:  # noqa: BLE001 - it raises no class of its own here
    print(type(error).__name__, error)
