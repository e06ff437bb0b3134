"""Spark processes of a test's own: Connect servers that may be killed, and a standalone cluster."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pyspark

from keylake._server.embedded import EmbeddedServer
from keylake._server.server import Setup

SPARK_HOME = Path(pyspark.__file__).parent


@contextmanager
def connect_server(warehouse: Path, settings: Mapping[str, str] | None = None) -> Iterator[EmbeddedServer]:
    """A Connect server on a warehouse, in a process of its own; it merges nothing unless it is asked."""
    warehouse.mkdir(parents=True, exist_ok=True)
    own = {"spark.keylake.maintenance.enabled": "false"} | dict(settings or {})
    server = EmbeddedServer(Setup(warehouse, memory="1g", settings=tuple(own.items())))
    try:
        yield server
    finally:
        server.stop()


def kill(server: EmbeddedServer) -> None:
    """What `kill -9` does: no clean-up, no last words."""
    server._process.send_signal(signal.SIGKILL)
    server._process.wait(10)


@contextmanager
def cluster(folder: Path, workers: int, hosts: int = 1) -> Iterator[str]:
    """A standalone master and its workers, each in a process of its own, on the loopback interface; gives its URL.

    With several hosts, workers have different addresses there.
    """
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        master = ["org.apache.spark.deploy.master.Master", *_place(0), "--port", str(port)]
        stack.enter_context(_spark_class(folder / "master", *master))
        wait_for(port)
        for number in range(workers):
            own = folder / f"worker-{number}"
            place = _place(number % hosts)
            worker = ["org.apache.spark.deploy.worker.Worker", *place, "--cores", "1", "--memory", "700m"]
            stack.enter_context(_spark_class(own, *worker, "--work-dir", str(own), url))
        yield url


def _place(host: int) -> list[str]:
    return ["--host", f"127.0.0.{host + 1}", "--webui-port", "0"]


def _spark_class(folder: Path, *command: str) -> AbstractContextManager[subprocess.Popen[bytes]]:
    own = {"SPARK_DAEMON_MEMORY": "256m"}
    return running(folder, [str(SPARK_HOME / "bin" / "spark-class"), *command], own)


@contextmanager
def running(folder: Path, command: Sequence[str], own: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A process of Spark or Hadoop with a folder for its log, and variables of its own in its environment."""
    folder.mkdir(parents=True)
    own = {"SPARK_HOME": str(SPARK_HOME), "SPARK_LOCAL_IP": "127.0.0.1", **own}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=kept | own,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise TimeoutError(f"nothing listens on port {port}")
