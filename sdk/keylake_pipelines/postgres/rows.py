"""Values of a table's columns as rows of `CHANGES`.

Objects of JSON are made from many rows at once, column by column, which costs less than row by row.
"""

# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import repeat
from json.encoder import encode_basestring as quoted
from operator import itemgetter
from typing import TypeAlias, cast

import pyarrow as pa
import pyarrow.compute as pc

from keylake_pipelines.postgres.forms import Form, Unfit
from keylake_pipelines.postgres.messages import ABSENT, Absent, Value
from keylake_pipelines.postgres.tables import Column, Table
from keylake_pipelines.source.source import CHANGES, Step
from keylake_pipelines.source.tables import TableChange

_ROWS_AT_ONCE = 1_000
_MOST_WAITING = 5_000  # rows as values, which take more memory than objects

Row: TypeAlias = Sequence[Value]


class Layout:
    """The places of the values of a row: the columns of the table as it is now."""

    def __init__(self, table: Table, columns: Sequence[Column | None], same: Sequence[bool] | None = None) -> None:
        self.table = table
        self.name = str(table.name)
        self.numbers = tuple(None if each is None else each.number for each in columns)
        fits = same or [True] * len(columns)
        self._members = {
            at: _Member(at, each.name, each.form)
            for at, (each, fit) in enumerate(zip(columns, fits, strict=True))
            if each is not None and fit
        }
        places = {number: at for at, number in enumerate(self.numbers)}
        self.key = tuple(places[number] for number in table.key)
        self.key_of: Callable[[Row], object] = itemgetter(*self.key)

    def objects(self, rows: Sequence[Row], *, of_key: bool = False) -> list[str]:
        """Each row as an object, with all values or those of the key alone; raises Unfit with the name of a column."""
        values = [*zip(*rows, strict=True)]
        parts: list[Iterable[str]] = [repeat("{", len(rows))]
        members = [self._members[at] for at in self.key if at in self._members] if of_key else self._members.values()
        comma, lacks_first = "", False
        for member in members:
            try:
                parts += member.parts(comma, values[member.at])
            except Unfit as error:
                raise Unfit(f"Column {quoted(member.name)} of {self.name}: {error}") from None
            lacks_first = lacks_first or (not comma and ABSENT in values[member.at])
            comma = ","
        parts.append(repeat("}", len(rows)))
        made = map("".join, zip(*parts, strict=True))
        return ["{" + each[2:] if each.startswith("{,") else each for each in made] if lacks_first else [*made]

    def raw(self, values: Row) -> str:
        """The values as the server sent them, each as text."""
        sent = [(each.name, values[each.at]) for each in self._members.values()]
        return json.dumps({name: value for name, value in sent if not isinstance(value, Absent)})


@dataclass(frozen=True)
class _Member:
    """A column as a member of objects, and where its values are in a row."""

    at: int
    name: str
    form: Form

    def parts(self, comma: str, values: Sequence[Value]) -> list[Iterable[str]]:
        """The text of the member in each object, in one or two parts."""
        beginning = f"{comma}{quoted(self.name)}:"
        if None not in values and ABSENT not in values:
            return [repeat(beginning, len(values)), self.form.jsons(cast("Sequence[str]", values))]
        null, left = f"{beginning}null", iter(self.form.jsons([each for each in values if isinstance(each, str)]))
        return [[beginning + next(left) if isinstance(each, str) else null if each is None else "" for each in values]]


@dataclass
class Rows:
    """Rows of one partition that are gathered for a step, in runs of rows that were added together."""

    partition: str
    layouts: list[Layout] = field(default_factory=list[Layout])
    ops: list[str] = field(default_factory=list[str])
    objects: list[str] = field(default_factory=list[str])
    waiting: list[Row] = field(default_factory=list[Row])  # the last ones, that are no objects yet
    runs: list[tuple[int, int, int, datetime | None]] = field(
        default_factory=list["tuple[int, int, int, datetime | None]"]
    )
    errors: dict[int, str] = field(default_factory=dict[int, str])

    def __len__(self) -> int:
        return len(self.ops)

    def add(
        self,
        layouts: Sequence[Layout],
        ops: Sequence[str],
        rows: Sequence[Row],
        version: int,
        offset: int,
        at: datetime | None,
    ) -> None:
        """Rows of one version; a value that its column does not hold makes its row a dead letter."""
        if not rows:
            return
        self.layouts += layouts
        self.ops += ops
        self.waiting += rows
        self.runs.append((len(self.ops), version, offset, at))
        if len(self.waiting) >= _MOST_WAITING:
            self._make()

    def add_stored(self, layout: Layout, rows: Sequence[Row], version: int, offset: int) -> None:
        """Rows of one table as they lie there."""
        self.add([layout] * len(rows), ["r"] * len(rows), rows, version, offset, None)

    def _make(self) -> None:
        first = len(self.objects)
        alike: defaultdict[tuple[Layout, bool], list[int]] = defaultdict(list)
        for place, layout in enumerate(self.layouts[first:]):
            alike[layout, self.ops[first + place] == "d"].append(place)
        made = [""] * len(self.waiting)
        for (layout, of_key), places in alike.items():
            for begin in range(0, len(places), _ROWS_AT_ONCE):
                some = places[begin : begin + _ROWS_AT_ONCE]
                try:
                    objects = layout.objects([self.waiting[place] for place in some], of_key=of_key)
                except Unfit:
                    objects = [self._one(layout, first + place, self.waiting[place], of_key) for place in some]
                for place, each in zip(some, objects, strict=True):
                    made[place] = each
        self.objects += made
        self.waiting = []

    def _one(self, layout: Layout, at: int, row: Row, of_key: bool) -> str:
        try:
            return layout.objects([row], of_key=of_key)[0]
        except Unfit as error:
            self.errors[at] = (
                f"{error}. Change the value; or have the column read as text, with as_text under columns of the source "
                "(as_text= in Python), and drop or rename the keyed table, whose column has another type. Then let "
                "keylake resnapshot read the table once more."
            )
            return layout.raw(row)

    def step(self, ends: Mapping[str, int], changes: tuple[TableChange, ...] = ()) -> Step:
        """A step with these rows."""
        count = len(self.ops)
        table = None
        if count:
            self._make()
            run_ends, versions, offsets, times = zip(*self.runs, strict=True)

            def repeated(values: Sequence[object], name: str) -> pa.Array:
                of_runs = pa.array(values, CHANGES.field(name).type)
                runs = pa.RunEndEncodedArray.from_arrays(pa.array(run_ends, pa.int32()), of_runs)
                return pc.run_end_decode(runs)

            table = pa.Table.from_arrays(
                [
                    pa.array([each.name for each in self.layouts], pa.string()),
                    pa.array(self.ops, pa.string()),
                    pa.array(self.objects, pa.string()),
                    repeated(versions, "version"),
                    pa.repeat(pa.scalar(self.partition, pa.string()), count),
                    repeated(offsets, "offset"),
                    repeated(times, "at"),
                    pa.array([self.errors.get(at) for at in range(count)], pa.string())
                    if self.errors
                    else pa.nulls(count, pa.string()),
                ],
                schema=CHANGES,
            )
        return Step(table, ends, changes, count)


def count_of(steps: Sequence[Step]) -> int:
    """The number of rows of all steps."""
    return sum(step.count or 0 for step in steps)
