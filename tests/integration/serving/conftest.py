"""Engines that know nothing of keylake, over files of a lake."""

from collections.abc import Iterator

import duckdb
import duckdb_extension_avro
import duckdb_extension_iceberg
import pytest

from integration.duck import duck_with


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with duck_with(duckdb_extension_avro, duckdb_extension_iceberg) as session:
        yield session


@pytest.fixture
def planned_by_pyiceberg(monkeypatch: pytest.MonkeyPatch) -> None:
    """Polars warns where a planner of its own, which is a package apart, is not installed."""
    monkeypatch.setenv("POLARS_ICEBERG_PLANNER", "pyiceberg")
