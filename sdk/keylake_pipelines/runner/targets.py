"""The keyed tables of a pipeline: created where they are not there, altered, written with the offsets of the rows."""

# pyright: reportUnknownParameterType=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

import keylake as kl
from keylake.errors import (
    DefinitionError,
    KeylakeError,
    PipelineBusy,
    SchemaMismatch,
    StoreFailed,
    TableExists,
    TableNotFound,
)
from keylake.extension import TablePath, literal, name_parts, quoted, session_of
from keylake_pipelines.multi_table.write import TableBatch, write_tables
from keylake_pipelines.runner.evolution import Alteration
from keylake_pipelines.runner.settings import Required, Target
from keylake_pipelines.runner.waiting import from_offsets, offsets_in
from keylake_pipelines.source.tables import SourceSchema

if TYPE_CHECKING:
    from keylake.lake import Lake
    from keylake.table import KeyedTable

_AT_ONCE = 8  # tables that are opened or created at a time
_WRITTEN = ("op", "version", "row")


@dataclass
class _Opened:
    table: KeyedTable
    next: dict[str, int] = field(default_factory=dict[str, int])  # where each partition goes on in this table


class Targets:
    """Keyed tables by their names, opened when they are needed."""

    def __init__(self, lake: Lake, stream: str, required: Callable[[str], Required]) -> None:
        self._lake = lake
        self._stream = stream
        self._opened: dict[str, _Opened] = {}
        self._required = required

    def prepare(self, wanted: Iterable[tuple[Target, SourceSchema]]) -> None:
        """Open or create tables, several at once; an error comes again when one is needed.

        Those that are there are listed first, so that the others are created without a question for each.
        """
        needed = {
            each.table: (each, schema) for each, schema in wanted if schema.key and each.table not in self._opened
        }
        there = self._listed(needed)
        missing = [partial(self._made, *each) for name, each in needed.items() if name not in there]
        _at_once([*missing, *(partial(self._open, name) for name in there)])

    def _listed(self, names: Iterable[str]) -> set[str]:
        """The names of these tables that are there."""
        by_parts = {name_parts(name): name for name in names}
        session = session_of(self._lake)
        found: set[str] = set()
        for namespace in {parts[:-1] for parts in by_parts}:
            with contextlib.suppress(KeylakeError), session.asking():  # the namespace may not be there yet
                listed = session.spark.sql(f"SHOW TABLES IN {'.'.join(map(quoted, (session.catalog, *namespace)))}")
                found |= {by_parts[each] for row in listed.collect() if (each := (*namespace, row[1])) in by_parts}
        return found

    def open(self, names: Iterable[str]) -> None:
        """Open tables that are there, several at once."""
        _at_once([partial(self._open, name) for name in dict.fromkeys(names) if name not in self._opened])

    def create(self, target: Target, schema: SourceSchema) -> kl.TableSpec:
        """The table for rows of this schema; one that is there has to have its key."""
        if not schema.key:
            raise DefinitionError(
                f"The source table {schema.table} has no key, so its rows cannot be told apart. Give it a primary key, "
                "name one in the pipeline (transform: primary-keys), or leave the table out."
            )
        try:
            spec = self.spec(target.table)
        except TableNotFound:
            spec = self._made(target, schema)
        if _lower(spec.key) != _lower(schema.key) or spec.versions != "explicit":
            raise SchemaMismatch(
                f"{target.table} has the key {', '.join(spec.key)} and {spec.versions} versions, and {schema.table} "
                f"needs the key {', '.join(schema.key)} and explicit versions. Drop or rename {target.table}, and let "
                "keylake resnapshot make it anew; or send it to another table (route)."
            )
        return spec

    def _made(self, target: Target, schema: SourceSchema) -> kl.TableSpec:
        """A new table, which has no offsets yet; one that somebody else has made meanwhile is opened."""
        try:
            table = self._lake.create(_spec(target, schema))
        except TableExists:
            return self.spec(target.table)
        self._opened[target.table] = _Opened(table)
        self._set(target)
        return table.spec

    def _set(self, target: Target) -> None:
        if target.properties:
            pairs = ", ".join(f"{literal(name)} = {literal(value)}" for name, value in target.properties)
            session = session_of(self._lake)
            with session.asking():
                table = TablePath(target.table).in_sql(session.catalog)
                session.spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ({pairs})")

    def spec(self, name: str) -> kl.TableSpec:
        """The definition of a table, as it is known here."""
        return self._open(name).table.spec

    def is_there(self, name: str) -> bool:
        """The lake has such a table."""
        try:
            self._open(name)
        except TableNotFound:
            return False
        return True

    def alter(self, name: str, words: Alteration) -> None:
        """Change the columns of a table; new ones are refused as those of a new table would be."""
        spec = self.spec(name)
        new = [kl.Column(each, type_) for each, type_ in words.add.items()]
        kl.TableSpec.of([*map(spec.column, spec.key), *new], name=name, key=spec.key, versions="explicit", buckets=1)
        self._open(name).table.alter(
            add=words.add or None,
            drop=list(words.drop) or None,
            rename=words.rename or None,
            widen=words.widen or None,
            comment=words.comment or None,
            after=words.after or None,
        )

    def remove_older(self, name: str, version: int) -> int:
        """Remove the rows of a table whose newest value is older than a version; how many they were."""
        table = self._open(name).table
        gone = table.read(columns=list(table.spec.key), where=f"_merge_info.version < {version}")
        return 0 if gone.isEmpty() else table.delete(gone, version=version, stream=self._stream).rows

    def is_empty(self, name: str) -> bool:
        """A table has no rows."""
        table = self._open(name).table
        return bool(table.read(columns=list(table.spec.key)).isEmpty())

    def empty(self, name: str, idempotency_key: str) -> None:
        """Remove all rows of a table, once."""
        table = self._open(name).table
        table.overwrite([], version=0, idempotency_key=idempotency_key, stream=self._stream)

    def forget(self, name: str) -> None:
        """Look at a table anew when it is needed again: others may have changed it."""
        self._opened.pop(name, None)

    def new_rows(self, name: str, rows: pa.Table) -> pa.Table:
        """The rows that the table has not been given yet."""
        return from_offsets(rows, self._open(name).next)

    def write(
        self,
        rows: Mapping[str, pa.Table],
        ends: Mapping[str, int],
        watermarks: Mapping[str, datetime.datetime | None] | None = None,
    ) -> dict[str, KeylakeError]:
        """Write the rows of each table, with the offsets up to these ends; the errors of tables that did not take them.

        Raises `PipelineBusy` where another process writes the same offsets.
        """
        if not rows:
            return {}
        batches: list[TableBatch] = []
        for name, part in rows.items():
            known = self._open(name).next
            found = offsets_in(part)
            ranges = {p: (known.get(p, least), max(end, ends.get(p, 0))) for p, (least, end) in found.items()}
            # Tables keep no offsets below 0, which snapshots may have. Their rows may come twice: they have versions.
            offsets = {p: (begin, end) for p, (begin, end) in ranges.items() if 0 <= begin < end}
            required, watermark = self._required(name), (watermarks or {}).get(name)
            batches.append(TableBatch(name, offsets or None, self._stream, watermark, *required))
        sent = pa.concat_tables(
            [
                part.select(_WRITTEN).add_column(0, "table", pa.repeat(name, part.num_rows))
                for name, part in rows.items()
            ]
        )
        session = session_of(self._lake)
        with session.local_frame(sent.combine_chunks()) as frame:
            outcomes = write_tables(session, frame, batches, count=sent.num_rows)
        failed: dict[str, KeylakeError] = {}
        for batch, outcome in zip(batches, outcomes, strict=True):
            if outcome.error is None:
                self._open(batch.name).next |= {p: end for p, (_, end) in (batch.offsets or {}).items()}
            else:
                self._check_alone(batch, outcome.error)
                failed[batch.name] = outcome.error
        return failed

    def _check_alone(self, batch: TableBatch, error: KeylakeError) -> None:
        """Raise `PipelineBusy` where another process has written the offsets of a batch: its error is of that."""
        if isinstance(error, StoreFailed):  # whether it was written is not known, and it is tried again
            return
        opened = self._open(batch.name)
        now = opened.table.commits.offsets()
        if any(now.get(p) != opened.next.get(p) for p in batch.offsets or ()):
            raise PipelineBusy(
                f"Another process has written rows of pipeline {self._stream!r} to {batch.name} meanwhile, so this one "
                "has ended. Let one process run the pipeline."
            ) from error

    def _open(self, name: str) -> _Opened:
        if name not in self._opened:
            table = self._lake.table(name)
            self._opened[name] = _Opened(table, dict(table.commits.offsets()))
        return self._opened[name]


def _at_once(tasks: Sequence[Callable[[], object]]) -> None:
    def quietly(task: Callable[[], object]) -> None:
        with contextlib.suppress(KeylakeError):
            task()

    if len(tasks) > 1:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(quietly, tasks))


def _spec(target: Target, schema: SourceSchema) -> kl.TableSpec:
    return kl.TableSpec.of(
        [kl.Column(column.name, column.type, doc=column.comment) for column in schema.columns],
        name=target.table,
        comment=schema.comment,
        key=list(schema.key),
        versions="explicit",
        buckets=target.buckets,
        partition_by=list(target.partition_by),
    )


def _lower(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.lower() for name in names)
