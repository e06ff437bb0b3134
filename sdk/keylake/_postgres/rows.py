"""Values of a table's columns as rows of `CHANGES`."""

# pyright: reportUnknownParameterType=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from json.encoder import encode_basestring as quoted

import pyarrow as pa

from keylake._captured.source import CHANGES, Step
from keylake._captured.tables import TableChange
from keylake._postgres.forms import Unfit
from keylake._postgres.messages import ABSENT, Absent, Value
from keylake._postgres.tables import Column, Table


class Layout:
    """Where values of a row go: into which columns of the table as it is now."""

    def __init__(self, table: Table, columns: Sequence[Column | None], same: Sequence[bool] | None = None) -> None:
        self.table = table
        self.name = str(table.name)
        self.numbers = tuple(None if each is None else each.number for each in columns)
        fits = same or [True] * len(columns)
        self._names = [None if each is None or not fit else each.name for each, fit in zip(columns, fits, strict=True)]
        self._columns: list[tuple[str, Callable[[str], str]] | None] = [
            None if each is None or not fit else (f"{quoted(each.name)}:", each.form.json)
            for each, fit in zip(columns, fits, strict=True)
        ]
        places = {number: at for at, number in enumerate(self.numbers)}
        self.key = tuple(places[number] for number in table.key)

    def row(self, values: Sequence[Value]) -> str:
        """All values as an object; raises Unfit with the name of the column."""
        return self._object(zip(self._columns, values, strict=True))

    def key_row(self, values: Sequence[Value]) -> str:
        """The key alone as an object."""
        return self._object((self._columns[at], values[at]) for at in self.key)

    def raw(self, values: Sequence[Value]) -> str:
        """What the server sent, each value as text."""
        sent = zip(self._names, values, strict=True)
        return json.dumps({name: value for name, value in sent if name is not None and not isinstance(value, Absent)})

    def _object(self, pairs: object) -> str:
        out: list[str] = []
        for column, value in pairs:  # type: ignore[attr-defined]
            if column is None or value is ABSENT:
                continue
            beginning, to_json = column
            if value is None:
                out.append(beginning + "null")
                continue
            try:
                out.append(beginning + to_json(value))
            except Unfit as error:
                raise Unfit(f"Column {beginning[:-1]} of {self.name}: {error}") from None
        return "{" + ",".join(out) + "}"


@dataclass
class Rows:
    """Rows of one partition that are gathered for a step."""

    partition: str
    tables: list[str] = field(default_factory=list[str])
    ops: list[str] = field(default_factory=list[str])
    rows: list[str] = field(default_factory=list[str])
    versions: list[int] = field(default_factory=list[int])
    offsets: list[int] = field(default_factory=list[int])
    times: list[datetime | None] = field(default_factory=list["datetime | None"])
    errors: dict[int, str] = field(default_factory=dict[int, str])

    def __len__(self) -> int:
        return len(self.rows)

    def add(
        self, layout: Layout, op: str, values: Sequence[Value], version: int, offset: int, at: datetime | None
    ) -> None:
        """One row; a value that its column does not hold makes it a dead letter."""
        try:
            self.rows.append(layout.key_row(values) if op == "d" else layout.row(values))
        except Unfit as error:
            self.errors[len(self.rows)] = (
                f"{error}. Change the value; or have the column read as text, with as_text under columns of the source "
                "(as_text= in Python), and drop or rename the keyed table, whose column has another type. Then let "
                "keylake resnapshot read the table once more."
            )
            self.rows.append(layout.raw(values))
        self.tables.append(layout.name)
        self.ops.append(op)
        self.versions.append(version)
        self.offsets.append(offset)
        self.times.append(at)

    def step(self, ends: Mapping[str, int], changes: tuple[TableChange, ...] = ()) -> Step:
        """These rows as a step."""
        count = len(self.rows)
        table = None
        if count:
            table = pa.Table.from_arrays(
                [
                    pa.array(self.tables, pa.string()),
                    pa.array(self.ops, pa.string()),
                    pa.array(self.rows, pa.string()),
                    pa.array(self.versions, pa.int64()),
                    pa.repeat(pa.scalar(self.partition, pa.string()), count),
                    pa.array(self.offsets, pa.int64()),
                    pa.array(self.times, CHANGES.field("at").type),
                    pa.array([self.errors.get(at) for at in range(count)], pa.string())
                    if self.errors
                    else pa.nulls(count, pa.string()),
                ],
                schema=CHANGES,
            )
        return Step(table, ends, changes, count)


def count_of(steps: Sequence[Step]) -> int:
    """The rows of all of them."""
    return sum(step.count or 0 for step in steps)
