"""Everything public of a server is what the texts in tests/public say."""

from collections.abc import Callable, Iterable
from pathlib import Path

import keylake as kl
from integration.twin import fresh_name
from public import server

TEXTS = Path(__file__).parents[2] / "public"
Agreed = Callable[[Path, Iterable[str]], None]


def test_procedures_are_agreed(lake: kl.Lake, agreed: Agreed) -> None:
    agreed(TEXTS / "procedures.txt", server.procedures(lake))


def test_functions_are_agreed(lake: kl.Lake, agreed: Agreed) -> None:
    agreed(TEXTS / "functions.txt", server.functions(lake))


def test_tables_beside_a_table_are_agreed(lake: kl.Lake, agreed: Agreed) -> None:
    table = fresh_name("public")
    lake.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {lake.catalog}.public")
    lake.spark.sql(
        f"CREATE TABLE {lake.catalog}.{table} (id BIGINT, day DATE, a STRING, PRIMARY KEY (id, day)) USING keylake "
        "PARTITIONED BY (day) CLUSTERED BY (id) INTO 2 BUCKETS"
    )
    agreed(TEXTS / "tables_beside.txt", server.tables_beside(lake, table))
