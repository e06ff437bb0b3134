"""The verbs of every source of a pipeline, and the steps that it gives, in their order.

    Source.begin(positions, ...) ── poll ──▶ Step(rows, changes of tables, ends) ── written ── Source.written(positions)

A source is divided into partitions, each a text: a partition of a topic, a binary log, a chunked snapshot of a table.
Offsets of a partition are numbers that grow. `positions` say where each partition goes on; whoever writes the steps
keeps them, and gives them back when it begins again: a source keeps nothing itself, and gives the same rows for the
same positions, or refuses with a sentence that says what is lost. `begin` and `poll` raise `SourceAway` where the
source does not answer, and may be called again. Rows of a partition with offsets below 0 may be
written twice, which changes nothing, since every row has a version.
"""

# pyright: reportUnknownParameterType=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import pyarrow as pa

from keylake_pipelines.source.tables import SourceSchema, SourceTable, TableChange

# The columns of all rows that sources give, of whichever table.
CHANGES = pa.schema(
    [
        # The name of the table in its source, parts with dots between them; null where a message could not be read.
        pa.field("table", pa.string()),
        # c, u and d as Debezium has them, r for a row of a snapshot. A changed key is a d and a c.
        pa.field("op", pa.string()),
        # A JSON object: columns by their names in the source. Columns that are absent are not written, null is written
        # as null. A d has the key at least. Numbers are numbers, or text where JSON's would lose digits (decimals);
        # NaN and Infinity are text; binary is base64; dates are yyyy-MM-dd; timestamps are ISO 8601 with up to six
        # digits of a second, with Z where the type has a zone and without where it has none; lists, objects for structs
        # and maps. Where a message could not be read: its text.
        pa.field("row", pa.string()),
        # The order of the changes of one key: larger is newer.
        pa.field("version", pa.int64()),
        pa.field("partition", pa.string()),
        pa.field("offset", pa.int64()),
        # When it was changed in the source, null where that is not known.
        pa.field("at", pa.timestamp("us", tz="UTC")),
        # Null, or why the message could not be read: such rows are dead letters.
        pa.field("error", pa.string()),
    ]
)


@dataclass(frozen=True)
class Step:
    """Rows with the columns of `CHANGES`, then changes of tables that hold for the rows of later steps.

    `ends` are the offsets after the last ones of the step, for the partitions that it moves.
    """

    rows: pa.Table | None
    ends: Mapping[str, int]
    changes: tuple[TableChange, ...] = ()
    count: int | None = None  # of the rows, where it is known without counting


@dataclass(frozen=True)
class Lag:
    """The lag behind a source: rows, bytes or files that were not polled, None where unknown, and since when."""

    behind: int | None
    unit: str  # "rows", "bytes" or "files"
    newest: datetime | None = None  # of the newest change of the source
    oldest: datetime | None = None  # of the oldest change that was not polled
    snapshots: bool = False  # whether rows that lie in the source, op r, are still to come
    waits: str | None = None  # what in the source it waits for, and who ends that, as a sentence


class Source(Protocol):
    """The protocol of sources, which are read in steps. One thread at a time uses a source."""

    def begin(self, positions: Mapping[str, int], schemas: Sequence[SourceSchema] = ()) -> None:
        """Go on at these positions; a partition that has none begins where the definition of the source says.

        `schemas` are those of tables that steps have told, up to the positions or behind them: a source that knows
        tables by their rows alone goes on with them.
        """
        ...

    def reread(self, table: SourceTable) -> bool:
        """Read all rows of a table once more, and tell `TableReread` behind the last; False where that cannot be.

        A table that is gone has no rows, and the source tells that it is gone, or has told so.
        """
        ...

    def schemas(self) -> tuple[SourceSchema, ...]:
        """The tables that the source has now, as far as it knows them without reading rows."""
        ...

    def poll(self, most_rows: int, seconds: float) -> tuple[Step, ...]:
        """The steps that are there, up to about so many rows, or none after so many seconds of waiting.

        Nothing is the end of a source for whoever wants to end with it: one that is in the middle of reading what it
        has gives a step without rows and ends instead.
        """
        ...

    def written(self, positions: Mapping[str, int]) -> None:
        """The rows before these positions are kept in tables, so that the source may let them go."""
        ...

    def lag(self) -> Lag:
        """The lag behind the source after the last poll."""
        ...

    def close(self) -> None:
        """Let go of connections. What was not `written` comes again after the next `begin`."""
        ...
