"""Publish to a store: a table as sorted files that a key-value store loads, in full once and then what has changed.

`publish_kv` writes a file for each group of keys, and a manifest last. The store here is SQLite, which Python has;
`format="rocksdb"` writes files that RocksDB ingests as they are. The store has the rows of one commit at any time.
"""

import json
import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet as pq

import keylake as kl
from flights.source import read_csv


class Plane(kl.Table, name="store.planes", buckets=4, versions="explicit"):
    """A plane, by the number on its tail."""

    tail_number: str = kl.key()
    model: str | None = kl.column()
    seats: kl.Int32 | None = kl.column()


class Store:
    """Planes in SQLite, for look-ups by key."""

    def __init__(self) -> None:
        self.database = sqlite3.connect(":memory:")
        self.database.execute("CREATE TABLE planes (tail_number TEXT PRIMARY KEY, model TEXT, seats INT)")

    def load(self, folder: Path) -> None:
        """Take in what was published, in one transaction."""
        with self.database:
            for file in json.loads((folder / "manifest.json").read_text())["files"]:
                rows = pq.read_table(folder / file["file"]).to_pylist()
                gone = [row for row in rows if row.get("_deleted")]
                here = [row for row in rows if not row.get("_deleted")]
                self.database.executemany("DELETE FROM planes WHERE tail_number = :tail_number", gone)
                self.database.executemany("REPLACE INTO planes VALUES (:tail_number, :model, :seats)", here)

    def get(self, tail_number: str) -> tuple[object, ...] | None:
        """The row of a plane."""
        return self.database.execute("SELECT * FROM planes WHERE tail_number = ?", [tail_number]).fetchone()


registry = read_csv("planes").rename(columns={"tailnum": "tail_number"})[["tail_number", "model", "seats"]]
store = Store()

with kl.connect() as lake, TemporaryDirectory() as folder:
    lake.spark.sql("DROP TABLE IF EXISTS store.planes PURGE")  # an earlier run's
    planes = lake.create(Plane)
    first = planes.upsert(registry, version=1)
    print(planes.serving.publish_kv(f"{folder}/all"))
    store.load(Path(folder, "all"))
    print(store.get("N104UW"), store.get("N10156"))

    # A cabin is refitted, and Embraers are sold. Only their keys are published.
    planes.update([{"tail_number": "N104UW", "seats": 190}], version=2)
    sold = registry[registry["model"] == "EMB-145XR"]
    last = planes.delete(sold[["tail_number"]], version=3)
    print(planes.serving.publish_kv(f"{folder}/changes", after=first, at=last))
    store.load(Path(folder, "changes"))
    print(store.get("N104UW"), store.get("N10156"))

    in_store = {tuple(row) for row in store.database.execute("SELECT * FROM planes")}
    print("the store has the rows of the table:", in_store == {tuple(row) for row in planes.read().collect()})
