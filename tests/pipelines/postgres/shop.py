"""A database of PostgreSQL, the pipeline that follows it, and what both have."""

from pathlib import Path

import keylake as kl
from integration.twin import fresh_name
from keylake_pipelines.runner.control import resnapshot, states
from pipelines.checks.compared import ordered
from pipelines.defined import defined
from pipelines.postgres_server import Postgres


class Shop:
    """A database, its pipeline, and what both have."""

    def __init__(self, lake: kl.Lake, postgres: Postgres, database: str, folder: Path) -> None:
        self.name = fresh_name("unlogged").replace(".", "_")
        self.lake, self.postgres, self._folder = lake, postgres, folder
        self._source = (
            f"  type: postgres\n  hostname: 127.0.0.1\n  port: {postgres.port}\n  username: postgres\n"
            f"  password: ${{DB_PASSWORD}}\n  tables: {database}.public.\\.*\n  slot.name: {self.name}\n"
        )
        self.connection = postgres.connect(database)
        self.behaviour = "evolve"

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.connection.execute(statement.encode())

    def follow(self, more: str = "") -> tuple[str, ...]:
        """The tables that are set aside, after a run."""
        pipeline = defined(self._folder, self.name, self._source + more)
        options = pipeline.pipeline.model_copy(update={"schema_change_behavior": self.behaviour})
        report = kl.run_pipeline(pipeline.model_copy(update={"pipeline": options}), self.lake, once=True)
        return tuple(name.removeprefix(f"{self.name}.") for name in report.set_aside)

    def aside(self, table: str) -> str:
        """Why a table is set aside."""
        [state] = [each for each in states(self.lake) if each.name == self.name]
        return state.set_aside[f"{self.name}.{table}"]

    def resnapshot(self, table: str | None = None) -> None:
        resnapshot(self.lake, self.name, None if table is None else f"{self.name}.{table}")

    def check(self, *tables: str) -> None:
        for table in tables:
            assert self.in_lake(table) == self.in_source(table), table

    def columns(self, table: str) -> list[str]:
        """The columns that the log has."""
        found = self.connection.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped "
            "AND attgenerated = '' ORDER BY attnum",
            (table,),
        )
        return [row[0] for row in found]

    def in_source(self, table: str) -> list[dict[str, object]]:
        names = self.columns(table)
        quoted = ", ".join(f'"{name}"' for name in names)
        cursor = self.connection.execute(f"SELECT {quoted} FROM {table}".encode())
        return self._shown([dict(zip(names, row, strict=True)) for row in cursor])

    def in_lake(self, table: str) -> list[dict[str, object]]:
        found = self.lake.table(f"{self.name}.{table}").read(columns=self.columns(table)).toArrow()
        return self._shown(found.to_pylist())

    def _shown(self, rows: list[dict[str, object]]) -> list[dict[str, object]]:
        """A column that became another one keeps its type where that is lenient."""
        if self.behaviour == "lenient":
            return ordered([{name: str(value) for name, value in row.items()} for row in rows])
        return ordered(rows)

    def tables(self, *, keyless: bool = False) -> set[str]:
        """The tables of the source, or those of them without a key that the log has."""
        found = self.connection.execute(
            "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace LEFT JOIN pg_index i "
            "ON indrelid = c.oid AND CASE relreplident WHEN 'i' THEN indisreplident ELSE indisprimary AND indimmediate "
            "END WHERE nspname = 'public' AND relkind IN ('r', 'p') AND relpersistence = 'p' AND NOT relispartition "
            "AND (NOT %s OR indexrelid IS NULL OR relreplident = 'n')",
            (keyless,),
        )
        return {row[0] for row in found}
