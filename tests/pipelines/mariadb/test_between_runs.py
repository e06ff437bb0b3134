"""Statements of between two runs: what is known of a table is how it was at the end of the first."""

import os
import time
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

import keylake as kl
from keylake_pipelines.runner.control import forget, resnapshot, resume, states
from pipelines.defined import defined, tables_of
from pipelines.mariadb.followed_shop import Shop
from pipelines.mariadb.server import MariaDb
from pipelines.running import running

pytestmark = pytest.mark.slow


class Followed(Shop):
    """A database, its pipeline, and why tables are set aside."""

    behaviour = "evolve"

    def definition(self) -> kl.Pipeline:
        """What is run."""
        pipeline = defined(self._folder, self.name, tables_of(self._server, self.name))
        options = pipeline.pipeline.model_copy(update={"schema_change_behavior": self.behaviour})
        return pipeline.model_copy(update={"pipeline": options})

    def follow(self) -> kl.PipelineReport:
        return kl.run_pipeline(self.definition(), self._lake, once=True)

    def asides(self) -> dict[str, str]:
        """Why, by tables."""
        [state] = [each for each in states(self._lake) if each.name == self.name]
        return {name.removeprefix(f"{self.name}."): said for name, said in state.set_aside.items()}

    def running(self) -> AbstractContextManager[None]:
        """A pipeline that runs meanwhile."""
        return running(self.definition(), self._lake)

    def set_aside_soon(self, *tables: str) -> None:
        until = time.monotonic() + 120
        while self.asides().keys() != {*tables}:
            assert time.monotonic() < until, self.asides()
            time.sleep(0.2)


@pytest.fixture
def shop(lake: kl.Lake, logged: MariaDb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Followed:
    monkeypatch.setitem(os.environ, "DB_PASSWORD", MariaDb.PASSWORD)
    shop = Followed(lake, logged, tmp_path)
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


def test_rows_that_no_log_of_rows_shows(shop: Shop) -> None:
    """Statements behind comments, constants of a minimal image, computed columns, values of a lax session."""
    shop.run(
        "CREATE TABLE v (id INT PRIMARY KEY, a INT DEFAULT 7, g INT AS (id * 2) STORED, s VARCHAR(9) CHARSET greek)",
        "INSERT INTO v (id, a, s) VALUES (1, NULL, _greek x'A1A2')",
    )
    shop.follow()
    shop.run(
        "SET SESSION binlog_row_image = MINIMAL",
        "INSERT INTO v (id) VALUES (4)",
        "SET SESSION binlog_row_image = FULL",
        "INSERT INTO v (id, s) VALUES (5, _greek x'A1A2')",
        "ALTER TABLE v MODIFY g INT AS (id * 3) STORED",
        "SET SESSION sql_mode = ''",
        "ALTER TABLE v MODIFY a INT NOT NULL",
        "SET SESSION binlog_format = STATEMENT",
        "/* app */ UPDATE t SET a = 5 WHERE id = 1",
        "-- app\nDELETE FROM u WHERE id = 2",
    )
    assert not shop.follow().set_aside
    shop.check("t", "u", "v")


def test_checksums_that_come_and_go(shop: Shop) -> None:
    """Each file of the log says whether its events have them."""
    for number, wanted in enumerate(("NONE", "CRC32", "NONE", "CRC32")):
        shop.run(f"SET GLOBAL binlog_checksum = {wanted}", f"INSERT INTO t VALUES ({number + 5}, {number}, 12345678)")
        if wanted == "CRC32":
            assert not shop.follow().set_aside
            shop.check("t")


def check_gone(shop: Followed) -> None:
    """Tables that went are set aside with their rows, and with the way on."""
    said = shop.asides()
    assert said.keys() == {"t", "u"}
    for table, why in said.items():
        assert f"{shop.name}.{table} was dropped in the source, or has another name. Its rows stay in" in why
        assert f"keylake forget {shop.name} {shop.name}.{table}." in why
        assert len(shop.in_lake(table)) == 2
    shop.check("w")


def test_tables_of_mariadb_that_go_are_emptied(shop: Followed) -> None:
    shop.run("DROP TABLE t", "RENAME TABLE u TO w")
    assert not shop.follow().set_aside
    shop.check("w")
    assert shop.in_lake("t") == shop.in_lake("u") == []


@pytest.mark.parametrize("behaviour", ["lenient", "ignore"])
def test_tables_that_go(shop: Followed, lake: kl.Lake, behaviour: str) -> None:
    """They are set aside, whatever is asked, until the source has them again, or they are to be forgotten."""
    shop.behaviour = behaviour
    shop.run("DROP TABLE t", "RENAME TABLE u TO w", "INSERT INTO w VALUES (3, 3, 3)")
    shop.follow()
    check_gone(shop)
    resnapshot(lake, shop.name, f"{shop.name}.t")
    resume(lake, shop.name, f"{shop.name}.u")
    shop.follow()
    assert shop.asides().keys() == {"t", "u"}
    assert "The source has no table for it. Its rows stay" in shop.asides()["t"]
    shop.run("RENAME TABLE w TO u", "DELETE FROM u WHERE id = 1")
    shop.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT)", "INSERT INTO t VALUES (2, 7, 7)")
    shop.follow()
    assert shop.asides().keys() == {"w"}
    shop.check("t", "u")
    forget(lake, shop.name, f"{shop.name}.w")
    assert not shop.follow().set_aside


def test_tables_that_go_while_it_runs(shop: Followed) -> None:
    shop.behaviour = "lenient"
    with shop.running():
        shop.run("DROP TABLE t", "RENAME TABLE u TO w")
        shop.set_aside_soon("t", "u")
        shop.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT)", "INSERT INTO t VALUES (2, 7, 7)")
        shop.set_aside_soon("u")
        shop.run("DROP TABLE t")
        shop.set_aside_soon("t", "u")
        shop.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT)", "INSERT INTO t VALUES (2, 7, 7), (4, 4, 4)")
    shop.follow()
    shop.check("t", "w")


def test_a_key_of_another_type(shop: Followed, lake: kl.Lake) -> None:
    """A table that is made anew: its rows do not fit the key that the keyed table has."""
    shop.run("DROP TABLE t", "CREATE TABLE t (id VARCHAR(20) PRIMARY KEY, a INT)", "INSERT INTO t VALUES ('x', 1)")
    shop.follow()
    said = shop.asides()["t"]
    assert f"Source table {shop.name}.t has the key id (string) now, and keyed table {shop.name}.t has id (int)" in said
    assert f"Drop or rename {shop.name}.t, and let keylake resnapshot make it anew" in said
    lake.spark.sql(f"DROP TABLE lake.{shop.name}.t").collect()
    resnapshot(lake, shop.name, f"{shop.name}.t")
    assert not shop.follow().set_aside
    shop.check("t", "u")
