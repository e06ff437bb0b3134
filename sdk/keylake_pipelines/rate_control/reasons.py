"""The changes from one setting to the next, and the reasons for them, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from keylake_pipelines.rate_control.decisions import expected
from keylake_pipelines.rate_control.estimates import Estimates
from keylake_pipelines.rate_control.rounds import Setting
from keylake_pipelines.rate_control.targets import LoadTargets

_FEW_A_SECOND = 10.0  # below it, a rate has a fraction


def reason(was: Setting, now: Setting, need: float, known: Estimates, targets: LoadTargets) -> str | None:
    """The sentences, or None where nothing has changed."""
    return " ".join(_sentences(was, now, need, known, targets)) or None


def _sentences(was: Setting, now: Setting, need: float, known: Estimates, targets: LoadTargets) -> Iterator[str]:
    load = f"{_rate(known)} rows a second come, {known.waiting:,} wait"
    if now.executors != was.executors:
        yield f"{_count(now.executors, 'executor')} instead of {was.executors}: {load}, which needs {need:.1f}."
    if now.interval_seconds != was.interval_seconds:
        why = _why(now, known, targets)
        yield f"Interval {now.interval_seconds:.3g} s instead of {was.interval_seconds:.3g}: {why}."
    if now.most_rows != was.most_rows:
        yield (
            f"At most {now.most_rows:,} rows a batch instead of {was.most_rows:,}: {known.overhead:.2g} s a round and "
            f"{(known.row_seconds or 0) * 1e6:.3g} s a million rows in a task."
        )
    if now.shuffle_partitions != was.shuffle_partitions:
        work = known.work(expected(now.most_rows, now.interval_seconds, known))
        tasks = "One task" if now.shuffle_partitions == 1 else f"{now.shuffle_partitions} tasks"
        yield f"{tasks} instead of {was.shuffle_partitions}: a batch is about {work:.2g} s of work."
    if now.tasks != was.tasks:
        divided = ", ".join(f"{part} into {count}" for part, count in now.tasks.items()) or "nothing"
        yield f"Divide {divided} of {now.shuffle_partitions} tasks: the last batches had so many of their rows."


def _why(now: Setting, known: Estimates, targets: LoadTargets) -> str:
    if not known.rate:
        return f"no rows come, and the next are to be committed within {targets.freshness_seconds:g} s"
    if now.interval_seconds >= targets.longest_seconds:
        return f"{_rate(known)} rows a second fill no files in the {targets.freshness_seconds:g} s they may wait"
    return f"{_rate(known)} rows a second fill {known.files:.0f} files, a round costs {known.overhead:.2g} s"


def _rate(known: Estimates) -> str:
    return f"{known.rate:,.0f}" if known.rate >= _FEW_A_SECOND else f"{known.rate:.2g}"


def straggles(known: Estimates) -> str:
    """A sentence about one long task."""
    return (
        f"One task took {known.straggler_seconds:.2g} s longer than the median one: more executors do not help, divide "
        "the largest part."
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
