"""The parts of a run that stay from its beginning to its end, and what the run has done."""

# pyright: reportUnknownParameterType=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from keylake_pipelines.runner.ahead import ReadAhead
from keylake_pipelines.runner.dead_letters import DeadLetters
from keylake_pipelines.runner.settings import RunSettings
from keylake_pipelines.runner.state import StateTable
from keylake_pipelines.runner.steps import Steps
from keylake_pipelines.source.source import Lag

if TYPE_CHECKING:
    from keylake.lake import Lake


def _unknown() -> Lag:
    return Lag(None, "rows", snapshots=True)


@dataclass
class Run:
    """A run of a pipeline: its source, its lake and its state, the lag after the last poll, and rows so far."""

    source: ReadAhead
    lake: Lake
    settings: RunSettings
    state: StateTable
    dead: DeadLetters
    steps: Steps
    lag: Lag = field(default_factory=_unknown)
    rows: int = 0  # that were written
    letters: int = 0

    def keep(self, target: str, rows: pa.Table, reason: str | None) -> None:
        """Keep rows as dead letters of a keyed table; without a reason each has its own, its error."""
        self.dead.keep(target, rows, reason)
        self.letters += rows.num_rows
