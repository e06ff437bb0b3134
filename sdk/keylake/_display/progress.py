"""Long work shows itself: one line in a terminal or a notebook, nothing at all when the output goes elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

SHORTEST_SECONDS = 1.0  # work that is done sooner shows nothing


class Stage(Protocol):
    """What Spark says about one stage of a query."""

    num_tasks: int
    num_completed_tasks: int


def _console() -> Console:
    return Console(stderr=True)


def _is_watched(console: Console) -> bool:
    return console.is_terminal or console.is_jupyter


@contextmanager
def waiting(text: str) -> Generator[None]:
    """A moving line for as long as the block runs.

    >>> with waiting("starting the server"):
    ...     pass
    """
    console = _console()
    if not _is_watched(console):
        yield
        return
    with console.status(text):
        yield


class StageBar:
    """A handler for `SparkSession.registerProgressHandler`: one bar per query that takes longer than a moment.

    >>> bar = StageBar()
    >>> bar([], 0, "query-1", done=True)
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun_at: dict[str, float] = {}
        self._bars: dict[str, TaskID] = {}
        console = _console()
        self._watched = _is_watched(console)
        self._progress = Progress(
            TextColumn("spark"),
            BarColumn(),
            TextColumn("{task.completed:.0f} of {task.total:.0f} tasks"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )

    def __call__(
        self,
        stages: Iterable[Stage] | None,
        inflight_tasks: int,  # noqa: ARG002 - Spark names its arguments
        operation_id: str | None,
        done: bool,
    ) -> None:
        if not self._watched:
            return
        query = operation_id or ""
        seen = list(stages or ())
        total = sum(stage.num_tasks for stage in seen)
        completed = sum(stage.num_completed_tasks for stage in seen)
        with self._lock:
            if done:
                self._finish(query)
            elif time.monotonic() - self._begun_at.setdefault(query, time.monotonic()) >= SHORTEST_SECONDS:
                self._show(query, completed, total)

    def _show(self, query: str, completed: int, total: int) -> None:
        if query not in self._bars:
            self._progress.start()
            self._bars[query] = self._progress.add_task(query)
        self._progress.update(self._bars[query], completed=completed, total=total)

    def _finish(self, query: str) -> None:
        self._begun_at.pop(query, None)
        bar = self._bars.pop(query, None)
        if bar is not None:
            self._progress.remove_task(bar)
        if not self._bars:
            self._progress.stop()
