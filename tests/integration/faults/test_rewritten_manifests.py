"""Rewrites of manifests, and the expiry of what was committed before: what commits have said is still known."""

import datetime

import pyarrow as pa
import pytest

import keylake as kl
from integration.sessions import clone_of
from integration.twin import fresh_name

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("a", pa.int64())])


@pytest.mark.parametrize("catalog", ["io.keylake.spark.KeylakeCatalog", "org.apache.iceberg.spark.SparkCatalog"])
def test_facts_outlive_a_rewrite_of_manifests_and_the_commits_before_it(lake: kl.Lake, catalog: str) -> None:
    table = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("rewritten"), key="id", buckets=1))
    at = datetime.datetime(2026, 11, 1, tzinfo=datetime.UTC)
    first = table.update([{"id": 2, "a": 5}], watermark=at, idempotency_key="load-1")
    table.update([{"id": 0, "a": 0}])
    statement = f"CALL {lake.catalog}.system.rewrite_manifests(table => '{table.name}')"
    with clone_of(lake, {f"spark.sql.catalog.{lake.catalog}": catalog}) as session:
        assert session.sql(statement).collect() == [(2, 1)]
    table.clean(kl.RetentionPolicy(days=0))
    assert first.snapshot_id not in {each.snapshot_id for each in table.history()}
    assert table.watermarks() == {"": at}
    again = table.update([{"id": 2, "a": 6}], idempotency_key="load-1")
    assert again.snapshot_id == first.snapshot_id
    assert sorted(table.read().collect()) == [(0, 0), (2, 5)]
