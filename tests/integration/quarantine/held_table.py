"""A table some of whose rows are held back, and what is there of them."""

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

import keylake as kl
from integration.twin import fresh_name

NOON = datetime(2026, 11, 1, 12)
POSITIVE = kl.condition("clicks >= 0")
FEW = kl.value_range("clicks", at_most=100)


def table_of(lake: kl.Lake, **definition: Any) -> kl.KeyedTable:
    types = {"id": pa.int64(), "at": pa.timestamp("us"), "clicks": pa.int64(), "city": pa.string()}
    schema = pa.schema([pa.field(name, type_, nullable=name != "id") for name, type_ in types.items()])
    words = {"key": "id", "ordering": "at", "buckets": 2} | definition
    return lake.create(kl.TableSpec.from_arrow(schema, name=fresh_name("held"), **words))


def rows(*clicks: int | None, minute: int = 0) -> list[dict[str, object]]:
    at = NOON + timedelta(minutes=minute)
    return [{"id": key, "at": at, "clicks": each, "city": "Oslo"} for key, each in enumerate(clicks)]


def clicks(frame: DataFrame) -> dict[int, int | None]:
    return {row.id: row.clicks for row in frame.select("id", "clicks").collect()}


def failed(table: kl.KeyedTable) -> dict[int, str | None]:
    return {row.id: row._failed for row in table.quarantine.rows(["id"]).collect()}
