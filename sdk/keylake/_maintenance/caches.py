"""Caches of a server: what each keeps in memory, and how often it answered."""

from __future__ import annotations

from dataclasses import dataclass

from keylake._display.html_table import ShownFields
from keylake._maintenance.compaction import shown_bytes


@dataclass(frozen=True)
class CacheUse(ShownFields):
    """A cache of the server's process: its values, their bytes in memory, and the questions since the server began.

    >>> print(CacheUse("footers", values=12, bytes=48_000, most_bytes=96_000_000, hits=30, misses=12))
    footers: 12 values in 46.9 KiB of at most 91.6 MiB, 30 of 42 questions answered
    """

    cache: str  # metadata | manifests | footers | page_indexes | column_filters | selections | catalog_answers
    values: int
    bytes: int  # about
    most_bytes: int  # 0 for catalog_answers of a server that serves no catalog
    hits: int | None  # None where they are not counted
    misses: int | None

    def __str__(self) -> str:
        kept = f"{self.values:,} values in {shown_bytes(self.bytes)} of at most {shown_bytes(self.most_bytes)}"
        if self.hits is None or self.misses is None:
            return f"{self.cache}: {kept}"
        return f"{self.cache}: {kept}, {self.hits:,} of {self.hits + self.misses:,} questions answered"
