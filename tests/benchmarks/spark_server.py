"""Spark as everybody has it: a Connect server in a process of its own, with Iceberg and without this project.

Every system of a run gets one, with the same cores and the same heap.
"""

import atexit
import importlib.util
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.connect.client.retries import DefaultPolicy

from keylake._server.address import Address
from keylake._server.server import catalog_settings, find_jars, properties_text

CORES = 2
HEAP = "3g"
CATALOG = "stock"
SHUFFLE_PARTITIONS = 8
_SERVER_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
_START_LIMIT_SECONDS = 300.0  # jars may have to be fetched first
_STOP_LIMIT_SECONDS = 10.0

# What all systems share, this project's included.
ALIKE = {
    "spark.master": f"local[{CORES}]",
    "spark.driver.extraJavaOptions": f"-Xms{HEAP}",
    "spark.sql.shuffle.partitions": str(SHUFFLE_PARTITIONS),
    "spark.sql.parquet.compression.codec": "zstd",
}
# Spark would also look into Maven's own cache, and stumble over what Maven has only partly fetched.
ONLY_CENTRAL = """<ivysettings>
  <settings defaultResolver="central"/>
  <resolvers><ibiblio name="central" m2compatible="true"/></resolvers>
</ivysettings>
"""
_ADDED = {"spark.jars": ",", "spark.sql.extensions": ",", "spark.driver.extraJavaOptions": " "}


class SparkServer:
    """A running server. Its folder holds its catalog, its tables and its log."""

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self._token = secrets.token_urlsafe(32)
        self._log = folder / "server.log"
        (folder / "tables").mkdir()
        settings_file = folder / "server.properties"
        settings_file.write_text(properties_text(_settings(folder, self.port, settings)), encoding="ascii")
        self._process = self._launched(settings_file)
        atexit.register(self.stop)
        self._wait_until_it_answers()

    def session(self, settings: Mapping[str, str] | None = None) -> SparkSession:
        """A session with settings of its own."""
        spark: SparkSession = SparkSession.builder.remote(f"sc://localhost:{self.port}/;token={self._token}").create()
        connected: Any = spark
        connected.client.set_retry_policies(
            [DefaultPolicy(max_retries=2, max_backoff=1000)]
        )  # else minutes, once it ended
        for name, value in (settings or {}).items():
            spark.conf.set(name, value)
        return spark

    def stop(self) -> None:
        """End the process; a second call does nothing."""
        atexit.unregister(self.stop)
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_STOP_LIMIT_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def _launched(self, settings_file: Path) -> "subprocess.Popen[bytes]":
        found = importlib.util.find_spec("pyspark")
        assert found, "pyspark is installed"
        assert found.origin, "pyspark is a folder"
        home = Path(found.origin).parent
        command = [str(home / "bin" / "spark-submit"), "--properties-file", str(settings_file)]
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
        environment |= {
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_CONNECT_AUTHENTICATE_TOKEN": self._token,
            "PYSPARK_PYTHON": sys.executable,  # for functions that are given a batch of a stream
        }
        with self._log.open("wb") as output:
            return subprocess.Popen(
                [*command, "--class", _SERVER_CLASS, "spark-internal"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
            )

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + _START_LIMIT_SECONDS
        while not Address("127.0.0.1", self.port).answers(seconds=1.0):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"the server did not start:\n{self._log.read_text(errors='replace')[-4000:]}")
            time.sleep(0.1)


def _settings(folder: Path, port: int, settings: Mapping[str, str]) -> dict[str, str]:
    jars = [str(path) for path in find_jars() if not path.name.startswith("keylake")]
    own = {
        "spark.app.name": folder.name,
        "spark.driver.memory": HEAP,
        "spark.jars": ",".join(jars),
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        **catalog_settings(CATALOG, "org.apache.iceberg.spark.SparkCatalog", folder / "tables"),
        "spark.sql.warehouse.dir": str(folder / "spark-warehouse"),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.local.dir": str(folder),
        "spark.ui.enabled": "false",
        "spark.log.level": "WARN",
        **ALIKE,
    }
    if "spark.jars.packages" in settings:
        ivy = folder / "ivy.xml"
        ivy.write_text(ONLY_CENTRAL)
        own["spark.jars.ivySettings"] = str(ivy)
    for name, value in settings.items():
        own[name] = f"{own[name]}{_ADDED[name]}{value}" if name in _ADDED else value
    return own
