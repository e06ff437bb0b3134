"""A server of MariaDB or MySQL: connections to it, what it says of its log and tables, and why it refuses."""

# pyright: reportUnknownParameterType=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

import socket
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from keylake.errors import DefinitionError, KeylakeError, SourceFailed
from keylake_pipelines.mysql.places import BITS, file_and_byte, number_of, place_of
from keylake_pipelines.mysql.values.charsets import lacks, learn
from keylake_pipelines.mysql.values.literals import columns_in
from keylake_pipelines.source.absence import SourceAway

if TYPE_CHECKING:
    from pymysql.connections import Connection


_BYTES_AT_ONCE = 4 * 2**20  # of rows whose columns are taken out
_WRONG_PASSWORD = (1045, 1698)
_NO_PRIVILEGE = (1044, 1142, 1143, 1227, 1370, 3118)
_UNREACHABLE = (2003, 2005, 2006, 2013, 2014, 1053, 1077, 1317, 1927, 1129, 1040)
_LOG_NOT_THERE = (1236,)
_BYTES = 256
_STATUS = "_read_status_vars_value_for_key"
_FLAGS, _SQL_MODE = 0, 1  # codes of what stands in front of a statement, the first two of each
_PRIVILEGES = "SELECT, REPLICATION SLAVE, REPLICATION CLIENT"


@dataclass(frozen=True)
class Server:
    """The address of a server, and the user as whom it is asked. The password is never shown."""

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    connect_seconds: float = 10
    answer_seconds: float = 120  # of a statement, or of the next piece of the log; after that the server is away
    rows_seconds: float = 600  # of rows of a snapshot, which may wait for locks

    @property
    def name(self) -> str:
        """The name of the server's log in positions."""
        return f"mysql:{self.host}:{self.port}"

    def settings(self, answer_seconds: float | None = None) -> dict[str, Any]:
        return {
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "password": self.password,
            "charset": "utf8mb4",
            "connect_timeout": self.connect_seconds,
            "read_timeout": answer_seconds or self.answer_seconds,
            "write_timeout": self.answer_seconds,
            "autocommit": True,
        }

    def connect(self, answer_seconds: float | None = None) -> Connection[Any]:
        """A connection that gives values as the text in which the server sends them."""
        try:
            import pymysql
            from pymysql.converters import conversions
        except ModuleNotFoundError:
            raise DefinitionError(
                "MariaDB and MySQL are read with the package mysql-replication, which is not installed."
                " Run: pip install 'keylake[pipelines]'"
            ) from None
        encoders: dict[Any, Any] = {kind: encode for kind, encode in conversions.items() if not isinstance(kind, int)}
        with self.asked("connecting"):
            connection = pymysql.connect(**self.settings(answer_seconds), conv=encoders)
            notice_silence(connection)
            with connection.cursor() as cursor:
                cursor.execute("SET SESSION time_zone = '+00:00', sql_mode = '', net_write_timeout = 3600")
        return connection

    @contextmanager
    def asked(self, doing: str) -> Generator[None]:
        """Turns what the server refuses into one sentence."""
        import pymysql

        try:
            yield
        except pymysql.err.InterfaceError as error:  # of a connection that is closed already
            raise SourceAway(f"{self.name} has ended a connection while {doing}: {error}.") from None
        except pymysql.MySQLError as error:
            raise self._refused(error, doing) from None
        except (OSError, EOFError) as error:
            raise SourceAway(
                f"{self.name} does not answer while {doing}: {error}. Start it, or check host and port."
            ) from None

    def _refused(self, error: Exception, doing: str) -> KeylakeError:
        code = error.args[0] if error.args else 0
        said = str(error.args[1] if len(error.args) > 1 else error)
        if self.password:
            said = said.replace(self.password, "***")
        if code in _WRONG_PASSWORD:
            return DefinitionError(f"{self.name} refuses the user {self.user!r} or the password. Correct them.")
        if code in _NO_PRIVILEGE:
            return DefinitionError(
                f"The user {self.user!r} of {self.name} has not all privileges for {doing}: {said}."
                f" Run: GRANT {_PRIVILEGES} ON *.* TO {self.user}"
            )
        if code in _LOG_NOT_THERE and "checksum" in said:
            return SourceFailed(
                f"The log of {self.name} has checksums from before binlog_checksum was NONE."
                " Run: SET GLOBAL binlog_checksum = 'CRC32', then go on."
            )
        if code in _LOG_NOT_THERE:
            return SourceFailed(
                f"{self.name} cannot give its log from there: {said}. It was reset, or files of it are damaged."
                " Let keylake resnapshot, with the name of the pipeline, read all tables once more."
            )
        if code in _UNREACHABLE or not isinstance(code, int):  # without a code: packets of a connection that broke
            return SourceAway(f"{self.name} does not answer while {doing}: {said}. Start it, or check host and port.")
        return SourceFailed(f"{self.name} has failed while {doing}: {said} (error {code}).")


def notice_silence(connection: Any) -> None:
    """A network that drops packets is noticed after half a minute, however long the server works at an answer."""
    for option, seconds in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 4)):
        if hasattr(socket, option):
            connection._sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), seconds)


class StreamConnections:
    """Connections for mysql-replication, which has an old name of an argument that warns.

    One of them, without a database, is the stream, and is made once: where the library would make it anew after a cut,
    it would go on within a transaction, whose first rows are forgotten then.
    """

    def __init__(self) -> None:
        self._has_stream = False

    def __call__(self, db: str | None = None, **settings: Any) -> Any:
        import pymysql
        from pymysql.constants import CR

        if db is None and self._has_stream:
            raise pymysql.err.OperationalError(CR.CR_SERVER_LOST, "the connection was cut")
        self._has_stream = self._has_stream or db is None
        connection = pymysql.connect(database=db, **settings)
        notice_silence(connection)
        return connection


def read_newer_statements() -> None:
    """Lets mysql-replication (1.0.17) pass over what MariaDB 11 writes in front of a statement, which it refuses.

    All but the sql_mode of its session, which says how it is read.
    """
    from pymysqlreplication.event import QueryEvent

    def pass_over(event: Any, key: int) -> None:
        left = event.status_vars_length - 1
        event.sql_mode = 0
        if key == _FLAGS and left >= 13:
            event.packet.advance(4)
            is_mode = event.packet.read_uint8() == _SQL_MODE
            event.sql_mode = event.packet.read_uint64() if is_mode else 0
            left -= 13 if is_mode else 5
        event.packet.advance(left)

    setattr(QueryEvent, _STATUS, pass_over)


def rows_of(connection: Connection[Any], statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
    """The rows of an answer, all at once."""
    with connection.cursor() as cursor:
        cursor.execute(statement, tuple(values) or None)
        return list(cursor.fetchall())


def values_of(connection: Connection[Any], statement: str, values: Sequence[object] = ()) -> Iterator[list[pa.Array]]:
    """The columns of an answer that was read, some rows at a time, in bytes as the server sends them.

    A row is a packet, in which every value stands behind its length: taking columns out of many of them at once needs a
    fifth of the time that pymysql needs for rows.
    """
    from pymysql.connections import MySQLResult
    from pymysql.constants.COMMAND import COM_QUERY

    class Packets(MySQLResult):
        def _read_row_from_packet(self, packet: Any) -> bytes:
            data: bytes = packet.get_all_data()
            return data

    with connection.cursor() as cursor:
        asked = cursor.mogrify(statement, tuple(values) or None)
    given: Any = connection
    given._execute_command(COM_QUERY, asked)
    result: Any = Packets(given)
    result.read()
    return (columns_in(some, result.field_count) for some in _parts(result.rows))


def _parts(packets: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """Parts of a few megabytes, or of one row."""
    begin = size = 0
    for end, packet in enumerate(packets):
        size += len(packet)
        if size > _BYTES_AT_ONCE:
            yield packets[begin : end + 1]
            begin, size = end + 1, 0
    if begin < len(packets):
        yield packets[begin:]


def variables(connection: Connection[Any]) -> dict[str, str]:
    """The settings of the server that concern its logs, by their names in lower case."""
    return {name.lower(): value for name, value in rows_of(connection, "SHOW GLOBAL VARIABLES LIKE '%log%'")}


@dataclass(frozen=True)
class LogFiles:
    """The files of the log that the server still has, with their sizes, and where the log ends."""

    sizes: Mapping[str, int]
    newest: str
    end: int

    @property
    def first(self) -> int:
        return place_of(next(iter(self.sizes)), 4)

    def behind(self, place: int) -> int:
        """Bytes of the log behind a place."""
        number, byte = place >> BITS, place & (1 << BITS) - 1
        later = sum(size for file, size in self.sizes.items() if number_of(file) > number)
        return later + sum(max(size - byte, 0) for file, size in self.sizes.items() if number_of(file) == number)


def log_files(server: Server, connection: Connection[Any]) -> LogFiles:
    """The files of the binary log, with their sizes in bytes."""
    with server.asked("asking for the files of its log"):
        sizes = {row[0]: int(row[1]) for row in rows_of(connection, "SHOW BINARY LOGS")}
        file, byte = log_end(connection)
    return LogFiles({**sizes, file: max(byte, sizes.get(file, 0))}, file, place_of(file, byte))


def log_end(connection: Connection[Any]) -> tuple[str, int]:
    """The file and the byte where the log ends."""
    file, byte, *_ = log_status(connection)
    return file, int(byte)


def log_status(connection: Connection[Any]) -> tuple[Any, ...]:
    """The file and the byte where the log ends, and the databases that it has, or has not."""
    import pymysql

    try:
        (found, *_) = rows_of(connection, "SHOW MASTER STATUS")
    except pymysql.err.ProgrammingError:  # MySQL 8.4 has another word
        (found, *_) = rows_of(connection, "SHOW BINARY LOG STATUS")
    return found


def check_log(server: Server, connection: Connection[Any]) -> None:
    """Refuses a server whose log does not have what keylake needs."""
    with server.asked("asking for its settings"):
        said = variables(connection)
    wanted = {
        "log_bin": ("ON", "start it with --log-bin and --server-id"),
        "binlog_format": ("ROW", "run: SET GLOBAL binlog_format = 'ROW', and end the sessions that were opened before"),
        "binlog_row_metadata": (
            "FULL",
            "run: SET GLOBAL binlog_row_metadata = 'FULL' (MariaDB 10.5, MySQL 8.0.1), and begin with a snapshot",
        ),
        "log_bin_compress": ("OFF", "run: SET GLOBAL log_bin_compress = OFF"),
        "binlog_transaction_compression": ("OFF", "run: SET GLOBAL binlog_transaction_compression = OFF"),
    }
    found = {name: said.get(name, "OFF" if wanted[name][0] == "OFF" else "unknown to this server") for name in wanted}
    wrong = [
        f"{name} of {server.name} is {found[name]}, and has to be {value}: {step}."
        for name, (value, step) in wanted.items()
        if found[name].upper() != value
    ]
    if "OFF" in (said.get("log_replica_updates"), said.get("log_slave_updates")) and _is_replica(server, connection):
        wrong.append(
            f"{server.name} is a replica, and log_replica_updates (MariaDB: log_slave_updates) is OFF, so that its log"
            " lacks what it copies: start it with --log-replica-updates, or read the primary."
        )
    if wrong:
        raise DefinitionError(" ".join(wrong))


def _is_replica(server: Server, connection: Connection[Any]) -> bool:
    """The server copies another one; False, too, where the user may not know it."""
    import pymysql

    with server.asked("asking whether it is a replica"):
        try:
            return bool(rows_of(connection, "SHOW REPLICA STATUS"))
        except pymysql.err.OperationalError as error:
            if error.args[0] not in _NO_PRIVILEGE:
                raise
            return False


def check_place(server: Server, files: LogFiles, place: int) -> tuple[str, int]:
    """The file and the byte of a place, if the log still has them."""
    file, byte = file_and_byte(place, files.newest)
    if place < files.first and file not in files.sizes:
        raise SourceFailed(
            f"{server.name} has purged {file}, which was not read to its end: changes up to"
            f" {next(iter(files.sizes))} are lost."
            " Let keylake resnapshot, with the name of the pipeline, read all tables once more."
            " Keep the log longer (binlog_expire_logs_seconds)."
        )
    if file not in files.sizes or byte > files.sizes[file]:
        raise SourceFailed(_other_log(server, f"it ends at {files.newest}, before {file}:{byte} which was read"))
    return file, byte


def _other_log(server: Server, why: str) -> str:
    return (
        f"The log of {server.name} is not the one that was read: {why}. It was reset, or another server took over."
        " Versions have to grow: run RESET MASTER TO (MySQL 8.4: RESET BINARY LOGS AND GTIDS TO) a number above that"
        " of the file that was read, then begin with a new snapshot, or snapshot into new tables."
    )


def other_log(server: Server, file: str) -> SourceFailed:
    """The refusal of a log whose file of that name began at another time."""
    return SourceFailed(_other_log(server, f"its file {file} began at another time"))


_CHARSETS = (
    "SELECT id, character_set_name FROM information_schema.collation_character_set_applicability WHERE id IS NOT NULL",
    "SELECT id, character_set_name FROM information_schema.collations WHERE id IS NOT NULL",
)


def charsets(server: Server, connection: Connection[Any]) -> dict[int, str]:
    """The character sets by the numbers of collations that the log has."""
    import pymysql

    found: dict[int, str] = {}
    with server.asked("asking for its character sets"):
        for statement in _CHARSETS:  # collations of MariaDB 11 have several numbers; MySQL has no number in the first
            try:
                found = {int(number): name for number, name in rows_of(connection, statement)}
                break
            except pymysql.err.OperationalError:
                continue
        for name in sorted(filter(lacks, set(found.values()))):
            told = f"SELECT CONVERT(CONVERT(x'{bytes(range(256)).hex()}' USING {name}) USING utf8mb4)"
            characters = rows_of(connection, told)[0][0]
            if characters is not None and len(characters) == _BYTES:
                learn(name, characters)
    return found
