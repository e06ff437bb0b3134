"""Places in a binary log as numbers that grow: the number of the file, then the byte in it.

    mariadb-bin.000012, byte 4711   →   12 << 32 | 4711

A row's version is the place where its transaction begins, plus one, plus twice the number of the row in its
transaction, plus one for the second half of a changed key. An image of a row has at least two bytes in the log (which
columns are null, and a key that is not null), and a transaction has at least 40 bytes beside its rows, so these numbers
stay below the place where the transaction ends: versions of all rows differ and grow as the log does. The rows of a
snapshot as of a place are older than those of the transaction that begins there. (MariaDB 11 does not say where single
events are.)
"""

from __future__ import annotations

import re

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
