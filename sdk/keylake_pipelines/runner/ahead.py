"""A source that is read while the rows that it gave are written: at most one poll ahead.

A poll gives what was read meanwhile, and where there were rows, the next one begins at once, in a thread of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import ParamSpec, TypeVar

from keylake_pipelines.source.source import Lag, Source, Step
from keylake_pipelines.source.tables import SourceSchema, SourceTable

P = ParamSpec("P")
T = TypeVar("T")


class ReadAhead:
    """A source whose calls are made by one thread, in their order, and whose next poll begins before it is asked for.

    Steps that were read ahead and not asked for lie behind all positions that are kept, so `begin` drops them. A
    source that is quiet is not read ahead, so that no call waits for it.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="keylake-source")
        self._ahead: Future[tuple[tuple[Step, ...], Lag]] | None = None
        self._lag: Lag | None = None  # after the poll whose steps were given
        self._kept: Mapping[str, int] | None = None  # positions that the source was not told
        self._asked: set[str] = set()  # tables to read once more, of which no poll says that it is so
        self._before: frozenset[str] = frozenset()  # those that were asked for before the poll ahead began

    def begin(self, positions: Mapping[str, int], schemas: Sequence[SourceSchema] = ()) -> None:
        """Go on at these positions."""
        self._drop()
        self._asked = set()
        self._call(self._source.begin, positions, schemas)

    def reread(self, table: SourceTable) -> bool:
        """Read all rows of a table once more."""
        self._asked.add(str(table))
        return self._call(self._source.reread, table)

    def owes(self, table: str) -> bool:
        """The steps that were given do not say yet that a table is read once more, as was asked."""
        return table in self._asked

    def schemas(self) -> tuple[SourceSchema, ...]:
        """The tables that the source has now."""
        return self._call(self._source.schemas)

    def poll(self, most_rows: int, seconds: float) -> tuple[Step, ...]:
        """The steps that were read ahead, or those that are there; one without rows while they are being read."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None and not wait([ahead], seconds).done:
            self._ahead = ahead
            return (Step(None, {}),)
        steps: tuple[Step, ...] = ()
        if ahead is not None:
            steps, self._lag = ahead.result()
            self._asked -= self._before
        if not steps:  # now, after what was done since that poll
            steps, self._lag = self._call(self._read, most_rows, seconds)
            self._asked.clear()
        if any(step.rows is not None and step.rows.num_rows for step in steps):
            self._before = frozenset(self._asked)
            self._ahead = self._thread.submit(self._read, most_rows, seconds)
        return steps

    def written(self, positions: Mapping[str, int]) -> None:
        """The source is told before its next poll."""
        self._kept = dict(positions)

    def lag(self) -> Lag:
        """The lag behind the source after the steps that were given."""
        return self._call(self._source.lag) if self._lag is None else self._lag

    def close(self) -> None:
        """Let go of connections, after the poll under way."""
        self._drop()
        try:
            self._call(self._tell)
        finally:
            self._call(self._source.close)
            self._thread.shutdown()

    def _drop(self) -> None:
        if self._ahead is not None:
            self._ahead.cancel()
        self._ahead = self._lag = None

    def _call(self, call: Callable[P, T], *args: P.args, **words: P.kwargs) -> T:
        return self._thread.submit(call, *args, **words).result()

    def _read(self, most_rows: int, seconds: float) -> tuple[tuple[Step, ...], Lag]:
        self._tell()
        return self._source.poll(most_rows, seconds), self._source.lag()

    def _tell(self) -> None:
        kept, self._kept = self._kept, None
        if kept is not None:
            self._source.written(kept)
