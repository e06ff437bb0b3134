"""The positions of readers of a table, by their names: consumers of its change feed, and triggers.

The table itself keeps the positions, so that they survive every process. One moves only from where its reader believes
it to be: of two readers with one name, the second is told.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Literal

from keylake._display.html_table import ShownFields
from keylake._server.session import Session
from keylake._server.statements import Call, TablePath


@dataclass(frozen=True)
class Consumer(ShownFields):
    """A reader of a change feed, and the commit up to which it has read; later ones do not expire before it has."""

    name: str
    snapshot_id: int  # 0: it has read nothing yet
    committed_at: datetime.datetime | None
    commits_behind: int | None  # None: its commit is on no way to where the table stands


@dataclass(frozen=True)
class Positions:
    """The positions of one kind of reader of a table."""

    session: Session
    path: TablePath
    kind: Literal["consumer", "trigger"]

    def all(self) -> dict[str, int]:
        """Each reader's: a snapshot id of a consumer, microseconds since 1970 of a trigger."""
        rows = self.session.call(Call.of(f"{self.kind}s", TablePath(self.path.name))).to_pylist()
        return {row["name"]: row["position"] for row in rows}

    def at(self, name: str) -> int | None:
        """The position of one reader; None where it has none."""
        return self.all().get(name)

    def forget(self, name: str) -> None:
        """Take the position of one reader out of the table, if it has one."""
        at = self.at(name)
        if at is not None:
            self.move(name, before=at, to=None)

    def move(self, name: str, *, to: int | None, before: int | None) -> None:
        """Move one from where it was; None stands for nowhere."""
        call = Call.of(f"move_{self.kind}", TablePath(self.path.name), name=name, from_position=before, to_position=to)
        self.session.call(call)
