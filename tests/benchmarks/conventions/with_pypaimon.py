# definition
from datetime import datetime

import pyarrow as pa
from pypaimon import CatalogFactory, Schema

columns = [("user_id", pa.int64()), ("at", pa.timestamp("us")), ("city", pa.string()), ("clicks", pa.int64())]
schema = pa.schema([pa.field("user_id", pa.int64(), nullable=False), *columns[1:]])
options = {"bucket": "1", "merge-engine": "partial-update", "sequence.field": "at"}
catalog = CatalogFactory.create({"warehouse": "lake"})
catalog.create_database("features", ignore_if_exists=False)
definition = Schema.from_pyarrow_schema(schema, primary_keys=["user_id"], options=options)
catalog.create_table("features.profile", definition, ignore_if_exists=False)
profiles = catalog.get_table("features.profile")


# write
def at(hour: int) -> datetime:
    return datetime(2026, 11, 1, hour)


def write(rows: list[dict[str, object]]) -> None:
    builder = profiles.new_batch_write_builder()
    writing, committing = builder.new_write(), builder.new_commit()
    writing.write_arrow(pa.Table.from_pylist(rows, schema))
    committing.commit(writing.prepare_commit())
    writing.close()
    committing.close()


write([{"user_id": user, "at": at(9), "city": "Oslo", "clicks": 0} for user in (7, 8)])

# partial update
for hour, clicks in ((12, 4), (11, 3)):
    write([{"user_id": 7, "at": at(hour), "clicks": clicks}])


# read
def read(table: object) -> dict[str, object]:
    builder = table.new_read_builder()
    builder = builder.with_filter(builder.new_predicate_builder().equal("user_id", 7))
    (row,) = builder.new_read().to_arrow(builder.new_scan().plan().splits()).to_pylist()
    return row


row = read(profiles)
print(row["city"], row["clicks"])

# history
newest = profiles.snapshot_manager().get_latest_snapshot().id
row = read(profiles.copy({"scan.snapshot-id": "1"}))
print(newest, row["clicks"])

# errors
try:
    write([{"user_id": 7, "at": at(13), "clicks": "many"}])
except pa.ArrowInvalid as error:
    print(type(error).__name__, error)
