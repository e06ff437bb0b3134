"""A database and its pipeline for each test, which look at the catalog without a pause."""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import keylake as kl
from keylake_pipelines.postgres import catalog, source
from pipelines.postgres.shop import Shop
from pipelines.postgres_server import PASSWORD, Postgres


@pytest.fixture
def shop(
    lake: kl.Lake, postgres: Postgres, postgres_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Shop]:
    monkeypatch.setitem(os.environ, "DB_PASSWORD", PASSWORD)
    monkeypatch.setattr(source, "_SECONDS_BETWEEN_LOOKS", 0.2)
    monkeypatch.setattr(catalog, "_SECONDS_OF_A_DEFINITION", 0.0)
    shop = Shop(lake, postgres, postgres_database, tmp_path)
    with closing(shop.connection):
        yield shop
