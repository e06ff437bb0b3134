"""A source of MariaDB against the real server: what its steps say adds up to the tables, whatever happens meanwhile."""

import random
import threading

import pytest

from conftest import SEED
from integration.pipelines.mariadb.applied import Applied
from integration.pipelines.mariadb.server import MariaDb
from integration.pipelines.mariadb.shop import TABLES, Shop
from keylake._captured.source import Step
from keylake._mysql.source import MySqlSource

pytestmark = pytest.mark.slow


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


@pytest.mark.parametrize("number", [0, *(pytest.param(each, marks=pytest.mark.nightly) for each in (1, 2))])
def test_random_transactions_and_statements(mariadb: MariaDb, number: int) -> None:
    draw = random.Random(f"{SEED} {number}")
    database = f"shop_{number}"
    shop = Shop(mariadb, database, random.Random(f"{SEED} {number} shop"))
    shop.fill(150)
    positions: dict[str, int] = {}
    source = source_of(mariadb, database, chunk_rows=draw.choice([4, 11]))
    source.begin(positions)
    applied = Applied(source.schemas())

    failures: list[Exception] = []

    def write() -> None:
        try:
            for i in range(70):
                shop.transaction()
                if i % 8 == 5:
                    shop.statement()
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    writing = threading.Thread(target=write)
    writing.start()
    while writing.is_alive():
        for step in source.poll(draw.choice([1, 20, 500]), 0.1):
            applied.take(step)
            positions.update(step.ends)
        if draw.random() < 0.2:
            source.begin(positions)
    writing.join()
    assert not failures, failures
    taken(source, applied, positions)
    for table in TABLES:
        name = f"{database}.{table}"
        assert applied.rows(name) == shop.rows(table, applied.keys[name])
    assert not any("_" in table.split(".")[1] for table in applied.keys), "ghost tables never show"
    source.close()
    shop.close()
