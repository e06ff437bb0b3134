"""The quick start: a table from an Arrow schema, pandas in, SQL out. Run it twice: the second time changes nothing."""

import pandas as pd
import pyarrow as pa

import keylake as kl

columns = {"user_id": pa.int64(), "at": pa.timestamp("us", "UTC"), "city": pa.string(), "clicks": pa.int64()}
spec = kl.TableSpec.from_arrow(pa.schema(columns), name="shop.users", key=["user_id"], ordering="at", buckets=2)


def at(hour: int) -> pd.Timestamp:
    """An hour of the day the story plays on."""
    return pd.Timestamp(2026, 1, 1, hour, tz="UTC")


with kl.connect() as lake:  # a Spark Connect server of its own, and the folder ./lake
    users = lake.create(spec, if_exists="match")
    users.upsert(pd.DataFrame({"user_id": [1, 2], "at": at(9), "city": ["Oslo", "Kyiv"], "clicks": [3, 5]}))

    # Each column keeps its newest value: news of the clicks says nothing of the city, ...
    users.update(pd.DataFrame({"user_id": [1], "at": at(12), "clicks": [4]}))
    # ... and a move at ten, heard of only now, still counts for the city, but not for the clicks.
    users.update(pd.DataFrame({"user_id": [1], "at": at(10), "city": ["Bergen"], "clicks": [0]}))
    users.delete(pd.DataFrame({"user_id": [2], "at": at(11)}))

    print(users.get(user_id=1))
    lake.spark.sql("SELECT user_id, city, clicks, at FROM shop.users ORDER BY user_id").show()
