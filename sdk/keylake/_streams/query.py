"""A streaming query that writes to a table, as the one who began it holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from keylake._display.html_table import html_table, in_notebook
from keylake._server.session import Session

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery


class TableStream:
    """A query that writes each of its batches to a table, in one commit; `query` is Spark's own."""

    def __init__(self, table: str, query: StreamingQuery, session: Session) -> None:
        self.table = table
        self.query = query
        self._session = session

    @property
    def is_active(self) -> bool:
        """The query goes on; one that has failed does not, and `wait` says why."""
        with self._session.asking():
            return bool(self.query.isActive)

    @property
    def rows(self) -> int:
        """The number of rows of the batches that Spark still tells of, the newest hundred."""
        with self._session.asking():
            return sum(batch.numInputRows for batch in self.query.recentProgress)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the query ends, at most so many seconds; whether it has ended. A batch that failed is an error.

        Example::

            profiles.stream(clicks, checkpoint="checkpoints/clicks", available_now=True).wait()
        """
        with self._session.asking():
            if seconds is not None:
                return bool(self.query.awaitTermination(seconds))  # type: ignore[arg-type]  # parts of a second are fine
            self.query.awaitTermination()
            return True

    def stop(self) -> None:
        """End the query; the batch that is under way is committed whole or not at all, and comes again at a restart."""
        with self._session.asking():
            self.query.stop()

    def __str__(self) -> str:
        return f"stream into {self.table}: {self._state()}, {self.rows:,} rows"

    def _repr_html_(self) -> str:
        rows = [(self.table, self._state(), f"{self.rows:,}")]
        return in_notebook(html_table("TableStream", ("table", "state", "rows"), rows))

    def _state(self) -> str:
        return "active" if self.is_active else "ended"
