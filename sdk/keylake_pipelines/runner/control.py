"""The wishes of others about pipelines, and the answers: both are in the table that pipelines keep their state in."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from keylake.errors import DefinitionError, NothingToDo
from keylake.extension import literal
from keylake_pipelines.runner.state import PipelineState, asides_of, opened, rows_of, states_of, tables_of

if TYPE_CHECKING:
    from keylake.lake import Lake
    from keylake.table import KeyedTable

_BETWEEN_QUESTIONS = 1.0  # seconds
_ANSWER_SECONDS = 60.0


class Wishes:
    """The wishes of others for a pipeline that runs. The table is asked once a second, however short rounds are."""

    def __init__(self, table: KeyedTable, name: str) -> None:
        self._table = table
        self._name = name
        self._asked_at = -math.inf

    def asked(self) -> tuple[str | None, dict[str, str]]:
        """`stop` or `restart`, and what is wanted of keyed tables, by their names; of all of them by ''.

        A wish about a table is told once.
        """
        is_first, now = math.isinf(self._asked_at), time.monotonic()
        if now - self._asked_at < _BETWEEN_QUESTIONS:
            return None, {}
        asked = self._wanted("wish")
        if asked:  # before they are read: one that comes meanwhile is not missed
            self._table.update([{"pipeline": self._name, "kind": "wish", "name": "", "wanted": None}])
        where = f"pipeline = {literal(self._name)} AND kind = 'target' AND wanted IS NOT NULL"
        rows = rows_of(self._table, where) if asked or is_first else []
        wanted = self._wanted("pipeline")
        self._asked_at = now
        return wanted, {row["name"]: row["wanted"] for row in rows}

    def _wanted(self, kind: str) -> str | None:
        row: Any = self._table.get(pipeline=self._name, kind=kind, name="")
        return None if row is None else row.wanted


def table_of_pipelines(namespace: str = "keylake") -> str:
    """The name of the table that pipelines keep their state in."""
    return f"{namespace}.pipelines"


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


def restart(
    lake: Lake, name: str, namespace: str = "keylake", *, seconds: float = _ANSWER_SECONDS
) -> PipelineState | None:
    """Ask a pipeline to read its file anew after the round under way, and wait for its answer: how it is then.

    None where none came in so many seconds: the round under way takes longer.

    Errors: `DefinitionError` where its file cannot be used, and the pipeline goes on as it was; `NothingToDo` where it
    does not run, or has ended instead.
    """
    before = stop(lake, name, namespace, wanted="restart")
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(_BETWEEN_QUESTIONS / 4)
        now = next(state for state in states_of(lake, namespace) if state.name == name)
        if now.wanted is None and now.run == before.run and now.refusal is not None:
            raise DefinitionError(f"{name} goes on as it was: {now.refusal}")
        if now.wanted is None and now.run != before.run:
            return now
        if now.state in ("failed", "lost"):
            raise NothingToDo(f"{name} has ended, and did not begin anew: {now.last_error}")
    return None


def resume(lake: Lake, name: str, table: str, namespace: str = "keylake") -> None:
    """Let a keyed table that is set aside go on: the pipeline writes the rows that were kept before its next round.

    Mend what kept them from being written first: change the table, or delete the rows from `keylake.dead_letters`.
    """
    _check_aside(lake, name, table, namespace)
    _wish(lake, namespace, name, "target", table, "resume")


def skip(lake: Lake, name: str, table: str, namespace: str = "keylake") -> None:
    """Let a keyed table that is set aside go on without the rows that were kept: they are lost."""
    _check_aside(lake, name, table, namespace)
    _wish(lake, namespace, name, "target", table, "skip")


def resnapshot(lake: Lake, name: str, table: str | None = None, namespace: str = "keylake") -> None:
    """Have the source tables of a keyed table read once more; of all, without `table`.

    Rows that are there are written anew, rows that are gone in the source become deletes. Readers see the table as it
    was meanwhile. A table that is set aside goes on. Without `table` the log is read from its end on, so that a
    pipeline goes on whose place in the log is gone. A pipeline that does not run does it when it runs again.
    """
    known = ", ".join(state.name for state in states_of(lake, namespace)) or "none"
    if name not in known.split(", "):
        raise NothingToDo(f"This lake knows no pipeline {name!r}. It knows: {known}.")
    _wish(lake, namespace, name, "target", table or "", "resnapshot")


def forget(lake: Lake, name: str, table: str, namespace: str = "keylake") -> None:
    """Have a pipeline forget a keyed table: columns and changes of its source tables, kept rows, why it is set aside.

    Source tables that still go to it are new then, and are read from their beginning where the source can do that. The
    keyed table stays. A pipeline that does not run does it when it runs again.
    """
    known = tables_of(lake, namespace, name)
    if table not in known:
        raise NothingToDo(f"Pipeline {name!r} knows no keyed table {table!r}. It knows: {', '.join(known) or 'none'}.")
    _wish(lake, namespace, name, "target", table, "forget")


def tell_differences(lake: Lake, name: str, found: Mapping[str, str | None], namespace: str = "keylake") -> None:
    """Say of keyed tables in which rows they differ from their source; None of those that do not."""
    rows = [{"pipeline": name, "kind": "check", "name": table, "reason": said} for table, said in found.items()]
    if rows:
        opened(lake, namespace).update(rows)


def _check_aside(lake: Lake, name: str, table: str, namespace: str) -> None:
    asides = asides_of(lake, namespace, name)
    if table not in asides:
        known = ", ".join(sorted(asides)) or "none"
        raise NothingToDo(f"Pipeline {name!r} has not set {table!r} aside. Set aside: {known}.")


def _wish(lake: Lake, namespace: str, pipeline: str, kind: str, name: str, wanted: str) -> None:
    rows = [{"pipeline": pipeline, "kind": kind, "name": name, "wanted": wanted}]
    if kind == "target":  # the pipeline looks at one row every second, and at those of tables where that says so
        rows.append({"pipeline": pipeline, "kind": "wish", "name": "", "wanted": "asked"})
    opened(lake, namespace).update(rows)
