"""Catalogs of several kinds, each opened by the server of the tests, with the plug-in, and without a server."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

import pytest

import keylake as kl
from integration.spark_processes import SPARK_HOME
from keylake._server.server import JARS

HERE = Path(__file__).parent


@dataclass(frozen=True)
class RestServer:
    """A REST catalog that listens here, and wants a token."""

    uri: str
    token: str


@contextmanager
def listening(program: str, *arguments: object) -> Iterator[int]:
    """A program in Java that prints its port, and ends with its standard input."""
    options = ["-XX:TieredStopAtLevel=1", "-Xmx400m", "-cp", f"{JARS}/*{os.pathsep}{SPARK_HOME}/jars/*"]
    with TemporaryFile() as log:
        command = ["java", *options, HERE / program, *map(str, arguments)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            port = process.stdout.readline().strip()
            log.seek(0)
            assert port, log.read().decode()
            yield int(port)
        finally:
            process.stdin.close()
            process.wait(20)
            process.stdout.close()


@pytest.fixture(scope="session")
def rest_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestServer]:
    token = "wide open sesame"
    with listening("RestServer.java", tmp_path_factory.mktemp("rest"), token) as port:
        yield RestServer(f"http://127.0.0.1:{port}", token)


@pytest.fixture(scope="session")
def hive_metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a metastore."""
    with listening("HiveMetastore.java", tmp_path_factory.mktemp("hive")) as port:
        yield f"thrift://127.0.0.1:{port}"


def opened_by_spark(lake: kl.Lake, name: str, properties: Mapping[str, str]) -> kl.Lake:
    """Another catalog of the server that all tests share."""
    lake.spark.conf.set(f"spark.sql.catalog.{name}", "io.keylake.spark.KeylakeCatalog")
    for key, value in {**properties, "cache-enabled": "false"}.items():
        lake.spark.conf.set(f"spark.sql.catalog.{name}.{key}", value)
    return kl.connect(spark=lake.spark, catalog=name)
