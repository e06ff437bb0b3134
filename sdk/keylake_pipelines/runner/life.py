"""Whether the process of a pipeline lives, as the state that it has written tells."""

from __future__ import annotations

import datetime
import os
import socket
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keylake_pipelines.runner.state import PipelineState

LEASE_SECONDS = 120.0


def lives(other: PipelineState, lease: float) -> bool:
    """Whether the process of a state may still write."""
    if other.host == socket.gethostname():
        try:
            os.kill(other.process, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
    return (datetime.datetime.now(datetime.timezone.utc) - other.seen_at).total_seconds() < lease


def told(state: PipelineState) -> PipelineState:
    """The state as others are told of it: one that says `running`, and whose process is gone, is `lost`."""
    if state.state != "running" or lives(state, LEASE_SECONDS):
        return state
    ended = (
        f"Process {state.process} on {state.host} has ended without a word, or cannot write: it was last seen at "
        f"{state.seen_at:%Y-%m-%d %H:%M:%S} UTC. Run it again: it goes on where it was."
    )
    said = f"{ended} It had said: {state.last_error}" if state.last_error else ended
    return replace(state, state="lost", last_error=said)


def busy(other: PipelineState, lease: float) -> str:
    """Why another process may not run the pipeline."""
    return (
        f"Pipeline {other.name!r} runs already, as process {other.process} on {other.host}, last seen at "
        f"{other.seen_at:%Y-%m-%d %H:%M:%S} UTC. Stop it with `keylake stop {other.name}`; without a sign of life its "
        f"place is free after {lease:g} s."
    )
