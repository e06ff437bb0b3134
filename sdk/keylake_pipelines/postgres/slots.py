"""The conditions under which a server's log can be read: a version, a level of logging, rights, a slot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keylake.errors import DefinitionError, SourceFailed
from keylake_pipelines.postgres.positions import place, place_text
from keylake_pipelines.postgres.publications import Publication
from keylake_pipelines.postgres.server import Server
from keylake_pipelines.postgres.tables import Catalog
from keylake_pipelines.source.absence import SourceAway

if TYPE_CHECKING:
    from keylake_pipelines.postgres.server import Connection

_ROLE = """
    SELECT current_user::text,
           (SELECT rolreplication OR rolsuper FROM pg_roles WHERE rolname = current_user)
           OR EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'rds_replication' AND pg_has_role(oid, 'MEMBER'))"""

_UNREADABLE = """
    SELECT c.oid::int8, format('%%I.%%I', n.nspname, c.relname), may_read
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, LATERAL (
        SELECT has_schema_privilege(n.oid, 'USAGE') AND NOT EXISTS (
            SELECT FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
            AND NOT has_column_privilege(c.oid, attnum, 'SELECT')) AS may_read) AS rights
    WHERE c.oid::int8 = ANY(%s) AND (NOT may_read OR row_security_active(c.oid))"""

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
        user, may_replicate = connection.execute(_ROLE).fetchone() or ("", True)
        role = "" if may_replicate else f" And have a superuser run ALTER ROLE {user} REPLICATION."
        raise DefinitionError(
            f"{server} has wal_level {level}, which does not log rows. Run ALTER SYSTEM SET wal_level = logical, "
            f"and start the server again.{role}"
        )
    if is_standby:
        raise SourceAway(f"{server} is a standby, where no publication can be made. Promote it, or use its primary.")


def admitted(
    server: Server, connection: Connection, publication: Publication, catalog: Catalog, *, is_first: bool
) -> tuple[Catalog, frozenset[int]]:
    """The catalog, in which tables that the user may not read, or that are not published whole, are refused.

    And the tables that were added to the publication. What the user lacks for all tables is told at once.
    """
    user, may_replicate = connection.execute(_ROLE).fetchone() or ("", False)
    numbers: dict[int, int] = {each.number: table for table, rows in catalog.rows.items() for each in rows}
    found: Any = connection.execute(_UNREADABLE, ([*{*numbers, *catalog.tables}],)).fetchall()
    unreadable: dict[int, list[str]] = {}
    filtered: dict[int, list[str]] = {}
    for number, name, may_read in found:
        root = numbers[number] if number in numbers else int(number)
        (filtered if may_read else unreadable).setdefault(root, []).append(name)
    grants = {number: f"GRANT SELECT ON {', '.join(names)} TO {user}" for number, names in unreadable.items()}
    missing = [] if may_replicate else [f"ALTER ROLE {user} REPLICATION"]
    said = "; ".join([*missing, *sorted(grants.values())])
    try:
        published, added = publication.checked(connection, catalog, is_first=is_first)
    except SourceFailed as error:
        raise SourceFailed(f"{error}{f' And have run: {said}.' if said else ''}") from None
    if missing:
        raise SourceFailed(f"{server} does not let user {user} read its log. Have a superuser run {said}.")
    reasons = {
        number: f"User {user} may not read the table. Run {grant} (and GRANT USAGE ON its schema), then let keylake "
        "resnapshot read it once more."
        for number, grant in grants.items()
    }
    policies = {
        number: f"Policies (row-level security) of {', '.join(names)} hide rows from user {user}, and the log has all "
        f"of them. Have a superuser run ALTER ROLE {user} BYPASSRLS, then let keylake resnapshot read the table once "
        "more; or leave the table out."
        for number, names in filtered.items()
    }
    return published.refusing({**policies, **reasons}), added


def end_of_log(connection: Connection) -> int:
    """The place up to which the log is written."""
    row: Any = connection.execute("SELECT pg_current_wal_flush_lsn()::text").fetchone()
    return place(row[0])


def start_of_slot(server: Server, connection: Connection, slot: str, position: int | None) -> int:
    """The place from which the log is read: the position, or the slot's own; makes the slot if nothing was read yet."""
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
