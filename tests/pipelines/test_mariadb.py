"""Sources of MariaDB, and of MySQL at night, against the real servers.

What their steps say adds up to the tables, whatever happens meanwhile.
"""

import random
import threading
import time
from contextlib import closing
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
import pytest

import keylake as kl
from conftest import SEED
from keylake.errors import DefinitionError
from keylake_pipelines.mysql.log import BinaryLog
from keylake_pipelines.mysql.source import MySqlSource
from keylake_pipelines.mysql.starts import AtByte, AtGtids, AtTime, Start
from keylake_pipelines.pipeline.opening import opened_source, started_from
from keylake_pipelines.source.source import Step
from keylake_pipelines.source.tables import TableCreated
from pipelines.mariadb.applied import Applied
from pipelines.mariadb.captured import source_of, taken
from pipelines.mariadb.mysql_server import MySql
from pipelines.mariadb.server import MariaDb
from pipelines.mariadb.shop import TABLES, Shop

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("number", [0, *(pytest.param(each, marks=pytest.mark.nightly) for each in (1, 2))])
def test_random_transactions_and_statements(logged: MariaDb, number: int) -> None:
    draw = random.Random(f"{SEED} {number}")
    database = f"shop_{number}"
    shop = Shop(logged, database, random.Random(f"{SEED} {number} shop"))
    shop.fill(150)
    positions: dict[str, int] = {}
    source = source_of(logged, database, chunk_rows=draw.choice([4, 11]))
    source.begin(positions)
    applied = Applied(source.schemas())

    failures: list[Exception] = []

    def write() -> None:
        try:
            for i in range(70):
                shop.transaction()
                if i % 8 == 5:
                    shop.statement()
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    writing = threading.Thread(target=write)
    writing.start()
    while writing.is_alive():
        for step in source.poll(draw.choice([1, 20, 500]), 0.1):
            applied.take(step)
            positions.update(step.ends)
        if draw.random() < 0.2:
            source.begin(positions)
    writing.join()
    assert not failures, failures
    taken(source, applied, positions)
    for table in TABLES:
        name = f"{database}.{table}"
        assert applied.rows(name) == shop.rows(table, applied.keys[name])
    assert not any("_" in table.split(".")[1] for table in applied.keys), "ghost tables never show"
    source.close()
    shop.close()


def test_a_child_that_the_catalog_had_before_the_log_told_of_it(logged: MariaDb) -> None:
    """Its rows went with those of a parent, of which the log has no word: they are gone also after a stop."""
    logged.run("CREATE DATABASE between_runs", "CREATE TABLE between_runs.first (id INT PRIMARY KEY)")
    positions: dict[str, int] = {}
    with closing(source_of(logged, "between_runs")) as source:
        source.begin(positions)
        applied, known = Applied(source.schemas()), list(source.schemas())
        taken(source, applied, positions)
        logged.run(
            "USE between_runs",
            "CREATE TABLE parent (id INT PRIMARY KEY, a INT)",
            "CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE)",
            *(f"INSERT INTO {table} SELECT seq, seq FROM seq_1_to_5" for table in ("parent", "child")),
            "REPLACE INTO parent VALUES (3, 33)",
        )
        source.begin(positions, known)
        for step in log_alone(source):
            applied.take(step)
            positions.update(step.ends)
            known += [change.schema for change in step.changes if isinstance(change, TableCreated)]
        source.begin(positions, known)
        taken(source, applied, positions)
    assert [row["id"] for row in applied.rows("between_runs.child")] == [1, 2, 4, 5]


def test_a_first_snapshot_is_read_from_its_beginning_when_a_parent_changed_before_a_stop(logged: MariaDb) -> None:
    logged.run(
        "CREATE DATABASE at_first",
        "USE at_first",
        "CREATE TABLE parent (id INT PRIMARY KEY, a INT)",
        "CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE)",
        *(f"INSERT INTO {table} SELECT seq, seq FROM seq_1_to_5" for table in ("parent", "child")),
    )
    positions: dict[str, int] = {}
    with closing(source_of(logged, "at_first")) as source:
        source.begin(positions)
        applied, known = Applied(source.schemas()), source.schemas()
        logged.run("DELETE FROM at_first.parent WHERE id = 3")
        for step in log_alone(source):
            applied.take(step)
            positions.update(step.ends)
        source.begin(positions, known)
        taken(source, applied, positions)
    assert [row["id"] for row in applied.rows("at_first.child")] == [1, 2, 4, 5]
    assert [row["id"] for row in applied.rows("at_first.parent")] == [1, 2, 4, 5]


def log_alone(source: MySqlSource) -> list[Step]:
    """The steps of the log so far, none of which has rows of snapshots."""
    return [step for _ in range(20) for step in source.poll(0, 0.1)]


def numbers(server: MariaDb, database: str, rows: int) -> None:
    """A table `t` of so many rows in a database."""
    server.run(f"CREATE DATABASE {database}", f"CREATE TABLE {database}.t (id INT PRIMARY KEY, s TEXT)")
    insert(server, database, rows, 1)


def insert(server: MariaDb, database: str, rows: int, size: int) -> None:
    """So many rows of the table `t`, by one transaction."""
    with closing(server.connect(database)) as connection, connection.cursor() as cursor:
        cursor.execute(server.DEEP_RECURSION)
        cursor.execute(
            "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %s)"
            " SELECT i, REPEAT('x', %s) FROM n",
            (rows, size),
        )


def test_a_snapshot_whose_chunks_are_all_given_goes_on_behind_them(logged: MariaDb) -> None:
    numbers(logged, "chunks", 900)
    source = source_of(logged, "chunks", chunk_rows=20)
    source.begin({})
    seen = 0
    while steps := source.poll(10_000, 0.6):
        seen += sum(step.count or 0 for step in steps)
        time.sleep(0.05)  # whoever writes takes longer than the chunks that are read ahead
    source.close()
    assert seen == 900


def test_a_connection_that_is_cut_within_a_transaction(logged: MariaDb, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the log has of it from before the cut is read again, and what came before the transaction is given."""
    logged.run("CREATE DATABASE within", "CREATE TABLE within.o (id INT PRIMARY KEY)")
    source = source_of(logged, "within", start="latest")
    source.begin({})
    applied, positions = Applied(source.schemas()), dict[str, int]()
    taken(source, applied, positions)
    logged.run(
        "INSERT INTO within.o VALUES (1)",
        "ALTER TABLE within.o ADD COLUMN n INT",
        "INSERT INTO within.o VALUES (2, 2)",
        "CREATE TABLE within.t (id INT PRIMARY KEY, s TEXT)",
    )
    insert(logged, "within", 8000, 3000)
    events = 0
    read = BinaryLog._rows

    def cut(log: BinaryLog, *arguments: Any) -> None:
        nonlocal events
        read(log, *arguments)
        events += 1
        if events == 10:
            assert logged.cut_connections()

    monkeypatch.setattr(BinaryLog, "_rows", cut)
    taken(source, applied, positions, most_rows=100_000)
    source.close()
    assert len(applied.rows("within.t")) == 8000
    assert applied.rows("within.o") == [{"id": 1, "n": None}, {"id": 2, "n": 2}]


def test_where_in_the_log_a_source_begins(mariadb: MariaDb) -> None:
    mariadb.run(
        "CREATE DATABASE starts", "CREATE TABLE starts.t (id INT PRIMARY KEY)", "INSERT INTO starts.t VALUES (1)"
    )
    with closing(mariadb.connect("starts")) as connection, connection.cursor() as cursor:

        def here() -> tuple[str, int, str]:
            cursor.execute("SHOW MASTER STATUS")
            file, byte, *_ = cursor.fetchone() or ()
            cursor.execute("SELECT @@GLOBAL.gtid_binlog_pos")
            return str(file), int(byte), str((cursor.fetchone() or ("",))[0])

        cursor.execute("FLUSH BINARY LOGS")
        cursor.execute("INSERT INTO starts.t VALUES (2)")
        first_file, first_byte, first_gtid = here()
        time.sleep(1.1)  # the log has times in seconds
        moment = datetime.now(timezone.utc)
        cursor.execute("INSERT INTO starts.t VALUES (3)")
        cursor.execute("FLUSH BINARY LOGS")
        cursor.execute("SET SESSION gtid_domain_id = 7")
        cursor.execute("INSERT INTO starts.t VALUES (4)")
        cursor.execute("INSERT INTO starts.t VALUES (5)")
        file, byte, gtid = here()
        cursor.execute(f"SHOW BINLOG EVENTS IN '{file}'")
        within = next(row[1] for row in cursor.fetchall() if row[2] == "Table_map")

        def ids(start: Start) -> list[object]:
            source = source_of(mariadb, "starts", start=start)
            source.begin({})
            applied = Applied(source.schemas())
            for step in (*source.poll(1000, 0), *source.poll(1000, 0)):
                applied.take(step)
            source.close()
            return [row["id"] for row in applied.rows("starts.t")]

        assert ids(AtByte(first_file, first_byte)) == ids(AtTime(moment)) == ids(AtGtids(first_gtid)) == [3, 4, 5]
        assert ids(AtByte(first_file, 4)) == [2, 3, 4, 5]
        assert ids(AtByte(file, byte)) == ids(AtGtids(gtid)) == ids("latest") == []
        domains = dict(each.split("-", 1) for each in gtid.split(","))
        server_id, number = domains["7"].split("-")
        assert ids(AtGtids(f"{first_gtid},7-{server_id}-{int(number) - 1}")) == [3, 4, 5], "of other domains, too"
        ahead = f"{first_gtid},7-1-{int(number) + 9}"
        future = AtTime(datetime(2200, 1, 1, tzinfo=timezone.utc))
        refused: list[tuple[Start, str]] = [
            (AtByte("mariadb-bin.999999", 4), "has no file 'mariadb-bin.999999': it has mariadb-bin"),
            (AtByte(file, 2**31), f"{file} of .* ends at byte .*, before 2147483648"),
            (AtByte(file, within), f"No transaction begins at byte {within} .* SHOW BINLOG EVENTS"),
            (AtByte(file, within + 1), f"No transaction begins at byte {within + 1}"),
            (
                AtTime(datetime(2000, 1, 1, tzinfo=timezone.utc)),
                r"goes back to 20.*, not to 2000-01-01T00:00:00\+00:00",
            ),
            (future, "is in the future"),
            (AtGtids("3E11FA47-71CA-11E1-9E33-C80AA9429562:1-5"), "is no set of GTIDs that is read here: MariaDB's"),
            (AtGtids(ahead), f"has come to .*, and '{ahead}' is ahead of it"),
        ]
        for start, said in refused:
            with pytest.raises(DefinitionError, match=said):
                ids(start)
        cursor.execute(f"PURGE BINARY LOGS TO '{file}'")
        with pytest.raises(DefinitionError, match=f"transactions behind '{first_gtid}' were purged"):
            ids(AtGtids(first_gtid))
        assert ids(AtGtids(gtid)) == []


@pytest.mark.nightly
def test_where_in_the_log_of_mysql_a_source_begins(mysql: MySql) -> None:
    mysql.run("CREATE DATABASE starts", "CREATE TABLE starts.t (id INT PRIMARY KEY)")
    with closing(mysql.connect("starts")) as connection, connection.cursor() as cursor:

        def executed() -> str:
            cursor.execute("SELECT @@GLOBAL.gtid_executed")
            return str((cursor.fetchone() or ("",))[0])

        def ids(start: Start) -> list[object]:
            source = source_of(mysql, "starts", start=start)
            source.begin({})
            applied = Applied(source.schemas())
            for step in (*source.poll(1000, 0), *source.poll(1000, 0)):
                applied.take(step)
            source.close()
            return [row["id"] for row in applied.rows("starts.t")]

        cursor.execute("INSERT INTO t VALUES (1)")
        begun = executed()
        place = mysql.log_end()
        time.sleep(1.1)  # the log has times in seconds
        moment = datetime.now(timezone.utc)
        cursor.execute("INSERT INTO t VALUES (2)")
        cursor.execute("FLUSH BINARY LOGS")
        cursor.execute("INSERT INTO t VALUES (3)")
        server, _, number = executed().rpartition("-")
        assert ids(AtGtids(begun)) == ids(AtByte(*place)) == ids(AtTime(moment)) == [2, 3]
        assert ids(AtGtids(executed())) == ids("latest") == []
        uuid = server.partition(":")[0]
        assert ids(AtGtids(f"{uuid.upper()}:1-{int(number) - 2}:{number}")) == [2, 3], (
            "behind the first that is missing"
        )
        for text, said in (
            ("0-1-100", "is no set of GTIDs that is read here: MySQL's are"),
            (f"{uuid}:1-{int(number) + 9}", "is ahead of it"),
        ):
            with pytest.raises(DefinitionError, match=said):
                ids(AtGtids(text))
        file, _ = mysql.log_end()
        cursor.execute(f"PURGE BINARY LOGS TO '{file}'")
        with pytest.raises(DefinitionError, match=r"transactions behind .* were purged"):
            ids(AtGtids(begun))


def test_commands_say_where_the_log_is_read_from(lake: kl.Lake, mariadb: MariaDb) -> None:
    numbers(mariadb, "said", 3)
    with closing(mariadb.connect("said")) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW MASTER STATUS")
        file, byte, *_ = cursor.fetchone() or ()
        cursor.execute("SELECT @@GLOBAL.gtid_binlog_pos")
        gtid = (cursor.fetchone() or ("",))[0]
        time.sleep(1.1)
        moment = datetime.now(timezone.utc).isoformat()
        cursor.execute("INSERT INTO t VALUES (4, 'y')")
    definition = kl.Pipeline(
        source=kl.MySql(
            hostname="127.0.0.1",
            port=mariadb.port,
            username=MariaDb.READER,
            password=MariaDb.PASSWORD,
            tables=r"said.\.*",
        )
    )
    for start in (f"offset={file}:{byte}", f"offset={gtid}", f"timestamp={moment}"):
        source = opened_source(started_from(definition, start), lake)
        source.begin({})
        steps = (*source.poll(100, 0), *source.poll(100, 0))
        rows = [row for step in steps if isinstance(step.rows, pa.Table) for row in step.rows.to_pylist()]
        source.close()
        assert [row["row"] for row in rows] == ['{"id":4,"s":"y"}'], start
