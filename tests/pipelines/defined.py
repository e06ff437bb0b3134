"""Pipelines of tests in YAML, and the tables that they make."""

from pathlib import Path

import keylake as kl
from pipelines.mariadb.server import MariaDb


def defined(tmp_path: Path, name: str, source: str) -> kl.Pipeline:
    file = tmp_path / "pipeline.yaml"
    file.write_text(
        f"source:\n{source}sink:\n  type: keylake\n  namespace: {name}\n"
        f"pipeline:\n  name: {name}\n  schema.change.behavior: evolve\n"
    )
    return kl.Pipeline.load(file)


def tables_of(server: MariaDb, database: str) -> str:
    """The source of a definition that reads all tables of a database."""
    return (
        f"  type: mysql\n  hostname: 127.0.0.1\n  port: {server.port}\n  username: {MariaDb.READER}\n"
        f"  password: ${{DB_PASSWORD}}\n  tables: {database}.\\.*\n"
    )
