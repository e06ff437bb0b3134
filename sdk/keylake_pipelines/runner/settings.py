"""The settings of the loop: where tables go, how it sizes its rounds, what it does with changes of tables."""

# pyright: reportUnknownParameterType=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

import pyarrow as pa

from keylake.extension import OnFailure
from keylake_pipelines.runner.steps import TableStep
from keylake_pipelines.source.source import Lag
from keylake_pipelines.source.tables import SourceSchema, SourceTable

Behaviour = Literal["evolve", "try_evolve", "lenient", "ignore", "exception"]
"""What is done with changes of source tables; the words of Flink CDC's `schema.change.behavior`."""


class Required(NamedTuple):
    """The conditions in SQL that each row has to satisfy, and what becomes of one that does not."""

    require: tuple[str, ...] = ()
    on_failure: OnFailure = "raise"


NOTHING_REQUIRED = Required()


@dataclass(frozen=True)
class Target:
    """The keyed table that the rows of a source table go to, and how it is laid out where it has to be created."""

    table: str
    buckets: int = 2
    partition_by: tuple[str, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    required: Required = NOTHING_REQUIRED


class Shaping(Protocol):
    """The keyed tables and shapes of source tables. It has no state: the same questions get the same answers."""

    def targets(self, table: SourceTable) -> tuple[Target, ...]:
        """The keyed tables that the rows of a source table go to; none where they are not wanted."""
        ...

    def schema(self, schema: SourceSchema) -> SourceSchema:
        """The columns and the key that the rows of a source table have when they are written."""
        ...

    def rows(self, schema: SourceSchema, rows: pa.Table) -> pa.Table:
        """The rows of a source table, with the columns of `CHANGES`, as they are written."""
        ...


@dataclass(frozen=True)
class AsTheyAre:
    """Tables go to keyed tables of their own names in one namespace, their rows as they are.

    >>> [target.table for target in AsTheyAre("shop").targets(SourceTable(("app", "public", "orders")))]
    ['shop.orders']
    """

    namespace: str
    buckets: int = 2

    def targets(self, table: SourceTable) -> tuple[Target, ...]:
        """The last part of the name is that of the table."""
        return (Target(f"{self.namespace}.{table.parts[-1]}", self.buckets),)

    def schema(self, schema: SourceSchema) -> SourceSchema:
        """All columns."""
        return schema

    def rows(self, schema: SourceSchema, rows: pa.Table) -> pa.Table:  # noqa: ARG002
        """All rows."""
        return rows


@dataclass(frozen=True)
class Round:
    """The figures of a round, from one write to the next, and the lag of the pipeline at its end."""

    number: int
    rows: int  # that were polled
    written: int  # that were written
    tables: int  # that were written
    seconds: float
    polling: float  # seconds of that
    lag: Lag


@dataclass(frozen=True)
class Setting:
    """The most rows of the next batch, the seconds that a poll may wait for rows, and the seconds between two writes.

    What is polled meanwhile waits, and is written together; a batch that is full is written at once.
    """

    rows: int = 100_000
    seconds: float = 1.0
    interval: float = 0.0


class Load(Protocol):
    """Sizes rounds by what the last ones did."""

    def next(self, last: Round | None) -> Setting:
        """The setting of the next poll; `last` is given once, after its write."""
        ...


@dataclass(frozen=True)
class Fixed:
    """Every round has the same setting."""

    setting: Setting = field(default_factory=Setting)

    def next(self, last: Round | None) -> Setting:  # noqa: ARG002
        """The setting."""
        return self.setting


@dataclass(frozen=True)
class RunSettings:
    """The settings of a run of a pipeline.

    `once` ends it when the source has nothing more. `freshness` are the seconds that a table with few rows may wait, so
    that small commits stay few: fewer than `few` rows. `lease` are the seconds after the last sign of life of a process
    of the pipeline after which another one may take its place. `outage` are the seconds for which a run with `once`
    waits for a source that does not answer, or for the lake. `steps` are run for closed intervals of keyed tables.
    `rereads`: whether tables of the source can be read once more. `refusal` is asked before the run ends to begin anew:
    why it could not begin, so that it goes on instead. `notice` is what those who ask for the pipeline are told while
    nothing fails.
    """

    name: str
    shaping: Shaping
    behaviour: Behaviour = "lenient"
    once: bool = False
    freshness: float = 0.0
    few: int = 10_000
    load: Load = field(default_factory=Fixed)
    lease: float = 120.0
    outage: float = 300.0
    state_namespace: str = "keylake"
    steps: tuple[TableStep, ...] = ()
    rereads: bool = True
    refusal: Callable[[], str | None] = lambda: None
    notice: Callable[[], str | None] = lambda: None


@dataclass(frozen=True)
class PipelineReport:
    """The result of a run, at its end.

    >>> print(PipelineReport("shop", rounds=3, rows=1200, dead_letters=1, set_aside=("lake.orders",)))
    shop: 1,200 rows in 3 rounds, 1 dead letters, set aside: lake.orders
    """

    name: str
    rounds: int
    rows: int
    dead_letters: int
    set_aside: tuple[str, ...] = ()
    failed_steps: tuple[str, ...] = ()

    def __str__(self) -> str:
        said = f"{self.name}: {self.rows:,} rows in {self.rounds:,} rounds"
        said += f", {self.dead_letters:,} dead letters" if self.dead_letters else ""
        said += f", set aside: {', '.join(self.set_aside)}" if self.set_aside else ""
        return f"{said}, failed: {', '.join(self.failed_steps)}" if self.failed_steps else said
