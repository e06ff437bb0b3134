"""A lake that fails under a running pipeline: its server is killed and starts again, its catalog does not answer."""

import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from pyiceberg.types import LongType, StringType

import keylake as kl
from integration.spark_processes import free_port, kill
from keylake._server.embedded import EmbeddedServer
from keylake._server.server import Setup
from keylake_pipelines.runner import outages
from keylake_pipelines.runner.control import states
from keylake_pipelines.runner.loop import run
from keylake_pipelines.source.tables import ColumnAdded, SourceColumn, SourceSchema, TableCreated
from pipelines.scripted import Changed, Event, Log, found, model, settings, table

LIMIT_SECONDS = 90.0
COLUMNS = (SourceColumn("id", LongType()), SourceColumn("a", StringType()))


class Growing(Log):
    """A list that grows while it is read."""

    def __init__(self) -> None:
        super().__init__([TableCreated(SourceSchema(table("shop.orders"), COLUMNS, ("id",)))])

    def more(self, *events: Event) -> None:
        self.events = [*self.events, *events]


class Pipeline:
    """One in a thread."""

    def __init__(self, lake: kl.Lake, source: Growing) -> None:
        self.lake, self.source = lake, source
        self.ending = threading.Event()
        self.failure: Exception | None = None
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        try:
            run(self.source, self.lake, settings("shop", "lake", 50, once=False), ending=self.ending)
        except Exception as error:  # noqa: BLE001
            self.failure = error

    def has_written_all(self) -> bool:
        return self.source.written_to == len(self.source.events)

    def until(self, is_so: Callable[[], bool]) -> None:
        until = time.monotonic() + LIMIT_SECONDS
        while not is_so():
            assert self.thread.is_alive(), self.failure
            assert time.monotonic() < until, self.source.written_to
            time.sleep(0.01)


def updates(count: int, **more: str) -> list[Event]:
    return [Changed("shop.orders", {"id": number % 7, "a": f"{number}", **more}) for number in range(count)]


@pytest.mark.slow
def test_a_server_that_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(outages, "_LONGEST_PAUSE", 2.0)
    port = free_port()

    def serve() -> EmbeddedServer:
        own = {"spark.keylake.maintenance.enabled": "false", "spark.connect.grpc.binding.port": str(port)}
        return EmbeddedServer(Setup(tmp_path, memory="1g", settings=tuple(own.items())), "token")

    server = serve()
    try:
        pipeline = Pipeline(kl.connect(f"sc://localhost:{port}/;token=token"), Growing())
        pipeline.source.more(*updates(400))
        pipeline.until(lambda: pipeline.source.written_to > 100)  # in the middle of its rounds
        kill(server)
        server.stop()
        pipeline.until(lambda: "shop: The lake fails since 20" in caplog.text)
        pipeline.source.more(ColumnAdded(table("shop.orders"), SourceColumn("b", StringType())), *updates(100, b="b"))
        server = serve()
        pipeline.until(pipeline.has_written_all)
        keyed = pipeline.lake.table("lake.orders")
        assert found(keyed) == model(pipeline.source.events)["shop.orders"]
        assert keyed.offsets() == {"log": len(pipeline.source.events)}
        rows = [commit.rows for commit in keyed.history() if commit.rows]
        assert sum(rows) <= 500, "no row is written twice"
        assert states(pipeline.lake)[0].last_error is None
        kill(server)
        caplog.clear()
        pipeline.until(lambda: "shop: The lake fails since 20" in caplog.text)
        pipeline.ending.set()
        pipeline.thread.join(LIMIT_SECONDS)
        assert isinstance(pipeline.failure, kl.ServerUnreachable)
    finally:
        server.stop()


@pytest.mark.nightly
def test_a_server_of_its_own_and_a_catalog_that_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(outages, "_LONGEST_PAUSE", 2.0)
    with kl.connect(warehouse=tmp_path, memory="1g", settings={"spark.keylake.maintenance.enabled": "false"}) as lake:
        pipeline = Pipeline(lake, Growing())
        pipeline.source.more(*updates(20))
        pipeline.until(pipeline.has_written_all)
        assert lake._server is not None
        kill(lake._server)
        pipeline.source.more(*updates(40))
        pipeline.until(pipeline.has_written_all)
        with closing(sqlite3.connect(next(tmp_path.rglob("*.db")), isolation_level=None)) as catalog:
            catalog.execute("BEGIN EXCLUSIVE")
            pipeline.source.more(*updates(60))
            pipeline.until(lambda: "the catalog does not answer" in caplog.text)
        pipeline.until(pipeline.has_written_all)
        assert found(lake.table("lake.orders")) == model(pipeline.source.events)["shop.orders"]
        pipeline.ending.set()
        pipeline.thread.join(LIMIT_SECONDS)
        assert pipeline.failure is None
