"""Archived states of a table, one branch for each business time, which late writes still correct."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

from keylake._display.html_table import ShownFields
from keylake._rows.business_time import BusinessTime, step_of, utc_of
from keylake._server.session import Session
from keylake._server.statements import Call
from keylake._table.handle import Namespace
from keylake.errors import DefinitionError


@dataclass(frozen=True)
class HistoryBranch(ShownFields):
    """An archived state."""

    table: str
    business_time: datetime.datetime  # in UTC
    branch: str
    snapshot_id: int
    committed_at: datetime.datetime
    late_writes: int  # that have come to it since it was archived

    @classmethod
    def all_of(cls, session: Session, call: Call) -> tuple[HistoryBranch, ...]:
        """The states that a call returns, the oldest of each table first."""
        rows: list[dict[str, Any]] = session.call(call).to_pylist()
        return tuple(cls(**row) for row in sorted(rows, key=lambda row: (row["table"], row["business_time"])))


class States(Namespace):
    """`table.states`: the archived states of business times."""

    def archive(
        self, business_time: BusinessTime, *, every: datetime.timedelta | None = None
    ) -> tuple[HistoryBranch, ...]:
        """Keep what the table is now as the state of a business time; gives the states that were made, oldest first.

        The state is a branch, named by its time in UTC, and no file is copied. Times that are missing between the last
        archived one and this are filled in, `every` so often: each day where a date is given, none otherwise, and none
        with `timedelta(0)`. Each of them is what the table was at that time. A time that is archived already is left as
        it is.

        A write with `business_time=` goes to the first state at or after that time, to every later one and to the
        table, in one commit: later states are corrected, earlier ones are not touched.

        Raises `DefinitionError` on a branch and for a time or step that is none, `NothingToDo` if the table has no
        commit, `TableNotFound` if it had none at a missing time, `SnapshotExpired` if what it was then has expired,
        `ForeignCommit` after a commit of another engine, and `CommitConflict` if other commits come first.

        Example::

            profiles.states.archive("2026-11-01")
            profiles.update(late_rows, business_time="2026-11-01")
            profiles.read(as_of="2026-11-01").show()
        """
        if self._handle.path.branch is not None:
            raise DefinitionError(
                f"{self._handle.path} is a branch. What is archived is main: lake.table(...).states.archive(...)."
            )
        at = utc_of(business_time).isoformat()
        step = step_of(business_time, every)
        call = Call.of("archive", self._handle.path, business_time=at, every_seconds=step)
        return HistoryBranch.all_of(self._handle.session, call)

    def __call__(self) -> tuple[HistoryBranch, ...]:
        """The archived states, the oldest first.

        Raises `TableNotFound` if the table is not there any more.

        Example::

            profiles.states()[-1].late_writes
        """
        return HistoryBranch.all_of(self._handle.session, Call.of("history_branches", self._handle.on_main.path))
