"""XA transactions, whose rows lie in the log before they are committed."""

import os
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

import keylake as kl
from keylake_pipelines.runner.control import states
from pipelines.mariadb.followed_shop import Shop
from pipelines.mariadb.server import MariaDb

pytestmark = pytest.mark.slow


@pytest.fixture
def shop(lake: kl.Lake, logged: MariaDb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.setitem(os.environ, "DB_PASSWORD", MariaDb.PASSWORD)
    shop = Shop(lake, logged, tmp_path)
    shop.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "CREATE TABLE u (id INT PRIMARY KEY, v INT)")
    shop.run(*(f"INSERT INTO t VALUES ({i}, 0), ({i + 1}, 0), ({i + 2}, 0)" for i in range(1, 301, 3)))
    return shop


def xa(name: str, *statements: str, ends: tuple[str, ...] = ("PREPARE", "COMMIT")) -> list[str]:
    return [f"XA START {name}", *statements, f"XA END {name}", *(f"XA {end} {name}" for end in ends)]


@pytest.mark.parametrize("logged", ["mariadb"], indirect=True)
def test_one_that_was_prepared_before_the_start(shop: Shop) -> None:
    """What it has done is not known. (MySQL's tables are read with a lock, which waits for the commit.)"""
    shop.run(*xa("'before'", "UPDATE t SET v = 1 WHERE id = 1", ends=("PREPARE",)))
    shop.follow()
    shop.check("t")
    shop.run("XA COMMIT 'before'", "UPDATE t SET v = 2 WHERE id = 2")
    assert not shop.follow().set_aside
    shop.check("t")


@pytest.mark.nightly
@pytest.mark.parametrize("logged", ["mysql"], indirect=True)
@pytest.mark.parametrize("may_see", [False, True])
def test_one_that_locks_rows_that_are_read(shop: Shop, lake: kl.Lake, logged: MariaDb, may_see: bool) -> None:
    """Others are read meanwhile, and what it waits for is told until it is committed."""
    right = "GRANT XA_RECOVER_ADMIN ON *.* TO" if may_see else "REVOKE IF EXISTS XA_RECOVER_ADMIN ON *.* FROM"
    shop.run(f"{right} {MariaDb.READER}", "INSERT INTO u VALUES (1, 1)")
    shop.run(*xa("'locks it'", "UPDATE t SET v = 1 WHERE id = 1", ends=("PREPARE",)))
    shop.run(*xa("X'00FF','of it',7", "UPDATE t SET v = 1 WHERE id = 2", ends=("PREPARE",)))
    thread = threading.Thread(target=shop.follow)
    thread.start()
    told, until = "", time.monotonic() + 120
    while "are locked by a transaction" not in told or not shop.in_lake("u"):
        assert time.monotonic() < until, told
        time.sleep(0.3)
        told = next((each.last_error or "" for each in states(lake) if each.name == shop.name), "")
    shop.check("u")
    assert f"Rows of {shop.name}.t are locked" in told
    if may_see:
        assert "not committed: " in told
        assert "'locks it'" in told
        assert "X'00FF',X'6F66206974',7" in told
    else:
        assert "Run XA RECOVER CONVERT XID as a user with XA_RECOVER_ADMIN" in told
    shop.run("XA COMMIT 'locks it'", "XA ROLLBACK X'00FF',X'6F66206974',7")
    thread.join(120)
    shop.check("t", "u")
    assert next(each.last_error for each in states(lake) if each.name == shop.name) is None


def test_transactions_in_two_phases(shop: Shop) -> None:
    shop.follow()
    shop.run(
        *xa("'small'", "UPDATE t SET v = 2 WHERE id = 2", "DELETE FROM t WHERE id = 3", "INSERT INTO u VALUES (1, 1)"),
        *xa("X'00FF27','of it',7", "UPDATE t SET v = 3 WHERE id = 4"),
        *xa("'large'", "UPDATE t SET v = 4 WHERE id > 100"),
        *xa("'back'", "DELETE FROM t", ends=("PREPARE", "ROLLBACK")),
        *xa("'one'", "UPDATE t SET v = 5 WHERE id = 5", ends=("COMMIT",))[:-1],
        "XA COMMIT 'one' ONE PHASE",
        *xa("'key'", "UPDATE t SET id = 1000 WHERE id = 6"),
        "UPDATE t SET v = v + 1 WHERE id = 2 OR id = 300 OR id = 1000",
    )
    assert not shop.follow().set_aside
    shop.check("t", "u")


def test_one_that_is_prepared_between_runs(shop: Shop) -> None:
    shop.follow()
    shop.run("UPDATE t SET v = 9 WHERE id = 8", *xa("'open'", "UPDATE t SET v = 6 WHERE id = 7", ends=("PREPARE",)))
    assert not shop.follow().set_aside
    shop.check("t")
    shop.run("XA COMMIT 'open'", "UPDATE t SET v = 9 WHERE id = 9")
    assert not shop.follow().set_aside
    shop.check("t")


def test_others_commit_between_the_phases(shop: Shop) -> None:
    """A row of a large one is older than those of its commit, and newer than what was there."""
    shop.follow()
    prepared = xa("'a'", "UPDATE t SET v = 1 WHERE id < 9", ends=("PREPARE",))
    shop.run(*prepared)
    shop.run("UPDATE t SET v = 2 WHERE id = 50", "INSERT INTO u VALUES (2, 2)")
    shop.run("XA COMMIT 'a'", "UPDATE t SET v = v + 10 WHERE id IN (1, 50)")
    assert not shop.follow().set_aside
    shop.check("t", "u")


def test_children_of_what_is_prepared(shop: Shop, logged: MariaDb) -> None:
    """A foreign key changes rows when it is committed, and they are read then."""
    shop.run(
        "CREATE TABLE child (id INT PRIMARY KEY, t INT, FOREIGN KEY (t) REFERENCES t (id) ON DELETE CASCADE)",
        "INSERT INTO child VALUES (1, 1), (2, 2)",
    )
    shop.follow()
    with closing(logged.connect(shop.name)) as connection, connection.cursor() as cursor:
        for statement in xa("'c'", "DELETE FROM t WHERE id = 1", ends=("PREPARE",)):
            cursor.execute(statement)
    shop.follow()
    shop.run("XA COMMIT 'c'")
    assert not shop.follow().set_aside
    shop.check("t", "child")
