"""Rows that writes have held back, because they fail a check: how people see them, and bring them to main.

upsert(rows, require=[...], on_failure="quarantine")  ──┬─▶ main
└─▶ quarantine ── release ──▶ main
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from keylake._definition.spec import Names
from keylake._display.html_table import ShownFields
from keylake._gate.checks import Check
from keylake._server.conditions import condition_text
from keylake._server.statements import Select, literal, quoted
from keylake._table.changes import ChangeVerbs, Feed
from keylake._table.handle import Namespace
from keylake.conditions import Condition
from keylake.errors import DefinitionError, check_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BRANCH = "quarantine"


@dataclass(frozen=True)
class Held(ShownFields):
    """Rows in quarantine, of writes that follow each other and required the same conditions.

    >>> print(Held(commits=2, rows=17, conditions=("clicks >= 0",), after=5, until=9))
    17 rows of 2 commits, held back by clicks >= 0
    """

    commits: int
    rows: int  # that the commits have written: a key can be among them several times
    conditions: tuple[str, ...]  # in SQL, of which each row fails at least one
    after: int  # the ends of the range of the branch `quarantine` that has them, as snapshot ids
    until: int

    def __str__(self) -> str:
        rows = "1 row" if self.rows == 1 else f"{self.rows:,} rows"
        commits = "1 commit" if self.commits == 1 else f"{self.commits} commits"
        return f"{rows} of {commits}, held back by {', '.join(self.conditions)}"


@dataclass(frozen=True)
class Released(ShownFields):
    """Rows that were taken out of quarantine.

    >>> print(Released(17, rows=3, rows_left=14, files_as_they_are=0))
    snapshot 17: 3 rows are released, 14 stay in quarantine
    >>> print(Released(None, rows=3, rows_left=0, files_as_they_are=2))
    3 rows are discarded, none stays in quarantine
    """

    snapshot_id: int | None  # of main; None where they were discarded
    rows: int
    rows_left: int
    files_as_they_are: int  # files that were not written anew

    def __str__(self) -> str:
        rows = "1 row is" if self.rows == 1 else f"{self.rows:,} rows are"
        done = f"{rows} discarded" if self.snapshot_id is None else f"snapshot {self.snapshot_id}: {rows} released"
        left = {0: "none stays", 1: "1 stays"}.get(self.rows_left, f"{self.rows_left:,} stay")
        return f"{done}, {left} in quarantine"


class Quarantine(Namespace):
    """`table.quarantine`: the rows that writes have held back, since they failed a check: `rows`, `release`, `discard`.

    They lie on the branch `quarantine`, which nothing else is on: `table.branch("quarantine").update(...)` mends them.
    A write holds rows back with `require=[...]` and `on_failure="quarantine"`.
    """

    def __call__(self) -> tuple[Held, ...]:
        """The rows in quarantine by the conditions that they failed, oldest first; empty where there are none.

        Raises `DefinitionError` if somebody else has made a branch of that name.

        Example::

            profiles.quarantine()
        """
        return tuple(Held(**row) for row in self._handle.on_main.call("quarantine"))

    def rows(self, columns: Names | None = None) -> DataFrame:
        """The rows in quarantine, and in `_failed` the conditions that each does not satisfy, as it is now.

        A row has the columns that its writes carried, the others are null; writes of one key that required the same
        are merged. A row that was mended fails nothing any more. A row of the same key in main stays as it is.

        Raises `SchemaMismatch` for a column that the table does not have, and `DefinitionError` if somebody else has
        made a branch of that name.

        Example::

            profiles.quarantine.rows().select("user_id", "_failed").show()
        """
        held = self()
        all_of = self._current().column_names
        names = all_of if columns is None else self._knowing(lambda: self._handle.columns(columns))
        shown = [quoted(name) for name in names]
        frames = [self._of(each, all_of).selectExpr(*shown, _failed(each.conditions)) for each in held]
        if not frames:
            none = self._handle.session.frame_of(Select(self._handle.on_main.path, names), "false")
            return none.selectExpr(*shown, "CAST(array() AS ARRAY<STRING>) AS _failed")
        return reduce(lambda one, other: one.unionByName(other), frames)

    def _of(self, held: Held, columns: tuple[str, ...]) -> DataFrame:
        feed = Feed(ChangeVerbs(self._handle.on_branch(BRANCH)))
        return feed.appended(after=held.after, until=held.until, columns=columns).where("NOT _deleted")

    def release(
        self, *, where: str | Condition | None = None, failed: str | Condition | Check | None = None
    ) -> Released:
        """Bring rows to main as they are, in one commit: all of them, or those that a condition selects.

        With `failed`, a condition that writes required: the rows that do not satisfy it. Rows come to main with their
        versions, so that newer values there stay; where versions are commit times, that of the release counts. Without
        conditions no file is opened. When none is left, the branch is dropped.

        Raises `NothingToDo` if no row is selected, `DefinitionError` for a condition that cannot be read or looks at
        more than one row, and `CommitConflict` if writes always come in between.

        Example::

            profiles.quarantine.release(where="user_id < 1000", failed="clicks >= 0")
        """
        return self._take("release", where, failed)

    def discard(
        self, *, where: str | Condition | None = None, failed: str | Condition | Check | None = None
    ) -> Released:
        """Take rows out of quarantine that nobody wants: all of them, or those that a condition selects.

        Raises `NothingToDo` if no row is selected, `DefinitionError` for a condition that cannot be read or looks at
        more than one row, and `CommitConflict` if writes always come in between.

        Example::

            profiles.quarantine.discard(where="clicks < -1000000")
        """
        return self._take("discard", where, failed)

    def _take(self, procedure: str, where: str | Condition | None, failed: str | Condition | Check | None) -> Released:
        texts = [text for text in (condition_text(where), _fails(failed)) if text is not None]
        selected = " AND ".join(f"({text})" for text in texts) or None
        return Released(**self._handle.on_main.call(procedure, where=selected)[0])


def _failed(conditions: tuple[str, ...]) -> str:
    """The conditions that a row does not satisfy, as a column in SQL.

    >>> _failed(("clicks >= 0",))
    "array_compact(array(IF(coalesce((clicks >= 0), false), NULL, 'clicks >= 0'))) AS _failed"
    """
    each = ", ".join(f"IF(coalesce(({text}), false), NULL, {literal(text)})" for text in conditions)
    return f"array_compact(array({each})) AS _failed"


def _fails(failed: str | Condition | Check | None) -> str | None:
    """The condition that a row does not satisfy a condition."""
    if isinstance(failed, Check):
        if failed.row is None:
            raise DefinitionError(f"{failed.text} looks at many rows. Say the condition that a row failed.")
        text: str | None = failed.row
    else:
        check_type("failed", failed, str | Condition | None, "a condition that writes required")
        text = condition_text(failed)
    return None if text is None else f"NOT coalesce(({text}), false)"
