"""What databases do to rows without a word in their logs: tables are read once more, or set aside with a way on."""

import logging
import os
from pathlib import Path

import pytest

import keylake as kl
from integration.twin import fresh_name
from keylake_pipelines.runner.control import resnapshot
from pipelines.checks.compared import ordered
from pipelines.defined import defined
from pipelines.mariadb.followed_shop import Shop
from pipelines.mariadb.server import MariaDb
from pipelines.postgres_server import PASSWORD, Postgres

pytestmark = pytest.mark.slow

PARTITIONED = (
    "(id INT, y INT, v INT, PRIMARY KEY (id, y)) PARTITION BY RANGE (y)"
    " (PARTITION p1 VALUES LESS THAN (2000), PARTITION p2 VALUES LESS THAN MAXVALUE)"
)


@pytest.fixture
def shop(lake: kl.Lake, mariadb: MariaDb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.setitem(os.environ, "DB_PASSWORD", MariaDb.PASSWORD)
    return Shop(lake, mariadb, tmp_path)


def test_partitions_of_mariadb_that_go(shop: Shop) -> None:
    tables = ("dropped", "emptied", "exchanged", "converted")
    for table in tables:
        shop.run(
            f"CREATE TABLE {table} {PARTITIONED}",
            f"INSERT INTO {table} VALUES (1, 1990, 1), (2, 1995, 2), (3, 2020, 3)",
        )
    shop.run("CREATE TABLE other (id INT, y INT, v INT, PRIMARY KEY (id, y))", "INSERT INTO other VALUES (50, 1999, 5)")
    shop.follow()
    shop.run(
        "ALTER TABLE dropped DROP PARTITION p1",
        "ALTER TABLE emptied TRUNCATE PARTITION p1",
        "ALTER TABLE exchanged EXCHANGE PARTITION p1 WITH TABLE other",
        "ALTER TABLE converted CONVERT PARTITION p1 TO TABLE apart",
        "UPDATE dropped SET v = 33",
        "INSERT INTO emptied VALUES (9, 1991, 9)",
    )
    assert not shop.follow().set_aside
    shop.check(*tables, "other", "apart")


def test_statements_with_words_around_them(shop: Shop) -> None:
    for table in ("waited", "filled", "emptied", "unknown"):
        shop.run(
            f"CREATE TABLE {table} (id INT PRIMARY KEY, a INT, b INT)",
            f"INSERT INTO {table} VALUES (1, 10, 11), (2, 20, 21)",
        )
    shop.follow()
    shop.run(
        "UPDATE waited SET b = 12 WHERE id = 1",
        "ALTER TABLE waited NOWAIT RENAME COLUMN a TO renamed",
        "INSERT INTO waited VALUES (3, 30, 31)",
        "ALTER TABLE filled WAIT 5 ADD COLUMN n INT NOT NULL DEFAULT 7",
        "SET STATEMENT lock_wait_timeout = 5 FOR TRUNCATE TABLE emptied",
        "INSERT INTO emptied VALUES (3, 30, 31)",
        "ALTER TABLE unknown CONVERT TO CHARACTER SET latin1, RENAME COLUMN b TO c",
    )
    assert not shop.follow().set_aside
    shop.check("waited", "filled", "emptied", "unknown")
    assert shop.in_lake("waited", ["id", "renamed"])[0] == {"id": 1, "renamed": 10}


def test_names_that_are_swapped(shop: Shop) -> None:
    shop.run(
        "CREATE TABLE a (id INT PRIMARY KEY, x INT)",
        "CREATE TABLE b (id INT PRIMARY KEY, x INT)",
        "INSERT INTO a VALUES (1, 1), (2, 2)",
        "INSERT INTO b VALUES (7, 7)",
    )
    shop.follow()
    shop.run("RENAME TABLE a TO t, b TO a, t TO b", "INSERT INTO a VALUES (8, 8)", "INSERT INTO b VALUES (3, 3)")
    assert not shop.follow().set_aside
    shop.check("a", "b")


def test_a_table_that_gets_another_key(shop: Shop, lake: kl.Lake) -> None:
    """The keyed table keeps its key, is set aside, and is made anew when it is out of the way."""
    shop.run(
        "CREATE TABLE t (id INT PRIMARY KEY, other INT NOT NULL, v VARCHAR(9))",
        "CREATE TABLE u (id INT PRIMARY KEY)",
        "INSERT INTO t VALUES (1, 101, 'a'), (2, 102, 'b')",
    )
    shop.follow()
    shop.run(
        "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (other)",
        "INSERT INTO t VALUES (1, 999, 'second')",
        "INSERT INTO u VALUES (5)",
    )
    assert shop.follow().set_aside == (f"{shop.name}.t",)
    shop.check("u")
    resnapshot(lake, shop.name, f"{shop.name}.t")
    assert shop.follow().set_aside == (f"{shop.name}.t",)
    lake.spark.sql(f"DROP TABLE lake.{shop.name}.t").collect()
    resnapshot(lake, shop.name, f"{shop.name}.t")
    assert not shop.follow().set_aside
    shop.check("t", "u")


def test_a_table_without_a_key_beside_others(shop: Shop, lake: kl.Lake) -> None:
    shop.run(
        "CREATE TABLE keyless (a INT)",
        "CREATE TABLE t (id INT PRIMARY KEY)",
        "INSERT INTO keyless VALUES (1)",
        "INSERT INTO t VALUES (1)",
    )
    assert shop.follow().set_aside == (f"{shop.name}.keyless",)
    shop.run("INSERT INTO keyless VALUES (2)", "INSERT INTO t VALUES (2)")
    assert shop.follow().set_aside == (f"{shop.name}.keyless",)
    shop.check("t")
    shop.run("ALTER TABLE keyless ADD PRIMARY KEY (a)", "INSERT INTO keyless VALUES (3)")
    resnapshot(lake, shop.name, f"{shop.name}.keyless")
    assert not shop.follow().set_aside
    shop.check("t", "keyless")
    shop.run("ALTER TABLE keyless DROP PRIMARY KEY", "INSERT INTO keyless VALUES (4)")
    assert shop.follow().set_aside == (f"{shop.name}.keyless",)


def test_columns_of_tables_that_nobody_reads(shop: Shop, mariadb: MariaDb) -> None:
    """The log has types that its reader does not know; a table that has one is set aside where it is read."""
    shop.run("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    shop.follow()
    mariadb.run(
        f"CREATE DATABASE {shop.name}_other",
        f"CREATE TABLE {shop.name}_other.packed (id INT PRIMARY KEY, b BLOB COMPRESSED)",
        f"INSERT INTO {shop.name}_other.packed VALUES (1, 'z')",
    )
    shop.run("INSERT INTO t VALUES (2)")
    assert not shop.follow().set_aside
    shop.check("t")


def test_tables_that_change_with_others(shop: Shop, mariadb: MariaDb, caplog: pytest.LogCaptureFixture) -> None:
    """Children of a DELETE or of another key are read once more, and theirs; a parent need not be read itself."""
    caplog.set_level(logging.INFO, "keylake")
    other = f"{shop.name}_other"
    mariadb.run(
        f"CREATE DATABASE {other}",
        f"CREATE TABLE {other}.apart (id INT PRIMARY KEY, v INT)",
        f"INSERT INTO {other}.apart VALUES (1, 1), (2, 2)",
    )
    shop.run(
        "CREATE TABLE parent (id INT PRIMARY KEY, v INT)",
        "CREATE TABLE child (id INT PRIMARY KEY, p INT,"
        " FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE)",
        "CREATE TABLE grandchild (id INT PRIMARY KEY, c INT, FOREIGN KEY (c) REFERENCES child (id) ON DELETE SET NULL)",
        "CREATE TABLE tree (id INT PRIMARY KEY, up INT, FOREIGN KEY (up) REFERENCES tree (id) ON DELETE CASCADE)",
        f"CREATE TABLE joined (id INT PRIMARY KEY, a INT, FOREIGN KEY (a) REFERENCES {other}.apart (id)"
        " ON DELETE CASCADE ON UPDATE SET NULL)",
        "INSERT INTO parent VALUES (1, 1), (2, 2), (3, 3)",
        "INSERT INTO child VALUES (10, 1), (20, 2), (30, 3)",
        "INSERT INTO grandchild VALUES (100, 10), (200, 20)",
        "INSERT INTO tree VALUES (1, NULL), (2, 1), (3, 2), (4, NULL)",
        "INSERT INTO joined VALUES (1, 1), (2, 2)",
    )
    shop.follow()
    assert f"Rows of {shop.name}.child change with those of {shop.name}.parent by a foreign key" in caplog.text
    shop.run("UPDATE parent SET v = 7")
    caplog.clear()
    assert not shop.follow().set_aside
    assert "read once more;" not in caplog.text, "no key changed"
    shop.run(
        "INSERT INTO child VALUES (11, 1)",
        "DELETE FROM parent WHERE id = 1",
        "UPDATE parent SET id = 99 WHERE id = 3",
        "UPDATE child SET p = 2 WHERE id = 30",
        "DELETE FROM tree WHERE id = 1",
        f"DELETE FROM {other}.apart WHERE id = 1",
        f"UPDATE {other}.apart SET id = 7 WHERE id = 2",
        "CREATE TABLE late (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE)",
        "INSERT INTO late VALUES (1, 2), (2, 99)",
        "DELETE FROM parent WHERE id = 99",
    )
    assert not shop.follow().set_aside
    shop.check("parent", "child", "grandchild", "tree", "joined", "late")


def test_tables_of_all_kinds(shop: Shop, lake: kl.Lake) -> None:
    """History is left out, and so are sequences; what cannot be read is set aside; names may be swapped."""
    versioned = "WITH SYSTEM VERSIONING"
    shop.run(
        f"CREATE TABLE hidden (id INT PRIMARY KEY, v INT) {versioned}",
        "CREATE TABLE named (id INT PRIMARY KEY, v INT, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START INVISIBLE,"
        f" e TIMESTAMP(6) GENERATED ALWAYS AS ROW END INVISIBLE, PERIOD FOR SYSTEM_TIME (s, e)) {versioned}",
        "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
        "CREATE TABLE by_transactions (id INT PRIMARY KEY, s BIGINT UNSIGNED GENERATED ALWAYS AS ROW START,"
        f" e BIGINT UNSIGNED GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (s, e)) {versioned}",
        *(f"INSERT INTO {table} (id, v) VALUES (1, 1), (2, 2), (3, 3)" for table in ("hidden", "named", "t")),
        "UPDATE hidden SET v = 20 WHERE id = 2",
        "CREATE SEQUENCE numbers",
        "CREATE TABLE packed (id INT PRIMARY KEY, b BLOB COMPRESSED)",
        "CREATE TABLE late (id INT PRIMARY KEY)",
        "CREATE TABLE swapped (id INT PRIMARY KEY, x VARCHAR(9), y VARCHAR(9))",
        "INSERT INTO swapped VALUES (1, 'x1', 'y1'), (2, 'x2', 'y2')",
        "CREATE TABLE words (id INT PRIMARY KEY, s CHAR(9) CHARACTER SET swe7, d TEXT CHARACTER SET dec8,"
        " h VARCHAR(9) CHARACTER SET hp8)",
        "INSERT INTO words VALUES (1, 'éÅ', 'Œé', 'é£'), (2, 'Ö', 'ÿ', '½')",
    )
    asides = {f"{shop.name}.{table}" for table in ("packed", "by_transactions")}
    assert set(shop.follow().set_aside) == asides
    shop.run(
        *(
            statement.format(table)
            for table in ("hidden", "named", "t")
            for statement in (
                "UPDATE {} SET v = 10 WHERE id = 1",
                "DELETE FROM {} WHERE id = 2",
                "UPDATE {} SET id = 30 WHERE id = 3",
                "INSERT INTO {} (id, v) VALUES (2, 22), (4, 4)",
                "REPLACE INTO {} (id, v) VALUES (4, 44)",
            )
        ),
        "ALTER TABLE t ADD SYSTEM VERSIONING",
        "UPDATE t SET v = v + 1",
        "DELETE FROM t WHERE id = 1",
        "DELETE HISTORY FROM hidden",
        "SELECT NEXTVAL(numbers)",
        "CREATE SEQUENCE more",
        "SELECT NEXTVAL(more)",
        "INSERT INTO by_transactions (id) VALUES (5)",
        "ALTER TABLE late ADD u UUID",
        "INSERT INTO late VALUES (2, UUID())",
        "CREATE TABLE addresses (id INT PRIMARY KEY, a INET6)",
        "INSERT INTO addresses VALUES (1, '::1')",
        "ALTER TABLE swapped CHANGE x y VARCHAR(9), CHANGE y x VARCHAR(9)",
        "INSERT INTO swapped VALUES (3, 'y3', 'x3')",
        "UPDATE words SET s = 'åäö', d = 'Ÿ', h = 'Š' WHERE id = 1",
    )
    asides |= {f"{shop.name}.{table}" for table in ("late", "addresses")}
    assert set(shop.follow().set_aside) == asides
    shop.check("hidden", "named", "t", "swapped", "words")
    # The way on of what was set aside.
    shop.run(
        "ALTER TABLE late MODIFY u VARCHAR(36)",
        "ALTER TABLE addresses MODIFY a VARCHAR(45)",
        "ALTER TABLE packed MODIFY b BLOB",
        "INSERT INTO packed VALUES (1, 'z')",
        "DROP TABLE by_transactions",
    )
    for table in sorted(asides):
        resnapshot(lake, shop.name, table)
    assert not shop.follow().set_aside
    shop.check("late", "addresses", "packed")
    for sequence in ("numbers", "more"):
        with pytest.raises(kl.TableNotFound):
            lake.table(f"{shop.name}.{sequence}")


@pytest.mark.parametrize("one", [True, False])
def test_rows_that_somebody_changed_in_the_lake(shop: Shop, lake: kl.Lake, one: bool) -> None:
    """A new snapshot brings what is there, and removes what is not, but for what is newer than the source."""
    shop.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1), (2, 2)")
    shop.follow()
    table = lake.table(f"{shop.name}.t")
    table.upsert([{"id": 77, "v": 7}], version=5)
    newest = lake.spark.sql(f"SELECT max(_merge_info.version) FROM lake.{shop.name}.t").collect()[0][0]
    table.delete([{"id": 1}], version=newest + 1)
    shop.run("CREATE TABLE another (id INT PRIMARY KEY)")  # the log goes on
    resnapshot(lake, shop.name, f"{shop.name}.t" if one else None)
    assert not shop.follow().set_aside
    shop.check("t")
    shop.run("UPDATE t SET v = 3", "INSERT INTO another VALUES (4)")
    assert not shop.follow().set_aside
    shop.check("t", "another")


def test_keys_of_postgres(
    lake: kl.Lake, postgres: Postgres, postgres_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table without a key, and one whose key changes, are set aside, and leave the others alone."""
    name = fresh_name("keys").replace(".", "_")
    monkeypatch.setitem(os.environ, "DB_PASSWORD", PASSWORD)
    source = (
        f"  type: postgres\n  hostname: 127.0.0.1\n  port: {postgres.port}\n  username: postgres\n"
        f"  password: ${{DB_PASSWORD}}\n  tables: {postgres_database}.public.\\.*\n  slot.name: {name}\n"
    )
    pipeline = defined(tmp_path, name, source)
    with postgres.connect(postgres_database) as connection:
        connection.execute("CREATE TABLE keyless (a INT)")
        connection.execute("CREATE TABLE changed (id INT PRIMARY KEY, other INT NOT NULL)")
        connection.execute("CREATE TABLE t (id INT PRIMARY KEY)")
        connection.execute("CREATE TABLE younger (id INT PRIMARY KEY)")
        connection.execute("INSERT INTO changed VALUES (1, 2)")
        assert kl.run_pipeline(pipeline, lake, once=True).set_aside == (f"{name}.keyless",)
        connection.execute("ALTER TABLE changed DROP CONSTRAINT changed_pkey, ADD PRIMARY KEY (other)")
        connection.execute("INSERT INTO changed VALUES (1, 3)")
        connection.execute("INSERT INTO t VALUES (4)")
        connection.execute("INSERT INTO younger VALUES (7)")  # the log has a row without the key of later
        connection.execute("ALTER TABLE younger ADD COLUMN n serial, DROP CONSTRAINT younger_pkey, ADD PRIMARY KEY (n)")
        connection.execute("INSERT INTO younger VALUES (7)")
        aside = kl.run_pipeline(pipeline, lake, once=True).set_aside
        assert aside == (f"{name}.changed", f"{name}.keyless", f"{name}.younger")
        assert lake.table(f"{name}.t").read().toArrow().to_pylist() == [{"id": 4}]
        connection.execute("ALTER TABLE keyless ADD PRIMARY KEY (a)")
        connection.execute("INSERT INTO keyless VALUES (5)")
        for table in ("changed", "younger"):
            lake.spark.sql(f"DROP TABLE lake.{name}.{table}").collect()
        for table in aside:
            resnapshot(lake, name, table)
        assert not kl.run_pipeline(pipeline, lake, once=True).set_aside
        assert lake.table(f"{name}.keyless").read().toArrow().to_pylist() == [{"a": 5}]
        assert lake.table(f"{name}.changed").read(columns=["id"]).toArrow().num_rows == 2
        assert dict(lake.table(f"{name}.younger").read(columns=["n", "id"]).collect()) == {1: 7, 2: 7}


def test_a_slot_that_is_gone(
    lake: kl.Lake, postgres: Postgres, postgres_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is missed from the first run on, though the log had no row; a new snapshot of all tables goes on."""
    name = fresh_name("slots").replace(".", "_")
    monkeypatch.setitem(os.environ, "DB_PASSWORD", PASSWORD)
    source = (
        f"  type: postgres\n  hostname: 127.0.0.1\n  port: {postgres.port}\n  username: postgres\n"
        f"  password: ${{DB_PASSWORD}}\n  tables: {postgres_database}.public.\\.*\n  slot.name: {name}\n"
    )
    pipeline = defined(tmp_path, name, source)
    with postgres.connect(postgres_database) as connection:
        connection.execute("CREATE TABLE t (id INT PRIMARY KEY, v TEXT)")
        connection.execute("INSERT INTO t VALUES (1, 'a'), (3, 'c')")
        kl.run_pipeline(pipeline, lake, once=True)
        connection.execute("INSERT INTO t VALUES (2, 'b')")
        connection.execute("UPDATE t SET v = 'changed' WHERE id = 1")
        connection.execute("DELETE FROM t WHERE id = 3")
        postgres.drop_slot(name)
        with pytest.raises(kl.SourceFailed, match=r"has no slot .* resnapshot"):
            kl.run_pipeline(pipeline, lake, once=True)
        resnapshot(lake, name)
        kl.run_pipeline(pipeline, lake, once=True)
        rows = lake.table(f"{name}.t").read(columns=["id", "v"]).toArrow().to_pylist()
        assert ordered(rows) == [{"id": 1, "v": "changed"}, {"id": 2, "v": "b"}]
        connection.execute("UPDATE t SET v = 'later' WHERE id = 2")
        kl.run_pipeline(pipeline, lake, once=True)
        assert lake.table(f"{name}.t").get(id=2).v == "later"  # type: ignore[union-attr]


def test_what_statements_in_the_log_change_in_other_tables(shop: Shop) -> None:
    """Children by foreign keys, and what triggers write, are read once more with the table that is named."""
    shop.run(
        "CREATE TABLE parent (id INT PRIMARY KEY, a INT)",
        "CREATE TABLE child (id INT PRIMARY KEY, p INT,"
        " FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE)",
        *(f"INSERT INTO {table} SELECT seq, seq FROM seq_1_to_5" for table in ("parent", "child")),
        "CREATE TABLE traced (id INT PRIMARY KEY, a INT)",
        "CREATE TABLE trace (id INT AUTO_INCREMENT PRIMARY KEY, v INT)",
        "INSERT INTO traced VALUES (1, 1), (2, 2)",
        "CREATE TRIGGER traces AFTER UPDATE ON traced FOR EACH ROW INSERT INTO trace (v) VALUES (NEW.id)",
    )
    shop.follow()
    shop.run(
        "SET SESSION binlog_format = 'STATEMENT'",
        "DELETE FROM parent WHERE id = 3",
        "UPDATE parent SET id = 90 WHERE id = 4",
    )
    assert not shop.follow().set_aside
    shop.check("parent", "child")
    shop.run("SET SESSION binlog_format = 'STATEMENT'", "UPDATE traced SET a = 5")
    assert not shop.follow().set_aside
    shop.check("traced", "trace", "parent", "child")


def test_sessions_that_log_statements(shop: Shop, mariadb: MariaDb) -> None:
    """Their tables are read once more; others, and rows of the same transaction, are read as ever."""
    columns = "(id INT PRIMARY KEY, v INT)"
    shop.run(*(f"CREATE TABLE {table} {columns}" for table in ("named", "loaded", "by_function", "other")))
    shop.run("INSERT INTO named VALUES (1, 1), (2, 2)", "INSERT INTO other VALUES (1, 1)")
    writes = "BEGIN INSERT INTO by_function VALUES (1, 1); RETURN 1; END"
    shop.run(f"CREATE FUNCTION adds() RETURNS INT DETERMINISTIC MODIFIES SQL DATA {writes}")
    shop.follow()
    (file := mariadb.folder / "rows.txt").write_text("1\t10\n2\t20\n")
    shop.run(
        "SET SESSION binlog_format = 'STATEMENT'",
        "BEGIN",
        "UPDATE named SET v = v + 10",
        "DELETE FROM named WHERE id = 2",
        "INSERT INTO named VALUES (3, 3)",
        "COMMIT",
        f"LOAD DATA INFILE '{file}' INTO TABLE loaded",
        "DO adds()",
        "CREATE TABLE selected (PRIMARY KEY (id)) SELECT * FROM named",
        "SET SESSION binlog_format = 'ROW'",
        "INSERT INTO other VALUES (2, 2)",
        "UPDATE named SET v = 30 WHERE id = 3",
    )
    assert not shop.follow().set_aside
    shop.check("named", "loaded", "by_function", "selected", "other")
