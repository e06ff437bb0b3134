"""The verbs of every log, wherever its entries lie: in files on a disk, or in a topic of Kafka."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from keylake._log.frames import Frame


class Closed(Exception):  # noqa: N818  # a state and no error: callers say what it means for a table
    """The log takes no more entries."""


class LogReader(Protocol):
    """A place in a log. It is of one thread."""

    @property
    def number(self) -> int:
        """The number of the entry that comes next."""
        ...

    def new(self) -> Sequence[Frame]:
        """The durable entries that come next, some of them; none where there are none.

        Raises `SnapshotExpired` where they were removed, and `StoreFailed` where one is damaged or gone.
        """
        ...


class LogStore(Protocol):
    """The entries of a log, numbered from 0 on. Threads may share it, and so may processes that were forked."""

    @property
    def place(self) -> str:
        """The place of the entries, as people are told."""
        ...

    def write(self, entry: bytes, *, least: int = 0) -> int:
        """Append an entry, and give its number when it is durable.

        Numbers before `least` were given to others, so a log that has not come to it has lost entries.

        Raises `Closed`, `Unsupported` for an entry that is too long, `StoreFailed` where the log is gone, damaged or an
        older copy, `Unavailable` where nothing was appended that may be later, and `OutcomeUnknown`.
        """
        ...

    def close(self, *, is_closed: bool = True) -> int:
        """Take no more entries from anybody, or take them again, and give the number of the next one."""
        ...

    def reader(self, number: int) -> LogReader:
        """A reader that begins with a number."""
        ...

    def first(self) -> int:
        """The number of the oldest entry that is kept, or of the next one."""
        ...

    def durable(self) -> int:
        """The number before which all entries can be read."""
        ...

    def acknowledged(self) -> int:
        """The number before which all entries were acknowledged to who wrote them; some may not be readable yet."""
        ...

    def leave_out(self, until: int) -> None:
        """Have entries before a number passed over that cannot be read."""
        ...

    def say_moved(self, before: int) -> None:
        """Note that the entries before a number are in files of the table; they are kept for a time from now on."""
        ...

    def moved(self) -> int:
        """The number before which all entries were noted as moved."""
        ...

    def remove(self, before: int, *, older_than: float) -> None:
        """Delete entries before a number that are so many seconds old, or were noted as moved so long ago."""
        ...

    def delete(self) -> None:
        """Delete the log and all its entries."""
        ...
