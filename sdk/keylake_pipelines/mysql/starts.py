"""The places in its log that a server is read from first: a file and a byte, a time, or a set of GTIDs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from keylake.errors import DefinitionError
from keylake_pipelines.mysql.log import BinaryLog
from keylake_pipelines.mysql.places import BEGINNING_OF_FILE, GtidSet, place_of
from keylake_pipelines.mysql.server import LogFiles, Server, rows_of
from keylake_pipelines.mysql.transactions import Transaction

if TYPE_CHECKING:
    from pymysql.connections import Connection

# Events with which a file, or a transaction, begins.
_BEGINNINGS = ("Format_desc", "Gtid", "Anonymous_Gtid", "Gtid_list", "Previous_gtids", "Binlog_checkpoint", "Rotate")
_NO_EVENT_THERE = 1220  # the number of the server's error


@dataclass(frozen=True)
class AtByte:
    """The place in a file where a transaction begins."""

    file: str
    byte: int


@dataclass(frozen=True)
class AtTime:
    """The first transaction that is not older; the log has times in whole seconds."""

    moment: datetime


@dataclass(frozen=True)
class AtGtids:
    """The first transaction that is not in a set of GTIDs, as the server writes sets."""

    text: str


Start: TypeAlias = Literal["snapshot", "latest", "earliest"] | AtByte | AtTime | AtGtids


def place_of_start(
    server: Server, connection: Connection[Any], files: LogFiles, start: Start, opened: Callable[[], BinaryLog]
) -> int:
    """The place of the log where a transaction begins. `opened` gives readers of the log that read no rows."""
    if isinstance(start, AtByte):
        return _of_byte(server, connection, files, start)
    if isinstance(start, AtTime):
        return _of_time(server, files, start, opened)
    if isinstance(start, AtGtids):
        return _of_gtids(server, connection, files, start, opened)
    return files.first if start == "earliest" else files.end


def _of_byte(server: Server, connection: Connection[Any], files: LogFiles, start: AtByte) -> int:
    if start.file not in files.sizes:
        raise DefinitionError(
            f"The log of {server.name} has no file {start.file!r}: it has {next(iter(files.sizes))} to {files.newest}."
        )
    byte, size = max(start.byte, BEGINNING_OF_FILE), files.sizes[start.file]
    if byte > size:
        raise DefinitionError(f"{start.file} of {server.name} ends at byte {size}, before {byte}.")
    wrong = (
        f"No transaction begins at byte {byte} of {start.file} of {server.name}. "
        f"SHOW BINLOG EVENTS IN '{start.file}' shows where: at events Gtid."
    )
    if byte < size:
        import pymysql

        with server.asked(f"looking at byte {byte} of {start.file}"):
            try:
                events = rows_of(connection, f"SHOW BINLOG EVENTS IN '{start.file}' FROM {byte} LIMIT 1")
            except pymysql.err.OperationalError as error:
                if error.args[0] != _NO_EVENT_THERE:
                    raise
                events = []
        if not events or events[0][2] not in _BEGINNINGS:
            raise DefinitionError(wrong)
    return place_of(start.file, byte)


def _of_time(server: Server, files: LogFiles, start: AtTime, opened: Callable[[], BinaryLog]) -> int:
    seconds = int(start.moment.timestamp())
    if seconds > time.time():
        raise DefinitionError(f"{start.moment.isoformat()} is in the future. Begin at the latest place.")
    names = list(files.sizes)
    low, high = 0, len(names)  # files before `low` began before the second, those from `high` on in it or later
    while low < high:
        middle = (low + high) // 2
        if opened().when_begun(names[middle]) < seconds:
            low = middle + 1
        else:
            high = middle
    file = names[max(low - 1, 0)]
    if low == 0 and (oldest := opened().when_begun(file)) > seconds:
        since = datetime.fromtimestamp(oldest, timezone.utc)
        raise DefinitionError(
            f"The log of {server.name} goes back to {since.isoformat()}, not to {start.moment.isoformat()}. "
            "Begin with a snapshot, or at the earliest place."
        )
    return _first(opened(), file, lambda transaction: transaction.at is not None and transaction.at >= seconds)


def _before_in_mariadb(connection: Connection[Any], file: str) -> str:
    """The transactions before a file of the log."""
    return str(rows_of(connection, "SELECT BINLOG_GTID_POS(%s, 4)", [file])[0][0] or "")


def _before_in_mysql(connection: Connection[Any], file: str) -> str:
    events = rows_of(connection, f"SHOW BINLOG EVENTS IN '{file}' LIMIT 3")
    return next((str(event[5]) for event in events if event[2] == "Previous_gtids"), "")


@dataclass(frozen=True)
class _Words:
    """The words of one of the two servers for sets of GTIDs."""

    form: str
    parsed: Callable[[str], GtidSet | None]
    newest: str  # the variable of the transactions that the log has
    before: Callable[[Connection[Any], str], str]


_OF_MARIADB = _Words(
    "MariaDB's are 0-1-100, commas between domains", GtidSet.of_mariadb, "gtid_binlog_pos", _before_in_mariadb
)
_OF_MYSQL = _Words(
    "MySQL's are 3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5, commas between servers, no tags",
    GtidSet.of_mysql,
    "gtid_executed",
    _before_in_mysql,
)


def _of_gtids(
    server: Server, connection: Connection[Any], files: LogFiles, start: AtGtids, opened: Callable[[], BinaryLog]
) -> int:
    with server.asked("asking for its GTIDs"):
        is_mariadb = "mariadb" in str(rows_of(connection, "SELECT VERSION()")[0][0]).lower()
        words = _OF_MARIADB if is_mariadb else _OF_MYSQL

        def parsed(text: str, whose: str) -> GtidSet:
            found = words.parsed(text)
            if found is None:
                raise DefinitionError(f"{whose} {text!r} is no set of GTIDs that is read here: {words.form}.")
            return found

        wanted = parsed(start.text, "The start")
        newest = str(rows_of(connection, f"SELECT @@GLOBAL.{words.newest}")[0][0])
        if not parsed(newest, f"What {server.name} has,").has_all(wanted):
            raise DefinitionError(
                f"The log of {server.name} has come to {newest or 'no GTID'}, and {start.text!r} is ahead of it."
            )
        before = ""
        for file in reversed(list(files.sizes)):
            before = words.before(connection, file)
            if wanted.has_all(parsed(before, f"What {server.name} had before {file},")):
                break
        else:
            raise DefinitionError(
                f"The log of {server.name} begins at {before}: transactions behind {start.text!r} were purged. "
                "Begin with a snapshot."
            )
    return _first(opened(), file, lambda each: each.gtid is not None and not wanted.has(each.gtid))


def _first(log: BinaryLog, file: str, is_wanted: Callable[[Transaction], bool]) -> int:
    """The place of the first transaction from a file on that is wanted; the end of the log where there is none."""
    log.open(file, BEGINNING_OF_FILE)
    place = place_of(file, BEGINNING_OF_FILE)
    for transaction in log.transactions():
        if is_wanted(transaction):
            break
        place = transaction.end
    log.close()
    return place
