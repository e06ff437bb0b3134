"""What a source takes from MariaDB."""

from keylake_pipelines.mysql.source import MySqlSource
from keylake_pipelines.source.source import Step
from pipelines.mariadb.applied import Applied
from pipelines.mariadb.server import MariaDb


def source_of(server: MariaDb, database: str, **more: object) -> MySqlSource:
    settings: dict[str, object] = {
        "host": "127.0.0.1",
        "port": server.port,
        "user": server.READER,
        "password": server.PASSWORD,
        "tables": [rf"{database}\..*"],
        "connections": 2,
        **more,
    }
    return MySqlSource(**settings)  # type: ignore[arg-type]


def taken(source: MySqlSource, applied: Applied, positions: dict[str, int], most_rows: int = 1000) -> list[Step]:
    """Polls until nothing comes any more."""
    steps: list[Step] = []
    while found := source.poll(most_rows, 0.6):
        for step in found:
            applied.take(step)
            positions.update(step.ends)
            steps.append(step)
    return steps
