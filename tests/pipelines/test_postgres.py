"""Tables of PostgreSQL under random transactions: what a source gives, applied by key and version, is the table."""

import os
import random
import threading
import time
from contextlib import closing, suppress
from typing import Any

import psycopg
import pytest

from keylake_pipelines.postgres import snapshot, transactions
from keylake_pipelines.postgres import source as source_module
from keylake_pipelines.postgres.source import PostgresSource
from pipelines.applied_steps import AppliedSteps
from pipelines.postgres_server import Postgres, polled, source_of, stored

pytestmark = pytest.mark.slow

SEED = os.environ["KEYLAKE_SEED"]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of tests are small: so are ranges of their blocks, and parts of their transactions."""
    monkeypatch.setattr(snapshot, "BLOCKS_OF_A_RANGE", 3)
    monkeypatch.setattr(transactions, "ROWS_OF_A_PART", 40)
    monkeypatch.setattr(source_module, "_SECONDS_BETWEEN_LOOKS", 0.5)


def cut(connection: psycopg.Connection[Any], share: float = 1.0) -> int:
    """Ends connections of sources, those that export snapshots too; how many."""
    ended = connection.execute(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'keylake' "
        "AND datname = current_database() AND random() < %s",
        (share,),
    ).fetchone()
    assert ended is not None
    return int(ended[0])


# -------------------------------------------------------------------------------- snapshots whose connections are cut


def applied_until_quiet(source: PostgresSource, applied: AppliedSteps, positions: dict[str, int], most: int) -> None:
    while steps := source.poll(most, 0.7):
        for step in steps:
            applied.apply(step)
            positions.update(step.ends)


@pytest.mark.parametrize("begins_again", [False, True])
def test_a_row_that_moves_before_the_rest_is_read(
    postgres: Postgres, postgres_database: str, begins_again: bool
) -> None:
    """A cut ends the first snapshot; a row goes from blocks that are left to those that were read, and the log is late.

    The log has its update without the large value, which is in no range of the second snapshot.
    """
    database, positions, applied = postgres_database, dict[str, int](), AppliedSteps()
    with closing(postgres.connect(database)) as connection:
        connection.execute("CREATE TABLE other (id int PRIMARY KEY, n int)")
        connection.execute("CREATE TABLE t (id int PRIMARY KEY, n int, pad text, big text)")
        connection.execute("ALTER TABLE t ALTER COLUMN pad SET STORAGE PLAIN, ALTER COLUMN big SET STORAGE EXTERNAL")
        connection.execute(
            "INSERT INTO t SELECT i, 0, repeat('p', 2400), repeat('b', 4000) || i FROM generate_series(1, 60) i"
        )
        connection.execute("INSERT INTO other VALUES (1, 0)")
        source = source_of(postgres, database)
        source.begin(positions)
        applied.begin(source.schemas())
        while not any("public.t " in name for name in positions):
            for step in source.poll(1, 1):
                applied.apply(step)
                positions.update(step.ends)
        assert cut(connection) > 1
        connection.execute("DELETE FROM t WHERE id < 7")
        for _ in range(100):
            connection.execute("UPDATE other SET n = n + 1")
        while connection.execute("SELECT 1 FROM pg_replication_slots WHERE temporary").fetchone():
            time.sleep(0.01)  # its snapshot keeps old rows
        connection.execute("VACUUM t")
        with closing(postgres.connect(database)) as another:
            another.execute("UPDATE t SET n = 1 WHERE id = 50")
            moved = another.execute("SELECT (ctid::text::point)[0] FROM t WHERE id = 50").fetchone()
        assert moved is not None
        assert moved[0] < snapshot.BLOCKS_OF_A_RANGE
        if begins_again:
            source.close()
            source = source_of(postgres, database)
            source.begin(positions)
        while max(at for name, at in positions.items() if "public.t " in name) < snapshot.END:
            for step in source.poll(2, 1):  # a transaction of the log, and a range
                applied.apply(step)
                positions.update(step.ends)
            time.sleep(0.1)
        applied_until_quiet(source, applied, positions, 1000)
        source.close()
        assert applied.tables[f"{database}.public.t"].rows() == stored(connection, "t", 1)


@pytest.mark.parametrize("run", [0, *(pytest.param(each, marks=pytest.mark.nightly) for each in range(1, 6))])
def test_a_snapshot_whose_connections_are_cut(
    postgres: Postgres, postgres_database: str, monkeypatch: pytest.MonkeyPatch, run: int
) -> None:
    """Cuts at random points, with others writing: what is left is read as of a new snapshot, until all is read."""
    database, positions, applied = postgres_database, dict[str, int](), AppliedSteps()
    seed = f"{SEED}-cut-{run}"
    draw = random.Random(seed)
    monkeypatch.setattr(source_module, "_SECONDS_BETWEEN_TRIES", 0.01)
    with closing(postgres.connect(database)) as connection:
        made_tables(connection, filler=700)
        writers = [Writer(postgres, database, f"{seed}-{each}", ddl=False) for each in range(2)]
        source = source_of(postgres, database)
        source.begin(positions)
        applied.begin(source.schemas())
        for each in writers:
            each.start()
        cuts = 0
        while cuts < 30 or any(each.is_alive() for each in writers):
            for step in source.poll(draw.choice([1, 2, 20]), 0.05):
                applied.apply(step)
                positions.update(step.ends)
            if cuts < 30 and draw.random() < 0.5:
                cuts += cut(connection, share=draw.choice([0.3, 1.0])) > 0
                if draw.random() < 0.3:
                    connection.execute("VACUUM items")
            if draw.random() < 0.1:
                source.written(positions)
        for each in writers:
            each.join()
            if each.failed is not None:
                raise each.failed
        applied_until_quiet(source, applied, positions, 1000)
        source.close()
        for table, key in (("items", 2), ("other", 1)):
            assert applied.tables[f"{database}.public.{table}"].rows() == stored(connection, table, key), seed


# ---------------------------------------------------------------------------------------------------------- random runs


class Writer(threading.Thread):
    """Random transactions on a connection of its own; what the other writers refuse is rolled back."""

    def __init__(self, postgres: Postgres, database: str, seed: str, ddl: bool) -> None:
        super().__init__()
        self._postgres, self._database, self._ddl = postgres, database, ddl
        self._random = random.Random(seed)
        self._added = 0
        self.failed: BaseException | None = None

    def run(self) -> None:
        try:
            with closing(self._postgres.connect(self._database)) as connection:
                connection.execute("SET lock_timeout = '2s'")
                for _ in range(60):
                    with suppress(psycopg.errors.DeadlockDetected, psycopg.errors.UniqueViolation):
                        self._transaction(connection)
        except BaseException as error:  # noqa: BLE001 - the test's own thread raises it
            self.failed = error

    def _transaction(self, connection: psycopg.Connection[Any]) -> None:
        draw = self._random.random()
        if self._ddl and draw < 0.06:
            with suppress(psycopg.errors.LockNotAvailable):
                connection.execute(self._random.choice(["VACUUM FULL items", "TRUNCATE other", "VACUUM items"]))
            return
        with suppress(psycopg.Rollback, psycopg.errors.LockNotAvailable), connection.transaction():
            if self._ddl and draw < 0.25:
                self._change_table(connection)
            for _ in range(self._random.choice([1, 1, 1, 3, 8])):
                self._change_rows(connection)
            if draw > 0.9:
                raise psycopg.Rollback

    def _change_rows(self, connection: psycopg.Connection[Any]) -> None:
        number, other = self._random.randint(1, 300), self._random.randint(1, 300)
        big = chr(self._random.randint(97, 122)) * 4000
        kind = self._random.randint(0, 9)
        if kind == 0:
            connection.execute("DELETE FROM items WHERE id = %s", (number,))
        elif kind == 1:
            moved = "UPDATE items SET id = %s WHERE id = %s AND NOT EXISTS (SELECT 1 FROM items WHERE id = %s)"
            connection.execute(moved, (other, number, other))
        elif kind == 2:
            many = "INSERT INTO items (id, part, big) SELECT i, 'p', %s FROM generate_series(%s, %s::int + 90) i"
            connection.execute(many + " ON CONFLICT (id, part) DO UPDATE SET n = items.n + 1", (big, number, number))
        elif kind == 3:
            connection.execute("UPDATE items SET big = %s WHERE id %% 20 = %s", (big, number % 20))
        elif kind == 4:
            connection.execute("INSERT INTO items (id, part, big) VALUES (%s, 'p', %s)", (number, big))
        elif kind == 5:
            connection.execute(
                "INSERT INTO other VALUES (%s, %s) ON CONFLICT DO NOTHING", (number, f"'\"\\ü{number}\n")
            )
        elif kind == 6:
            connection.execute("UPDATE other SET id = id + 1000 WHERE id = %s", (number,))
        else:
            connection.execute(
                "UPDATE items SET n = n + 1, price = n / 7.0 WHERE id BETWEEN %s AND %s", (number, number + 9)
            )

    def _change_table(self, connection: psycopg.Connection[Any]) -> None:
        self._added += 1
        names = [row[0] for row in connection.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = 'items'::regclass AND attnum > 6 AND NOT attisdropped"
        )]  # fmt: skip
        kind = self._random.randint(0, 4)
        if kind == 0:
            connection.execute(f"ALTER TABLE items ADD COLUMN c{self._added} int")
        elif kind == 1:
            connection.execute(f"ALTER TABLE items ADD COLUMN c{self._added} int DEFAULT {self._added}")
        elif kind == 2 and names:
            connection.execute(f"ALTER TABLE items DROP COLUMN {self._random.choice(names)}")
        elif kind == 3 and names:
            connection.execute(f"ALTER TABLE items RENAME COLUMN {self._random.choice(names)} TO r{self._added}")
        elif kind == 4 and names:
            name = self._random.choice(names)
            connection.execute(f"ALTER TABLE items ALTER COLUMN {name} TYPE text USING 't' || {name}::text")


def made_tables(connection: psycopg.Connection[Any], filler: int = 1) -> None:
    """Rows of so many bytes beside the large value: few or many of a block."""
    connection.execute(
        "CREATE TABLE items (id int, part text, n int DEFAULT 0, price numeric(9, 3), big text, "
        f"filler text DEFAULT repeat('f', {filler}), PRIMARY KEY (id, part))"
    )
    connection.execute("ALTER TABLE items ALTER COLUMN big SET STORAGE EXTERNAL")
    connection.execute("INSERT INTO items SELECT i, 'p', i, i / 3.0, repeat('x', 4000) FROM generate_series(1, 2000) i")
    connection.execute("CREATE TABLE other (id bigint PRIMARY KEY, text text)")
    connection.execute("INSERT INTO other SELECT i, 'text' || i FROM generate_series(1, 100) i")


def test_a_new_name_that_an_earlier_run_has_told(
    postgres: Postgres, postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log has rows from before, whose column may as well be one that was dropped."""
    database, positions, applied = postgres_database, dict[str, int](), AppliedSteps()
    monkeypatch.setattr(source_module, "_SECONDS_BETWEEN_LOOKS", 1e9)
    with closing(postgres.connect(database)) as connection:
        connection.execute("CREATE TABLE t (id int PRIMARY KEY, gone int, old int DEFAULT 8)")
        connection.execute("ALTER TABLE t DROP gone")
        source = source_of(postgres, database)
        source.begin(positions)
        applied.begin(source.schemas())
        applied_until_quiet(source, applied, positions, 1000)
        for number in range(20):
            connection.execute("INSERT INTO t VALUES (%s, %s)", (number, number))
        connection.execute("ALTER TABLE t RENAME old TO new")
        monkeypatch.setattr(source_module, "_SECONDS_BETWEEN_LOOKS", 0)
        for step in source.poll(1, 5):  # tells the name, and has the first row
            applied.apply(step)
            positions.update(step.ends)
        assert applied.tables[f"{database}.public.t"].columns == ["id", "new"]
        assert len(applied.tables[f"{database}.public.t"].rows()) < 20
        source.close()
        source = source_of(postgres, database)
        source.begin(positions)
        applied_until_quiet(source, applied, positions, 1000)
        source.close()
        assert applied.tables[f"{database}.public.t"].rows() == stored(connection, "t", 1)


@pytest.mark.parametrize("run", [0, pytest.param(1, marks=pytest.mark.nightly)])
def test_random_transactions(postgres: Postgres, postgres_database: str, run: int) -> None:
    """The source is ended and its connections are cut at random points, after steps were applied and were not."""
    seed, database = f"{SEED}-{run}", postgres_database
    random_ = random.Random(seed)
    applied = AppliedSteps()
    positions: dict[str, int] = {}
    with closing(postgres.connect(database)) as connection:
        made_tables(connection)
        writers = [Writer(postgres, database, f"{seed}-{each}", each == 0) for each in range(2)]
        source = source_of(postgres, database)
        source.begin(positions)
        applied.begin(source.schemas())
        for each in writers:
            each.start()
        while any(each.is_alive() for each in writers):
            steps = source.poll(random_.choice([1, 50, 1000]), 0.05)
            draw = random_.random()
            for step in steps[: len(steps) if draw > 0.1 else random_.randint(0, len(steps))]:
                applied.apply(step)
                if draw > 0.1:
                    positions.update(step.ends)
            if draw > 0.3:
                source.written(positions)
            if draw < 0.1:
                source.close()
                source = source_of(postgres, database)
                source.begin(positions)
                applied.begin(source.schemas())
            elif draw < 0.15:
                cut(connection, share=0.5)
        for each in writers:
            each.join()
            if each.failed is not None:
                raise each.failed
        polled(source, applied, least=2)
        source.close()
        assert not applied.errors
        for table, key in (("items", 2), ("other", 1)):
            assert applied.tables[f"{database}.public.{table}"].rows() == stored(connection, table, key), seed
