"""DuckDB with extensions that come as packages."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import duckdb


@contextmanager
def duck_with(*extensions: ModuleType) -> Iterator[duckdb.DuckDBPyConnection]:
    """A session in memory, whose times are in UTC."""
    with duckdb.connect() as session:
        for extension in extensions:
            (path,) = Path(extension.__path__[0]).rglob("*.duckdb_extension")
            session.execute(f"LOAD '{path}'")
        session.execute("SET TimeZone = 'UTC'")
        yield session
