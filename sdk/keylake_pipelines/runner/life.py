"""The last sign of life of a pipeline's process, and whether it still lives by that."""

from __future__ import annotations

import datetime
import os
import socket
from dataclasses import dataclass

LEASE_SECONDS = 120.0


@dataclass(frozen=True)
class SignOfLife:
    """The host and number of a process, and the time when it was seen last."""

    host: str
    process: int
    seen_at: datetime.datetime

    def lives(self, lease: float = LEASE_SECONDS) -> bool:
        """The process may still write; `lease` is in seconds."""
        if self.host == socket.gethostname():
            try:
                os.kill(self.process, 0)
            except ProcessLookupError:
                return False
            except PermissionError:
                pass
        return (datetime.datetime.now(datetime.timezone.utc) - self.seen_at).total_seconds() < lease

    def lost(self, last_error: str | None) -> str:
        """A sentence about a process that is gone, or cannot write."""
        ended = (
            f"Process {self.process} on {self.host} has ended without a word, or cannot write: it was last seen at "
            f"{self.seen_at:%Y-%m-%d %H:%M:%S} UTC. Run it again: it goes on where it was."
        )
        return f"{ended} It had said: {last_error}" if last_error else ended

    def busy(self, pipeline: str, lease: float) -> str:
        """The reason why another process may not run the pipeline."""
        return (
            f"Pipeline {pipeline!r} runs already, as process {self.process} on {self.host}, last seen at "
            f"{self.seen_at:%Y-%m-%d %H:%M:%S} UTC. Stop it with `keylake stop {pipeline}`; without a sign of life its "
            f"place is free after {lease:g} s."
        )
