"""A shop in MariaDB, and the pipeline that follows it."""

from collections.abc import Sequence
from pathlib import Path

import keylake as kl
from integration.twin import fresh_name
from pipelines.checks.compared import ordered
from pipelines.defined import defined, tables_of
from pipelines.mariadb.server import MariaDb


class Shop:
    """A database, its pipeline, and what both have."""

    def __init__(self, lake: kl.Lake, server: MariaDb, folder: Path) -> None:
        self.name = fresh_name("unlogged").replace(".", "_")
        self._lake, self._server, self._folder = lake, server, folder
        server.run(f"CREATE DATABASE {self.name}")

    def run(self, *statements: str) -> None:
        self._server.run(f"USE {self.name}", *statements)

    def follow(self) -> kl.PipelineReport:
        definition = defined(self._folder, self.name, tables_of(self._server, self.name))
        return kl.run_pipeline(definition, self._lake, once=True)

    def in_source(self, table: str) -> list[dict[str, object]]:
        with self._server.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {self.name}.{table}")
            names = [each[0] for each in cursor.description]
            return ordered([dict(zip(names, row, strict=True)) for row in cursor.fetchall()])

    def in_lake(self, table: str, columns: Sequence[str] | None = None) -> list[dict[str, object]]:
        return ordered(self._lake.table(f"{self.name}.{table}").read(columns=columns).toArrow().to_pylist())

    def check(self, *tables: str) -> None:
        for table in tables:
            rows = self.in_source(table)
            assert self.in_lake(table, list(rows[0]) if rows else None) == rows, table
