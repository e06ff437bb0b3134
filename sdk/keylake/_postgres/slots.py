"""What has to be on a server before its log can be read: a level of logging, a publication, a slot."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from psycopg import sql

from keylake._captured.absence import SourceAway
from keylake._postgres.positions import place, place_text
from keylake._postgres.server import Server
from keylake._postgres.tables import Table
from keylake.errors import DefinitionError, SourceFailed

if TYPE_CHECKING:
    from keylake._postgres.server import Connection

_OLDEST = 140_000  # ranges of blocks are read without the others from 14 on


def check_server(server: Server, connection: Connection) -> None:
    """Refuses a server whose log cannot be read."""
    info: Any = connection.execute(
        "SELECT current_setting('server_version_num')::int, current_setting('wal_level'), pg_is_in_recovery()"
    ).fetchone()
    number, level, is_standby = info
    if number < _OLDEST:
        raise DefinitionError(f"{server} has version {number // 10_000}. Use 14 or newer.")
    if level != "logical":
        raise DefinitionError(
            f"{server} has wal_level {level}, which does not log rows. Run ALTER SYSTEM SET wal_level = logical, "
            "and start the server again."
        )
    if is_standby:
        raise SourceAway(f"{server} is a standby, where no publication can be made. Promote it, or use its primary.")


def publish(server: Server, connection: Connection, name: str, tables: Iterable[Table]) -> None:
    """Makes the publication, or adds tables to it; one for all tables has them already."""
    found: Any = connection.execute(
        "SELECT puballtables, pubviaroot FROM pg_publication WHERE pubname = %s", (name,)
    ).fetchone()
    wanted = sorted(tables, key=lambda table: table.name)
    listed = sql.SQL(", ").join(sql.Identifier(*table.name.parts[1:]) for table in wanted)
    if found is None:
        for_tables = sql.SQL(" FOR TABLE {}").format(listed) if wanted else sql.SQL("")
        _run(
            server,
            connection,
            sql.SQL("CREATE PUBLICATION {}{} WITH (publish_via_partition_root = true)").format(
                sql.Identifier(name), for_tables
            ),
        )
        return
    if not found[1] and connection.execute("SELECT 1 FROM pg_class WHERE relkind = 'p' LIMIT 1").fetchone():
        raise DefinitionError(
            f"Publication {name} gives rows of partitions under the names of these. "
            f"Run ALTER PUBLICATION {name} SET (publish_via_partition_root = true)."
        )
    rows: Any = connection.execute(
        "SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = %s", (name,)
    ).fetchall()
    published = {tuple(row) for row in rows}
    missing = [table for table in wanted if table.name.parts[1:] not in published]
    if missing:
        listed = sql.SQL(", ").join(sql.Identifier(*table.name.parts[1:]) for table in missing)
        _run(server, connection, sql.SQL("ALTER PUBLICATION {} ADD TABLE {}").format(sql.Identifier(name), listed))


def _run(server: Server, connection: Connection, statement: sql.Composed) -> None:
    import psycopg

    try:
        connection.execute(statement)
    except psycopg.errors.InsufficientPrivilege as error:
        raise SourceFailed(
            f"{server} does not let this user change its publication: {error.diag.message_primary}. "
            f"Let the owner of the tables run {statement.as_string(connection)}."
        ) from None


def start_of_slot(server: Server, connection: Connection, slot: str, position: int | None) -> int:
    """Where the log is read from: the position, or the slot's own; makes the slot if nothing was read of it yet."""
    found: Any = connection.execute(
        "SELECT plugin, database, confirmed_flush_lsn::text, coalesce(wal_status, ''), current_database() "
        "FROM pg_replication_slots WHERE slot_name = %s",
        (slot,),
    ).fetchone()
    if found is None:
        if position is not None:
            raise SourceFailed(
                f"{server} has no slot {slot} any more, so changes after {place_text(position)} are lost. "
                f"{_HOW_TO_GO_ON}"
            )
        row: Any = connection.execute(
            "SELECT lsn::text FROM pg_create_logical_replication_slot(%s, 'pgoutput')", (slot,)
        ).fetchone()
        return place(row[0])
    plugin, database, confirmed, status, current = found
    if plugin != "pgoutput" or database != current:
        raise DefinitionError(
            f"Slot {slot} of {server} has the plug-in {plugin} and belongs to database {database}. Use another name."
        )
    if status == "lost" or confirmed is None:
        raise SourceFailed(
            f"Slot {slot} of {server} is invalidated: its log was removed, since it held more than "
            f"max_slot_wal_keep_size, so changes after {place_text(position or 0)} are lost. Drop it with SELECT "
            f"pg_drop_replication_slot('{slot}'). {_HOW_TO_GO_ON}"
        )
    start = place(confirmed)
    if position is not None and position < start:
        raise SourceFailed(
            f"Slot {slot} of {server} has let go of the log up to {confirmed}, so changes from {place_text(position)} "
            f"to there are lost: another reader has used it, or tables were rolled back. {_HOW_TO_GO_ON}"
        )
    return start if position is None else position


_HOW_TO_GO_ON = (
    "Let keylake resnapshot, with the name of the pipeline, read all tables once more: rows that were deleted "
    "meanwhile are deleted then."
)
