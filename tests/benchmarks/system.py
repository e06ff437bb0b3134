"""What a system is to a measurement. Each one is a small file in `systems`; a new one needs nothing else here."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from pyspark.sql import SparkSession


class Reader(Protocol):
    """Something that answers with rows: one row per key, or, for a plain scan, all rows that are stored."""

    @property
    def name(self) -> str:
        """As reports call it."""
        ...

    @property
    def spark(self) -> SparkSession:
        """A session of its own, with the settings that are best for it."""
        ...

    def rows(self, columns: Sequence[str]) -> str:
        """A SELECT of these columns."""
        ...


class Writer(Protocol):
    """Something that takes batches of rows."""

    @property
    def name(self) -> str:
        """As reports call it."""
        ...

    def write(self, batch: Path) -> None:
        """Take a staged batch."""
        ...
