"""Pipelines from YAML over the real servers: what `keylake run --once` does for each type of source."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import keylake as kl
from integration.twin import fresh_name
from keylake_pipelines.pipeline.running import planned
from pipelines.broker import Broker
from pipelines.defined import defined, tables_of
from pipelines.mariadb.server import MariaDb
from pipelines.postgres_server import PASSWORD, Postgres

pytestmark = pytest.mark.slow

ROWS = [{"id": 1, "city": "Oslo"}, {"id": 3, "city": "Bergen"}]


def found(lake: kl.Lake, name: str) -> list[dict[str, object]]:
    rows = lake.table(f"{name}.orders").read(columns=["id", "city"]).toArrow().to_pylist()
    return sorted(({**row, "id": int(row["id"])} for row in rows), key=lambda row: row["id"])


def run_once(lake: kl.Lake, tmp_path: Path, name: str, source: str) -> kl.PipelineReport:
    return kl.run_pipeline(defined(tmp_path, name, source), lake, once=True)


def test_mariadb_is_opened(lake: kl.Lake, logged: MariaDb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = fresh_name("opened").replace(".", "_")
    monkeypatch.setitem(os.environ, "DB_PASSWORD", MariaDb.PASSWORD)
    logged.run(
        f"CREATE DATABASE {name}",
        f"CREATE TABLE {name}.orders (id INT PRIMARY KEY, city VARCHAR(20))",
        f"INSERT INTO {name}.orders VALUES (1, 'Bodø'), (2, 'Narvik')",
    )
    source = tables_of(logged, name)
    run_once(lake, tmp_path, name, source)
    logged.run(
        f"UPDATE {name}.orders SET city = 'Oslo' WHERE id = 1",
        f"DELETE FROM {name}.orders WHERE id = 2",
        f"ALTER TABLE {name}.orders ADD COLUMN n INT",
        f"INSERT INTO {name}.orders VALUES (3, 'Bergen', 7)",
    )
    assert run_once(lake, tmp_path, name, source).rows == 3, "those from before the statement, too"
    assert found(lake, name) == ROWS
    assert {row["n"] for row in lake.table(f"{name}.orders").read().toArrow().to_pylist()} == {None, 7}


def test_postgres_is_opened(
    lake: kl.Lake, postgres: Postgres, postgres_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = fresh_name("opened").replace(".", "_")
    monkeypatch.setitem(os.environ, "DB_PASSWORD", PASSWORD)
    source = (
        f"  type: postgres\n  hostname: 127.0.0.1\n  port: {postgres.port}\n  username: postgres\n"
        f"  password: ${{DB_PASSWORD}}\n  tables: {postgres_database}.public.\\.*\n  slot.name: {name}\n"
    )
    with postgres.connect(postgres_database) as connection:
        connection.execute("CREATE TABLE orders (id INT PRIMARY KEY, city TEXT)")
        connection.execute("INSERT INTO orders VALUES (1, 'Bodø'), (2, 'Narvik')")
        [plan] = planned(defined(tmp_path, name, source), lake)
        assert (plan.table, plan.is_new, plan.columns) == (f"{name}.orders", True, ("id int", "city string"))
        made = "SELECT slot_name FROM pg_replication_slots WHERE database = current_database() UNION ALL "
        assert connection.execute(made + "SELECT pubname FROM pg_publication").fetchall() == []
        run_once(lake, tmp_path, name, source)
        connection.execute("UPDATE orders SET city = 'Oslo' WHERE id = 1")
        connection.execute("DELETE FROM orders WHERE id = 2")
        connection.execute("INSERT INTO orders VALUES (3, 'Bergen')")
        run_once(lake, tmp_path, name, source)
    assert found(lake, name) == ROWS


def test_kafka_is_opened(lake: kl.Lake, broker: Broker, tmp_path: Path) -> None:
    name = fresh_name("opened").replace(".", "_")
    topic = broker.topic(1)
    source = f"  type: kafka\n  bootstrap.servers: {broker.servers}\n  topics: {topic}\n  format: canal-json\n"
    canal = '{{"database":"shop","table":"orders","type":"{}","pkNames":["id"],"ts":1,"es":1,"isDdl":false,"data":{}}}'

    def sent(*messages: tuple[str, str]) -> None:
        broker.send(topic, [(None, canal.format(verb, data).encode()) for verb, data in messages])

    sent(("INSERT", '[{"id":"1","city":"Bodø","street":null},{"id":"2","city":"Narvik"}]'))
    run_once(lake, tmp_path, name, source)
    sent(
        ("UPDATE", '[{"id":"1","city":"Oslo"}]'),
        ("DELETE", '[{"id":"2","city":"Narvik"}]'),
        ("INSERT", '[{"id":"3","city":"Bergen"}]'),
    )
    run_once(lake, tmp_path, name, source)
    assert found(lake, name) == ROWS
    # Retention takes a message before it is read: that is refused, unless the pipeline is to go on behind it.
    sent(("INSERT", '[{"id":"4","city":"Røros"}]'), ("DELETE", '[{"id":"1","city":"Oslo"}]'))
    broker.delete_before(topic, 0, 5)
    with pytest.raises(kl.SourceFailed, match=r"Messages 4 to 4 of .* lost: skip"):
        run_once(lake, tmp_path, name, source)
    assert run_once(lake, tmp_path, name, f"{source}  lost: skip\n").dead_letters == 1
    assert found(lake, name) == ROWS[1:]


def test_defaults_of_columns_that_are_added_to_mariadb(
    lake: kl.Lake, logged: MariaDb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = fresh_name("opened").replace(".", "_")
    monkeypatch.setitem(os.environ, "DB_PASSWORD", MariaDb.PASSWORD)
    logged.run(
        f"CREATE DATABASE {name}",
        f"CREATE TABLE {name}.orders (id INT PRIMARY KEY)",
        f"INSERT INTO {name}.orders VALUES (1), (2)",
    )
    source = tables_of(logged, name)
    added = ["a INT DEFAULT 7", "b INT NOT NULL", "c VARCHAR(9) NOT NULL DEFAULT 'none'", "d INT AS (id * 2) STORED"]
    check_defaults(lake, name, added, lambda: run_once(lake, tmp_path, name, source), logged.run)


def test_defaults_of_columns_that_are_added_to_postgres(
    lake: kl.Lake, postgres: Postgres, postgres_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = fresh_name("opened").replace(".", "_")
    monkeypatch.setitem(os.environ, "DB_PASSWORD", PASSWORD)
    source = (
        f"  type: postgres\n  hostname: 127.0.0.1\n  port: {postgres.port}\n  username: postgres\n"
        f"  password: ${{DB_PASSWORD}}\n  tables: {postgres_database}.{name}.\\.*\n  slot.name: {name}\n"
    )
    added = ["a INT DEFAULT 7", "b INT NOT NULL DEFAULT 0", "c TEXT NOT NULL DEFAULT 'none'",
             "d INT DEFAULT (random() * 9)::int"]  # fmt: skip
    with postgres.connect(postgres_database) as connection:

        def do(statement: str) -> None:
            connection.execute(statement.encode())

        do(f"CREATE SCHEMA {name}")
        do(f"CREATE TABLE {name}.orders (id INT PRIMARY KEY)")
        do(f"INSERT INTO {name}.orders VALUES (1), (2)")
        check_defaults(lake, name, added, lambda: run_once(lake, tmp_path, name, source), do)
        drawn = connection.execute(f"SELECT id, d FROM {name}.orders".encode()).fetchall()
    assert dict(drawn) == {row["id"]: row["d"] for row in lake.table(f"{name}.orders").read().toArrow().to_pylist()}


def check_defaults(
    lake: kl.Lake, name: str, added: list[str], run: Callable[[], kl.PipelineReport], do: Callable[[str], object]
) -> None:
    """Rows that were there read the default of a column that is added; of a default that is set later, new ones do."""

    def read() -> dict[int, list[object]]:
        rows = lake.table(f"{name}.orders").read(columns=["id", "a", "b", "c"]).toArrow().to_pylist()
        return {row["id"]: [row["a"], row["b"], row["c"]] for row in rows}

    run()
    for column in added:
        do(f"ALTER TABLE {name}.orders ADD COLUMN {column}")
    do(f"UPDATE {name}.orders SET a = NULL WHERE id = 2")
    run()
    assert read() == {1: [7, 0, "none"], 2: [None, 0, "none"]}
    do(f"ALTER TABLE {name}.orders ALTER COLUMN a SET DEFAULT 8")
    do(f"ALTER TABLE {name}.orders ALTER COLUMN c SET DEFAULT 'some'")
    assert run().rows == 0
    do(f"INSERT INTO {name}.orders (id, b) VALUES (3, 1)")
    assert run().rows == 1
    assert read() == {1: [7, 0, "none"], 2: [None, 0, "none"], 3: [8, 1, "some"]}


def test_messages_that_no_table_holds(lake: kl.Lake, broker: Broker, tmp_path: Path) -> None:
    """They are dead letters one by one; a table whose column cannot take a value is set aside, and others go on."""
    name = fresh_name("opened").replace(".", "_")
    rows, numbers = broker.topic(1), broker.topic(1)
    source = f"  type: kafka\n  bootstrap.servers: {broker.servers}\n  topics: {rows}, {numbers}\n"
    source += "  format: json\n  key: id\n"

    def sent(topic: str, *messages: str) -> None:
        broker.send(topic, [(None, message.encode()) for message in messages])

    sent(rows, '{"id":1,"name":"a","tags":["a",1.50],"home":{"zip":1}}', '{"id":2,"":1}', '{"id":3,"n":1,"N":2}')
    sent(rows, '{"id":4,"name":"\\ud83d"}', '{"id":5,"NAME":"b","tags":[]}')
    sent(numbers, '{"id":1,"n":1}')
    report = run_once(lake, tmp_path, name, source)
    assert (report.dead_letters, report.set_aside) == (3, ())
    sent(rows, '{"id":6,"Name":"c"}')
    sent(numbers, '{"id":2,"n":1.5}', '{"id":3,"n":1}')
    assert run_once(lake, tmp_path, name, source).set_aside == (f"{name}.{numbers}",)
    found = lake.table(f"{name}.{rows}").read(columns=["id", "name", "tags", "home"]).toArrow().to_pylist()
    assert sorted(found, key=lambda row: row["id"]) == [
        {"id": 1, "name": "a", "tags": '["a",1.50]', "home": '{"zip":1}'},
        {"id": 5, "name": "b", "tags": "[]", "home": None},
        {"id": 6, "name": "c", "tags": None, "home": None},
    ]
