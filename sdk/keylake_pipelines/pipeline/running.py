"""A pipeline at work: its source is opened, and the loop runs it as its definition says; or a plan of that is made."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from keylake.errors import TableNotFound
from keylake.extension import session_of
from keylake_pipelines.definition.pipeline import Pipeline
from keylake_pipelines.definition.routes import shared, unmatched
from keylake_pipelines.definition.sources import Kafka, MySql, Postgres
from keylake_pipelines.files.source import FilesSource
from keylake_pipelines.kafka.source import KafkaSource
from keylake_pipelines.pipeline.opening import looked_at, opened_source
from keylake_pipelines.pipeline.periodic import PeriodicCheck
from keylake_pipelines.pipeline.shaping import DefinedShaping
from keylake_pipelines.rate_control.controller import Controller
from keylake_pipelines.rate_control.targets import Bounds, LoadTargets
from keylake_pipelines.runner.evolution import alteration
from keylake_pipelines.runner.loop import run
from keylake_pipelines.runner.settings import Fixed, Load, PipelineReport, RunSettings, Setting
from keylake_pipelines.runner.sizing import Sized
from keylake_pipelines.source.source import Lag, Source, Step
from keylake_pipelines.source.tables import (
    ColumnAdded,
    ColumnDropped,
    ColumnModified,
    ColumnRenamed,
    SourceSchema,
    SourceTable,
    TableChange,
    TableCreated,
    TableDropped,
    TableRenamed,
    TableTruncated,
)

if TYPE_CHECKING:
    from keylake.lake import Lake

LOG = logging.getLogger("keylake")
_WORDS: Mapping[type[object], str] = {
    ColumnAdded: "add.column",
    ColumnModified: "alter.column.type",
    TableCreated: "create.table",
    ColumnDropped: "drop.column",
    TableDropped: "drop.table",
    ColumnRenamed: "rename.column",
    TableRenamed: "rename.table",
    TableTruncated: "truncate.table",
}
_OF_NAMES = (TableCreated, TableDropped, TableRenamed)
_FRESH_ENOUGH_SECONDS = 60.0  # of a run that ends, whose batches are large
_LOOKS_SECONDS = 30.0  # at what a source has, where it knows its tables by their rows only


@dataclass(frozen=True)
class TablePlan:
    """The plan of a pipeline for a source table: the keyed table, its columns, and what of them is new."""

    source: str
    table: str
    is_new: bool
    key: tuple[str, ...]
    columns: tuple[str, ...]
    changes: tuple[str, ...]


def run_pipeline(
    pipeline: Pipeline,
    lake: Lake,
    *,
    once: bool = False,
    load: Load | None = None,
    ending: threading.Event | None = None,
    refusal: Callable[[], str | None] = lambda: None,
) -> PipelineReport:
    """Run a pipeline until `ending` is set or somebody stops it; with `once` until its source has nothing more.

    `load` sizes its batches otherwise than its definition says. `refusal` is asked where somebody wants the pipeline to
    begin anew: why its new definition cannot be used. It goes on as it is then.

    Raises `DefinitionError` for a transform that Spark refuses, `PipelineBusy` if another process runs it,
    `SourceFailed` if the source refuses or has lost what was not read, and `Unsupported` if a package that it needs is
    missing.

    Example::

        report = kl.run_pipeline(kl.Pipeline.load("pipeline.yaml"), lake, once=True)
    """
    options = pipeline.pipeline
    _set_session(pipeline, lake)
    source = _Followed(opened_source(pipeline, lake), pipeline)
    settings = RunSettings(
        options.name,
        DefinedShaping(pipeline, lake),
        behaviour=options.schema_change_behavior if _follows_changes(pipeline) else "ignore",
        once=once or options.runtime_mode == "BATCH",
        freshness=_few_wait(pipeline),
        load=load or load_of(pipeline, once=once),
        steps=tuple(step.as_run(options.name) for step in pipeline.steps),
        rereads=isinstance(pipeline.source, MySql | Postgres),
        refusal=refusal,
        notice=lambda: source.notice,
    )
    with PeriodicCheck(pipeline, lake, once=settings.once):
        return run(source, lake, settings, ending=ending)


def load_of(pipeline: Pipeline, *, once: bool = False) -> Load:
    """The sizes of a pipeline's batches, as its definition says; a run that ends has no rows that wait for it."""
    options = pipeline.pipeline
    if not options.load_control:
        return Fixed(Setting(options.load_rows_most))
    fresh = pipeline.freshness.total_seconds()
    ends = once or options.runtime_mode == "BATCH"
    fresh = max(fresh, _FRESH_ENOUGH_SECONDS) if ends else fresh
    rows = Bounds(options.load_rows_least, options.load_rows_most)
    targets = LoadTargets(freshness_seconds=fresh, shortest_seconds=min(1.0, fresh / 4), rows=rows)
    return Sized(Controller(targets, tells=not ends))  # of a run that ends, nobody asks how fresh its rows are


def _few_wait(pipeline: Pipeline) -> float:
    """The seconds that few rows of a quiet table wait for more; where all rows are sooner in their tables, none."""
    few = pipeline.sink.freshness
    return few.total_seconds() if few > pipeline.freshness else 0.0


def planned(pipeline: Pipeline, lake: Lake) -> tuple[TablePlan, ...]:
    """The tables that the pipeline would make and change, by those that its source has now. Nothing is written."""
    _set_session(pipeline, lake)
    shaping = DefinedShaping(pipeline, lake)
    schemas, missing = looked_at(pipeline), None
    if schemas is None:
        source = opened_source(pipeline, lake)
        try:
            schemas = _schemas(source)
            missing = _missing(source)
        finally:
            source.close()
    told = [notice_of(pipeline, [schema.table for schema in schemas]), missing]
    if any(told):
        LOG.warning("%s: %s", pipeline.pipeline.name, " ".join(filter(None, told)))
    return tuple(
        _plan(lake, schema, schema if schema.refused else shaping.schema(schema), target.table)
        for schema in schemas
        for target in shaping.targets(schema.table)
    )


def notice_of(pipeline: Pipeline, tables: Sequence[SourceTable]) -> str | None:
    """Sentences about the parts of a pipeline that mean no table of its source, or several where one is expected."""
    told: list[str] = []
    if found := unmatched(pipeline, tables):
        told.append(f"No table of the source is meant by {', '.join(found)}. Check the names, or wait for such tables.")
    for target, of in shared(pipeline, tables).items():
        topics = isinstance(pipeline.source, Kafka)
        told.append(
            f"Rows of {', '.join(map(str, of))} go to one keyed table, {target}, by the last part of their names"
            f"{', and of rows with one key the one with the larger offset stays' if topics else ''}. Give each a route "
            "where that is not meant, or one route to all where it is."
        )
    return " ".join(told) or None


def _missing(source: Source) -> str | None:
    """A sentence about topics or files that a source has not; databases say it by their tables."""
    return source.missing() if isinstance(source, KafkaSource | FilesSource) else None


def _schemas(source: Source) -> tuple[SourceSchema, ...]:
    """The tables of a source; where it knows them by their rows only, these are looked at."""
    source.begin({})
    found = {str(schema.table): schema for schema in source.schemas()}
    until = time.monotonic() + _LOOKS_SECONDS
    while not found or time.monotonic() < until:
        steps = source.poll(100_000, 0.1)
        created = (change.schema for step in steps for change in step.changes if isinstance(change, TableCreated))
        new = {str(schema.table): schema for schema in created if str(schema.table) not in found}
        found |= new
        if not steps or (source.schemas() and not new):
            break
    return tuple(found[name] for name in sorted(found))


def _plan(lake: Lake, schema: SourceSchema, shaped: SourceSchema, table: str) -> TablePlan:
    columns = tuple(f"{column.name} {column.type}" for column in shaped.columns)
    if schema.refused:
        return TablePlan(str(schema.table), table, False, (), columns, (f"set aside: {schema.refused}",))
    try:
        spec = lake.table(table).spec
    except TableNotFound:
        return TablePlan(str(schema.table), table, True, shaped.key, columns, ())
    words = alteration(shaped, spec, keep=True)
    changes = [
        *(f"add {name} {type_}" for name, type_ in words.add.items()),
        *(f"widen {name} to {type_}" for name, type_ in words.widen.items()),
        *words.refused,
    ]
    return TablePlan(str(schema.table), table, False, spec.key, columns, tuple(changes))


def _set_session(pipeline: Pipeline, lake: Lake) -> None:
    options = pipeline.pipeline
    settings = {"timeZone": options.local_time_zone, "shuffle.partitions": options.parallelism}
    for name, value in settings.items():
        if value is not None:
            prefix = "spark.sql.session" if name == "timeZone" else "spark.sql"
            session_of(lake).set(f"{prefix}.{name}", str(value))


def _follows_changes(pipeline: Pipeline) -> bool:
    return bool(getattr(pipeline.source, "schema_change_enabled", True))


class _Followed:
    """A source whose changes of tables are those that the sink includes; what no table of it is meant by is told."""

    def __init__(self, source: Source, pipeline: Pipeline) -> None:
        self._source = source
        self._pipeline = pipeline
        self._sink = pipeline.sink
        self._knows_tables = isinstance(pipeline.source, MySql | Postgres)
        self._tables: set[SourceTable] = set()  # that rows have told of
        self._was_read = False  # to its end, once
        self.notice: str | None = None

    def begin(self, positions: Mapping[str, int], schemas: Sequence[SourceSchema] = ()) -> None:
        self._source.begin(positions, schemas)
        self._tables = {schema.table for schema in schemas}
        if self._knows_tables:
            self._look()

    def _look(self) -> None:
        """Tables of topics and files are known by their rows alone: when all were read, it is known which there are."""
        before, unmet = self.notice, None
        if self._knows_tables:
            unmet = notice_of(self._pipeline, [schema.table for schema in self._source.schemas()])
        elif self._was_read:
            unmet = notice_of(self._pipeline, sorted(self._tables))
        self.notice = " ".join(filter(None, (unmet, _missing(self._source)))) or None
        if self.notice is not None and self.notice != before:
            LOG.warning("%s: %s", self._pipeline.pipeline.name, self.notice)

    def reread(self, table: SourceTable) -> bool:
        return self._source.reread(table)

    def schemas(self) -> tuple[SourceSchema, ...]:
        return self._source.schemas()

    def poll(self, most_rows: int, seconds: float) -> tuple[Step, ...]:
        steps = self._source.poll(most_rows, seconds)
        changes = [change for step in steps for change in step.changes if isinstance(change, _OF_NAMES)]
        self._tables |= {change.schema.table for change in changes if isinstance(change, TableCreated)}
        self._was_read = self._was_read or not steps
        if changes or not self._knows_tables:
            self._look()
        return tuple(
            replace(step, changes=tuple(filter(self._follows, step.changes))) if step.changes else step
            for step in steps
        )

    def written(self, positions: Mapping[str, int]) -> None:
        self._source.written(positions)

    def lag(self) -> Lag:
        return self._source.lag()

    def close(self) -> None:
        self._source.close()

    def _follows(self, change: TableChange) -> bool:
        word = _WORDS.get(type(change))
        if word is None:  # of rows and keys
            return True
        included, excluded = self._sink.include_changes, self._sink.exclude_changes
        if any(each in word for each in excluded):
            return False
        return word == "create.table" or not included or any(each in word for each in included)
