"""A table, and statements on it."""

import keylake as kl
from integration.twin import fresh_name

COLUMNS = """
    k BIGINT, day DATE, a BIGINT, b STRING, c DOUBLE, `a, b ``c` INT, `select` STRING,
    s STRUCT<x: BIGINT, y: STRUCT<z: STRING, w: BIGINT>>, n ARRAY<BIGINT>, m MAP<STRING, BIGINT>
"""

COMMIT = "'versions' = 'commit'"


def run(lake: kl.Lake, statement: str, **names: str) -> None:
    lake.spark.sql(statement.format(**names)).collect()


def create(lake: kl.Lake, properties: str, columns: str = COLUMNS, key: str = "k", clauses: str = "") -> str:
    name = f"{lake.catalog}.{fresh_name('statements')}"
    run(
        lake,
        "CREATE TABLE " + name + f" ({columns}, PRIMARY KEY ({key})) USING keylake {clauses}"
        f" TBLPROPERTIES ({properties})",
    )
    return name


def one(lake: kl.Lake, query: str) -> object:
    return lake.spark.sql(query).first()[0]
