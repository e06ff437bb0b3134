"""The maintenance of a server: tables that are compacted in the background, what was done and why, and its switch."""

from __future__ import annotations

import datetime
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from keylake._display.html_table import ShownFields, html_table, in_notebook
from keylake._maintenance.compaction import shown_bytes
from keylake._server.session import Session
from keylake._server.statements import Call
from keylake.errors import KeylakeError, check_count, check_type

_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class MaintenanceEntry(ShownFields):
    """An entry of the log of maintenance: a look at a table that found something to do.

    >>> at = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    >>> print(MaintenanceEntry(at, "lake.a.b", None, "merged", merges=2, files_merged=26, files_written=4,
    ...                        bytes_merged=104_000, bytes_written=40_000, seconds=0.31, because="it has 12 files"))
    lake.a.b: merged, 26 files became 4 in 0.3 s, because it has 12 files
    """

    at: datetime.datetime
    table: str
    branch: str | None
    state: str  # merged | applied (equality deletes, of a plain table) | lost | failed | not cleaned
    merges: int
    files_merged: int
    files_written: int
    bytes_merged: int
    bytes_written: int
    seconds: float
    because: str

    def __str__(self) -> str:
        place = self.table if self.branch is None else f"{self.table}, branch {self.branch}"
        files = f", {self.files_merged:,} files became {self.files_written:,}" if self.files_merged else ""
        return f"{place}: {self.state}{files} in {self.seconds:.1f} s, because {self.because}"


class Maintenance:
    """`lake.maintenance`: shows what the server did by itself, pauses and resumes it.

    An embedded server looks after its tables; a shared one does where it was started with
    `spark.keylake.maintenance.enabled=true`. After each commit, the table's compaction policy decides; merges keep
    `spark.keylake.maintenance.share-of-cores` of the cores busy, half of them unless said, and at least one.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def is_on(self) -> bool:
        """The server does some maintenance."""
        return self._state("is_on")

    @property
    def is_paused(self) -> bool:
        """The maintenance waits for `resume`."""
        return self._state("is_paused")

    def log(self, *, at_most: int = 100) -> tuple[MaintenanceEntry, ...]:
        """The maintenance that was done since the server started, newest first.

        Example::

            lake.maintenance.log()[0].because
        """
        check_count("at_most", at_most)
        rows = self._session.call(Call.of("maintenance_log", at_most=at_most)).to_pylist()
        return tuple(MaintenanceEntry(**row) for row in rows)

    def pause(self) -> None:
        """Begin nothing new. What runs goes on to its end; what commits make necessary is done after `resume`."""
        self._session.call(Call("pause_maintenance"))

    def resume(self) -> None:
        """Go on after `pause`."""
        self._session.call(Call("resume_maintenance"))

    @contextmanager
    def paused(self) -> Generator[None]:
        """A pause for as long as the block runs.

        Example::

            with lake.maintenance.paused():
                profiles.upsert(backfill)
        """
        self.pause()
        try:
            yield
        finally:
            self.resume()

    def wait(self, *, seconds: float = 600) -> None:
        """Return when nothing is due and nothing is running.

        Example::

            lake.maintenance.wait()
        """
        check_type("seconds", seconds, int | float, "a number of seconds")
        until = time.monotonic() + seconds
        while not self._state("is_idle"):
            if time.monotonic() > until:
                raise KeylakeError(
                    f"The maintenance is still at work after {seconds:g} seconds. Look at log(), or wait(seconds=...)."
                )
            time.sleep(_POLL_SECONDS)

    def _state(self, name: str) -> bool:
        return bool(self._session.call(Call("maintenance_state")).column(name)[0].as_py())

    # ------------------------------------------------------------------------------------------------------- shown

    def __repr__(self) -> str:
        return f"maintenance is {self._shown_state()}"

    def _shown_state(self) -> str:
        if not self.is_on:
            return "off"
        return "paused" if self.is_paused else "on"

    def _repr_html_(self) -> str:
        entries = self.log(at_most=20) if self.is_on else ()
        return in_notebook(html_table(repr(self), MAINTENANCE_HEADER, map(maintenance_cells, entries)))


MAINTENANCE_HEADER = ("at", "table", "state", "merges", "files", "size", "seconds", "why")


def maintenance_cells(entry: MaintenanceEntry) -> tuple[object, ...]:
    """An entry as a line of a table."""
    return (
        f"{entry.at:%Y-%m-%d %H:%M:%S}",
        entry.table if entry.branch is None else f"{entry.table}, branch {entry.branch}",
        entry.state,
        entry.merges,
        f"{entry.files_merged} to {entry.files_written}",
        f"{shown_bytes(entry.bytes_merged)} to {shown_bytes(entry.bytes_written)}",
        f"{entry.seconds:.1f}",
        entry.because,
    )
