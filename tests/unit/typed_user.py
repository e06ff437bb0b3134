"""What a user writes, for type checkers: every line marked `# wrong` is an error, and no other line is one."""

import datetime

import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame

import keylake as kl
from keylake import Int64, column, key, ordering


class Seen(kl.Table, name="a.b", buckets=8):
    id: Int64 = key()
    at: datetime.datetime = ordering()
    clicks: Int64 | None = column()


def rows(table: kl.KeyedTable[Seen], frame: DataFrame, arrow: pa.Table) -> None:
    at = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    commit: kl.Commit = table.upsert([Seen(id=1, at=at, clicks=2)])
    table.upsert([{"id": 1, "at": at, "clicks": None}], stream="web", watermark=at)
    table.update(pd.DataFrame({"id": [1]}), version=7, offsets={"clicks-0": (0, 100)})
    table.update(frame, version={"clicks": "clicks_at"})
    table.delete(arrow)
    row: Seen | None = table.get(id=1)
    read: DataFrame = table.read(columns=["clicks"], at=commit)
    print(row and row.clicks, read)


def wrong(table: kl.KeyedTable[Seen]) -> None:
    table.upsert(5)  # wrong
    table.upsert("rows")  # wrong
    table.upsert([1, 2])  # wrong
    table.upsert([], steam="web")  # wrong
    table.upsert([], watermark="2026-01-01")  # wrong
    table.upsert([], offsets={"clicks-0": 100})  # wrong
    table.change_buckets("8")  # wrong
    table.read(columns=5)  # wrong
    table.compact("all")  # wrong
