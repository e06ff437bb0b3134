"""A pipeline is checked: rows of its source compared with those of its keyed tables, through the same transforms."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from keylake.errors import KeylakeError, NothingToDo, ServerUnreachable, StoreFailed, TableNotFound
from keylake.extension import session_of
from keylake.reducers import Latest
from keylake_pipelines.comparison.comparison import Comparison, Found, Key, Shaped
from keylake_pipelines.comparison.results import PipelineCheck, RowDifference, TableCheck
from keylake_pipelines.comparison.rows import KeyRange, RowsNow
from keylake_pipelines.definition.pipeline import Pipeline
from keylake_pipelines.pipeline.opening import rows_now
from keylake_pipelines.pipeline.shaping import DefinedShaping
from keylake_pipelines.runner.state import StateTable, states_of
from keylake_pipelines.source.absence import SourceAway
from keylake_pipelines.source.tables import SourceSchema

if TYPE_CHECKING:
    from keylake import TableSpec
    from keylake.lake import Lake

_LOOKS = 5  # at rows that differ and keep changing
_MOST_DIFFERING = 50_000  # rows that are kept before they are looked at again
_SHOWN = 10
_PAUSE_SECONDS = 0.5


def check_pipeline(
    pipeline: Pipeline,
    lake: Lake,
    table: str | None = None,
    *,
    rows_at_once: int = 50_000,
    seconds: float = 120.0,
) -> PipelineCheck:
    """Compare the rows of the source with those of the keyed tables; of one of them with `table`.

    The source and the pipeline go on meanwhile: rows that differ are looked at again after the pipeline has passed the
    place of the log at which they were read, for which it is waited so many `seconds`. A range of `rows_at_once` is in
    memory at a time; a table whose key begins with a text, a binary or a floating value is read in one piece.

    Raises `Unsupported` for topics and files, which keep no rows to compare with, `NothingToDo` for a pipeline that has
    not run in this lake and for a table that is none of its, and `SourceFailed` if the source cannot be read.

    Example::

        print(kl.check_pipeline(kl.Pipeline.load("pipeline.yaml"), lake, "shop.orders"))
    """
    checker = Checker(pipeline, lake, rows_at_once=rows_at_once, seconds=seconds)
    try:
        return PipelineCheck(pipeline.pipeline.name, tuple(checker.check(name) for name in checker.tables(table)))
    finally:
        checker.close()


@dataclass(frozen=True)
class _Planned:
    """The parts of a keyed table that are compared."""

    comparison: Comparison
    bounded_by: str | None
    not_compared: tuple[str, ...]


class Checker:
    """Compares keyed tables of a pipeline with its source, over connections of its own."""

    def __init__(
        self,
        pipeline: Pipeline,
        lake: Lake,
        *,
        rows_at_once: int,
        seconds: float,
        ending: threading.Event | None = None,
    ) -> None:
        self._name = pipeline.pipeline.name
        self._pipeline = pipeline
        self._lake = lake
        self._rows_at_once = rows_at_once
        self._seconds = seconds
        self._ending = ending or threading.Event()
        known = ", ".join(state.name for state in states_of(lake, "keylake")) or "none"
        if self._name not in known.split(", "):
            raise NothingToDo(f"Pipeline {self._name!r} has not run in this lake, which knows: {known}.")
        self._state = StateTable(lake, "keylake", self._name)
        self._shaping = DefinedShaping(pipeline, lake)
        self._now: RowsNow = rows_now(pipeline)
        self._sources: dict[str, list[SourceSchema]] = {}
        for schema in self._now.tables():
            for target in self._shaping.targets(schema.table):
                self._sources.setdefault(target.table, []).append(schema)
        self._behind: dict[str, object] = {}  # where the last range of a table ended

    def close(self) -> None:
        """Let go of connections."""
        self._now.close()

    def again(self) -> Checker:
        """Another checker, which looks at the tables of the source anew, and goes on at the same ranges."""
        self.close()
        rows, seconds = self._rows_at_once, self._seconds
        other = Checker(self._pipeline, self._lake, rows_at_once=rows, seconds=seconds, ending=self._ending)
        other._behind = self._behind
        return other

    def tables(self, wanted: str | None = None) -> list[str]:
        """The keyed tables of the source tables; those of one name, which may be that of a source table."""
        found = [
            name
            for name, schemas in self._sources.items()
            if wanted in (None, name) or wanted in {str(schema.table) for schema in schemas}
        ]
        if wanted is not None and not found:
            known = ", ".join(sorted(self._sources)) or "none"
            raise NothingToDo(f"Pipeline {self._name!r} has no table {wanted!r}. Its keyed tables: {known}.")
        return sorted(found)

    def check(self, name: str) -> TableCheck:
        """Compare all rows of a keyed table."""
        return self._checked(name, self._all_ranges)

    def check_next(self, name: str) -> TableCheck:
        """Compare the next range of a keyed table, or the last one again where rows of it differed.

        A table that is compared in one piece is left out where that is longer than a range.
        """
        behind, ranges = self._behind.get(name), list[KeyRange]()

        def one(planned: _Planned) -> Iterator[KeyRange]:
            if planned.bounded_by is not None or self._is_short(name, planned):
                comparison = planned.comparison
                ranges.append(next(comparison.ranges(self._rows_at_once, bounded_by=planned.bounded_by, behind=behind)))
            yield from ranges

        found = self._checked(name, one)
        if ranges and not found.differs:
            self._behind[name] = ranges[0].high
        return found

    def _is_short(self, name: str, planned: _Planned) -> bool:
        rows = self._lake.table(name).read(columns=list(planned.comparison.key))
        with session_of(self._lake).asking():
            return rows.limit(self._rows_at_once + 1).count() <= self._rows_at_once

    def _all_ranges(self, planned: _Planned) -> Iterator[KeyRange]:
        return planned.comparison.ranges(self._rows_at_once, bounded_by=planned.bounded_by)

    def _checked(self, name: str, ranges: Callable[[_Planned], Iterator[KeyRange]]) -> TableCheck:
        """The result for a table; an error of it is its reason, and does not end the check of others."""
        empty = TableCheck(name, tuple(str(schema.table) for schema in self._sources[name]))
        try:
            return self._found(empty, name, ranges)
        except (SourceAway, StoreFailed, ServerUnreachable):
            raise
        except KeylakeError as error:
            return replace(empty, reason=str(error))

    def _found(self, empty: TableCheck, name: str, ranges: Callable[[_Planned], Iterator[KeyRange]]) -> TableCheck:
        schemas = self._sources[name]
        self._state.read()
        mend = f"keylake resnapshot {self._name} {name}"
        aside = self._state.targets.get(name)
        refused = next((schema.refused for schema in schemas if schema.refused), "")
        if aside is not None:
            ways = f"keylake resume {self._name} {name}, or {mend}"
            return replace(empty, reason=f"it is set aside: {aside.reason}", command=ways)
        if refused:
            return replace(empty, reason=refused)
        try:
            spec = self._lake.table(name).spec
        except TableNotFound:
            return replace(empty, reason="it has not been made yet: the pipeline has not come to it")
        if not all(self._now.is_read(schema, self._state.positions) for schema in schemas):
            return replace(empty, reason="the pipeline has not read all rows that lie in the source yet")
        incomparable = next(filter(None, (self._shaping.transformed(each).incomparable for each in schemas)), "")
        if incomparable:
            return replace(empty, reason=incomparable)
        planned = self._plan(name, spec, schemas)
        if planned is None:
            return replace(empty, reason="its key depends on when a row came, not only on the row")
        found = self._compared(empty, planned, ranges(planned))
        return replace(found, command=mend if found.differs else "", not_compared=planned.not_compared)

    def _plan(self, name: str, spec: TableSpec, schemas: Sequence[SourceSchema]) -> _Planned | None:
        """The columns that are compared, and the column of the key by which there are ranges."""
        transformed = [self._shaping.transformed(schema) for schema in schemas]
        own = {column.lower(): column for column in spec.column_names}
        there = [{column.name.lower() for column in each.schema.columns} for each in transformed]
        of_events = {column.lower() for each in transformed for column in each.of_events}
        if of_events & {column.lower() for column in spec.key}:
            return None
        reduced = {column.name.lower() for column in spec.columns if not isinstance(column.reducer, Latest)}
        not_compared = [
            *(f"column {column}, which {name} has not" for column in sorted(set().union(*there) - own.keys())),
            *(
                f"column {own[column]}, whose values depend on when a row came"
                for column in sorted(of_events & set(own))
            ),
            *(f"column {own[column]}, whose values are combined" for column in sorted(reduced)),
        ]
        common = set.intersection(*there) - of_events - reduced
        columns = [column for column in spec.value_columns if column.lower() in common]
        left = [c for c in spec.value_columns if c.lower() not in common | of_events | reduced]
        not_compared += [f"column {column}, which no source table, or not each of them, has" for column in left]
        shaped = [Shaped(schema, partial(self._shaping.rows, schema)) for schema in schemas]
        comparison = Comparison(self._now, self._lake.table(name), shaped, columns)
        bounded_by = own.get(transformed[0].schema.key[0].lower())
        for schema, each in zip(schemas, transformed, strict=True):
            first = each.schema.key[0]
            is_same = own.get(first.lower()) == bounded_by and each.is_copied(first, schema.key[0])
            if not (is_same and self._now.is_ranged(schema)):
                bounded_by = None
                break
        return _Planned(comparison, bounded_by, tuple(not_compared))

    def _compared(self, empty: TableCheck, planned: _Planned, ranges: Iterator[KeyRange]) -> TableCheck:
        found = empty
        differing: dict[KeyRange, set[Key]] = {}
        for within in ranges:
            look = planned.comparison.look(within, planned.bounded_by)
            found = replace(
                found,
                rows_in_source=found.rows_in_source + look.source,
                rows_in_lake=found.rows_in_lake + look.lake,
                refused=found.refused + look.refused,
            )
            if look.differing:
                differing[within] = set(look.differing)
            if sum(map(len, differing.values())) > _MOST_DIFFERING:
                found, differing = self._looked_again(found, planned, differing), {}
        return self._looked_again(found, planned, differing) if differing else found

    def _looked_again(self, found: TableCheck, planned: _Planned, differing: Mapping[KeyRange, set[Key]]) -> TableCheck:
        """The result, with those rows that still differ, and did not change meanwhile."""
        left = dict(differing)
        before: dict[Key, Found] = {}
        sure: dict[Key, Found] = {}
        for _ in range(_LOOKS):
            again = planned.comparison.look_again(left, planned.bounded_by, self._is_passed_in_time)
            if again is None:
                break
            same = {key for key, each in again.items() if key in before and before[key][0] == each[0]}
            sure |= {key: again[key] for key in same}
            before = {key: each for key, each in again.items() if key not in same}
            left = {within: keys & before.keys() for within, keys in left.items() if keys & before.keys()}
            if not left:
                break
        missing = sum(lake is None for (_, lake), _ in sure.values())
        extra = sum(not source for (source, _), _ in sure.values())
        shown = [self._difference(planned.comparison, key, each) for key, each in sure.items()]
        return replace(
            found,
            missing=found.missing + missing,
            extra=found.extra + extra,
            different=found.different + len(sure) - missing - extra,
            undecided=found.undecided + sum(map(len, left.values())),
            rows=(*found.rows, *shown)[:_SHOWN],
        )

    def _difference(self, comparison: Comparison, key: Key, found: Found) -> RowDifference:
        (source, lake), values = found
        named, columns = comparison.named(key, values)
        kind = "missing" if lake is None else "different" if source else "extra"
        return RowDifference(named, kind, tuple(columns))

    def _is_passed_in_time(self) -> bool:
        """Wait until the pipeline has passed the place at which the log ends now."""
        place = self._now.end()
        until = time.monotonic() + self._seconds
        while True:
            self._state.read()
            pipeline = self._state.pipeline
            runs = pipeline is not None and pipeline.runs
            if self._now.is_passed(place, self._state.positions, runs=runs):
                return True
            if not runs or time.monotonic() >= until or self._ending.wait(_PAUSE_SECONDS):
                return False
