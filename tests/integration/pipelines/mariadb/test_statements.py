"""Statements of MariaDB and MySQL on tables, each in the middle of random transactions.

Every statement has a table of its own. Runs of a pipeline begin and end among them; at the end each keyed table has the
rows of its source, or is set aside with a sentence, and has them after what the sentence names.
"""

import os
import random
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

import pymysql
import pytest
from pymysql.connections import Connection

import keylake as kl
from integration.pipelines.checks.compared import differing, ordered
from integration.pipelines.mariadb.server import MariaDb
from integration.pipelines.mariadb.statements import OF_PARTITIONS, PLAIN
from integration.pipelines.test_opened import defined, tables_of
from integration.pipelines.test_unlogged import Shop
from keylake._running.control import resnapshot, states

pytestmark = pytest.mark.slow

SEED = os.environ["KEYLAKE_SEED"]
COLUMNS = "id INT, a INT, b INT, text VARCHAR(3200), e ENUM('glad', 'sad'), p INT"
PARTITIONS = "PARTITION BY RANGE (p) (PARTITION p1 VALUES LESS THAN (10), PARTITION p2 VALUES LESS THAN (20))"
ROWS = ", ".join(f"({i}, {i}, {i * 2}, REPEAT('t', {i * 40}), 'glad', {i % 20})" for i in range(1, 41))
_REFUSED = (pymysql.err.DatabaseError,)
Behaviour = str  # what a pipeline does when columns change


class Store(Shop):
    """A database with the tables, and its pipeline."""

    behaviour: Behaviour = "evolve"

    def followed(self) -> tuple[str, ...]:
        """The tables that are set aside, after a run, and after one more where changes of tables end it."""
        try:
            return self._run(self.behaviour)
        except kl.SchemaMismatch:
            if self.behaviour != "exception":
                raise
        return self._run("evolve")

    def _run(self, behaviour: Behaviour) -> tuple[str, ...]:
        pipeline = defined(self._folder, self.name, tables_of(self._server, self.name))
        options = pipeline.pipeline.model_copy(update={"schema_change_behavior": behaviour})
        report = kl.run_pipeline(pipeline.model_copy(update={"pipeline": options}), self._lake, once=True)
        return tuple(name.removeprefix(f"{self.name}.") for name in report.set_aside)

    def aside(self, table: str) -> str:
        """Why a table is set aside."""
        [state] = [each for each in states(self._lake) if each.name == self.name]
        return state.set_aside[f"{self.name}.{table}"]

    def drop_keyed(self, table: str) -> None:
        self._lake.spark.sql(f"DROP TABLE IF EXISTS lake.{self.name}.{table}").collect()

    def resnapshot(self, table: str) -> None:
        resnapshot(self._lake, self.name, f"{self.name}.{table}")

    def in_source(self, table: str) -> list[dict[str, object]]:
        names = ", ".join(f"`{name}`" for name in self._columns(table))
        with (
            closing(self._server.connect(self.name)) as connection,
            connection.cursor(pymysql.cursors.DictCursor) as all_,
        ):
            all_.execute(f"SELECT {names} FROM {table}")
            return self._shown([dict(row) for row in all_.fetchall()])

    def in_lake(self, table: str, columns: object = None) -> list[dict[str, object]]:
        return self._shown(super().in_lake(table, self._columns(table)))

    def _shown(self, rows: list[dict[str, object]]) -> list[dict[str, object]]:
        """A column that became another one keeps its type where that is lenient."""
        if self.behaviour == "lenient":
            return ordered([{name: str(value) for name, value in row.items()} for row in rows])
        return ordered(rows)

    def _columns(self, table: str) -> list[str]:
        """All but those that are computed when they are read."""
        return [
            name
            for name, kind in self._catalog(
                f"SELECT column_name, extra FROM information_schema.columns WHERE table_name = '{table}'"
                " AND table_schema = '{}' ORDER BY ordinal_position"
            )
            if "VIRTUAL" not in kind
        ]

    def tables(self, *, keyless: bool = False) -> set[str]:
        """The tables of the source, or those of them without a key."""
        found = {name for (name,) in self._catalog(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = '{}'"
            " AND table_type IN ('BASE TABLE', 'SYSTEM VERSIONED')"
        )}  # fmt: skip
        keyed = {name for (name,) in self._catalog(
            "SELECT table_name FROM information_schema.statistics WHERE table_schema = '{}' AND index_name = 'PRIMARY'"
        )}  # fmt: skip
        return found - keyed if keyless else found

    def _catalog(self, query: str) -> list[tuple[str, ...]]:
        with closing(self._server.connect(self.name)) as connection, connection.cursor() as cursor:
            cursor.execute(query.format(self.name))
            return list(cursor.fetchall())


class Load(threading.Thread):
    """Random changes of rows in all tables, and every statement among them."""

    def __init__(self, server: MariaDb, database: str, tables: dict[str, str], seed: str) -> None:
        super().__init__()
        self._connect = lambda: server.connect(database)
        self._tables, self._random = tables, random.Random(seed)
        self.failed: BaseException | None = None

    def run(self) -> None:
        try:
            waiting = list(self._tables.items())
            self._random.shuffle(waiting)
            for table, statement in waiting:
                with closing(self._connect()) as connection:
                    for _ in range(3):
                        self._change_rows(connection, self._random.choice(list(self._tables)))
                    self._change_rows(connection, table)
                    for each in statement.format(t=table).split("; "):
                        do(connection, each)
                    self._change_rows(connection, table)
                time.sleep(self._random.choice([0, 0, 0.1]))
            with closing(self._connect()) as connection:
                for table in self._tables:
                    self._change_rows(connection, table)
        except BaseException as error:  # noqa: BLE001 - the test's own thread raises it
            self.failed = error

    def _change_rows(self, connection: Connection, table: str) -> None:
        number, other = self._random.randint(1, 60), self._random.randint(0, 19)
        kind = self._random.randint(0, 4)
        do(
            connection,
            (
                f"INSERT IGNORE INTO {table} (id, p) VALUES ({number + 100}, {other})",
                f"UPDATE {table} SET b = {number} WHERE p = {other}",
                f"DELETE FROM {table} WHERE id = {number}",
                f"UPDATE {table} SET text = REPEAT('z', 3000), e = 'sad' WHERE id BETWEEN {number} AND {number + 3}",
                f"UPDATE {table} SET id = id + 500 WHERE id = {number}",
            )[kind],
        )


def do(connection: Connection, statement: str) -> None:
    """What a table has not any more, and what the server refuses, is nothing that a log could tell."""
    with connection.cursor() as cursor, suppress(*_REFUSED):
        cursor.execute(statement)


def made(server: MariaDb, database: str, draw: random.Random, every: int) -> dict[str, str]:
    """Makes the tables; the statement of each, of which one in `every` is drawn."""
    known = list(enumerate((*PLAIN, *OF_PARTITIONS)))
    found = {f"t{number}": statement for number, statement in sorted(draw.sample(known, len(known) // every))}
    with closing(server.connect(database)) as connection, connection.cursor() as cursor:
        for name in (*found, "other"):
            partitioned = name != "other" and int(name[1:]) >= len(PLAIN)
            key = f"PRIMARY KEY (id, p)) {PARTITIONS}" if partitioned else "PRIMARY KEY (id))"
            cursor.execute(f"CREATE TABLE {name} ({COLUMNS}, {key}")
            cursor.execute(f"INSERT INTO {name} VALUES {ROWS}")
    return found


BEHAVIOURS = ("evolve", "lenient", "exception")
NIGHTLY = [pytest.param(run, how, 1, marks=pytest.mark.nightly) for run in (1, 2) for how in BEHAVIOURS]


@pytest.mark.parametrize(("run", "behaviour", "every"), [(0, "evolve", 4), *NIGHTLY])
def test_statements_among_transactions(
    lake: kl.Lake,
    logged: MariaDb,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    run: int,
    behaviour: str,
    every: int,
) -> None:
    monkeypatch.setitem(os.environ, "DB_PASSWORD", MariaDb.PASSWORD)
    seed = f"{SEED}-{run}"
    store = Store(lake, logged, tmp_path)
    store.behaviour = behaviour
    tables = made(logged, store.name, random.Random(seed), every)
    assert store.followed() == ()
    load = Load(logged, store.name, tables, seed)
    load.start()
    while load.is_alive():
        store.followed()
    load.join()
    if load.failed is not None:
        raise load.failed
    store.followed()
    aside = store.followed()
    there = store.tables()
    wrong = differing(store, there - set(aside))
    if behaviour == "lenient":  # rows of tables that were emptied stay, until they are read once more
        for name in wrong:
            store.resnapshot(name)
        wrong = {}
    assert not wrong, (seed, {name: (tables.get(name), said) for name, said in wrong.items()})
    store.behaviour = "evolve" if behaviour == "exception" else behaviour
    for name in aside:
        said = store.aside(name)
        assert said
        if name not in there:
            continue
        if name in store.tables(keyless=True):
            store.run(f"DELETE FROM {name}", f"ALTER TABLE {name} ADD PRIMARY KEY (id)")
        elif "discarded" in said:
            store.run(f"DROP TABLE {name}")
            there.discard(name)
        elif any(words in said for words in ("key", "cannot become", "cannot hold")):
            store.drop_keyed(name)
        store.resnapshot(name)
    left = store.followed()
    assert set(left) & there == set(), (seed, {name: (tables.get(name), store.aside(name)) for name in left})
    wrong = differing(store, there)
    assert not wrong, (seed, {name: (tables.get(name), said) for name, said in wrong.items()})
