"""A day of a pipeline, replayed with the controller and with fixed sizes: what the same lag costs.

The day has a peak of twenty times the night's load, a burst, a slow store, a silent source and a stop of the pipeline.
Time is simulated (`model.pipeline_day`), the controller is the one that pipelines use. Of all fixed sizes, executors
and interval, the one counts that takes the fewest executors for at most the controller's lag, which is the 99th
percentile, over all rows, of the seconds from a row's coming to its commit.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.figures import Figure, Findings, Target, figure
from keylake_pipelines.rate_control.controller import Controller, LoadLog
from keylake_pipelines.rate_control.rounds import Setting
from keylake_pipelines.rate_control.targets import Bounds, LoadTargets
from model.pipeline_day import Fixed, Load, Replayed, replay

DAY = 86_400
NIGHT_ROWS, PEAK = 5_000, 20  # rows a second at night, and how many times as many at the peak
ROW_SECONDS = 100e-6  # of a task
MOST_EXECUTORS = 40
TARGETS = LoadTargets(freshness_seconds=60, executors=Bounds(1, MOST_EXECUTORS))
INTERVALS = (5, 10, 15, 20, 30, 40, 50, 60, 80, 100)
SHARE = 0.99


def hours(first: float, last: float) -> slice:
    """The seconds of the day from one hour to another."""
    return slice(int(first * 3600), int(last * 3600))


def day() -> Load:
    """The load of a day."""
    random = np.random.default_rng(7)
    second = np.arange(DAY) / 3600
    curve: NDArray[np.float64] = np.interp(
        second, [0, 6, 9, 12, 17, 19, 20.5, 22, 24], [1, 1, 5, 6, 7, PEAK, PEAK, 4, 1]
    )
    rates = np.round(NIGHT_ROWS * curve * random.uniform(0.8, 1.2, DAY))
    rates[hours(3, 3 + 5 / 60)] *= 10  # a burst: five minutes
    rates[hours(5, 5.5)] = 0  # a silent source
    row_seconds = np.full(DAY, ROW_SECONDS)
    row_seconds[hours(14, 14.5)] *= 3  # a slow store
    return Load(rates, row_seconds, stops=((10 * 3600, 10 * 3600 + 480),), noise=0.1, seed=7)


def run(_: float, console: Console) -> Findings:
    """The day, once with the controller and many times with fixed sizes; its length does not scale."""
    load = day()
    with_controller = replay(load, lambda: Controller(TARGETS), 1)
    lag = with_controller.lag(SHARE)
    executors, interval, fixed = cheapest(load, lag)
    decisions = len(LoadLog(with_controller.rounds).decisions)
    words = (
        f"a simulated day of {load.rates.sum():,.0f} rows, {NIGHT_ROWS:,} rows a second at night and {PEAK} times as "
        f"many at the peak, at most {MOST_EXECUTORS} executors, rows fresh within {TARGETS.freshness_seconds:g} s"
    )
    console.print(words, highlight=False)
    how = f"fixed: {executors} executors, every {interval} s"
    figures: list[Figure] = [
        figure(
            "executor-seconds of the day, controller / fixed sizes, for the same lag",
            with_controller.executor_seconds / fixed.executor_seconds,
            Target(0.5),
            how,
        ),
        figure("files of the day, controller / fixed sizes", with_controller.files / fixed.files, how=how),
        figure("lag of rows, 99th percentile, seconds", lag, how=f"fixed: {fixed.lag(SHARE):.0f}"),
        figure("lag of rows, median, seconds", with_controller.lag(0.5), how=f"fixed: {fixed.lag(0.5):.0f}"),
        figure("lag of rows, largest, seconds", with_controller.lag(1), how=f"fixed: {fixed.lag(1):.0f}"),
        figure("files written", with_controller.files, how=f"fixed: {fixed.files:,}"),
        figure("commits", len(with_controller.commits), how=f"fixed: {len(fixed.commits):,}"),
        figure("rounds after which something was decided", decisions, how=f"of {len(with_controller.rounds):,}"),
    ]
    return Findings(words, figures)


def cheapest(load: Load, lag: float) -> tuple[int, int, Replayed]:
    """The fewest executors, and then the longest interval, whose lag is at most this one."""
    best: tuple[int, int, Replayed] | None = None
    for interval in reversed(INTERVALS):
        low, high = 1, MOST_EXECUTORS if best is None else best[0] - 1
        while low <= high:
            executors = (low + high) // 2
            setting = Setting(TARGETS.rows.most, interval, executors, executors)
            found = replay(load, partial(Fixed, setting), executors)
            if found.lag(SHARE) <= lag:
                best, high = (executors, interval, found), executors - 1
            else:
                low = executors + 1
    if best is None:
        raise AssertionError(f"No fixed size has a lag of {lag:.1f} s with {MOST_EXECUTORS} executors.")
    return best
