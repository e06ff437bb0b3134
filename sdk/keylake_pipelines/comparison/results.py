"""The results of a check of a pipeline, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class RowDifference:
    """A row that differs: its key, whether it is `missing` or `extra` in the keyed table, or which columns differ."""

    key: Mapping[str, object] = field(hash=False)
    kind: str  # missing, extra, different
    columns: tuple[str, ...] = ()

    def __str__(self) -> str:
        key = ", ".join(f"{name}={value!r}" for name, value in self.key.items())
        return f"{key} {self.kind}" + (f": {', '.join(self.columns)}" if self.columns else "")


@dataclass(frozen=True)
class TableCheck:
    """The comparison of the rows of a keyed table with those of its source tables.

    `undecided` rows differed, and kept changing while they were looked at, or the pipeline has not come to them.
    `refused` rows are dead letters: their values fit no column. `rows` of it are the first ones that differ.
    """

    table: str
    sources: tuple[str, ...]
    rows_in_source: int = 0
    rows_in_lake: int = 0
    missing: int = 0
    extra: int = 0
    different: int = 0
    undecided: int = 0
    refused: int = 0
    rows: tuple[RowDifference, ...] = ()
    not_compared: tuple[str, ...] = ()  # what of the table, and why
    reason: str = ""  # why the table was not compared at all
    command: str = ""  # which mends it

    @property
    def differs(self) -> bool:
        """Rows differ."""
        return bool(self.missing or self.extra or self.different)

    @property
    def is_equal(self) -> bool:
        """All rows were compared, and are equal."""
        return not (self.differs or self.undecided or self.refused or self.reason)

    def __str__(self) -> str:
        lines = [f"{self.table}: {self._said()}"]
        lines += [f"  {row}" for row in self.rows]
        lines += [f"  not compared: {each}" for each in self.not_compared]
        lines += [f"  mend it: {self.command}"] if self.command else []
        return "\n".join(lines)

    def _said(self) -> str:
        if self.reason:
            return f"not compared: {self.reason}"
        counts = f"{self.rows_in_source:,} rows in the source, {self.rows_in_lake:,} in the lake"
        found = {
            "missing": self.missing,
            "extra": self.extra,
            "different": self.different,
            "undecided": self.undecided,
            "refused (dead letters)": self.refused,
        }
        words = [f"{count:,} {word}" for word, count in found.items() if count]
        return f"{counts}; {', '.join(words) if words else 'equal'}"


@dataclass(frozen=True)
class PipelineCheck:
    """The comparison of the keyed tables of a pipeline with its source.

    >>> print(PipelineCheck("shop", (TableCheck("shop.orders", ("shop.orders",), 3, 2, missing=1),)))
    shop.orders: 3 rows in the source, 2 in the lake; 1 missing
    """

    name: str
    tables: tuple[TableCheck, ...]

    @property
    def is_equal(self) -> bool:
        """All rows of all tables were compared, and are equal."""
        return all(table.is_equal for table in self.tables)

    def __str__(self) -> str:
        return "\n".join(map(str, self.tables)) or f"{self.name}: no tables"
