"""A server of MariaDB in a folder of its own, on a free port, ended by its process id."""

import getpass
import signal
import socket
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pymysql
from pymysql.connections import Connection

HOME = Path(__file__).parents[3] / ".build" / "mariadb" / "server"
SETTINGS = {
    "server-id": "1",
    "log-bin": "mariadb-bin",
    "binlog-format": "ROW",
    "binlog-row-metadata": "FULL",
    "character-set-server": "utf8mb4",
    "innodb-buffer-pool-size": "64M",
    "innodb-log-file-size": "32M",
    "innodb-flush-log-at-trx-commit": "2",  # what is in the binary log is in tables, also after a kill
    "innodb-doublewrite": "OFF",
    "innodb-temp-data-file-path": "ibtmp1:1M:autoextend",
    "skip-name-resolve": "ON",
    "performance-schema": "OFF",
    "ssl": "OFF",  # or every start draws a key of RSA, which takes seconds
}


class MariaDb:
    """The server: `USER` may do everything, `READER` what a source needs."""

    USER, READER, PASSWORD = "owner", "reader", "se'cret of the reader"
    PRIVILEGES = "SELECT, REPLICATION SLAVE, BINLOG MONITOR"
    LOG = "mariadb-bin"
    LOG_STATUS, RESET_LOG = "SHOW MASTER STATUS", "RESET MASTER"
    DEEP_RECURSION = "SET max_recursive_iterations = 1000000"
    DEFAULTS = SETTINGS

    def __init__(self, folder: Path, **settings: str) -> None:
        self._check()
        self.folder = folder
        self.settings = {**self.DEFAULTS, **{name.replace("_", "-"): value for name, value in settings.items()}}
        with closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None
        self._install()
        self._write_users()
        self.start()

    def _check(self) -> None:
        if not (HOME / "bin" / "mariadbd").exists():
            raise FileNotFoundError("there is no server of MariaDB in .build/mariadb: run `make mariadb`")

    def _command(self, *more: str) -> list[str]:
        common = [
            str(HOME / "bin" / "mariadbd"),
            "--no-defaults",
            f"--basedir={HOME}",
            f"--datadir={self.folder / 'data'}",
            f"--tmpdir={self.folder}",
            f"--lc-messages-dir={HOME / 'share'}",
            f"--character-sets-dir={HOME / 'share' / 'charsets'}",
            f"--user={getpass.getuser()}",
            "--innodb-log-file-size=32M",
        ]
        return [*common, *more]

    def _install(self) -> None:
        (self.folder / "data" / "mysql").mkdir(parents=True)
        tables = (HOME / "share" / "mariadb_system_tables.sql").read_bytes()
        with (self.folder / "install.log").open("wb") as log:
            subprocess.run(
                self._command("--bootstrap", "--skip-grant-tables"),
                input=b"CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\n" + tables,
                stdout=log,
                stderr=log,
                check=True,
                timeout=120,
            )

    def _write_users(self) -> None:
        password = pymysql.converters.escape_str(self.PASSWORD)
        users = [
            f"CREATE USER IF NOT EXISTS {self.USER} IDENTIFIED BY 'secret'",
            f"GRANT ALL ON *.* TO {self.USER} WITH GRANT OPTION",
            f"CREATE USER IF NOT EXISTS {self.READER} IDENTIFIED BY {password}",
            f"GRANT {self.PRIVILEGES} ON *.* TO {self.READER}",
        ]
        (self.folder / "users.sql").write_text("".join(f"{statement};\n" for statement in users))

    def start(self) -> None:
        settings = [f"--{name}={value}" for name, value in self.settings.items()]
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command(
                    f"--port={self.port}",
                    "--bind-address=127.0.0.1",
                    f"--socket={self.folder / 's'}",
                    f"--pid-file={self.folder / 'pid'}",
                    f"--init-file={self.folder / 'users.sql'}",
                    *settings,
                ),
                stdout=log,
                stderr=log,
            )
        until = time.monotonic() + 240
        while True:
            try:
                self.connect().close()
            except pymysql.err.OperationalError:
                if self._process.poll() is not None or time.monotonic() > until:
                    self.stop(signal.SIGKILL)
                    raise RuntimeError((self.folder / "server.log").read_text()[-2000:]) from None
                time.sleep(0.1)
            else:
                return

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(60)
            self._process = None

    def restart(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End the server, or kill it, and start it again on the same port with the same data."""
        self.stop(how)
        self.start()

    def connect(self, database: str | None = None) -> Connection:
        """A connection of the user who may do everything; every statement is a transaction unless begun."""
        return pymysql.connect(
            host="127.0.0.1",
            port=self.port,
            user=self.USER,
            password="secret",
            database=database,
            charset="utf8mb4",
            autocommit=True,
        )

    def run(self, *statements: str) -> None:
        with closing(self.connect()) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def log_end(self) -> tuple[str, int]:
        """The file and the byte where the log ends."""
        with closing(self.connect()) as connection, connection.cursor() as cursor:
            cursor.execute(self.LOG_STATUS)
            file, byte, *_ = cursor.fetchone() or ()
            return str(file), int(byte)

    def cut_connections(self) -> int:
        """End every connection of others, those that read the log too; how many."""
        with closing(self.connect()) as connection, connection.cursor() as cursor:
            cursor.execute(
                "SELECT id FROM information_schema.processlist WHERE id <> connection_id() AND user IN (%s, %s)",
                (self.USER, self.READER),
            )
            found = [number for (number,) in cursor.fetchall()]
            for number in found:
                try:
                    cursor.execute(f"KILL {number}")
                except pymysql.err.OperationalError:  # it has ended by itself
                    continue
            return len(found)
