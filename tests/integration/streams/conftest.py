"""The table that streams are written to."""

import pytest

import keylake as kl
from integration.twin import fresh_name


@pytest.fixture
def table(lake: kl.Lake) -> kl.KeyedTable:
    name = fresh_name("streams")
    lake.spark.sql(
        f"CREATE TABLE {lake.catalog}.{name} (id BIGINT, at BIGINT, clicks BIGINT, city STRING, PRIMARY KEY (id)) "
        "USING keylake CLUSTERED BY (id) INTO 2 BUCKETS TBLPROPERTIES ('ordering' = 'at')"
    ).collect()
    return lake.table(name)
