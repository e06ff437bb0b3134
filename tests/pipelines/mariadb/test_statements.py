"""Statements of MariaDB and MySQL on tables, each in the middle of random transactions.

Every statement has a table of its own. Runs of a pipeline begin and end among them; at the end each keyed table has the
rows of its source, or is set aside with a sentence, and has them after what the sentence names.
"""

import os
import random
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pymysql
import pytest

import keylake as kl
from keylake_pipelines.runner.control import resnapshot, states
from pipelines.checks.compared import differing, ordered
from pipelines.checks.statement_load import Load, of_every_behaviour
from pipelines.defined import defined, tables_of
from pipelines.mariadb.followed_shop import Shop
from pipelines.mariadb.server import MariaDb
from pipelines.mariadb.statements import OF_PARTITIONS, PLAIN

pytestmark = pytest.mark.slow

SEED = os.environ["KEYLAKE_SEED"]
COLUMNS = "id INT, a INT, b INT, text VARCHAR(3200), e ENUM('glad', 'sad'), p INT"
PARTITIONS = "PARTITION BY RANGE (p) (PARTITION p1 VALUES LESS THAN (10), PARTITION p2 VALUES LESS THAN (20))"
ROWS = ", ".join(f"({i}, {i}, {i * 2}, REPEAT('t', {i * 40}), 'glad', {i % 20})" for i in range(1, 41))
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


@contextmanager
def session(server: MariaDb, database: str) -> Iterator[Callable[[str], None]]:
    """Runs statements; what a table has not any more, and what the server refuses, is passed over."""
    with closing(server.connect(database)) as connection, connection.cursor() as cursor:

        def do(statement: str) -> None:
            with suppress(pymysql.err.DatabaseError):
                cursor.execute(statement)

        yield do


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


@of_every_behaviour
def test_statements_among_transactions_of_mariadb(
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
    insert = "INSERT IGNORE INTO {table} (id, p) VALUES ({id}, {p})"
    load = Load(lambda: session(logged, store.name), insert, tables, seed)
    load.start()
    while load.is_alive():
        store.followed()
    load.end()
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
