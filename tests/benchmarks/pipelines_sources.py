"""Rows of real sources through a pipeline, to its end: what a second and a processor can do.

    MariaDB, PostgreSQL   a snapshot of four tables with ten columns, then a log of inserts, updates and deletes
    Kafka                 a topic of JSON, whose rows do not go through the client

The source, the client and the server share two processors. The client's processor time counts everything that its
process does; that of the server all of Spark. A first run over other tables warms all of them up. At the end keyed
tables are compared with their sources by `keylake check`, that of the topic by the count of its rows.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

import keylake as kl
from benchmarks.figures import Figure, Findings, Target, figure
from benchmarks.machine import Machine, machine, processor_seconds
from pipelines.broker import Broker
from pipelines.mariadb.server import MariaDb
from pipelines.postgres_server import PASSWORD, running

ROWS, CHANGES, MESSAGES = 1_600_000, 1_600_000, 4_000_000
TABLES, WARM = 4, 200_000
TRANSACTION = 1_000  # rows of one
PARTITIONS = 2
SNAPSHOT = Target(60_000, at_least=True)
LOG = Target(40_000, at_least=True)
TOPIC = Target(100_000, at_least=True)
CLIENT = Target(10)


@dataclass(frozen=True)
class Spent:
    """What a run took: seconds, and processor seconds of client and server."""

    seconds: float
    client: float
    server: float
    report: kl.PipelineReport


@dataclass(frozen=True)
class Database:
    """The same tables, whichever database has them."""

    kind: str
    run: Callable[..., None]  # statements, each a transaction
    source: Callable[[str], kl.MySql | kl.Postgres]  # tables by a pattern
    moment: str  # the type of a time without a zone
    after: str  # so many seconds after a time
    numbers: str  # rows with `seq`

    def create(self, table: str) -> str:
        """A statement that makes a table."""
        return (
            f"CREATE TABLE shop.{table} (id BIGINT PRIMARY KEY, clicks INT, amount DECIMAL(12, 2), level SMALLINT,"
            f" score DOUBLE PRECISION, at {self.moment}, day DATE, name VARCHAR(60), page VARCHAR(60),"
            " city VARCHAR(20))"
        )

    def insert(self, table: str, first: int, rows: int) -> str:
        """A statement that inserts rows with keys from a number on; all other values follow from the key."""
        h = "(seq * 2654435761 % 4294967296)"
        at = f"TIMESTAMP'2026-01-01 00:00:00.000001' + {self.after.format(h)}"
        return (
            f"INSERT INTO shop.{table} SELECT seq, {h} % 1000, {h} % 1000000 / 100.0, {h} % 8, {h} / 1024.0e0, {at},"
            f" DATE'2026-01-31', concat('user ', {h} % 100000), concat('page/of/', {h} % 65536),"
            f" CASE {h} % 3 WHEN 0 THEN 'Oslo' WHEN 1 THEN 'Bergen' ELSE 'Hanoi' END"
            f" FROM {self.numbers.format(first, first + rows - 1)}"
        )


def run(scale: float, console: Console) -> Findings:
    """All sources; the scale is of their rows."""
    found: list[Figure] = []
    with machine() as place:
        words = (
            f"{round(ROWS * scale):,} rows of {TABLES} tables x 10 columns, {round(CHANGES * scale):,} changes, "
            f"{round(MESSAGES * scale):,} messages; {place.describe()}"
        )
        console.print(words, highlight=False)
        with mariadb(place.folder / "mariadb") as database:
            found += _of_database(place, database, scale, console)
        with postgres() as database:
            found += _of_database(place, database, scale, console)
        found += _of_topic(place, scale, console)
    return Findings(words, found)


@contextmanager
def mariadb(folder: Path) -> Iterator[Database]:
    folder.mkdir()
    server = MariaDb(folder, innodb_buffer_pool_size="512M")

    def source(tables: str) -> kl.MySql:
        return kl.MySql(
            hostname="127.0.0.1", port=server.port, username=MariaDb.READER, password=MariaDb.PASSWORD,
            tables=rf"shop\.{tables}",
        )  # fmt: skip

    try:
        server.run("CREATE DATABASE shop")
        yield Database("MariaDB", server.run, source, "DATETIME(6)", "INTERVAL {} SECOND", "shop.seq_{}_to_{}")
    finally:
        server.stop()


@contextmanager
def postgres() -> Iterator[Database]:
    with running(shared_buffers="512MB", max_wal_size="8GB") as server:

        def run(*statements: str) -> None:
            with closing(server.connect()) as connection:
                for statement in statements:
                    connection.execute(statement)

        def source(tables: str) -> kl.Postgres:
            return kl.Postgres(
                hostname="127.0.0.1", port=server.port, username="postgres", password=PASSWORD,
                tables=f"postgres.shop.{tables}", slot_name="warm" if tables == "warm" else "all",
            )  # fmt: skip

        run("CREATE SCHEMA shop")
        numbers = "generate_series({}::bigint, {}) AS seq"
        yield Database("PostgreSQL", run, source, "TIMESTAMP(6)", "{} * INTERVAL '1 second'", numbers)


def _of_database(place: Machine, database: Database, scale: float, console: Console) -> list[Figure]:
    lake = place.session()
    each, changes = round(ROWS * scale) // TABLES, round(CHANGES * scale) // TABLES
    names = [f"t{number}" for number in range(TABLES)]
    for name in ("warm", *names):
        rows = WARM if name == "warm" else each
        database.run(database.create(name))
        for first in range(0, rows, 100_000):
            database.run(database.insert(name, first, min(100_000, rows - first)))
    name = database.kind.lower()
    _spent(lake, _pipeline(database, "warm", f"{name}_warm"), console)
    snapshot = _spent(lake, _pipeline(database, r"t\d", name), console)
    assert snapshot.report.rows == each * TABLES, snapshot.report
    for number in range(changes // TRANSACTION):
        for table in names:
            database.run(_change(database, table, number, each))
    log = _spent(lake, _pipeline(database, r"t\d", name), console)
    checked = kl.check_pipeline(_pipeline(database, r"t\d", name), lake)
    assert checked.is_equal, checked
    return [
        *_figures(f"{database.kind}, snapshot", each * TABLES, snapshot, SNAPSHOT),
        *_figures(f"{database.kind}, log", log.report.rows, log, LOG),
    ]


def _change(database: Database, table: str, number: int, rows: int) -> str:
    """A transaction: of ten, four insert, four update and two delete."""
    kind = number % 10
    if kind < 4:
        return database.insert(table, rows + number * TRANSACTION, TRANSACTION)
    first = number * TRANSACTION * 7 % (rows - TRANSACTION)
    where = f"id >= {first} AND id < {first + TRANSACTION}"
    if kind < 8:
        return f"UPDATE shop.{table} SET clicks = clicks + 1, name = concat(name, '+') WHERE {where}"
    return f"DELETE FROM shop.{table} WHERE {where}"


def _pipeline(database: Database, tables: str, name: str) -> kl.Pipeline:
    return kl.Pipeline(
        source=database.source(tables),
        sink=kl.LakeSink(namespace=name),
        pipeline=kl.PipelineOptions(name=name),
    )


def _of_topic(place: Machine, scale: float, console: Console) -> list[Figure]:
    lake = place.session()
    broker = Broker(place.folder / "kafka")
    broker.start()
    try:
        count = round(MESSAGES * scale)
        for topic, rows in (("warm", WARM), ("events", count)):
            broker.topic(PARTITIONS, name=topic)
            for partition in range(PARTITIONS):
                broker.send(topic, _messages(partition, rows // PARTITIONS), partition)
        _spent(lake, _of_kafka(broker, "warm"), console)
        spent = _spent(lake, _of_kafka(broker, "events"), console)
        assert spent.report.rows == count, spent.report
        return _figures("Kafka, JSON", count, spent, TOPIC)
    finally:
        broker.stop()


def _messages(partition: int, rows: int) -> Iterator[tuple[bytes, bytes]]:
    for number in range(rows):
        key = number * PARTITIONS + partition
        h = key * 2654435761 % 4294967296
        row = {
            "id": key, "clicks": h % 1000, "amount": h % 1000000, "level": h % 8, "score": h / 1024.5,
            "at": f"2026-01-31T12:00:{h % 60:02}.000001Z", "day": "2026-01-31", "name": f"user {h % 100000}",
            "page": f"page/of/{h % 65536}", "city": ("Oslo", "Bergen", "Hanoi")[h % 3],
        }  # fmt: skip
        yield str(key).encode(), json.dumps(row).encode()


def _of_kafka(broker: Broker, topic: str) -> kl.Pipeline:
    return kl.Pipeline(
        source=kl.Kafka(bootstrap_servers=broker.servers, topics=(topic,), format="json", key=("id",)),
        sink=kl.LakeSink(namespace="kafka"),
        pipeline=kl.PipelineOptions(name=f"kafka_{topic}"),
    )


def _spent(lake: kl.Lake, pipeline: kl.Pipeline, console: Console) -> Spent:
    client, server, begun_at = time.process_time(), processor_seconds(lake.spark), time.perf_counter()
    report = kl.run_pipeline(pipeline, lake, once=True)
    seconds = time.perf_counter() - begun_at
    spent = Spent(seconds, time.process_time() - client, processor_seconds(lake.spark) - server, report)
    console.print(
        f"  {report}: {seconds:.1f} s, {report.rows / seconds:,.0f} rows a second, "
        f"client {spent.client / report.rows * 1e6:.1f} us a row, server {spent.server / report.rows * 1e6:.1f}",
        highlight=False,
    )
    return spent


def _figures(what: str, rows: int, spent: Spent, target: Target) -> list[Figure]:
    return [
        figure(f"{what}: rows a second", rows / spent.seconds, target),
        figure(f"{what}: client, microseconds of a processor a row", spent.client / rows * 1e6, CLIENT),
        figure(f"{what}: server, microseconds of a processor a row", spent.server / rows * 1e6),
    ]
