"""Tables whose rows may have changed without rows in the log: they are read once more, and why is said once."""

from __future__ import annotations

import logging

from keylake_pipelines.mysql.cascades import Cascades, may_have_triggers
from keylake_pipelines.mysql.known import KnownTables
from keylake_pipelines.mysql.server import Server
from keylake_pipelines.mysql.words import Name, names_of

LOG = logging.getLogger("keylake")


class Unlogged:
    """Finds such tables of a server."""

    def __init__(self, server: Server, tables: KnownTables) -> None:
        self._server = server
        self._tables = tables
        self._told: set[Name] = set()  # tables with statements instead of rows

    def by_statement(self, statement: str, database: str, cascades: Cascades) -> set[Name]:
        """The tables that a statement may have changed, of a session with another binlog_format than ROW.

        They are those that it names, and their children by foreign keys. Where it names none, a function may write to
        any table of the database, and a trigger to any table at all.
        """
        names = names_of(statement, database)
        known = self._tables.schemas().keys()
        refused = {each.table.parts for each in self._tables.refused()}
        found = known & names or {name for name in known if name[0] == database and not refused & names}
        for name in names & cascades.parents:
            children = cascades.changed(name, None) | cascades.changed(name, cascades.referenced(name))
            found |= known & children
        if known - found and may_have_triggers(self._server, names):
            found |= known
        if found - self._told:
            self._told |= found
            LOG.warning(
                "The log of %s has statements instead of rows: a session has another binlog_format than ROW. After each"
                " of them %s is read once more: the tables that it names, and those that foreign keys and triggers may"
                " have changed. End that session; a user with the right TRIGGER sees where there are no triggers.",
                *(self._server.name, ", ".join(sorted(".".join(name) for name in found))),
            )
        return found

    def lost(self) -> set[Name]:
        """All tables: the server says that its log lacks events, and not of which tables."""
        LOG.warning(
            "The log of %s says that changes of rows are lost: a statement was larger than the cache of the log, or a"
            " write to the log failed. All tables are read once more.",
            self._server.name,
        )
        return {*self._tables.schemas()}
