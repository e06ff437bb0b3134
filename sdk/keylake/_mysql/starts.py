"""Where in its log a server is read from first: at a file and a byte, a time, or a set of GTIDs."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from keylake._mysql.log import BinaryLog, Transaction
from keylake._mysql.places import BEGINNING_OF_FILE, place_of
from keylake._mysql.server import LogFiles, Server, rows_of
from keylake.errors import DefinitionError

if TYPE_CHECKING:
    from pymysql.connections import Connection

# Events with which a file, or a transaction, begins.
_BEGINNINGS = ("Format_desc", "Gtid", "Anonymous_Gtid", "Gtid_list", "Previous_gtids", "Binlog_checkpoint", "Rotate")
_NO_EVENT_THERE = 1220  # the number of the server's error
_GTID = re.compile(r"\s*(\d+)-\d+-(\d+)\s*")


@dataclass(frozen=True)
class AtByte:
    """Where a transaction begins in a file."""

    file: str
    byte: int


@dataclass(frozen=True)
class AtTime:
    """The first transaction that is not older; the log has times in whole seconds."""

    moment: datetime


@dataclass(frozen=True)
class AtGtids:
    """The first transaction that is not in a set of MariaDB's GTIDs, `0-1-100,1-1-7`: the last one of each domain."""

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


def _of_gtids(
    server: Server, connection: Connection[Any], files: LogFiles, start: AtGtids, opened: Callable[[], BinaryLog]
) -> int:
    wanted = _last_ones(server, start.text)
    with server.asked("asking for its GTIDs"):
        if "mariadb" not in str(rows_of(connection, "SELECT VERSION()")[0][0]).lower():
            raise DefinitionError(
                f"{server.name} is no MariaDB, and sets of MySQL's GTIDs are not read in this version. "
                "Begin at a file and a position, or at a time."
            )
        newest = str(rows_of(connection, "SELECT @@GLOBAL.gtid_binlog_pos")[0][0])
        ahead = {domain for domain, last in wanted.items() if _last_ones(server, newest).get(domain, 0) < last}
        if ahead:
            raise DefinitionError(
                f"The log of {server.name} has come to {newest or 'no GTID'}, and {start.text!r} is ahead of it."
            )
        before = ""
        for file in reversed(list(files.sizes)):
            before = str(rows_of(connection, "SELECT BINLOG_GTID_POS(%s, 4)", [file])[0][0] or "")
            if all(last <= wanted.get(domain, 0) for domain, last in _last_ones(server, before).items()):
                break
        else:
            raise DefinitionError(
                f"The log of {server.name} begins at {before}: transactions behind {start.text!r} were purged. "
                "Begin with a snapshot."
            )

    def is_new(transaction: Transaction) -> bool:
        domain, number = transaction.gtid or (0, 0)
        return number > wanted.get(domain, 0)

    return _first(opened(), file, is_new)


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


def _last_ones(server: Server, text: str) -> dict[int, int]:
    """The number of the last transaction of each domain."""
    found = [_GTID.fullmatch(each) for each in text.split(",")] if text else []
    if None in found:
        raise DefinitionError(
            f"{text!r} is no set of GTIDs of MariaDB, as {server.name} has them: 0-1-100, commas between domains."
        )
    return {int(each[1]): int(each[2]) for each in found if each is not None}
