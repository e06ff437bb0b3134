"""The commands that sentences about tables of MariaDB name: each is run as it is written, and the table goes on."""

import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import keylake as kl
from integration.commands import invoked
from keylake_pipelines.runner.control import states
from pipelines.defined import defined, tables_of
from pipelines.mariadb.followed_shop import Shop
from pipelines.mariadb.server import MariaDb
from pipelines.waiting import wait_for

pytestmark = pytest.mark.slow


@pytest.fixture
def shop(lake: kl.Lake, mariadb: MariaDb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.setitem(os.environ, "DB_PASSWORD", MariaDb.PASSWORD)
    return Shop(lake, mariadb, tmp_path)


def command(lake: kl.Lake, *words: str) -> None:
    done = invoked(lake, *words)
    assert done.exit_code == 0, done.output


def test_types_and_keys_that_iceberg_does_not_change(lake: kl.Lake, shop: Shop) -> None:
    """Another type of a value column keeps its values; for a key the keyed table is made anew."""
    shop.run(
        "CREATE TABLE typed (id INT PRIMARY KEY, n INT, price DECIMAL(9, 2))",
        "CREATE TABLE wide (id INT PRIMARY KEY, n INT)",
        "CREATE TABLE keyed (id INT, other INT NOT NULL, PRIMARY KEY (id))",
        "INSERT INTO typed VALUES (1, 10, 1.50), (2, NULL, NULL)",
        "INSERT INTO wide VALUES (1, 10), (2, 20)",
        "INSERT INTO keyed VALUES (1, 10), (2, 20)",
    )
    assert shop.follow().set_aside == ()
    shop.run(
        "ALTER TABLE typed MODIFY n VARCHAR(9), MODIFY price DOUBLE",
        "INSERT INTO typed VALUES (3, 'x', 1e30)",
        "ALTER TABLE wide MODIFY id BIGINT",
        f"INSERT INTO wide VALUES ({2**40}, 30)",
        "ALTER TABLE keyed DROP PRIMARY KEY, ADD PRIMARY KEY (other)",
        "INSERT INTO keyed VALUES (1, 30)",
    )
    tables = tuple(f"{shop.name}.{table}" for table in ("keyed", "typed", "wide"))
    assert shop.follow().set_aside == tables
    [state] = [each for each in states(lake) if each.name == shop.name]
    for _ in range(2):  # a sentence tells of one column, and the next one of another
        for words in re.findall(rf"keylake (retype) ({shop.name}.typed) (\w+) (\w+)", state.set_aside[tables[1]]):
            command(lake, *words)
        command(lake, "resume", shop.name, tables[1])
        shop.follow()
        [state] = [each for each in states(lake) if each.name == shop.name]
        if tables[1] not in state.set_aside:
            break
    for table in (tables[0], tables[2]):
        assert f"Drop or rename {table}, and let keylake resnapshot make it anew" in state.set_aside[table]
        lake.drop(table)
        command(lake, "resnapshot", shop.name, table)
    assert shop.follow().set_aside == ()
    shop.check("keyed", "wide")
    rows = {row["id"]: (row["n"], row["price"]) for row in shop.in_lake("typed")}
    assert rows == {1: ("10", 1.5), 2: (None, None), 3: ("x", 1e30)}
    shop.run("UPDATE typed SET n = '7' WHERE id = 2", "DELETE FROM keyed WHERE other = 20", "DELETE FROM wide")
    assert shop.follow().set_aside == ()
    shop.check("typed", "keyed", "wide")


def test_a_log_that_is_gone(lake: kl.Lake, shop: Shop, mariadb: MariaDb) -> None:
    """The whole pipeline is read once more, and goes on at the end of the log."""
    shop.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
    assert shop.follow().set_aside == ()
    mariadb.run("FLUSH LOGS")
    shop.run("UPDATE t SET v = 7 WHERE id = 1", "DELETE FROM t WHERE id = 2")
    mariadb.run("FLUSH LOGS")
    newest, _ = mariadb.log_end()
    mariadb.run(f"PURGE BINARY LOGS TO '{newest}'")
    with pytest.raises(kl.SourceFailed, match="Let keylake resnapshot, with the name of the pipeline, read all tables"):
        shop.follow()
    command(lake, "resnapshot", shop.name)
    assert shop.follow().set_aside == ()
    shop.check("t")
    shop.run("INSERT INTO t VALUES (4, 4)")
    shop.follow()
    shop.check("t")


def test_a_table_that_a_session_of_statements_made(lake: kl.Lake, shop: Shop, mariadb: MariaDb, tmp_path: Path) -> None:
    """The log has neither its columns nor its rows: it is set aside while the pipeline runs, and read after it."""
    shop.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1)")
    shop.follow()
    definition = defined(tmp_path, shop.name, tables_of(mariadb, shop.name))
    ending = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(kl.run_pipeline, definition, lake, ending=ending)
        try:
            shop.run("INSERT INTO t VALUES (2, 2)")
            wait_for(lambda: len(shop.in_lake("t")) == 2, "it runs")
            shop.run("SET SESSION binlog_format = 'STATEMENT'", "CREATE TABLE made (PRIMARY KEY (id)) SELECT * FROM t")
            shop.run("INSERT INTO t VALUES (3, 3)")
            wait_for(lambda: len(shop.in_lake("t")) == 3, "the others go on")
        finally:
            ending.set()
        assert running.result().set_aside == (f"{shop.name}.made",)
    [state] = [each for each in states(lake) if each.name == shop.name]
    assert "Stop the pipeline, start it again, then run keylake resnapshot." in state.set_aside[f"{shop.name}.made"]
    shop.follow()
    command(lake, "resnapshot", shop.name, f"{shop.name}.made")
    assert shop.follow().set_aside == ()
    shop.check("made", "t")
