"""Servers that are stopped under a running pipeline, and started again: it waits, says so, and goes on."""

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import pytest

import keylake as kl
from integration.random_runs import one_of
from integration.twin import fresh_name
from keylake_pipelines.kafka.messages import MessageFormat
from keylake_pipelines.kafka.offsets import Topics
from keylake_pipelines.kafka.source import KafkaSource
from keylake_pipelines.mysql.source import MySqlSource
from keylake_pipelines.postgres import source as source_module
from keylake_pipelines.postgres.source import PostgresSource
from keylake_pipelines.runner import outages
from keylake_pipelines.runner.control import states, stop
from keylake_pipelines.runner.loop import run
from keylake_pipelines.runner.settings import RunSettings
from keylake_pipelines.runner.state import PipelineState
from keylake_pipelines.source import absence
from keylake_pipelines.source.absence import SourceAway
from keylake_pipelines.source.source import Source
from pipelines.broker import Broker, as_json
from pipelines.mariadb.server import MariaDb
from pipelines.postgres_server import Postgres, running, source_of
from pipelines.scripted import settings

pytestmark = pytest.mark.slow

LIMIT_SECONDS = 60.0


@dataclass(frozen=True)
class Served:
    """A server with a table `t`; whoever has a wrong password is refused with these words."""

    start: Callable[[], None]
    stop: Callable[[], None]
    insert: Callable[[int], None]
    source: Callable[[], Source]
    refused: tuple[Callable[[], Source], str] | None = None


@contextmanager
def in_mariadb(server: MariaDb, name: str, lake: kl.Lake) -> Iterator[Served]:
    server.run(f"CREATE DATABASE {name}", f"CREATE TABLE {name}.t (id INT PRIMARY KEY)")

    def source(password: str = MariaDb.PASSWORD) -> Source:
        said: dict[str, Any] = {"user": MariaDb.READER, "password": password, "tables": [rf"{name}\..*"]}
        return MySqlSource(host="127.0.0.1", port=server.port, **said)

    yield Served(
        server.start,
        server.stop,
        lambda number: server.run(f"INSERT INTO {name}.t VALUES ({number})"),
        source,
        (lambda: source("wrong"), "refuses the user 'reader' or the password"),
    )


@contextmanager
def in_postgres(server: Postgres, name: str, lake: kl.Lake) -> Iterator[Served]:
    def do(statement: str, database: str = name) -> None:
        with server.connect(database) as connection:
            connection.execute(statement)

    do(f"CREATE DATABASE {name}", "postgres")
    do("CREATE TABLE t (id int PRIMARY KEY)")
    yield Served(
        server.start,
        server.stop,
        lambda number: do(f"INSERT INTO t VALUES ({number})"),
        lambda: source_of(server, name),
        (
            lambda: PostgresSource(server.address(name, password="wrong"), lambda table: True, slot=f"slot_{name}"),
            "password authentication failed",
        ),
    )
    do(f"SELECT pg_drop_replication_slot('slot_{name}')")


@contextmanager
def in_kafka(server: Broker, name: str, lake: kl.Lake) -> Iterator[Served]:
    topic = server.topic(1, name)
    soon = {"default.api.timeout.ms": "1500", "request.timeout.ms": "1000"}
    yield Served(
        server.start,
        server.stop,
        lambda number: server.send(topic, [(None, as_json({"id": number}))]),
        lambda: KafkaSource(
            lake._session, Topics(server.servers, (topic,), settings=soon), MessageFormat("json", key=("id",))
        ),
    )


class Running:
    """A pipeline in a thread."""

    def __init__(self, lake: kl.Lake, source: Source, said: RunSettings, table: str) -> None:
        self._lake, self._name, self._table = lake, said.name, table
        self.taken = 0
        self.failure: Exception | None = None
        poll = source.poll

        def counted(most_rows: int, seconds: float) -> tuple[Any, ...]:
            steps = poll(most_rows, seconds)
            self.taken += sum(len(step.rows) if step.rows is not None else 0 for step in steps)
            return steps

        source.poll = counted  # type: ignore[method-assign]
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(source, said))
        self._thread.start()

    def _run(self, source: Source, said: RunSettings) -> None:
        try:
            run(source, self._lake, said, ending=self._ending)
        except Exception as error:  # noqa: BLE001
            self.failure = error

    def state(self) -> PipelineState:
        return next(state for state in states(self._lake) if state.name == self._name)

    def ids(self) -> list[int]:
        return sorted(row["id"] for row in self._lake.table(self._table).read().collect())

    def until(self, is_so: Callable[[], bool], what: str) -> None:
        until = time.monotonic() + LIMIT_SECONDS
        while not is_so():
            assert self._thread.is_alive(), (what, self.failure)
            assert time.monotonic() < until, (what, self.state())
            time.sleep(0.1)

    def says_that_it_is_away(self) -> bool:
        return str(self.state().last_error).startswith("The source is away since 2")

    def end(self) -> None:
        self._ending.set()
        self.ended()

    def ended(self) -> None:
        self._thread.join(LIMIT_SECONDS)
        assert not self._thread.is_alive()
        assert self.failure is None, self.failure


@one_of("kind", ["mariadb", "postgres", "broker"])
def test_a_server_that_is_away(
    lake: kl.Lake, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(absence, "_SECONDS_OF_PATIENCE", 0.5)
    monkeypatch.setattr(outages, "_LONGEST_PAUSE", 1.0)
    name = fresh_name("away").replace(".", "_")
    server: Any = request.getfixturevalue(kind)
    opened: Mapping[str, Any] = {"mariadb": in_mariadb, "postgres": in_postgres, "broker": in_kafka}
    said = settings(name, name, once=False, lease=2.0, freshness=2.0)
    table = f"{name}.{name if kind == 'broker' else 't'}"
    with opened[kind](server, name, lake) as served:
        served.insert(1)
        pipeline = Running(lake, served.source(), said, table)
        pipeline.until(lambda: pipeline.taken == 1 and pipeline.state().rows == 1, "it has begun")
        # A row that waits is written while the server is away; that it is, and that the pipeline lives, is told.
        served.insert(2)
        pipeline.until(lambda: pipeline.taken == 2, "a row waits")
        served.stop()
        pipeline.until(lambda: pipeline.ids() == [1, 2], "what waits is written")
        pipeline.until(pipeline.says_that_it_is_away, "it says so")
        seen = pipeline.state().seen_at
        pipeline.until(lambda: pipeline.state().seen_at > seen, "it lives")
        served.start()
        served.insert(3)
        pipeline.until(lambda: pipeline.ids() == [1, 2, 3], "it goes on")
        pipeline.until(lambda: pipeline.state().last_error is None, "it says so")
        # It is asked to stop while the server is away.
        served.stop()
        pipeline.until(pipeline.says_that_it_is_away, "it says so")
        stop(lake, name)
        pipeline.ended()
        assert (pipeline.state().state, pipeline.state().rows) == ("stopped", 3)
        # A run that ends waits so long and no longer; another one begins before the server does.
        with pytest.raises(
            kl.SourceFailed, match=r"It was asked for . s, and a run that ends with its source waits 1 s"
        ):
            run(served.source(), lake, replace(said, once=True, outage=1.0))
        assert "a run that ends with its source" in str(pipeline.state().last_error)
        pipeline = Running(lake, served.source(), said, table)
        pipeline.until(pipeline.says_that_it_is_away, "it waits for its server")
        served.start()
        served.insert(4)
        pipeline.until(lambda: pipeline.ids() == [1, 2, 3, 4], "it begins")
        pipeline.end()
        if served.refused is not None:
            refused, words = served.refused
            with pytest.raises(kl.KeylakeError, match=words):
                run(refused(), lake, said)


def test_a_first_run_with_a_wrong_address_ends_soon(lake: kl.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outages, "_SECONDS_OF_A_FIRST_RUN", 0.5)
    name = fresh_name("away").replace(".", "_")
    source = MySqlSource(host="127.0.0.1", port=1, user="reader", password="secret", tables=["shop"])
    with pytest.raises(kl.SourceFailed, match=r"mysql:127.0.0.1:1 does not answer.* a first run waits 0\.5 s"):
        run(source, lake, settings(name, name, once=False))


def test_a_server_that_stops_does_not_wait_for_rows_to_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "_SECONDS_BETWEEN_LOOKS", 600.0)
    with running() as server:
        with server.connect() as connection:
            connection.execute("CREATE TABLE t (id int PRIMARY KEY)")
        source = source_of(server, "postgres")
        source.begin({})
        while source.poll(100, 0.2):
            pass
        with server.connect() as connection:
            connection.execute("INSERT INTO t VALUES (1)")
        while not any(step.count for step in source.poll(100, 0.2)):
            pass
        assert server.process is not None
        server.process.send_signal(signal.SIGINT)
        until = time.monotonic() + 20
        while server.process.poll() is None:
            assert time.monotonic() < until, "it waits for what was polled to be confirmed"
            source.poll(100, 0.1)
        source.close()


class Silence:
    """A way to a server on which nothing comes through any more, and nobody is told."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._sockets = [socket.create_server(("127.0.0.1", 0))]
        self.port: int = self._sockets[0].getsockname()[1]
        self.lasts = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client = self._sockets[0].accept()[0]
                server = socket.create_connection(("127.0.0.1", self._to))
                self._sockets += [client, server]
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=self._forward, args=pair, daemon=True).start()

    def _forward(self, come_from: socket.socket, to: socket.socket) -> None:
        with suppress(OSError):
            while data := come_from.recv(65536):
                if not self.lasts.is_set():
                    to.sendall(data)
            to.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        for each in self._sockets:
            each.close()


def test_a_silent_network_to_mariadb(mariadb: MariaDb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(absence, "_SECONDS_OF_PATIENCE", 0.5)
    mariadb.run("CREATE DATABASE silent", "CREATE TABLE silent.t (id INT PRIMARY KEY)")
    way = Silence(mariadb.port)
    source = MySqlSource(
        host="127.0.0.1", port=way.port, user=MariaDb.READER, password=MariaDb.PASSWORD, tables=[r"silent\..*"]
    )
    source._server = replace(source._server, answer_seconds=1.0)
    with closing(source), closing(way):
        source.begin({})
        while source.lag().snapshots or source.poll(100, 0.2):
            source.poll(100, 0.2)
        way.lasts.set()
        mariadb.run("INSERT INTO silent.t VALUES (1)")
        with pytest.raises(SourceAway, match="does not answer"):
            source.poll(100, 10)
        way.lasts.clear()
        until = time.monotonic() + 30
        while not any(step.count for step in source.poll(100, 0.2)):
            assert time.monotonic() < until


def test_a_server_of_postgres_that_is_a_standby_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(absence, "_SECONDS_OF_PATIENCE", 0.5)
    with running() as server:
        with server.connect() as connection:
            connection.execute("CREATE TABLE t (id int PRIMARY KEY)")
        source = source_of(server, "postgres")
        with closing(source):
            source.begin({})
            positions = {}
            while steps := source.poll(100, 0.2):
                positions.update({name: at for step in steps for name, at in step.ends.items()})
            assert source._sql is not None
            with socket.socket(fileno=os.dup(source._sql.pgconn.socket)) as held:
                assert held.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 30_000
            server.stop(signal.SIGQUIT)
            (server.folder / "data" / "standby.signal").touch()
            server.start()
            with suppress(SourceAway):  # servers from 16 on give their log, too
                source.poll(100, 2)
            with pytest.raises(SourceAway, match="is a standby"):
                source.begin(positions)
            with server.connect() as connection:
                connection.execute("SELECT pg_promote()")
                connection.execute("INSERT INTO t VALUES (1)")
            source.begin(positions)
            until = time.monotonic() + 30
            while not any(step.count for step in source.poll(100, 0.2)):
                assert time.monotonic() < until
