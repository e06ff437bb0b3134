"""Statements of between two runs: what is known of a table is how it was at the end of the first."""

import os
from pathlib import Path

import pytest

import keylake as kl
from integration.pipelines.mariadb.server import MariaDb
from integration.pipelines.test_unlogged import Shop

pytestmark = pytest.mark.slow


@pytest.fixture
def shop(lake: kl.Lake, logged: MariaDb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.setitem(os.environ, "DB_PASSWORD", MariaDb.PASSWORD)
    shop = Shop(lake, logged, tmp_path)
    for table in ("t", "u"):
        shop.run(
            f"CREATE TABLE {table} (id INT PRIMARY KEY, a INT, b INT)",
            f"INSERT INTO {table} VALUES (1, 1, 1), (2, 2, 2)",
        )
    shop.follow()
    return shop


def columns(lake: kl.Lake, shop: Shop, table: str) -> list[str]:
    return [name for name in lake.table(f"{shop.name}.{table}").read().columns if not name.startswith("_")]


@pytest.mark.parametrize("rows", [(), ("UPDATE t SET a = 9 WHERE id = 1",)])
def test_a_migration_by_a_new_table(shop: Shop, lake: kl.Lake, rows: tuple[str, ...]) -> None:
    shop.run(
        "CREATE TABLE _t_new (id INT PRIMARY KEY, a BIGINT, n INT DEFAULT 3)",
        "INSERT INTO _t_new (id, a) SELECT id, a FROM t",
        "RENAME TABLE t TO _t_old, _t_new TO t",
        "DROP TABLE _t_old",
        *rows,
    )
    assert not shop.follow().set_aside
    shop.check("t", "u")
    assert columns(lake, shop, "t") == ["id", "a", "n"]


def test_a_column_and_two_names_in_turn(shop: Shop) -> None:
    shop.run(
        "ALTER TABLE t ADD n INT DEFAULT 3, RENAME TO t2",
        "ALTER TABLE t2 RENAME t",
        "ALTER TABLE u ADD n INT DEFAULT 4, RENAME TO u2",
        "ALTER TABLE u2 DROP a",
        "INSERT INTO u2 VALUES (5, 5, 5)",
    )
    assert not shop.follow().set_aside
    shop.check("t", "u2")


def test_another_type(shop: Shop) -> None:
    """It cannot be made, and is told, before a row with another value comes."""
    shop.run("ALTER TABLE t MODIFY a VARCHAR(20)", "ALTER TABLE u MODIFY a BIGINT", "UPDATE u SET a = 3000000000")
    assert shop.follow().set_aside == (f"{shop.name}.t",)
    shop.check("u")
