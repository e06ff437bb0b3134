"""The definition of a pipeline: its models are what YAML, Python and editors know of it.

source ── transform (rows of a source table) ── route (names of tables) ── sink
               steps: SQL for closed intervals of keyed tables; pipeline: what all of it is called, and how it runs
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator
from typing_extensions import Self

from keylake.errors import DefinitionError, check_type
from keylake_pipelines.definition.fields import (
    NO_OPTIONS,
    Conditions,
    Count,
    Definition,
    Duration,
    Lower,
    Names,
    Options,
    SomeTime,
    TablePattern,
    Upper,
    is_unused,
    named,
    unused,
)
from keylake_pipelines.definition.flink_sinks import OtherSinks
from keylake_pipelines.definition.sources import SourceDefinition
from keylake_pipelines.definition.steps import Step
from keylake_pipelines.definition.yaml_file import parsed, written

Behaviour = Literal["evolve", "try_evolve", "lenient", "ignore", "exception"]
"""What is done with changes of source tables; the words of Flink CDC."""

_CHANGES = ("add.column", "alter.column.type", "create.table", "drop.column", "drop.table", "rename.column",
            "truncate.table")  # fmt: skip


def _list(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value  # pyright: ignore[reportUnknownArgumentType]


_FRESH = datetime.timedelta(seconds=8)


class LakeSink(OtherSinks):
    """The lake that tables are written to, and how new tables are laid out.

    Example::

        sink = kl.LakeSink(lake="sc://spark:15002", buckets=16, freshness=datetime.timedelta(minutes=1))
    """

    type: Annotated[Literal["keylake"], named("type", "Keyed tables of a lake.")] = "keylake"
    name: Annotated[str | None, named("name", "What the sink is called in messages.")] = None
    lake: Annotated[
        str | None,
        named(
            "lake",
            "A directory, or the address of a server, `sc://host:15002`; unless said that of `--lake`, or `./lake`.",
        ),
    ] = None
    catalog: Annotated[str, named("catalog", "The catalog in Spark.")] = "lake"
    namespace: Annotated[
        str | None,
        named("namespace", "Where tables lie that no route names; unless said the database, or schema, of the source."),
    ] = None
    buckets: Annotated[Count, named("buckets", "Buckets of new tables.")] = 2
    table_properties: Annotated[
        Options,
        named("table.properties.*", "Properties of new tables, as `table.properties.write.format.default: orc`."),
    ] = NO_OPTIONS
    freshness: Annotated[
        Duration, named("freshness", "How long the few rows of a quiet table may wait for more: `1 minute`.")
    ] = datetime.timedelta(0)
    include_changes: Annotated[
        Names, named("include.schema.changes", "Changes of tables that are followed; all unless said.")
    ] = ()
    exclude_changes: Annotated[Names, named("exclude.schema.changes", "Changes of tables that are not followed.")] = ()

    catalog_properties: Annotated[Options, unused("catalog.properties.*")] = NO_OPTIONS
    commit_user: Annotated[str | None, unused("commit.user")] = None
    commit_user_prefix: Annotated[str | None, unused("commit.user-prefix")] = None
    partition_key: Annotated[str | None, unused("partition.key")] = None

    @model_validator(mode="after")
    def _knows_changes(self) -> Self:
        for name in (*self.include_changes, *self.exclude_changes):
            if not any(name in change for change in _CHANGES):
                raise ValueError(f"knows no change {name!r}. There are: {', '.join(_CHANGES)}.")
        return self


class Route(Definition):
    r"""The keyed table that the rows of source tables go to.

    Example::

        route = kl.Route(source_table=r"shop.orders_\.*", sink_table="lake.orders")
    """

    source_table: Annotated[
        TablePattern, named("source-table", r"Source tables, as a regular expression: `shop.orders_\.*`")
    ]
    sink_table: Annotated[str, named("sink-table", "The keyed table. `$1` is the first group of the expression.")]
    replace_symbol: Annotated[
        str | None, named("replace-symbol", "What stands for the name of the source table in `sink-table`, as in `<>`.")
    ] = None
    description: Annotated[str | None, named("description", "What it is for.")] = None


class Transform(Definition):
    """The projection, filter and keys that the rows of source tables get on their way.

    Example::

        transform = kl.Transform(source_table="shop.orders", projection="*, upper(city) AS city", filter="id > 10")
    """

    source_table: Annotated[
        TablePattern,
        named("source-table", "Source tables, as a regular expression; the first transform that fits counts."),
    ]
    projection: Annotated[
        str | None, named("projection", r"The columns, in Spark's SQL: `\*, upper(name) AS name`. All unless said.")
    ] = None
    filter: Annotated[str | None, named("filter", "Which rows are written, in Spark's SQL: `id > 10`.")] = None
    primary_keys: Annotated[
        Names, named("primary-keys", "The key of the keyed table; that of the source unless said.")
    ] = ()
    partition_keys: Annotated[
        Names, named("partition-keys", "What the keyed table is partitioned by, columns of its key.")
    ] = ()
    require: Annotated[
        Conditions, named("require", "Conditions in Spark's SQL that each row of the keyed table has to satisfy.")
    ] = ()
    on_failure: Annotated[
        Literal["raise", "quarantine"],
        Lower,
        named("on-failure", "`raise` sets the table aside, `quarantine` holds such rows back in its quarantine."),
    ] = "raise"
    table_options: Annotated[
        str | None, named("table-options", "Properties of the keyed table: `name=value,name=value`.")
    ] = None
    table_options_delimiter: Annotated[str, named("table-options.delimiter", "What stands between properties.")] = ","
    converter_after_transform: Annotated[
        Literal["SOFT_DELETE"] | None,
        Upper,
        is_unused,
        named("converter-after-transform", "SOFT_DELETE: deletes are written as rows, see `__data_event_type__`."),
    ] = None
    description: Annotated[str | None, named("description", "What it is for.")] = None

    @model_validator(mode="after")
    def _options_are_pairs(self) -> Self:
        self.table_properties()
        return self

    def table_properties(self) -> dict[str, str]:
        """The options of the keyed table by name.

        >>> Transform(source_table="shop.orders", table_options="a=1,b=2").table_properties()
        {'a': '1', 'b': '2'}
        """
        parts = (self.table_options or "").split(self.table_options_delimiter)
        pairs = [part.partition("=") for part in parts if part.strip()]
        for name, sign, _ in pairs:
            if not sign or not name.strip():
                raise ValueError(f"has table-options without a name and a value: {name.strip()!r}. Use name=value.")
        return {name.strip(): value.strip() for name, _, value in pairs}


class PipelineOptions(Definition):
    """The name of a pipeline, and the options of its runs.

    Example::

        options = kl.PipelineOptions(name="shop", schema_change_behavior="evolve")
    """

    name: Annotated[str, named("name", "What it is called: one pipeline of a lake has the name.")] = "keylake"
    parallelism: Annotated[
        Count | None, named("parallelism", "Tasks of a write; as many as Spark has unless said.")
    ] = None
    schema_change_behavior: Annotated[
        Behaviour, Lower, named("schema.change.behavior", "What is done with changes of source tables.")
    ] = "lenient"
    local_time_zone: Annotated[
        str | None,
        named("local-time-zone", "The time zone of functions such as `date_format`; that of Spark unless said."),
    ] = None
    route_mode: Annotated[
        Literal["ALL_MATCH", "FIRST_MATCH"],
        Upper,
        named("route-mode", "Whether all routes that fit count, or the first."),
    ] = "ALL_MATCH"
    runtime_mode: Annotated[
        Literal["STREAMING", "BATCH"],
        Upper,
        named("execution.runtime-mode", "BATCH ends when all is read, as `--once` does."),
    ] = "STREAMING"
    load_control: Annotated[
        bool,
        named(
            "load.control",
            "Whether batches are sized by what the last ones showed; false writes whatever a poll gives at once.",
        ),
    ] = True
    load_freshness: Annotated[
        SomeTime | None,
        named(
            "load.freshness",
            "How soon after it came a row is to be in its table: writes are as rare as that allows. 8 seconds unless "
            "said, or the `freshness` of the sink where that is shorter.",
        ),
    ] = None
    load_rows_least: Annotated[Count, named("load.rows.least", "The fewest rows that a batch is sized for.")] = 1_000
    load_rows_most: Annotated[
        Count,
        named(
            "load.rows.most",
            "The most rows of a batch, more or less; they are in memory at once, and those of the next poll, which is "
            "made meanwhile.",
        ),
    ] = 500_000

    check_every: Annotated[
        SomeTime | None,
        named(
            "check.every",
            "How often a part of each table is compared with its source while the pipeline runs: `1 hour`; never "
            "unless said.",
        ),
    ] = None

    operator_uid: Annotated[str | None, unused("schema.operator.uid")] = None
    uid_prefix: Annotated[str | None, unused("operator.uid.prefix")] = None
    rpc_timeout: Annotated[str | None, unused("schema-operator.rpc-timeout")] = None
    partitioning: Annotated[str | None, unused("sink.partitioning.strategy")] = None
    decimal_precision: Annotated[str | None, unused("transform.decimal.precision.mode")] = None
    flink_conf: Annotated[dict[str, Any] | None, unused("flink-conf")] = None

    @model_validator(mode="after")
    def _has_bounds(self) -> Self:
        if self.load_rows_least > self.load_rows_most:
            raise ValueError(
                f"has load.rows.least {self.load_rows_least}, above load.rows.most {self.load_rows_most}. Lower it."
            )
        return self

    @model_validator(mode="before")
    @classmethod
    def _has_no_java(cls, data: Any) -> Any:
        if isinstance(data, dict):
            if "user-defined-function" in data:
                raise ValueError(
                    "has user-defined-function: classes of Java cannot be called here. Say it in Spark's SQL, or "
                    "register a function in Spark."
                )
            if "model" in data:
                raise ValueError(
                    "has model: models cannot be called here. Leave it out, and write what they add later."
                )
        return data  # pyright: ignore[reportUnknownVariableType]


class Pipeline(Definition):
    """A pipeline: tables of a source into keyed tables of a lake.

    Errors: `DefinitionError` says what is wrong in a sentence for each, and of a file on which line.

    Example::

        pipeline = kl.Pipeline.load("pipeline.yaml")
        print(pipeline.to_yaml())
    """

    source: Annotated[SourceDefinition, Field(description="Where rows come from.")]
    sink: Annotated[LakeSink, Field(description="Where they go.")] = LakeSink()
    route: Annotated[
        tuple[Route, ...], BeforeValidator(_list), Field(description="Which keyed tables source tables go to.")
    ] = ()
    transform: Annotated[
        tuple[Transform, ...], BeforeValidator(_list), Field(description="What is done to rows on their way.")
    ] = ()
    steps: Annotated[
        tuple[Step, ...], BeforeValidator(_list), Field(description="What is run for closed intervals of keyed tables.")
    ] = ()
    pipeline: Annotated[PipelineOptions, Field(description="What it is called, and how it runs.")] = PipelineOptions()

    @model_validator(mode="after")
    def _steps_are_alike(self) -> Self:
        names = [step.trigger for step in self.steps]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"has two steps that are called {twice!r}. Give one of them another name.")
        times = {(step.table, step.event_time, step.late) for step in self.steps}
        tables = [table for table, _, _ in times]
        if twice := next((table for table in tables if tables.count(table) > 1), None):
            raise ValueError(f"has steps of {twice} with several event times. Give them one event-time and one late.")
        return self

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Pipeline:
        """A pipeline from a YAML file; ${NAME} is what the environment has of that name.

        Raises `DefinitionError` with the line and column of everything that is wrong, and `Unsupported` if PyYAML is
        missing.

        Example::

            pipeline = kl.Pipeline.load("pipeline.yaml")
        """
        check_type("path", path, str | os.PathLike, "the path of a YAML file")
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise DefinitionError(f"{os.fspath(path)!r} cannot be read: {error.strerror}. Name a YAML file.") from None
        except UnicodeDecodeError as error:
            raise DefinitionError(
                f"{os.fspath(path)!r} is no text in UTF-8: {error.reason} at byte {error.start:,}. Save it as UTF-8."
            ) from None
        return parsed(text, os.fspath(path), cls)

    @property
    def freshness(self) -> datetime.timedelta:
        """The time within which a row is to be in its table after it came."""
        return self.pipeline.load_freshness or min(self.sink.freshness or _FRESH, _FRESH)

    def to_yaml(self) -> str:
        """The pipeline as YAML; secrets become names of the environment, as in ${SOURCE_PASSWORD}.

        Example::

            Path("pipeline.yaml").write_text(pipeline.to_yaml())
        """
        return written(self)

    def ignored(self) -> tuple[str, ...]:
        """The keys that were given, and mean nothing here."""
        parts: tuple[tuple[str, Definition], ...] = (
            ("source", self.source),
            ("sink", self.sink),
            ("pipeline", self.pipeline),
        )
        return tuple(f"{name}.{each}" for name, part in parts for each in _unused_keys(part))


def _unused_keys(part: Definition) -> Iterator[str]:
    free = dict(type(part).free_keys())
    for name, field in type(part).model_fields.items():
        if is_unused(field) and name in part.model_fields_set:
            if name in free:
                yield from (f"{free[name]}{each}" for each in getattr(part, name))
            else:
                yield str(field.serialization_alias)
