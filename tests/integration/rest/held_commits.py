"""Commits of an engine, held back so that they can be sent by hand: later, twice, or changed."""

import copy
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.connect.session import SparkSession

from integration.rest.endpoint import Endpoint, Reply

HELD = json.dumps({"error": {"code": 500, "type": "CommitStateUnknownException", "message": "held back"}})


@dataclass(frozen=True)
class HeldCommit:
    """A commit that was not sent on. Its files are there, as its client does not know what became of it."""

    endpoint: Endpoint
    path: str
    body: Any

    @property
    def snapshot(self) -> Any:
        """The snapshot that it adds."""
        return next(each["snapshot"] for each in self.body["updates"] if each["action"] == "add-snapshot")

    def changed(self) -> "HeldCommit":
        """A copy that can be changed."""
        return HeldCommit(self.endpoint, self.path, copy.deepcopy(self.body))

    def send(self) -> Reply:
        return self.endpoint.ask("POST", self.path, self.body)


@dataclass(frozen=True)
class Relay:
    """The catalog at another port, without commits of snapshots."""

    spark: SparkSession
    catalog: str
    held: list[HeldCommit] = field(default_factory=list)

    def commit(self, statement: str) -> HeldCommit:
        """The commit of a statement, in which `{}` is the catalog."""
        with pytest.raises(PySparkException, match="held back"):
            self.spark.sql(statement.format(self.catalog)).collect()
        return self.held.pop()


@contextmanager
def relayed(endpoint: Endpoint, spark: SparkSession) -> Iterator[Relay]:
    held: list[HeldCommit] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            """Nothing is logged."""

        def do_GET(self) -> None:
            self._answer(endpoint.ask("GET", self.path, headers={"X-Keylake-Freshness": "0"}))

        def do_HEAD(self) -> None:
            self._answer(endpoint.ask("HEAD", self.path))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if b"add-snapshot" in body:
                held.append(HeldCommit(endpoint, self.path, json.loads(body)))
                self._answer(Reply(500, {}, HELD))
            else:
                self._answer(endpoint.ask("POST", self.path, body))

        def _answer(self, reply: Reply) -> None:
            sent = reply.text.encode()
            self.send_response(reply.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        settings = endpoint.properties(uri=f"http://127.0.0.1:{server.server_port}") | {"cache-enabled": "false"}
        catalog = f"held_{server.server_port}"  # the session keeps a catalog that it has opened
        spark.conf.set(f"spark.sql.catalog.{catalog}", "org.apache.iceberg.spark.SparkCatalog")
        for name, value in settings.items():
            spark.conf.set(f"spark.sql.catalog.{catalog}.{name}", value)
        yield Relay(spark, catalog, held)
        server.shutdown()
