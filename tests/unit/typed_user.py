# pyright: strict
"""What a user writes, for type checkers: every line marked `# wrong` is an error, and no other line is one."""

import datetime
import uuid
from decimal import Decimal
from typing import Annotated

import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]
from pyspark.sql import DataFrame
from typing_extensions import TypedDict  # what pydantic asks for before Python 3.12

import keylake as kl
import keylake.local
from keylake import Int64, column, key, ordering


class Seen(kl.Table, name="a.b", buckets=8):
    id: Int64 = key()
    at: datetime.datetime = ordering()
    clicks: Int64 | None = column()


class Home(TypedDict):
    city: str
    zip: int


class Wide(kl.Table, name="a.wide", versions="explicit"):
    """A column of each kind."""

    day: datetime.date = key()
    user: uuid.UUID = key()
    spend: Annotated[Decimal, kl.Decimal(10, 2)] | None = column(reduce=kl.Sum())
    pages: list[str] | None = column(reduce=kl.Collect(distinct=True, limit=100))
    home: Home | None = column(doc="where they live")
    photo: bytes | None = column()


def rows(table: kl.KeyedTable[Seen], frame: DataFrame) -> None:
    at = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    commit: kl.Commit = table.upsert([Seen(id=1, at=at, clicks=2)])
    table.upsert([{"id": 1, "at": at, "clicks": None}], stream="web", watermark=at)
    table.update(pd.DataFrame({"id": [1]}), version=7, offsets={"clicks-0": (0, 100)})
    table.update(frame, version={"clicks": "clicks_at"})
    table.delete(pa.table({"id": [1]}))  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType] - Arrow's
    table.read(columns=[Seen.clicks, Seen.at], where=f"{Seen.clicks} > 3")
    busy: kl.Condition = (kl.col(Seen.clicks) > 3) & ~kl.col(Seen.clicks).isin([5, 7]) | kl.col(Seen.at).is_null()
    table.read(where=busy | (kl.col(Seen.at) == at) | (kl.col("city") != "Oslo"))
    table.delete(where=busy)
    print(table.count(busy), table.changes(where=busy), kl.condition(busy))
    table.publish(require=[kl.null_rate(Seen.clicks, below=0.1), kl.value_range(Seen.clicks, 0, 9), kl.unique(Seen.at)])
    checked = Seen.validate([{"id": 1, "at": at, "clicks": 1}])  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - Arrow's
    made: type[kl.Table] = kl.Table.from_frame(frame, name="a.c", key=["id"])
    print(checked, made)  # pyright: ignore[reportUnknownArgumentType] - Arrow's
    row: Seen | None = table.get(id=1)
    read: DataFrame = table.read(columns=["clicks"], at=commit)
    print(row and row.clicks, read)


def more(lake: kl.Lake, frame: DataFrame) -> None:
    wide: kl.KeyedTable[Wide] = lake.create(Wide, if_exists="match")
    row = Wide(
        day=datetime.date(2026, 11, 1), user=uuid.uuid4(), spend=Decimal("1.50"), home={"city": "Oslo", "zip": 1}
    )
    wide.upsert([row], version=3, idempotency_key="orders of today")
    found = wide.get(day=row.day, user=row.user)
    if found is not None and found.home is not None:
        print(found.home["city"].upper(), found.spend, found.pages)
    draft = wide.branch("tmp_try")
    published: kl.Published = draft.publish(require=[kl.null_rate("spend", below=0.01)])
    commits: tuple[int, ...] = tuple(commit.snapshot_id for commit in wide.history())
    joined: DataFrame = kl.join(frame, [wide["spend", "pages"], lake["a.b"]], on=["day", "user"])
    origin = wide.explain_row(day=row.day, user=row.user)["spend"]
    print(published.commits, commits, joined, origin.stream, wide.health().to_do, lake.tables()[0].name)


def local() -> None:
    with keylake.local.open("./lake") as lake:
        table: keylake.local.LocalTable[Seen] = lake.table(Seen)
        some: list[Seen | None] = table.get_many([{"id": 1}, {"id": 2}])
        rows: list[Seen] = table.read(where="clicks > 5").rows()
        commit: kl.Commit = table.update([{"id": 1, "clicks": 2}])
        for change in table.changes(until=commit).rows():
            print(table.read(where=kl.col(Seen.clicks) <= 5))
            print(change.kind, change.before and change.before.clicks, some, rows[0].at.year)


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
    Seen(id="one", at=datetime.datetime.now(datetime.UTC), clicks=None)  # wrong
    print(table.get(id=1).clicks)  # wrong
    table.publish(require=["no nulls"])  # wrong
    table.read(columns=[Seen.click])  # wrong
    kl.null_rate(Seen.clickz, below=0.1)  # wrong
    kl.Table.from_frame([], name="a.c")  # wrong
    Seen.validate([], verb="merge")  # wrong
    print(table.history()[0].snapshot)  # wrong
    table.read(where=Seen.clicks > 3)  # wrong
    table.read(where=kl.col(Seen.clickz) > 3)  # wrong
    table.read(where=kl.col(Seen.clicks) > "3")  # wrong
    kl.col(Seen.clicks).isin(["a"])  # wrong
    table.read(where=(kl.col(Seen.clicks) > 3) & "city = 'Oslo'")  # wrong
    table.delete(where=kl.col(Seen.clicks))  # wrong
