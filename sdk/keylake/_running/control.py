"""What others ask of pipelines, and tell them: by the table that they keep their state in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from keylake._running.state import PipelineState, asides_of, opened, states_of
from keylake.errors import NothingToDo

if TYPE_CHECKING:
    from keylake.lake import Lake


def states(lake: Lake, namespace: str = "keylake") -> tuple[PipelineState, ...]:
    """All pipelines of a lake, by name."""
    return states_of(lake, namespace)


def stop(
    lake: Lake, name: str, namespace: str = "keylake", *, wanted: Literal["stop", "restart"] = "stop"
) -> PipelineState:
    """Ask a pipeline to end after the round under way, or to begin anew then; returns how it was."""
    found = next((state for state in states_of(lake, namespace) if state.name == name), None)
    if found is None or found.state != "running":
        known = ", ".join(state.name for state in states_of(lake, namespace) if state.state == "running") or "none"
        raise NothingToDo(f"No pipeline {name!r} runs in this lake. Running: {known}.")
    _wish(lake, namespace, name, "pipeline", "", wanted)
    return found


def resume(lake: Lake, name: str, table: str, namespace: str = "keylake") -> None:
    """Let a keyed table that is set aside go on: the pipeline writes the rows that were kept before its next round.

    Mend what kept them from being written first: change the table, or delete the rows from `keylake.dead_letters`.
    """
    asides = asides_of(lake, namespace, name)
    if table not in asides:
        known = ", ".join(sorted(asides)) or "none"
        raise NothingToDo(f"Pipeline {name!r} has not set {table!r} aside. Set aside: {known}.")
    _wish(lake, namespace, name, "target", table, "resume")


def _wish(lake: Lake, namespace: str, pipeline: str, kind: str, name: str, wanted: str) -> None:
    opened(lake, namespace).update([{"pipeline": pipeline, "kind": kind, "name": name, "wanted": wanted}])
