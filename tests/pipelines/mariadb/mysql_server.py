"""A server of MySQL, as one of MariaDB: in a folder of its own, on a free port."""

import getpass
import subprocess
from pathlib import Path

from pipelines.mariadb.server import SETTINGS, MariaDb

HOME = Path(__file__).parents[3] / ".build" / "mysql" / "server"
LIBRARIES = HOME / "usr" / "lib" / "x86_64-linux-gnu"
SHARED = ("server-id", "character-set-server", "innodb-flush-log-at-trx-commit", "skip-name-resolve")


class MySql(MariaDb):
    """MySQL of a newer Debian than the machine may have, with the libraries that it was linked to."""

    PRIVILEGES = "SELECT, REPLICATION SLAVE, REPLICATION CLIENT"
    LOG = "mysql-bin"
    LOG_STATUS, RESET_LOG = "SHOW BINARY LOG STATUS", "RESET BINARY LOGS AND GTIDS"
    DEEP_RECURSION = "SET cte_max_recursion_depth = 1000000"
    DEFAULTS = {name: SETTINGS[name] for name in SHARED} | {
        "log-bin": LOG,
        "binlog-row-metadata": "FULL",
        "gtid-mode": "ON",
        "enforce-gtid-consistency": "ON",
        "innodb-buffer-pool-size": "64M",
        "innodb-doublewrite": "OFF",
        "performance-schema": "OFF",
        "mysqlx": "OFF",
    }

    def _check(self) -> None:
        if not (HOME / "usr" / "sbin" / "mysqld").exists():
            raise FileNotFoundError("there is no server of MySQL in .build/mysql: run `make mysql`")

    def _command(self, *more: str) -> list[str]:
        return [
            str(LIBRARIES / "ld-linux-x86-64.so.2"),
            "--library-path",
            f"{LIBRARIES}:{HOME / 'usr' / 'lib' / 'mysql' / 'private'}",
            str(HOME / "usr" / "sbin" / "mysqld"),
            "--no-defaults",
            f"--basedir={HOME / 'usr'}",
            f"--lc-messages-dir={HOME / 'usr' / 'share' / 'mysql'}",
            f"--plugin-dir={HOME / 'usr' / 'lib' / 'mysql' / 'plugin'}",
            f"--datadir={self.folder / 'data'}",
            f"--tmpdir={self.folder}",
            "--secure-file-priv=",
            f"--user={getpass.getuser()}",
            *more,
        ]

    def _install(self) -> None:
        with (self.folder / "install.log").open("wb") as log:
            subprocess.run(self._command("--initialize-insecure"), stdout=log, stderr=log, check=True, timeout=120)
