"""The tables of a PostgreSQL database as a source would have them, without a slot or a publication."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import psycopg

from keylake_pipelines.postgres.catalog import Looks
from keylake_pipelines.postgres.server import Server
from keylake_pipelines.postgres.slots import check_server
from keylake_pipelines.source.tables import SourceSchema, SourceTable


def tables_of(
    address: str,
    tables: Callable[[SourceTable], bool],
    keys: Mapping[str, Sequence[str]],
    as_text: Sequence[str] = (),
) -> tuple[SourceSchema, ...]:
    """The tables with these names; what `PostgresSource.begin` would refuse is refused, and nothing is made."""
    server = Server(address)
    try:
        with server.sql() as connection:
            check_server(server, connection)
            database: Any = connection.execute("SELECT current_database()").fetchone()
            found = Looks(database[0], tables, keys, as_text).look(connection, None)
    except psycopg.Error as error:
        raise server.failed(error, "looking at its tables") from None
    return found.schemas
