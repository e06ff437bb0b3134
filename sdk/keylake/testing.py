"""Fixtures of pytest for code that uses keylake; an installed keylake brings them, and nobody imports them.

    local_lake      an empty lake without Spark and a JVM, of each test
    lake            a lake on an embedded server; what a test creates in it is dropped at its end
    session_lake    the same for fixtures of a wider scope: what these create stays until the session ends
    lake_settings   Spark settings of that server, to be overridden

One server is started for a session (and for a worker of pytest-xdist), when the first test asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import keylake
    from keylake.local import LocalLake

# Every run of pytest imports this module, so it imports keylake in the fixtures only.

__all__ = ["lake", "lake_settings", "local_lake", "session_lake"]

MEMORY = "1g"
_Place = tuple[tuple[str, ...], str | None]  # a namespace, and a table in it or None for itself


@pytest.fixture
def local_lake() -> Iterator[LocalLake]:
    """An empty lake without a server: `keylake.local.open(":memory:")`, closed and removed after the test."""
    import keylake.local

    with keylake.local.open(":memory:") as lake:
        yield lake


@pytest.fixture(scope="session")
def lake_settings() -> Mapping[str, str]:
    """Spark settings of the embedded server beside those that tests need; override it in your conftest.py."""
    return {}


@pytest.fixture(scope="session")
def session_lake(tmp_path_factory: pytest.TempPathFactory, lake_settings: Mapping[str, str]) -> Iterator[keylake.Lake]:
    """A lake on an embedded server for the whole session, without maintenance in the background."""
    import keylake
    from keylake._definition.names import Setting

    settings = {
        Setting.MAINTENANCE_ENABLED: "false",  # compactions would come between the lines of a test
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        **lake_settings,
    }
    warehouse = tmp_path_factory.mktemp("keylake")
    with keylake.connect(warehouse=warehouse, memory=MEMORY, settings=settings) as lake:
        yield lake


@pytest.fixture
def lake(session_lake: keylake.Lake) -> Iterator[keylake.Lake]:
    """The lake of the session; tables and namespaces that the test has created are dropped after it.

    Streams that still run are stopped. Settings and temporary views of the Spark session are left as they are.
    """
    before = _places(session_lake)
    yield session_lake
    for query in session_lake.spark.streams.active:
        query.stop()
    _drop(session_lake, _places(session_lake) - before)


def _places(lake: keylake.Lake) -> set[_Place]:
    """All namespaces of a lake and their tables."""
    found: set[_Place] = set()
    spaces: list[tuple[str, ...]] = [()]
    while spaces:
        space = spaces.pop()
        within = _in_sql(lake, space)
        below = [_parts(row.namespace) for row in lake.spark.sql(f"SHOW NAMESPACES IN {within}").collect()]
        spaces += [each for each in below if len(each) > len(space)]
        if space:
            tables = lake.spark.sql(f"SHOW TABLES IN {within}").collect()
            found |= {(space, None), *((space, row.tableName) for row in tables)}
    return found


def _drop(lake: keylake.Lake, places: set[_Place]) -> None:
    for space, table in sorted(places, key=lambda place: (place[1] is None, -len(place[0]))):
        if table is None:
            lake.spark.sql(f"DROP NAMESPACE IF EXISTS {_in_sql(lake, space)}").collect()
        else:
            lake.spark.sql(f"DROP TABLE IF EXISTS {_in_sql(lake, (*space, table))}").collect()


def _parts(namespace: str) -> tuple[str, ...]:
    from keylake._definition.table_names import name_parts

    return name_parts(f"{namespace}.t")[:-1]


def _in_sql(lake: keylake.Lake, parts: tuple[str, ...]) -> str:
    from keylake._server.statements import quoted

    return ".".join(map(quoted, (lake.catalog, *parts)))
