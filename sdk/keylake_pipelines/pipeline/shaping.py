"""The answers of a pipeline to its loop: where tables go, and in which shape, as its definition says."""

# pyright: reportUnknownParameterType=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from keylake.errors import DefinitionError
from keylake.extension import session_of
from keylake_pipelines.definition.routes import is_captured, route, transforms_of
from keylake_pipelines.definition.sources import MySql, Postgres
from keylake_pipelines.pipeline.transforms import Transformed
from keylake_pipelines.runner.settings import NOTHING_REQUIRED, Required, Target
from keylake_pipelines.source.source import CHANGES
from keylake_pipelines.source.tables import SourceSchema, SourceTable

if TYPE_CHECKING:
    from keylake.lake import Lake
    from keylake_pipelines.definition.pipeline import Pipeline


class DefinedShaping:
    """The routes and transforms of a pipeline; expressions are typed and run by the lake's Spark."""

    def __init__(self, pipeline: Pipeline, lake: Lake) -> None:
        self._pipeline = pipeline
        self._session = session_of(lake)
        self._planned: dict[SourceSchema, Transformed] = {}

    def targets(self, table: SourceTable) -> tuple[Target, ...]:
        """The keyed tables of a source table; none for one that the source does not name."""
        source = self._pipeline.source
        if isinstance(source, MySql | Postgres) and not is_captured(source, table):
            return ()
        rules = transforms_of(self._pipeline, table)
        options = {name: str(value) for name, value in self._pipeline.sink.table_properties.items()}
        for rule in rules:
            options |= rule.table_properties()
        options.pop("comment", None)  # that of the source is kept
        buckets = options.pop("bucket", str(self._pipeline.sink.buckets))
        if not buckets.isdecimal() or int(buckets) < 1:
            raise DefinitionError(f"The option bucket of {table} is {buckets!r}. Use a whole number from 1 on.")
        partition_by = next((rule.partition_keys for rule in rules if rule.partition_keys), ())
        names = route(self._pipeline, table)
        stated = (Required(rule.require, rule.on_failure) for rule in rules if rule.require)
        required = next(stated, NOTHING_REQUIRED)
        return tuple(Target(name, int(buckets), partition_by, tuple(options.items()), required) for name in names)

    def schema(self, schema: SourceSchema) -> SourceSchema:
        """The columns of the projection, and the key."""
        return self.transformed(schema).schema

    def rows(self, schema: SourceSchema, rows: pa.Table) -> pa.Table:
        """The rows after projection and filter."""
        transformed = self.transformed(schema)
        if not transformed.rules or rows.num_rows == 0:
            return rows
        with self._session.local_frame(rows) as frame, self._session.asking():
            return transformed.rows(frame).toArrow().cast(CHANGES)

    def transformed(self, schema: SourceSchema) -> Transformed:
        """The transforms of a source table."""
        if schema not in self._planned:
            rules = transforms_of(self._pipeline, schema.table)
            self._planned[schema] = Transformed.of(self._session, schema, rules)
        return self._planned[schema]
