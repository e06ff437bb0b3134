"""A PostgreSQL server of the tests' own, from what `make postgres` has unpacked; it ends with its owner."""

import os
import pwd
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg

from integration.spark_processes import free_port
from keylake_pipelines.postgres.source import PostgresSource
from pipelines.applied_steps import AppliedSteps

PROGRAMS = Path(__file__).parents[2] / ".build/postgres/bin"
PASSWORD = "open sesame"
SETTINGS = {
    "wal_level": "logical",
    "fsync": "off",
    "max_wal_senders": "20",
    "max_replication_slots": "20",
    "max_connections": "60",
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "shared_buffers": "64MB",
    "timezone": "America/St_Johns",
}


@dataclass
class Postgres:
    """Where a server listens; `folder` is readable to it."""

    port: int
    folder: Path
    command: list[str]
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, cwd=self.folder)
        until = time.monotonic() + 30
        while True:
            try:
                self.connect().close()
            except psycopg.OperationalError:
                assert self.process.poll() is None, (self.folder / "log").read_text()
                assert time.monotonic() < until, (self.folder / "log").read_text()
                time.sleep(0.05)
            else:
                return

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it as `pg_ctl stop` does, which waits until those that read its log have all of it."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(30)
            self.process = None

    def address(self, database: str = "postgres", user: str = "postgres", password: str = PASSWORD) -> str:
        return f"postgresql://{user}:{password.replace(' ', '%20')}@127.0.0.1:{self.port}/{database}"

    def connect(self, database: str = "postgres", **options: Any) -> psycopg.Connection[Any]:
        return psycopg.connect(self.address(database), autocommit=True, **options)

    def drop_slot(self, name: str) -> None:
        """Drop a slot, whose reader may have closed its connection just now: the server notices it a moment later."""
        until = time.monotonic() + 30
        with closing(self.connect()) as connection:
            while True:
                try:
                    connection.execute("SELECT pg_drop_replication_slot(%s)", (name,))
                except psycopg.errors.ObjectInUse:
                    assert time.monotonic() < until, f"{name} is still read"
                    time.sleep(0.05)
                else:
                    return


def as_owner(*command: str) -> list[str]:
    """The command of a user who is not root, as whom PostgreSQL does not run.

    Another process changes the user: this one would have to fork for that, with threads of gRPC that do not survive it.
    """
    if os.geteuid() != 0:
        return [*command]
    nobody = pwd.getpwnam("nobody")
    change = f"os.setgroups([]); os.setgid({nobody.pw_gid}); os.setuid({nobody.pw_uid})"
    return [sys.executable, "-c", f"import os, sys; {change}; os.execv(sys.argv[1], sys.argv[1:])", *command]


@contextmanager
def running(**settings: str) -> Iterator[Postgres]:
    """A new server, with these settings over those of all tests."""
    # A folder of pytest's is not readable for others.
    with TemporaryDirectory(prefix="keylake-postgres-") as name:
        folder = Path(name)
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        password = folder / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        data = folder / "data"
        initdb = [str(PROGRAMS / "initdb"), "-D", str(data), "-U", "postgres", "-A", "scram-sha-256", "--no-sync"]
        initdb += ["--encoding=UTF8", "--locale=C", f"--pwfile={password}"]
        subprocess.run(as_owner(*initdb), check=True, capture_output=True, cwd=folder)
        port = free_port()
        options = [f"-c{key}={value}" for key, value in {**SETTINGS, **settings}.items()]
        server = Postgres(port, folder, as_owner(str(PROGRAMS / "postgres"), "-D", str(data), f"-p{port}", *options))
        try:
            server.start()
            yield server
        finally:
            server.stop(signal.SIGQUIT)  # what it has is not needed any more


def source_of(postgres: Postgres, database: str, **options: Any) -> PostgresSource:
    """All tables of a database as a source with a slot of its own."""
    return PostgresSource(postgres.address(database), lambda table: True, slot=f"slot_{database}", **options)


def polled(source: PostgresSource, applied: AppliedSteps, *, least: int = 1) -> dict[str, int]:
    """Applies what is there until nothing comes any more, `least` times; gives the positions.

    A step without rows says that rows of tables are still to come.
    """
    positions: dict[str, int] = {}
    quiet = 0
    while quiet < least:
        steps = source.poll(1000, 0.7)
        quiet = 0 if steps else quiet + 1
        for step in steps:
            applied.apply(step)
            positions.update(step.ends)
    return positions


def stored(connection: psycopg.Connection[Any], table: str, key: int) -> dict[tuple[Any, ...], dict[str, Any]]:
    cursor = connection.execute(f"SELECT * FROM {table}")
    names = [each.name for each in cursor.description or ()]
    found = {}
    for row in cursor:
        values = [str(value) if isinstance(value, Decimal) else value for value in row]
        found[tuple(values[:key])] = dict(zip(names, values, strict=True))
    return found
