"""Connections to a PostgreSQL server, and its errors as sentences with the next step; passwords are in none of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.string import TextLoader

from keylake.errors import DefinitionError, SourceFailed
from keylake_pipelines.source.absence import SourceAway

if TYPE_CHECKING:
    from typing import TypeAlias

    Connection: TypeAlias = psycopg.Connection[tuple[object, ...]]

# Texts of values are the same on every connection: those of snapshots and of the log are read alike. A sender of the
# log waits for whoever writes a long batch; a client that is gone is noticed by TCP.
_TEXTS = {
    "DateStyle": "ISO",
    "IntervalStyle": "iso_8601",
    "TimeZone": "UTC",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "wal_sender_timeout": "0",
    "tcp_keepalives_idle": "60",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "6",
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
}
_SECONDS_TO_CONNECT = 10
# A network that drops packets is noticed after half a minute, however long a statement or the log is silent.
_SILENCE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 4, "tcp_user_timeout": 30_000}

_NEXT_STEPS = {
    "28P01": "Check the user and the password.",
    "28000": "Check the user, and what pg_hba.conf allows from this machine.",
    "3D000": "Check the name of the database.",
    "42501": "The user needs the attribute REPLICATION and SELECT on the tables: ALTER ROLE name REPLICATION; "
    "GRANT SELECT ON ALL TABLES IN SCHEMA name TO name.",
    "53300": "Close other connections, or raise max_connections or max_wal_senders.",
    "42704": "Drop the slot and begin again without positions: the log from before the publication cannot be read.",
    "55006": "Stop the other reader, or give this source a slot of its own.",
    "XX001": "Mend the table, or leave it out.",
    "XX002": "Run REINDEX on the table.",
    "53400": "Drop slots that nobody reads (pg_replication_slots shows them), or raise max_replication_slots.",
}

# Codes, or how they begin, of what passes by itself: connections that break, a server that starts or stops, one that
# has not enough of something, a slot whose reader is gone and that has not noticed it, locks, calls that were ended.
_PASSING = ("08", "57", "53", "55006", "40", "55P03")
_LASTING = ("53400",)
_OF_A_STANDBY = re.compile(r"in a read-only transaction|(during|in) recovery|recovery is in progress|is starting up")


class Server:
    """The address of a database: a connection string or URL of libpq."""

    def __init__(self, conninfo: str) -> None:
        try:
            self._parts: dict[str, Any] = conninfo_to_dict(conninfo)
        except psycopg.ProgrammingError:
            # The error quotes the text, and a password in it.
            raise DefinitionError(
                "The address of PostgreSQL is no connection string of libpq. "
                "Write it as postgresql://user:password@host:5432/database, with % codes for special characters."
            ) from None
        own = str(self._parts.get("options") or "")
        texts = " ".join(f"-c {name}={value}" for name, value in _TEXTS.items())
        self._parts["options"] = f"{own} {texts}".strip()
        self._parts.setdefault("connect_timeout", _SECONDS_TO_CONNECT)
        self._parts.setdefault("application_name", "keylake")
        for name, value in _SILENCE.items():
            self._parts.setdefault(name, value)
        self._parts["client_encoding"] = "UTF8"
        self._address = make_conninfo("", **self._parts)

    def __str__(self) -> str:
        host, port = self._parts.get("host") or "localhost", self._parts.get("port") or 5432
        return f"PostgreSQL at {host}:{port}"

    def __repr__(self) -> str:
        return f"Server({self})"

    def sql(self) -> Connection:
        """A connection for statements, each a transaction of its own."""
        return self._connected()

    def texts(self) -> Connection:
        """A connection for statements whose values come as the texts that PostgreSQL shows, whatever their types."""
        connection = self._connected()
        for each in psycopg.adapters.types:
            for number in (each.oid, each.array_oid):
                connection.adapters.register_loader(number, TextLoader)
        return connection

    def replication(self) -> Connection:
        """A connection that also knows the statements of replication."""
        return self._connected(replication="database")

    def _connected(self, **more: str) -> Connection:
        return psycopg.connect(make_conninfo(self._address, **more), autocommit=True, prepare_threshold=None)

    def failed(self, error: psycopg.Error, doing: str) -> SourceFailed:
        """The sentence for an error of the server; `SourceAway` if what it tells of may pass."""
        said = error.diag.message_primary or _told_line(str(error))
        state = error.sqlstate or _state_of(said)
        next_step = _NEXT_STEPS.get(state or "", "Check that the server runs and takes connections from this machine.")
        if _OF_A_STANDBY.search(said):
            passes = True
        elif state is None:  # no answer, or one that libpq gives as a text
            passes = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) and "ERROR:" not in str(error)
        else:
            passes = state.startswith(_PASSING) and state not in _LASTING
        kind = SourceAway if passes else SourceFailed
        return kind(f"{self} failed at {doing}: {said.rstrip('.')}. {next_step}")


def _told_line(text: str) -> str:
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()] or ["the connection was closed"]
    told = [line for line in lines if re.search(r"FATAL|ERROR|failed", line)] or lines
    return re.sub(r"^.*?(?:FATAL|ERROR): *", "", told[0])


def _state_of(said: str) -> str | None:
    """The error's code, where a connection failed before libpq keeps codes."""
    texts = {
        r"password authentication failed|no password supplied": "28P01",
        r"pg_hba\.conf|role .* does not exist|not permitted to log in": "28000",
        r"database .* does not exist": "3D000",
        r"permission denied|must be superuser or replication role": "42501",
        r"too many (clients|connections)|remaining connection slots|max_wal_senders": "53300",
        r"publication .* does not exist": "42704",
        r"slot .* is active": "55006",
        r"all replication slots are in use": "53400",
    }
    return next((state for text, state in texts.items() if re.search(text, said)), None)
