"""The picture of a pipeline's load, by matplotlib. Pure: values in, a figure out."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from keylake.extension import INK, SERIES, empty_figure, show_times

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class LoadPoint:
    """A round as the picture has it."""

    at: datetime.datetime
    lag_seconds: float
    came: float  # rows a second
    written: float  # rows a second, while it was written
    rows: int
    interval_seconds: float
    executors: int
    wanted_executors: int
    decided: bool  # whether something was changed after it


def load_figure(title: str, points: Sequence[LoadPoint]) -> Figure:
    """Lag, rates, batches and executors below each other, over one time."""
    figure, axes = empty_figure(title, 11.0, 8.8, rows=4, columns=1)
    at: list[Any] = [point.at for point in points]
    lag, rates, batches, executors = axes
    lag.set_title("seconds that the oldest row waits; marks: something was changed")
    lag.plot(at, [point.lag_seconds for point in points], color=SERIES[0])
    decided = [point for point in points if point.decided]
    decided_at: list[Any] = [point.at for point in decided]
    lag.scatter(decided_at, [point.lag_seconds for point in decided], marker="|", s=60, color=SERIES[1])
    rates.set_title("rows a second")
    rates.plot(at, [point.came for point in points], color=SERIES[0], label="come")
    rates.plot(at, [point.written for point in points], color=SERIES[2], label="written, in rounds", linewidth=0.8)
    batches.set_title("rows of a batch, and seconds of its interval")
    batches.plot(at, [point.rows for point in points], color=SERIES[2], label="rows", linewidth=0.8)
    seconds = batches.twinx()
    seconds.set_ylim(0, 1.1 * max((point.interval_seconds for point in points), default=1.0))
    seconds.patch.set_alpha(0)
    seconds.tick_params(colors=INK, labelsize=8)
    for spine in seconds.spines.values():
        spine.set_visible(False)
    seconds.step(at, [point.interval_seconds for point in points], where="post", color=SERIES[3], label="interval")
    seconds.legend(frameon=False, fontsize=8, labelcolor=INK, loc="upper right")
    executors.set_title("executors")
    executors.step(at, [point.wanted_executors for point in points], where="post", color=SERIES[1], label="wanted")
    executors.step(at, [point.executors for point in points], where="post", color=SERIES[0], label="running")
    for place in (rates, batches, executors):
        place.legend(frameon=False, fontsize=8, labelcolor=INK, loc="upper left")
    for place in axes:
        place.set_ylim(bottom=0)
        show_times(place)
    return figure
