"""What stands in the log between the beginning and the end of a transaction, and beside it."""

import os
from contextlib import suppress
from pathlib import Path

import pymysql
import pytest

import keylake as kl
from integration.commands import invoked
from keylake_pipelines.runner.control import resnapshot
from pipelines.mariadb.followed_shop import Shop
from pipelines.mariadb.mysql_server import MySql
from pipelines.mariadb.server import MariaDb

pytestmark = pytest.mark.slow


@pytest.fixture
def shop(lake: kl.Lake, logged: MariaDb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.setitem(os.environ, "DB_PASSWORD", MariaDb.PASSWORD)
    return Shop(lake, logged, tmp_path)


def tables(shop: Shop, *names: str) -> None:
    for name in names:
        shop.run(
            f"CREATE TABLE {name} (id INT PRIMARY KEY, a INT, b VARCHAR(40))",
            f"INSERT INTO {name} VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'z')",
        )


def refused(shop: Shop, *statements: str) -> None:
    """The last of the statements is one that the server refuses."""
    with suppress(pymysql.MySQLError):
        shop.run(*statements)
        pytest.fail("the server took it")


def test_savepoints_and_temporary_tables_within_transactions(shop: Shop, logged: MariaDb) -> None:
    """Rows that were taken back behind a savepoint are in the log where a temporary table is among them."""
    tables(shop, "s", "m", "r", "u")
    shop.run("CREATE TABLE plain (id INT PRIMARY KEY) ENGINE = MyISAM")
    assert shop.follow().set_aside == ()
    shop.run(
        "BEGIN",
        "INSERT INTO s VALUES (12, 1, 'kept')",
        "SAVEPOINT `z z`",
        "INSERT INTO s VALUES (13, 1, 'rolled')",
        "DELETE FROM s WHERE id = 1",
        "CREATE TEMPORARY TABLE q (id INT)",
        "DROP TEMPORARY TABLE q",
        "ROLLBACK TO `Z Z`",
        "INSERT INTO s VALUES (14, 1, 'kept')",
        "COMMIT",
    )
    shop.run(
        "BEGIN",
        "SAVEPOINT a",
        "DELETE FROM m WHERE id = 1",
        *(() if isinstance(logged, MySql) else ("INSERT INTO plain VALUES (7)",)),  # MySQL refuses it, with GTIDs
        "ROLLBACK TO SAVEPOINT a",
        "UPDATE m SET a = 21 WHERE id = 2",
        "COMMIT",
    )
    for ends in ("ROLLBACK", "COMMIT"):
        shop.run(
            "SET SESSION binlog_format = 'MIXED'",
            "CREATE TEMPORARY TABLE tq (id INT)",
            "BEGIN",
            f"INSERT INTO r VALUES ({len(ends)}1, 1, LEFT(UUID(), 9))",
            "DROP TEMPORARY TABLE tq",
            f"INSERT INTO u VALUES ({len(ends)}1, 1, LEFT(UUID(), 9))",
            ends,
        )
    assert shop.follow().set_aside == ()
    shop.check("s", "m", "r", "u", "plain")


def test_temporary_tables_with_the_names_of_others(shop: Shop) -> None:
    tables(shop, "t", "u", "v", "w")
    assert shop.follow().set_aside == ()
    for table, statement in {
        "t": "TRUNCATE TABLE t",
        "u": "ALTER TABLE u DROP COLUMN b",
        "v": "ALTER TABLE v RENAME TO v_other",
        "w": "DROP TABLE w",
    }.items():
        shop.run(
            "SET SESSION binlog_format = 'MIXED'",
            f"CREATE TEMPORARY TABLE {table} (id INT PRIMARY KEY, a INT, b VARCHAR(40))",
            f"INSERT INTO {table} VALUES (9, 9, 'temporary')",
            statement,
        )
        shop.run(f"UPDATE {table} SET a = a + 1 WHERE id = 2")
    assert shop.follow().set_aside == ()
    shop.check("t", "u", "v", "w")


def test_alter_in_two_phases(lake: kl.Lake, mariadb: MariaDb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MariaDB announces an ALTER, and says later whether it was done."""
    monkeypatch.setitem(os.environ, "DB_PASSWORD", MariaDb.PASSWORD)
    shop = Shop(lake, mariadb, tmp_path)
    tables(shop, "t", "u", "v", "w")
    assert shop.follow().set_aside == ()
    two = "SET SESSION binlog_alter_two_phase = 1"
    shop.run("INSERT INTO t VALUES (4, 10, 'double')")
    refused(shop, two, "ALTER TABLE t DROP COLUMN b, ADD UNIQUE (a)")
    refused(shop, two, "ALTER TABLE u ADD c INT DEFAULT 5, ADD CONSTRAINT CHECK (a > 10)")
    shop.run(two, "ALTER TABLE v RENAME COLUMN a TO q", "ALTER TABLE v ADD d INT DEFAULT 7 FIRST")
    shop.run(two, "ALTER TABLE w RENAME COLUMN a TO b, RENAME COLUMN b TO a")
    shop.run("UPDATE t SET b = 'more'", "UPDATE u SET b = 'more'", "UPDATE v SET q = q + 1")
    report = shop.follow()
    assert set(report.set_aside) <= {f"{shop.name}.w"}, "names that were exchanged have other types"
    shop.check("t", "u", "v")


def test_a_log_that_says_that_events_are_lost(shop: Shop, logged: MariaDb) -> None:
    """A statement that is larger than its cache is refused, and its rows stay where there are no transactions."""
    tables(shop, "t")
    shop.run("CREATE TABLE big (id INT PRIMARY KEY AUTO_INCREMENT, s VARCHAR(200)) ENGINE = MyISAM")
    shop.run(*["INSERT INTO big (s) VALUES (REPEAT('x', 200))"] * 4)
    assert shop.follow().set_aside == ()
    logged.run("SET GLOBAL max_binlog_stmt_cache_size = 4096", "SET GLOBAL binlog_stmt_cache_size = 4096")
    try:
        for _ in range(5):
            with suppress(pymysql.MySQLError):
                shop.run("INSERT INTO big (s) SELECT s FROM big")
        shop.run("INSERT INTO t VALUES (5, 5, 'x')")
    finally:
        most = "18446744073709547520"
        logged.run(f"SET GLOBAL max_binlog_stmt_cache_size = {most}", "SET GLOBAL binlog_stmt_cache_size = 32768")
    assert shop.follow().set_aside == ()
    shop.check("t", "big")


def test_a_table_is_read_again_on_a_quiet_server(lake: kl.Lake, shop: Shop, logged: MariaDb) -> None:
    """After a new file of the log was begun, in which no transaction is."""
    tables(shop, "t")
    assert shop.follow().set_aside == ()
    logged.run("FLUSH LOGS")
    resnapshot(lake, shop.name, f"{shop.name}.t")
    assert shop.follow().set_aside == ()
    shop.run("ALTER TABLE t ADD c INT DEFAULT 4")
    logged.run("FLUSH LOGS")
    assert shop.follow().set_aside == ()
    shop.check("t")


def test_a_pipeline_goes_on_after_all_was_read_again(lake: kl.Lake, shop: Shop, logged: MariaDb) -> None:
    """The log goes on in another file than the one that was read before."""
    tables(shop, "t")
    assert shop.follow().set_aside == ()
    shop.run("UPDATE t SET a = 11 WHERE id = 1")
    assert shop.follow().set_aside == ()
    for _ in range(2):
        logged.run("FLUSH LOGS")
        newest, _ = logged.log_end()
        logged.run(f"PURGE BINARY LOGS TO '{newest}'")
        assert invoked(lake, "resnapshot", shop.name).exit_code == 0
        assert shop.follow().set_aside == ()
        shop.run("UPDATE t SET a = a + 1")
        assert shop.follow().set_aside == ()
        shop.check("t")


def test_rows_without_the_names_of_columns(lake: kl.Lake, shop: Shop, logged: MariaDb) -> None:
    """One table that was written to then is set aside, and the others go on."""
    tables(shop, "t", "u")
    assert shop.follow().set_aside == ()
    logged.run("SET GLOBAL binlog_row_metadata = 'MINIMAL'")
    try:
        shop.run("UPDATE t SET a = 99 WHERE id = 1")
    finally:
        logged.run("SET GLOBAL binlog_row_metadata = 'FULL'")
    shop.run("UPDATE u SET a = 99 WHERE id = 1")
    assert shop.follow().set_aside == (f"{shop.name}.t",)
    shop.check("u")
    assert invoked(lake, "resnapshot", shop.name, f"{shop.name}.t").exit_code == 0
    assert shop.follow().set_aside == ()
    shop.run("UPDATE t SET a = 5 WHERE id = 2")
    assert shop.follow().set_aside == ()
    shop.check("t", "u")


def test_tables_of_which_the_log_does_not_have_the_rows(lake: kl.Lake, shop: Shop, logged: MariaDb) -> None:
    tables(shop, "t")
    shop.run("CREATE TABLE base (id INT PRIMARY KEY) ENGINE = MyISAM")
    shop.run("CREATE TABLE joined (id INT PRIMARY KEY) ENGINE = MERGE UNION = (base)")
    shop.run("CREATE TABLE nothing (id INT PRIMARY KEY) ENGINE = BLACKHOLE") if isinstance(logged, MySql) else None
    shop.run("INSERT INTO base VALUES (1)")
    report = shop.follow()
    assert set(report.set_aside) == {f"{shop.name}.joined"} | (
        {f"{shop.name}.nothing"} if isinstance(logged, MySql) else set()
    )
    shop.check("t", "base")


def test_databases_that_are_not_in_the_log(
    lake: kl.Lake, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "DB_PASSWORD", MariaDb.PASSWORD)
    server = MariaDb(tmp_path_factory.mktemp("filtered"))
    try:
        shop = Shop(lake, server, tmp_path)
        tables(shop, "t", "u")
        assert shop.follow().set_aside == ()
        server.stop()
        server.settings["binlog-ignore-db"] = shop.name
        server.start()
        shop.run("UPDATE t SET a = 99")
        assert set(shop.follow().set_aside) == {f"{shop.name}.t", f"{shop.name}.u"}
    finally:
        server.stop()


def test_a_log_that_was_reset_before_it_was_read(
    lake: kl.Lake, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The snapshot of a quiet server knows which log it goes on with."""
    monkeypatch.setitem(os.environ, "DB_PASSWORD", MariaDb.PASSWORD)
    server = MariaDb(tmp_path_factory.mktemp("reset"))
    try:
        shop = Shop(lake, server, tmp_path)
        tables(shop, "t")
        assert shop.follow().set_aside == ()
        _, end = server.log_end()
        server.stop()
        server.start()
        server.run(server.RESET_LOG)
        while server.log_end()[1] < end:
            shop.run("INSERT INTO t VALUES (9, 9, REPEAT('x', 40))", "DELETE FROM t WHERE id = 9")
        with pytest.raises(kl.SourceFailed, match=r"is not the one that was read|read all tables once more"):
            shop.follow()
    finally:
        server.stop()
