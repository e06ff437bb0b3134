"""Rows that could not be written, in the keyed table `keylake.dead_letters` of the lake.

    key     pipeline, target, partition, offset, number: which of the rows of an offset
    beside  source, op, row, version, at: as the source gave it; reason; kept_at; place: the order in which rows came

A row that could not be read has no target: ''. Rows of a keyed table that is set aside wait here, and the changes of
its source table among them (op `change`, the change as JSON), until the table goes on.
"""

# pyright: reportUnknownParameterType=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

import datetime
import itertools
import json
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

import keylake as kl
from keylake.errors import TableNotFound
from keylake.extension import literal
from keylake_pipelines.runner.evolution import Made, table_of
from keylake_pipelines.runner.schema_json import change_from_json, change_to_json
from keylake_pipelines.source.source import CHANGES

if TYPE_CHECKING:
    from keylake.lake import Lake
    from keylake.table import KeyedTable

CHANGE = "change"  # the op of a change of a table
_KEY = ("pipeline", "target", "partition", "offset", "number")
_TEXT, _LONG, _TIME = pa.string(), pa.int64(), pa.timestamp("us", tz="UTC")
_COLUMNS = pa.schema(
    [
        pa.field("pipeline", _TEXT, nullable=False),
        pa.field("target", _TEXT, nullable=False),
        pa.field("partition", _TEXT, nullable=False),
        pa.field("offset", _LONG, nullable=False),
        pa.field("number", _LONG, nullable=False),
        pa.field("source", _TEXT),
        pa.field("op", _TEXT),
        pa.field("row", _TEXT),
        pa.field("version", _LONG),
        pa.field("at", _TIME),
        pa.field("reason", _TEXT),
        pa.field("kept_at", _TIME),
        pa.field("place", _LONG),
    ]
)
_CARRIED = ("source", "op", "row", "version", "partition", "offset", "at")
_AS_CHANGES = ("table", *_CARRIED[1:])
_AT_ONCE = 100_000
_CHANGES_BEFORE = 1 << 40  # so that the number of no row is that of a change


class DeadLetters:
    """The dead letters of one pipeline."""

    def __init__(self, lake: Lake, namespace: str, pipeline: str) -> None:
        self._lake = lake
        self._path = f"{namespace}.dead_letters"
        self._pipeline = pipeline
        self._places = itertools.count(time.time_ns() // 1000)  # later runs go on with larger ones
        self._opened: KeyedTable | None = None

    def keep(self, target: str, rows: pa.Table, reason: str | None) -> None:
        """Keep rows of the form of `CHANGES`; without a reason each has its own, its error."""
        last, number = None, 0
        kept: list[dict[str, object]] = []
        for row in rows.to_pylist():
            place = row["partition"], row["offset"]
            number = number + 1 if place == last else 0
            last = place
            kept.append({**row, "number": number, "source": row.pop("table"), "reason": row.pop("error") or reason})
        self._write(target, kept)

    def keep_change(self, target: str, made: Made, reason: str) -> None:
        """Keep a change of a table that is set aside, in its place among the rows: behind the last one of its step."""
        partition, end = min(made.ends.items(), default=("", 0))
        text = json.dumps({"change": change_to_json(made.change), "ends": made.ends, "number": made.number})
        row = {"partition": partition, "offset": end, "number": made.number - _CHANGES_BEFORE, "row": text}
        self._write(target, [{**row, "op": CHANGE, "source": str(table_of(made.change)), "reason": reason}])

    def kept(self, target: str) -> Iterator[tuple[int, pa.Table | Made]]:
        """The rows that are kept of a keyed table, and the changes between them, in the order in which they came.

        Each with the place of its end, for `forget`.
        """
        found = self._table().read(where=self._of(target)).orderBy("place").toArrow()
        rows = (
            found.select(_CARRIED).rename_columns(_AS_CHANGES).append_column("error", pa.nulls(found.num_rows, _TEXT))
        )
        places, ops = found["place"].to_pylist(), found["op"].to_pylist()
        begin = 0
        for number in [*(n for n, op in enumerate(ops) if op == CHANGE), len(ops)]:
            for start in range(begin, number, _AT_ONCE):
                end = min(start + _AT_ONCE, number)
                yield places[end - 1], rows.slice(start, end - start).cast(CHANGES)
            if number < len(ops):
                said = json.loads(rows["row"][number].as_py())
                yield places[number], Made(change_from_json(said["change"]), said["ends"], said["number"])
            begin = number + 1

    def forget(self, target: str, place: int) -> None:
        """Remove what was kept of a keyed table up to a place: the table has it."""
        self._delete(f"{self._of(target)} AND place <= {place}")

    def forget_all(self, target: str) -> None:
        """Remove all that was kept of a keyed table: a new snapshot has it."""
        if not self._missing():
            self._delete(self._of(target))

    def _delete(self, where: str) -> None:
        keys = self._table().read(columns=_KEY, where=where).toArrow()
        if keys.num_rows:
            self._table().delete(keys)

    def _of(self, target: str) -> str:
        return f"pipeline = {literal(self._pipeline)} AND target = {literal(target)}"

    def count(self) -> int:
        """The number of dead letters of the pipeline."""
        where = f"pipeline = {literal(self._pipeline)}"
        return 0 if self._missing() else self._table().read(columns=["pipeline"], where=where).count()

    def _write(self, target: str, rows: list[dict[str, object]]) -> None:
        if rows:
            same = {
                "pipeline": self._pipeline,
                "target": target,
                "kept_at": datetime.datetime.now(datetime.timezone.utc),
            }
            whole = [{**row, **same, "place": next(self._places)} for row in rows]
            self._table().upsert(pa.Table.from_pylist(whole, schema=_COLUMNS))

    def _missing(self) -> bool:
        try:
            self._opened = self._opened or self._lake.table(self._path)
        except TableNotFound:
            return True
        return False

    def _table(self) -> KeyedTable:
        if self._opened is None and self._missing():
            text = "Rows that pipelines could not write, and why. Written by keylake; what is deleted is left out."
            spec = kl.TableSpec.from_arrow(_COLUMNS, name=self._path, key=_KEY, buckets=2, comment=text)
            self._opened = self._lake.create(spec, if_exists="match")
        assert self._opened is not None
        return self._opened
