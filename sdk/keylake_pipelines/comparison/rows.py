"""The questions of a check to a source: its tables, ranges of their keys, and the rows that are in a range now."""

# pyright: reportUnknownParameterType=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from keylake_pipelines.source.tables import SourceSchema

BATCH_ROWS = 10_000


@dataclass(frozen=True)
class KeyRange:
    """Values of the first column of a key, as JSON: behind `low`, up to `high`; None: from the first, to the last."""

    low: object | None = None
    high: object | None = None


WHOLE = KeyRange()


class RowsNow(Protocol):
    """The rows that a source has now. One thread uses it."""

    @property
    def partition(self) -> str:
        """The partition of the source whose position says how far its log was read."""
        ...

    def tables(self) -> tuple[SourceSchema, ...]:
        """The tables of the source."""
        ...

    def is_ranged(self, schema: SourceSchema) -> bool:
        """An index finds ranges of the first column of the key, in the order of its values."""
        ...

    def end_of_range(self, schema: SourceSchema, low: object | None, rows: int) -> object | None:
        """The value of the first column of the key so many rows behind `low`; None: fewer rows are left."""
        ...

    def read(self, schema: SourceSchema, within: KeyRange) -> Iterator[pa.Table]:
        """The rows in a range as those of a snapshot, in batches."""
        ...

    def end(self) -> int:
        """A place of the log behind all that was read up to now."""
        ...

    def is_read(self, schema: SourceSchema, positions: Mapping[str, int]) -> bool:
        """All rows that lie in a table were read, as positions of a pipeline say."""
        ...

    def is_passed(self, place: int, positions: Mapping[str, int], *, runs: bool) -> bool:
        """A pipeline at these positions has read all changes from before a place."""
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...
