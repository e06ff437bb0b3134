"""Long work shows itself: one line in a terminal or a notebook, nothing at all when the output goes elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Generator, Iterable
from contextlib import AbstractContextManager, contextmanager, nullcontext
from html import escape
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

SHORTEST_SECONDS = 1.0  # work that is done sooner shows nothing


class Stage(Protocol):
    """The state of one stage of a query, as Spark says it."""

    num_tasks: int
    num_completed_tasks: int


class Bars(Protocol):
    """The place where the bars of queries are drawn."""

    def show(self, query: str, completed: int, total: int, seconds: float) -> None:
        """Draw the bar of a query, or move it on."""

    def finish(self, query: str) -> None:
        """Remove the bar of a query, if there is one."""


def _console() -> Console:
    return Console(stderr=True)


def _bars(console: Console) -> Bars | None:
    """Bars where somebody watches; None elsewhere."""
    if console.is_jupyter:
        return NotebookBars()
    return TerminalBars(console) if console.is_terminal else None


def is_in_notebook() -> bool:
    """Outputs go below the cells of a notebook.

    >>> is_in_notebook()
    False
    """
    return _console().is_jupyter


def waiting(text: str) -> AbstractContextManager[object]:
    """A moving line for as long as the block runs.

    >>> with waiting("starting the server"):
    ...     pass
    """
    if is_in_notebook():
        return _line_in_notebook(text)
    console = _console()
    return console.status(text) if console.is_terminal else nullcontext()


@contextmanager
def _line_in_notebook(text: str) -> Generator[None]:
    line = NotebookLine()
    line.show(f"{escape(text)} ...")
    try:
        yield
    finally:
        line.remove()


class TerminalBars:
    """Bars in a terminal, by rich."""

    def __init__(self, console: Console) -> None:
        self._bars: dict[str, TaskID] = {}
        self._progress = Progress(
            TextColumn("spark"),
            BarColumn(),
            TextColumn("{task.completed:.0f} of {task.total:.0f} tasks"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )

    def show(self, query: str, completed: int, total: int, seconds: float) -> None:  # noqa: ARG002 - rich counts them
        if query not in self._bars:
            self._progress.start()
            self._bars[query] = self._progress.add_task(query)
        self._progress.update(self._bars[query], completed=completed, total=total)

    def finish(self, query: str) -> None:
        bar = self._bars.pop(query, None)
        if bar is not None:
            self._progress.remove_task(bar)
        if not self._bars:
            self._progress.stop()


class NotebookLine:
    """A line below a cell that changes, and is empty afterwards. Plain HTML, so that it needs no widgets."""

    def __init__(self) -> None:
        self._display: Any = sys.modules["IPython.display"]  # which the kernel of a notebook has imported
        self._shown: Any = None

    def show(self, html: str) -> None:
        """Show a line in place of the one before."""
        content = self._display.HTML(f'<span style="color: inherit; opacity: .8">{html}</span>')
        if self._shown is None:
            self._shown = self._display.display(content, display_id=True)
        else:
            self._shown.update(content)

    def remove(self) -> None:
        """Leave nothing to be seen."""
        if self._shown is not None:
            self._shown.update(self._display.HTML(""))


class NotebookBars:
    """Bars below the cell that runs."""

    def __init__(self) -> None:
        self._lines: dict[str, NotebookLine] = {}

    def show(self, query: str, completed: int, total: int, seconds: float) -> None:
        bar = f'<progress value="{completed}" max="{max(total, 1)}"></progress>'
        said = f"{bar} spark: {completed} of {total} tasks, {seconds:.0f} s"
        self._lines.setdefault(query, NotebookLine()).show(said)

    def finish(self, query: str) -> None:
        if query in self._lines:
            self._lines.pop(query).remove()


class StageBar:
    """A handler for `SparkSession.registerProgressHandler`: one bar per query that takes longer than a moment.

    >>> bar = StageBar()
    >>> bar([], 0, "query-1", done=True)
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun_at: dict[str, float] = {}
        self._bars = _bars(_console())

    def __call__(
        self,
        stages: Iterable[Stage] | None,
        inflight_tasks: int,  # noqa: ARG002 - Spark names its arguments
        operation_id: str | None,
        done: bool,
    ) -> None:
        if self._bars is None:
            return
        query = operation_id or ""
        seen = list(stages or ())
        total = sum(stage.num_tasks for stage in seen)
        completed = sum(stage.num_completed_tasks for stage in seen)
        with self._lock:
            if done:
                self._begun_at.pop(query, None)
                self._bars.finish(query)
                return
            seconds = time.monotonic() - self._begun_at.setdefault(query, time.monotonic())
            if seconds >= SHORTEST_SECONDS:
                self._bars.show(query, completed, total, seconds)
