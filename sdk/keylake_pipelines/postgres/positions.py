"""Places in PostgreSQL's write-ahead log (LSNs) as numbers, and the versions of rows that come from them.

    a transaction's rows     commit × 1024 + the number of their part in the transaction
    rows of a snapshot       place of the snapshot × 1024 - 1

The order is that of commits, since that is the order in which transactions can be seen: the place where a row itself
was logged says nothing. An INSERT is logged before it waits for another transaction that holds the key, so a row can
lie in the log before the deletion of the row whose key it takes; and a snapshot can lack what was logged long before.
A commit takes at least 40 bytes of the log, so that 40,960 parts of one transaction fit before the next one's first.
These numbers are also the offsets of rows, and the positions of the log: a source can go on within a transaction.
"""

from __future__ import annotations

from keylake.errors import Unsupported

ROWS_OF_A_PART = 10_000
_PARTS_OF_A_BYTE = 1024
_BYTES_OF_A_COMMIT = 40
_MOST_PARTS = _PARTS_OF_A_BYTE * _BYTES_OF_A_COMMIT
_MOST_BYTES = 2**63 // _PARTS_OF_A_BYTE


def place(text: str) -> int:
    """The number of a place that PostgreSQL writes as two halves in hexadecimal digits.

    >>> place("16/B374D848")
    97500059720
    """
    high, _, low = text.partition("/")
    return int(high, 16) << 32 | int(low, 16)


def place_text(number: int) -> str:
    """A place as PostgreSQL writes it.

    >>> place_text(97500059720)
    '16/B374D848'
    """
    return f"{number >> 32:X}/{number & 0xFFFFFFFF:X}"


def version_of_part(commit: int, part: int) -> int:
    """The version of the rows of a part of a transaction.

    >>> version_of_part(40, 0) > version_of_snapshot(40) >= version_of_part(0, 40_959)
    True
    """
    if commit >= _MOST_BYTES:
        raise Unsupported(
            f"The write-ahead log has come to {place_text(commit)}, and versions have no place beyond "
            f"{place_text(_MOST_BYTES)}. Load the database into a new server, and begin with new tables."
        )
    if part >= _MOST_PARTS:
        raise Unsupported(
            f"The transaction at {place_text(commit)} is of more than {_MOST_PARTS * ROWS_OF_A_PART:,} changes, and "
            "versions tell no more apart. Begin anew from a snapshot after it."
        )
    return commit * _PARTS_OF_A_BYTE + part


def version_of_snapshot(consistent: int) -> int:
    """The version of the rows of a snapshot that has all commits before a place, and none from there on."""
    return version_of_part(consistent, 0) - 1


def commit_of(position: int) -> int:
    """The place of the log from which on a position has everything.

    >>> commit_of(version_of_part(40, 7))
    40
    """
    return position // _PARTS_OF_A_BYTE
