"""One write for rows of many tables: the driver or one Spark job writes all files, then each table gets a commit.

frame (table, op, version, row) ──┐
TableBatch per table ─────────────┴─ CALL write_tables ── decode, shuffle, sort, write ── commits ── TableOutcome each

A table whose rows cannot be written is set aside: none of its rows is written, its outcome says why, and the others
are committed as if it were not there.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from keylake.errors import BadRows, DefinitionError, KeylakeError, check_type, of_condition
from keylake.extension import Call, OnFailure, Session, TablePath, finished, offsets_in_json, session_of, zoned
from keylake.lake import Lake
from keylake.results import Commit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class TableBatch:
    """The part of a frame that one table gets: the rows whose column `table` has its name.

    `offsets` are the ranges of the sources that these rows are of; the table takes each range once. `watermark` is the
    event time up to which the stream is complete with them. A row that does not satisfy a condition of `require` sets
    the table aside, or is held back in its quarantine where `on_failure` says so.
    """

    table: str | TablePath
    offsets: Mapping[str, tuple[int, int]] | None = field(default=None, hash=False)
    stream: str | None = None
    watermark: datetime.datetime | None = None
    require: tuple[str, ...] = ()  # conditions in SQL that each row has to satisfy
    on_failure: OnFailure = "raise"

    @property
    def name(self) -> str:
        """The name of the table, as the rows have it.

        >>> TableBatch(TablePath("shop.orders")).name
        'shop.orders'
        """
        return self.table.name if isinstance(self.table, TablePath) else self.table

    def to_json(self, writer: str | None) -> str:
        """The batch as the server reads it.

        >>> TableBatch("shop.orders", {"log": (0, 7)}).to_json(None)
        '{"table": "shop.orders", "offsets": {"log": [0, 7]}}'
        """
        check_type("table", self.table, str | TablePath, "the name of a table, such as 'shop.orders'")
        check_type("stream", self.stream, str | None, "the name of a stream")
        path = TablePath(self.name) if isinstance(self.table, str) else self.table
        if path.branch is not None or path.experiments:
            raise DefinitionError(f"Rows of many tables go to main, and {path} is none. Write it with its own verbs.")
        offsets = offsets_in_json(self.offsets)
        said = {
            "table": self.name,
            "offsets": None if offsets is None else json.loads(offsets),
            "stream": self.stream,
            "watermark": None if self.watermark is None else zoned("watermark", self.watermark).isoformat(),
            "writer": writer,
            "require": list(self.require) or None,
            "on_failure": self.on_failure if self.require else None,
        }
        return json.dumps({name: value for name, value in said.items() if value is not None})


@dataclass(frozen=True)
class TableOutcome:
    """The result of a write for one table: its commit, or its error if it was set aside; neither if it had no rows."""

    table: str
    commit: Commit | None
    error: KeylakeError | None


def write_tables(
    lake: Lake | Session, frame: DataFrame, batches: Sequence[TableBatch], *, count: int | None = None
) -> tuple[TableOutcome, ...]:
    """Write rows of many tables at once, then commit table by table.

    The frame has the columns `table` (text: the name of a keyed table with explicit versions), `op` (text: c, u, d or
    r), `version` (64-bit whole number) and `row` (text: a JSON object). Fields match columns whatever their case. What
    a row does not have is not written, null is null, and d is a delete. `count` says how many rows the frame has, more
    or less, where that is known: few rows get few tasks. Few rows that the frame brings along, of at most 256 tables,
    are written by the driver, without a job.

    Gives an outcome for each table in order, then one for each table that rows name and `batches` do not. Raises an
    error only where nothing was written at all: a frame without these columns, or a server that is gone.

    Example::

        rows = lake.spark.createDataFrame([("shop.orders", "c", 1, '{"id": 7, "city": "Oslo"}')],
                                          "table STRING, op STRING, version BIGINT, row STRING")
        [outcome] = write_tables(lake, rows, [TableBatch("shop.orders", {"log": (0, 1)})])
    """
    session = lake if isinstance(lake, Session) else session_of(lake)
    if not session.is_frame(frame):
        raise BadRows("Rows of many tables are a frame with the columns table, op, version and row.")
    begun_at = time.perf_counter()
    tables = [batch.to_json(session.writer) for batch in batches]
    view = f"keylake_rows_{uuid.uuid4().hex}"
    with session.asking():
        frame.createOrReplaceTempView(view)
    try:
        rows = session.call(Call.of("write_tables", rows=view, tables=tables, count=count)).to_pylist()
    finally:
        with contextlib.suppress(KeylakeError), session.asking():
            session.spark.catalog.dropTempView(view)
    seconds = time.perf_counter() - begun_at
    return tuple(_outcome(row, seconds) for row in rows)


def _outcome(row: Mapping[str, Any], seconds: float) -> TableOutcome:
    if row["failure"] is not None:
        condition, _, sentence = row["failure"].removeprefix("[").partition("] ")
        return TableOutcome(row["table"], None, of_condition(condition, finished(sentence)))
    if row["snapshot_id"] is None:
        return TableOutcome(row["table"], None, None)
    repeated = row["goes_on"] is not None
    goes_on = json.loads(row["goes_on"]) if repeated else {}
    return TableOutcome(row["table"], Commit.from_row(row, seconds, repeated=repeated, offsets=goes_on), None)
