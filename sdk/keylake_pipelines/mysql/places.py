"""Places in a binary log as numbers that grow: the number of the file, then the byte in it.

    mariadb-bin.000012, byte 4711   →   12 << 32 | 4711

A row's version is the place where its transaction begins, plus one, plus twice the number of the row in its
transaction, plus one for the second half of a changed key. An image of a row has at least two bytes in the log (which
columns are null, and a key that is not null), and a transaction has at least 40 bytes beside its rows, so these numbers
stay below the place where the transaction ends: versions of all rows differ and grow as the log does. The rows of a
snapshot as of a place are older than those of the transaction that begins there. (MariaDB 11 does not say where single
events are.)

Sets of GTIDs say which transactions somebody has, by the domain (MariaDB) or the server (MySQL) that has counted them:

    MariaDB   0-1-100,7-1-5                       the last one of each domain, and all before it
    MySQL     3e11fa47-71ca-11e1-9e33-...:1-5:8   ranges of numbers
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

BITS = 32
BEGINNING_OF_FILE = 4  # the first four bytes say that it is a binary log
_NAME = re.compile(r"(?P<base>.+)\.(?P<number>\d+)")


def place_of(file: str, byte: int) -> int:
    """The number of a place.

    >>> place_of("mariadb-bin.000012", 4711) == 12 << 32 | 4711
    True
    """
    return number_of(file) << BITS | byte


def number_of(file: str) -> int:
    """The number that a file of the log has in its name."""
    found = _NAME.fullmatch(file)
    if found is None:
        raise ValueError(f"{file!r} is no name of a file of a binary log.")
    return int(found["number"])


def file_and_byte(place: int, newest: str) -> tuple[str, int]:
    """The name of the file of a place, which differs in its number only from that of the newest file; and the byte.

    >>> file_and_byte(12 << 32 | 4711, "mariadb-bin.000034")
    ('mariadb-bin.000012', 4711)
    """
    found = _NAME.fullmatch(newest)
    if found is None:
        raise ValueError(f"{newest!r} is no name of a file of a binary log.")
    number = str(place >> BITS).zfill(len(found["number"]))
    return f"{found['base']}.{number}", max(place & (1 << BITS) - 1, BEGINNING_OF_FILE)


def version_of(transaction_begins: int, row: int) -> int:
    """The version of the row of that number, from 0, in the transaction that begins at a place; one more is free."""
    return transaction_begins + 1 + 2 * row


Gtid = tuple[str, int]

_OF_MARIADB = re.compile(r"\s*(\d+)-\d+-(\d+)\s*")
_RANGES = r"\d+(?:-\d+)?(?:\s*:\s*\d+(?:-\d+)?)*"
_OF_MYSQL = re.compile(rf"\s*([0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}})\s*:\s*({_RANGES})\s*", re.IGNORECASE)


@dataclass(frozen=True)
class GtidSet:
    """Numbers from the first to the last of each range, by who has counted them. Ranges do not touch each other."""

    ranges: Mapping[str, tuple[tuple[int, int], ...]]

    @classmethod
    def of_mariadb(cls, text: str) -> GtidSet | None:
        """The set of a position in MariaDB's form; None for another text.

        >>> GtidSet.of_mariadb("0-1-100,7-1-5").ranges
        {'0': ((1, 100),), '7': ((1, 5),)}
        """
        found = [_OF_MARIADB.fullmatch(each) for each in text.split(",")] if text else []
        if None in found:
            return None
        return cls({each[1]: ((1, int(each[2])),) for each in found if each is not None})

    @classmethod
    def of_mysql(cls, text: str) -> GtidSet | None:
        """A set of MySQL, without tags; None for another text.

        >>> GtidSet.of_mysql("3E11FA47-71CA-11E1-9E33-C80AA9429562:8:1-5:6").ranges
        {'3e11fa47-71ca-11e1-9e33-c80aa9429562': ((1, 6), (8, 8))}
        """
        found: dict[str, list[tuple[int, int]]] = {}
        for each in text.split(",") if text.strip() else []:
            parts = _OF_MYSQL.fullmatch(each)
            if parts is None:
                return None
            for stretch in parts[2].split(":"):
                first, _, last = stretch.strip().partition("-")
                found.setdefault(parts[1].lower(), []).append((int(first), int(last or first)))
        return cls({name: _joined(ranges) for name, ranges in found.items()})

    def has(self, gtid: Gtid) -> bool:
        """A transaction is in the set."""
        source, number = gtid
        return any(first <= number <= last for first, last in self.ranges.get(source, ()))

    def has_all(self, other: GtidSet) -> bool:
        """The set has all transactions of another set.

        >>> one = GtidSet.of_mariadb("0-1-100")
        >>> one.has_all(GtidSet.of_mariadb("0-2-99")), one.has_all(GtidSet.of_mariadb("0-1-1,7-1-1"))
        (True, False)
        """
        return all(
            any(first <= begin and end <= last for first, last in self.ranges.get(source, ()))
            for source, ranges in other.ranges.items()
            for begin, end in ranges
        )


def _joined(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The ranges, sorted, and as one where they overlap or touch."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return tuple(joined)
