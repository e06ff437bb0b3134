"""The figures of a round, and the setting of the next ones, as values."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field

from keylake.extension import ShownFields


@dataclass(frozen=True)
class Observed:
    """The figures of one round: it polled, wrote and committed, or found nothing."""

    seconds: float  # from the poll to the last commit
    rows: int  # that were written
    lag_rows: int | None = None  # that wait in the source at its end; None where that is not known
    lag_seconds: float = 0  # how long the oldest of them waits
    since_seconds: float | None = None  # from the end of the round before; None: it followed in its interval
    slowest_task_seconds: float = 0
    median_task_seconds: float = 0
    files: int = 0  # that were written
    executors: int = 1  # that ran
    parts: Mapping[str, int] = field(default_factory=dict[str, int])  # rows by part: a table, or a bucket of one


@dataclass(frozen=True)
class Setting(ShownFields):
    """The setting of the next rounds. A round begins `interval_seconds` after the one before began, or at its end.

    Without rows there is nothing to commit: such a round ends with its poll.
    """

    most_rows: int  # of a batch
    interval_seconds: float
    shuffle_partitions: int  # 1: a batch that one task writes, without a shuffle
    executors: int
    reason: str | None = None  # what has changed, and why; None where all is as it was
    tasks: Mapping[str, int] = field(default_factory=dict[str, int])  # parts that are to be divided into several tasks


@dataclass(frozen=True)
class Round(ShownFields):
    """A round that was observed, and the setting that followed from it."""

    at: datetime.datetime
    observed: Observed
    rate: float  # rows that came a second, as the controller has it
    setting: Setting
