"""The embedded server: a Spark Connect server in a process of its own, for as long as this Python process lives.

    EmbeddedServer(Setup(warehouse))
        1. jars       keylake/jars/*.jar                      missing: how to build them
        2. java       $JAVA_HOME/bin/java, or java            missing or old: what to install
        3. scratch    a temporary directory: settings file, shuffle files
        4. process    spark-submit; the token in its environment, its output in <warehouse>/.keylake/
        5. wait       until it has written its port           process ends: the end of its log, in one sentence
    url               sc://localhost:<port>/;token=...

Every port is on the loopback interface and wants a secret that other users of the machine cannot see: clients have the
token, and Spark makes one for its own ports and one for its Python workers. The server ends with `stop()`, with this
process (atexit), and, when this process is killed, by the plug-in, which watches its owner's process id. Several
processes may each have a server on one warehouse: they meet in the catalog's SQLite file, where Iceberg's optimistic
commits keep them apart.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from keylake._definition.names import Setting
from keylake._display.progress import waiting
from keylake._server.address import TOKEN
from keylake._server.server import (
    CATALOG_PORT_FILE,
    PORT_FILE,
    Setup,
    embedded_settings,
    find_jars,
    properties_text,
)
from keylake.errors import DefinitionError, ServerUnreachable, StoreFailed, check_type

SERVER_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
LOG_DIRECTORY = ".keylake"
OLDEST_JAVA, NEWEST_JAVA = 17, 23  # Java 24 ended what Hadoop, inside of Spark, asks who is the user of a process
START_LIMIT = "KEYLAKE_START_SECONDS"  # of the environment
START_LIMIT_SECONDS = 120.0
STOP_LIMIT_SECONDS = 10.0
MOST_LOGS = 20

_INSTALL_JAVA = (
    f"The embedded server needs Java {OLDEST_JAVA} to {NEWEST_JAVA}: install one (Debian, Ubuntu: "
    "openjdk-17-jre-headless; macOS: brew install openjdk@17), or set JAVA_HOME to one."
)
# They end or escape something in the catalog's URL or in Hadoop's paths.
_REFUSED_SIGNS = "?#%\n\r\0"


_SHARED: dict[Setup, EmbeddedServer] = {}
_LOCK = threading.RLock()


class EmbeddedServer:
    """A running server. `url` is for one client only: it holds the token."""

    server_class: ClassVar[str] = SERVER_CLASS

    def __init__(self, setup: Setup, token: str | None = None) -> None:
        start_limit()  # refused before anything is started
        jars = find_jars()
        java_home = check_java().home
        self.setup = setup
        self._owner = os.getpid()
        self._users = 0
        self._has_policy = Setting.ACCESS_POLICY in dict(setup.settings)
        self._token = token or (_token_of_principal() if self._has_policy else secrets.token_urlsafe(32))
        self.log = _new_log(setup.warehouse)
        self.scratch = Path(tempfile.mkdtemp(prefix="keylake-"))
        settings = embedded_settings(setup, jars, self.scratch)
        self._properties, self._java_home = properties_text(settings), java_home
        self._process = self._launched()
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise
        atexit.register(self.stop)

    @classmethod
    def shared(cls, setup: Setup) -> EmbeddedServer:
        """The running server of this process with that setup, or a new one. Each user calls `release` once."""
        with _LOCK:
            server = _SHARED.get(setup)
            if server is None or not server.is_alive or server._owner != os.getpid():
                server = _SHARED[setup] = cls(setup)
            server._users += 1
            return server

    def release(self) -> None:
        """Count one user less; the last one stops the server."""
        with _LOCK:
            self._users -= 1
            if self._users > 0:
                return
            if _SHARED.get(self.setup) is self:
                del _SHARED[self.setup]
        self.stop()

    @property
    def url(self) -> str:
        """The connection string; `localhost` by name, since pyspark sends a token anywhere else over TLS only."""
        return f"sc://localhost:{self.port}/;token={self._token}"

    @property
    def catalog_port(self) -> int:
        """The port of the catalog for other engines, of a server whose settings have that of Iceberg's REST catalog."""
        return int((self.scratch / CATALOG_PORT_FILE).read_text())

    @property
    def shared_folder(self) -> Path | None:
        """A folder in which the server finds what we leave there; none where it has executors elsewhere."""
        master = dict(self.setup.settings).get("spark.master", "local")
        return self.scratch if master.startswith("local") else None

    @property
    def is_alive(self) -> bool:
        """The process runs."""
        return self._process.poll() is None

    def started_again(self) -> str:
        """Start the process anew if it has ended; the address to connect to then."""
        with _LOCK:
            if not self.is_alive:
                (self.scratch / PORT_FILE).unlink(missing_ok=True)
                self.log = _new_log(self.setup.warehouse)
                self._process = self._launched()
                self._wait()
        return self.url

    def stop(self) -> None:
        """End the process. A second call does nothing, and so does a forked child of the owner."""
        if os.getpid() != self._owner:
            return
        atexit.unregister(self.stop)
        if self.is_alive:
            self._process.terminate()
            try:
                self._process.wait(STOP_LIMIT_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def last_words(self) -> str:
        """The last line of the log that names an error, or else the last line."""
        lines = [line.strip() for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        told = [line for line in lines if _TELLING.search(line) and not line.startswith("at ")]
        last = (told or lines or ["nothing"])[-1]
        return last[max(last.find("[KEYLAKE_"), 0) :][:400]  # without the class of ours in front

    def _launched(self) -> subprocess.Popen[bytes]:
        spark_home = _spark_home()
        settings_file = self.scratch / "server.properties"
        settings_file.touch(mode=0o600)  # the settings may hold keys of an object store
        settings_file.write_text(self._properties, encoding="ascii")
        command = [
            *(str(spark_home / "bin" / "spark-submit"), "--properties-file", str(settings_file)),
            *("--class", self.server_class, "spark-internal"),
        ]
        environment = _environment(spark_home, self._java_home)
        if not self._has_policy:  # which lets principals in by tokens of their own
            environment["SPARK_CONNECT_AUTHENTICATE_TOKEN"] = self._token
        with self.log.open("wb") as output:
            # A session of its own: Ctrl-C in a terminal stops the query that runs, not the server.
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )

    def _wait(self) -> None:
        with waiting(f"keylake: starting a server for {self.setup.warehouse}"):
            self.port = self._port_when_it_listens()

    def _port_when_it_listens(self) -> int:
        port_file = self.scratch / PORT_FILE
        limit = start_limit()
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            if not self.is_alive:
                raise ServerUnreachable(
                    f"The embedded server did not start: {self.last_words()} (its log is {self.log})"
                )
            if port_file.exists():
                return int(port_file.read_text())
            time.sleep(0.1)
        raise ServerUnreachable(
            f"The embedded server was started, and has not opened its port within {limit:g} s. Its process still ran, "
            f"and was ended; its log, {self.log}, ends with: {self.last_words()}. On a machine that is slow or busy, "
            f"give it more seconds in the environment: {START_LIMIT}={2 * limit:g}."
        )


def _token_of_principal() -> str:
    token = os.environ.get(TOKEN, "")
    if not token:
        raise DefinitionError(
            f"A server with an access policy ({Setting.ACCESS_POLICY}) lets in principals only, and nothing says which "
            f"of them this process is. Put the token of one into {TOKEN} of the environment; 'keylake token' makes one."
        )
    return token


def start_limit() -> float:
    """The seconds in which a server has to open its port."""
    said = os.environ.get(START_LIMIT, "")
    if not said:
        return START_LIMIT_SECONDS
    try:
        seconds = float(said)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise DefinitionError(f"{START_LIMIT} is {said!r}. Use a number of seconds, such as {START_LIMIT_SECONDS:g}.")
    return seconds


_TELLING = re.compile(r"Exception|Error\b|ERROR|error:|cannot|could not", re.IGNORECASE)


def checked_warehouse(warehouse: str | os.PathLike[str]) -> Path:
    """The directory of a lake as an absolute path, created if it is not there.

    >>> checked_warehouse("s3://bucket/lake")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    keylake.errors.DefinitionError: The embedded server keeps its lake in a local directory, and 's3://bucket/lake' ...
    """
    check_type("warehouse", warehouse, str | os.PathLike, "the path of a directory")
    text = os.fspath(warehouse)
    if re.match(r"[a-z][a-z0-9+.-]*:", text, re.IGNORECASE):
        raise DefinitionError(
            f"The embedded server keeps its lake in a local directory, and {text!r} is none. "
            "For an object store run a Spark Connect server and connect to it: kl.connect('sc://host:15002')."
        )
    refused = [sign for sign in _REFUSED_SIGNS if sign in text]
    path = Path(text.replace("\0", "")).expanduser().resolve()
    refused += [sign for sign in _REFUSED_SIGNS if sign in str(path)]
    if refused:
        raise DefinitionError(
            f"The path of the warehouse, {str(path)!r}, has the sign {refused[0]!r}. Use a path without it."
        )
    try:
        (path / LOG_DIRECTORY).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DefinitionError(
            f"The warehouse {str(path)!r} cannot be used: {error.strerror}. Name a directory."
        ) from None
    return path


@dataclass(frozen=True)
class Java:
    """A Java that a server can run on: its command, its major version, and JAVA_HOME where that is set."""

    command: str
    version: int
    home: str | None


def check_java() -> Java:
    """The Java that a server would run on; an error in one sentence unless there is one that Spark runs on."""
    java_home = os.environ.get("JAVA_HOME") or None
    java = shutil.which(str(Path(java_home, "bin", "java")) if java_home else "java")
    if java is None:
        raise ServerUnreachable(
            f"No Java was found{f' in JAVA_HOME={java_home}' if java_home else ''}. {_INSTALL_JAVA}"
        )
    said = subprocess.run([java, "-version"], capture_output=True, text=True, errors="replace", check=False).stderr
    version = re.search(r'version "(?:1\.)?(\d+)', said)
    if version is None or not OLDEST_JAVA <= int(version[1]) <= NEWEST_JAVA:
        found = f"is Java {version[1]}" if version else "gives no version"
        raise ServerUnreachable(f"{java} {found}. {_INSTALL_JAVA}")
    return Java(java, int(version[1]), java_home)


def _new_log(warehouse: Path) -> Path:
    """The place of a new log. Of the others the newest stay, and those of servers whose owner still runs."""
    directory = warehouse / LOG_DIRECTORY
    log = directory / f"server-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}-{secrets.token_hex(2)}.log"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for old in sorted(directory.glob("server-*.log"))[:-MOST_LOGS]:
            if not _owner_runs(old):
                old.unlink(missing_ok=True)
        log.touch(mode=0o600)  # failed statements are in it, with what they were about
    except OSError as error:
        raise StoreFailed(
            f"The warehouse {str(warehouse)!r} cannot be written to: {error.strerror}. Nothing was started or changed. "
            "Make it writable, or name another directory."
        ) from None
    return log


def _owner_runs(log: Path) -> bool:
    """The process that a log is named after is there; also where another one has its id by now."""
    named = re.fullmatch(r"server-\d+-\d+-(\d+)-[0-9a-f]+", log.stem)
    if named is None:
        return False
    try:
        os.kill(int(named[1]), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # it is there, of another user
        return True
    return True


def _spark_home() -> Path:
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None or not (home := Path(found.origin).parent).joinpath("bin").is_dir():
        raise ServerUnreachable(
            "The embedded server needs Spark itself, which the package pyspark carries and pyspark-client does not. "
            "Install it (pip uninstall pyspark-client; pip install 'keylake[server]'), "
            "or connect to a server: kl.connect('sc://host:15002')."
        )
    return home


def _environment(spark_home: Path, java_home: str | None) -> dict[str, str]:
    """The caller's environment without what would redirect Spark to another installation, server or settings."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SPARK_", "PYSPARK_")) and name != "MASTER"
    }
    own = {"SPARK_HOME": str(spark_home), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    if java_home:
        own["JAVA_HOME"] = java_home
    # Java finds files by the encoding of the locale, and would lose every name that is not ASCII in the locale "C".
    locale = kept.get("LC_ALL") or kept.get("LC_CTYPE") or kept.get("LANG") or "C"
    if sys.platform == "linux" and "utf" not in locale.lower():
        own["LC_ALL"] = "C.UTF-8"
    return kept | own
