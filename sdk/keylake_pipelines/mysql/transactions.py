"""Transactions of the log: their rows, what takes a part of them back, and what events say of where they begin and end.

    MySQL     GTID, BEGIN,  rows, statements ..., COMMIT | Xid | ROLLBACK
    MariaDB   GTID (not standalone),  the same    ─ one statement: GTID (standalone), statement

A statement of no table ends a transaction only where it stands alone: temporary tables are made within transactions.
"""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass, field
from typing import Any

from keylake_pipelines.mysql.differences import Outcome
from keylake_pipelines.mysql.places import Gtid, version_of
from keylake_pipelines.mysql.rows import Rows
from keylake_pipelines.mysql.words import Name
from keylake_pipelines.source.tables import TableChange

SAVEPOINT = re.compile(r"SAVEPOINT\s+(?P<name>.+)", re.IGNORECASE | re.DOTALL)
BACK_TO = re.compile(r"ROLLBACK\s+(?:WORK\s+)?TO\s+(?:SAVEPOINT\s+)?(?P<name>.+)", re.IGNORECASE | re.DOTALL)
# Flags of MariaDB's events of GTIDs, and of the byte that may stand behind them.
STANDALONE, _HAS_COMMIT_ID, _OF_XA = 1, 2, 64 | 128
START_ALTER, ROLLBACK_ALTER = 2, 8
_OF_TEMPORARY_TABLES = 4  # a flag of a statement's event
_MOST_PREPARED = 1000  # rows of a transaction that are kept until it is committed


@dataclass
class Transaction:
    """The changes that were committed at once, and the place behind them."""

    rows: Rows
    end: int = 0
    at: int | None = None
    gtid: Gtid | None = None
    before: list[TableChange] = field(default_factory=list)  # hold for its own rows
    outcome: Outcome = field(default_factory=Outcome)
    tables: set[Name] = field(default_factory=set[Name])  # of its rows
    refers: bool = False  # a statement with foreign keys, or with tables that have others
    _saved: dict[str, int] = field(default_factory=dict)  # the number of rows before each savepoint

    def save(self, name: str) -> None:
        """A savepoint, or another one of its name."""
        self._saved.pop(_savepoint(name), None)
        self._saved[_savepoint(name)] = len(self.rows)

    def roll_back_to(self, name: str) -> bool:
        """Take the rows behind a savepoint back; False where it is not known."""
        kept = self._saved.get(_savepoint(name))
        if kept is not None:
            self.rows.cut(kept)
        return kept is not None


def _savepoint(name: str) -> str:
    """The name of a savepoint, in the one way in which it is compared.

    >>> _savepoint("`a``B`"), _savepoint("ab")
    ('a`b', 'ab')
    """
    bare = name.strip()
    return (bare[1:-1].replace("``", "`") if bare.startswith("`") else bare).lower()


class Prepared:
    """The rows and tables of a transaction that is prepared (XA), and becomes true when it is committed.

    Its rows get versions of the commit, which takes few bytes of the log: where they do not suffice, the tables are
    read once more, and rows are not kept.
    """

    def __init__(self, rows: Rows, begins: int, tables: Set[Name], again: Set[Name], stale: Set[Name]) -> None:
        self._rows = rows if rows.images <= _MOST_PREPARED else None
        self._begins = begins
        self.tables = tables
        self.again = again
        self.stale = stale

    def committed(self, begins: int, ends: int) -> Rows | None:
        """The rows as of a commit that lies between two places of the log; None where they do not fit."""
        if self._rows is None or version_of(begins, self._rows.images) > ends:
            return None
        return self._rows.moved(begins - self._begins)


def events_that_are_read(*, with_gtids: bool) -> list[type[Any]]:
    """The kinds of events of a log; MariaDB's GTIDs say where transactions begin, MySQL's only who has counted them."""
    from pymysqlreplication import event, row_event

    kinds: list[type[Any]] = [
        row_event.DeleteRowsEvent,
        event.ExecuteLoadQueryEvent,
        event.FormatDescriptionEvent,
        event.MariadbGtidEvent,
        event.NotImplementedEvent,
        row_event.PartialUpdateRowsEvent,
        event.QueryEvent,
        row_event.TableMapEvent,
        row_event.UpdateRowsEvent,
        row_event.WriteRowsEvent,
        event.XAPrepareEvent,
        event.XidEvent,
    ]
    return [*kinds, event.GtidEvent] if with_gtids else kinds


def is_of_temporary_tables(event: Any) -> bool:
    """The statement of an event was about temporary tables of its session, whatever their names."""
    return bool(event.packet.flags & _OF_TEMPORARY_TABLES)


def phase_of_alter(event: Any) -> int:
    """The flags behind an event of a GTID: an ALTER is announced, done or taken back (binlog_alter_two_phase)."""
    rest: bytes = event.packet.read(event.event_size - 13)
    at = 8 if event.flags & _HAS_COMMIT_ID else 0
    if event.flags & _OF_XA and len(rest) > at + 5:
        at += 6 + rest[at + 4] + rest[at + 5]
    return rest[at] if len(rest) > at else 0


def loading(event: Any) -> tuple[str, str]:
    """A statement LOAD DATA, and its database, of which mysql-replication reads what stands before them."""
    parts: bytes = event.packet.read(event.event_size - 26)[event.status_vars_length :]
    database, _, statement = parts.partition(b"\0")
    return statement.decode(errors="replace"), database.decode(errors="replace")
