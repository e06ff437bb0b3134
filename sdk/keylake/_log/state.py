"""The state of a log: how far it has got."""

from __future__ import annotations

from dataclasses import dataclass

from keylake._display.html_table import ShownFields


@dataclass(frozen=True)
class LogState(ShownFields):
    """The entries of a log by their numbers: from `first` on they are kept, before `moved` they are in files.

    >>> print(LogState("/data/lake/log", first=0, moved=120, end=123))
    log in /data/lake/log: entries 0 to 122, of which 3 are not in files yet
    """

    place: str
    first: int
    moved: int
    end: int  # the number of the next entry

    @property
    def waiting(self) -> int:
        """The number of entries that are not in files yet."""
        return max(0, self.end - self.moved)

    def __str__(self) -> str:
        if self.end == self.first:
            return f"log in {self.place}: no entries"
        few = "1 is" if self.waiting == 1 else f"{self.waiting:,} are"
        return f"log in {self.place}: entries {self.first} to {self.end - 1}, of which {few} not in files yet"
