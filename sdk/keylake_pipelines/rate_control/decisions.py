"""The decisions from estimates to a setting: a pure function for each number, in the order of their dependence.

Each number stays as it was while that is near enough.

    executors    so that a round of the rows that come, and a share of those that wait, takes its share of an interval
    interval     as long as freshness allows, unless files are full earlier; never so short that overhead counts
    partitions   tasks of the wanted length for all executors; one, where one task will do
    most rows    what the executors write while a row may wait
"""

from __future__ import annotations

import math

from keylake_pipelines.rate_control.estimates import Estimates
from keylake_pipelines.rate_control.rounds import Setting
from keylake_pipelines.rate_control.targets import LoadTargets

_NEAR = 1.25  # a number is left as it is while the wanted one is not so many times larger or smaller
_MORE = 1.15  # executors are added when so many times as many are needed
_FEWER = 0.8  # and taken away when at most this share of them is
_SPARE = 1.05  # times as many as are needed are left
_OVERHEADS = 8  # an interval is at least so many times as long as what a round costs without rows
_CERTAIN = 0.95  # of the freshness, since rounds are not all alike
_FILLED = 0.8  # the share of the most rows of a batch that an interval brings
_LEAST_SHARE = 0.1  # of the time of a round that is left to rows, where overhead leaves none


def base_interval(known: Estimates, targets: LoadTargets) -> float:
    """Seconds from the beginning of a round to that of the next, if the round takes its share of them."""
    return min(_filled(known, targets), targets.longest_seconds)


def interval(was: float, executors: int, known: Estimates, targets: LoadTargets) -> float:
    """The interval of rounds: the base interval, longer where freshness decides and the executors leave time."""
    fresh = _CERTAIN * targets.freshness_seconds - known.overhead
    longest = max(targets.longest_seconds, fresh / (1 + known.work(known.rate) / (executors * targets.cores)))
    wanted = min(_filled(known, targets), longest)
    # It holds on to less, and to hardly more: rows would not be fresh.
    if _CERTAIN * was <= wanted <= _NEAR * was:
        return was
    return max(two_digits(_CERTAIN * wanted), targets.shortest_seconds)


def _filled(known: Estimates, targets: LoadTargets) -> float:
    """Seconds until files are full, or a batch is."""
    if not known.rate:
        return math.inf
    full = max(known.files * targets.file_rows / known.rate, _OVERHEADS * known.overhead)
    return max(min(full, _FILLED * targets.rows.most / known.rate), targets.shortest_seconds)


def needed(base: float, known: Estimates, targets: LoadTargets) -> float:
    """The number of executors that the load needs, with a fraction."""
    expected = known.rate * base
    late = max(known.waiting - expected, 0.0)
    rows = expected + late * min(base / targets.catch_up_seconds, 1.0)
    return known.work(rows) / rows_share(base, known, targets) / targets.cores


def executors(was: int, needs: tuple[float, ...], targets: LoadTargets) -> int:
    """The number of executors: more at once, and fewer when none of the last rounds needed as many."""
    need = needs[-1]
    wanted = targets.executors.of(math.ceil(need))
    if need > _MORE * was:
        return max(wanted, was)
    if len(needs) >= targets.calm_rounds and max(needs) <= _FEWER * was:
        return min(targets.executors.of(math.ceil(_SPARE * max(needs))), was)
    return was


def partitions(was: int, rows: float, executors: int, seconds: float, known: Estimates, targets: LoadTargets) -> int:
    """Tasks of a shuffle for so many rows, in an interval of so many seconds."""
    work = known.work(rows)
    one_task = min(targets.task_seconds, rows_share(seconds, known, targets)) / (1 if was == 1 else _NEAR)
    if work <= one_task:
        return targets.partitions.of(1)
    at_once = executors * targets.cores
    waves = max(math.ceil(work / targets.task_seconds / at_once), 1)
    now = was / at_once
    if was > 1 and now == round(now) and waves <= now <= 2 * waves:
        return was
    return targets.partitions.of(waves * at_once)


def most_rows(was: int, executors: int, known: Estimates, targets: LoadTargets) -> int:
    """Rows of a batch."""
    if not known.row_seconds:
        return was
    left = max(targets.longest_seconds - known.overhead, _LEAST_SHARE * targets.longest_seconds)
    wanted = targets.rows.of(left * executors * targets.cores / known.row_seconds)
    return was if _is_near(was, wanted) else targets.rows.of(two_digits(wanted))


def rows_share(interval_seconds: float, known: Estimates, targets: LoadTargets) -> float:
    """The seconds of an interval that the rows of its round may take."""
    share = targets.utilization * interval_seconds
    return max(share - known.overhead, _LEAST_SHARE * share)


def decide(was: Setting, needs: tuple[float, ...], known: Estimates, targets: LoadTargets) -> Setting:
    """The next setting, without its reason."""
    count = executors(was.executors, needs, targets)
    base = base_interval(known, targets)
    seconds = interval(was.interval_seconds, count, known, targets)
    rows = most_rows(was.most_rows, count, known, targets)
    tasks = partitions(was.shuffle_partitions, expected(rows, seconds, known), count, base, known, targets)
    return Setting(rows, seconds, tasks, count)


def expected(most: int, interval_seconds: float, known: Estimates) -> float:
    """Rows of the next batch."""
    return min(max(known.rate * interval_seconds, known.waiting), most)


def _is_near(was: float, wanted: float) -> bool:
    return wanted <= was * _NEAR and was <= wanted * _NEAR


def two_digits(value: float) -> float:
    """A number that reads well.

    >>> two_digits(123_456), two_digits(0.0123)
    (120000.0, 0.012)
    """
    scale = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{round(value / scale) * scale:.6g}")
