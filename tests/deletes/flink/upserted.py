"""Tables for Flink's upsert sink, changes to write to them, and the naive model of what a reader then finds."""

import datetime
import random
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal

import keylake as kl
from deletes.flink.upsert_job import Change
from integration.raw import catalog_of, in_spark
from integration.twin import fresh_name

COLUMNS = "id BIGINT NOT NULL, region STRING NOT NULL, name STRING, score DOUBLE, day DATE, paid DECIMAL(9, 2)"
REGIONS = ("north", "south", "østlig")
POSITIONS, EQUALITY = 1, 2  # kinds of delete files


@dataclass(frozen=True)
class Layout:
    """How a table is partitioned, and its key, of which Flink wants the columns of identity partitions to be part."""

    key: tuple[str, ...]
    partitioned_by: str = ""


LAYOUTS = {
    "unpartitioned": Layout(("id",)),
    "buckets": Layout(("id",), "PARTITIONED BY (bucket(4, id))"),
    "regions": Layout(("region", "id"), "PARTITIONED BY (region)"),
}


def create(lake: kl.Lake, layout: Layout, format_version: int) -> str:
    """An empty table that knows its key."""
    table = fresh_name("streams")
    lake.spark.sql(
        f"CREATE TABLE lake.{table} ({COLUMNS}) USING iceberg {layout.partitioned_by}"
        f" TBLPROPERTIES ('format-version' = '{format_version}')"
    )
    lake.spark.sql(f"ALTER TABLE lake.{table} SET IDENTIFIER FIELDS {', '.join(layout.key)}")
    return table


def some_changes(draw: random.Random, number: int, keys: int) -> list[Change]:
    """Upserts, and a delete now and then; with few keys, some are written several times in one commit."""

    def row() -> dict[str, object]:
        key = draw.randrange(keys)
        return {
            "id": key,
            "region": REGIONS[key % len(REGIONS)],
            "name": draw.choice([None, f"name {draw.randrange(1000)}", "ä\t'\"\\"]),
            "score": draw.choice([None, -0.0, draw.random()]),
            "day": datetime.date(2026, 1, 1) + datetime.timedelta(days=draw.randrange(365)),
            "paid": draw.choice([None, Decimal(draw.randrange(-(10**9), 10**9)).scaleb(-2)]),
        }

    return [(draw.choice(["+I", "+U", "+U", "+U", "-D"]), row()) for _ in range(number)]


class Upserted:
    """The naive model of what a job writes: the newest row of each key."""

    def __init__(self, key: Sequence[str]) -> None:
        self.key = tuple(key)
        self.rows: dict[tuple[object, ...], Mapping[str, object]] = {}

    def apply(self, changes: Sequence[Change]) -> None:
        for kind, row in changes:
            of_key = tuple(row[name] for name in self.key)
            if kind == "-D":
                self.rows.pop(of_key, None)
            else:
                self.rows[of_key] = row


def check(lake: kl.Lake, table: str, model: Upserted) -> None:
    """The catalog, and stock Iceberg, give the rows of the model."""
    names = ("id", "region", "name", "score", "day", "paid")
    expected = sorted((tuple(row.get(name) for name in names) for row in model.rows.values()), key=repr)
    assert sorted(map(tuple, lake.spark.table(f"lake.{table}").collect()), key=repr) == expected
    assert lake.spark.table(f"lake.{table}").count() == len(expected)
    with closing(catalog_of(lake)) as catalog:
        stock = in_spark(lake, catalog.load_table(table))
    assert sorted(map(tuple, stock.collect()), key=repr) == expected


def delete_files(lake: kl.Lake, table: str) -> Mapping[int, int]:
    """How many delete files there are, by their kind."""
    with closing(catalog_of(lake)) as catalog:
        files = in_spark(lake, catalog.load_table(table), "delete_files")
    return {row.content: row["count"] for row in files.groupBy("content").count().collect()}
