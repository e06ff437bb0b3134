"""Rows that writes have held back, because they fail a check: how people see them, and bring them to main.

upsert(rows, require=[...], on_failure="quarantine")  ──┬─▶ main
└─▶ quarantine ── release ──▶ main
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from keylake._definition.spec import Names
from keylake._display.html_table import ShownFields
from keylake._gate.checks import Check
from keylake._server.conditions import condition_text
from keylake._server.statements import Select, literal, quoted
from keylake._table.handle import Namespace
from keylake.conditions import Condition
from keylake.errors import DefinitionError, check_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BRANCH = "quarantine"


@dataclass(frozen=True)
class Held(ShownFields):
    """The rows in quarantine: how many, and the conditions that their writes required. False for none.

    >>> print(Held(rows=17, conditions=("clicks >= 0",)))
    17 rows, held back by clicks >= 0
    >>> print(Held(rows=0, conditions=()))
    no rows are held back
    """

    rows: int  # as they are stored: a key can be among them several times
    conditions: tuple[str, ...]  # in SQL, in the order in which writes required them

    def __bool__(self) -> bool:
        return self.rows > 0

    def __str__(self) -> str:
        if not self:
            return "no rows are held back"
        rows = "1 row" if self.rows == 1 else f"{self.rows:,} rows"
        return f"{rows}, held back by {', '.join(self.conditions)}"


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

    def __call__(self) -> Held:
        """The number of rows in quarantine, and the conditions by which they were held back.

        Raises `DefinitionError` if somebody else has made a branch of that name.

        Example::

            profiles.quarantine().rows
        """
        found = self._handle.on_main.call("quarantine")
        return Held(found[0]["rows"] if found else 0, tuple(each["condition"] for each in found))

    def rows(self, columns: Names | None = None) -> DataFrame:
        """The rows in quarantine, one for each key, and in `_failed` the first condition that a row does not satisfy.

        A row has the columns that its writes carried, the others are null. A condition says nothing of a row that does
        not carry its columns, nor is it looked at where the table does not have them any more. The row of the same key
        in main stays as it is.

        Raises `SchemaMismatch` for a column that the table does not have, and `DefinitionError` if somebody else has
        made a branch of that name.

        Example::

            profiles.quarantine.rows().select("user_id", "_failed").show()
        """
        main = self._handle.on_main.as_now()
        found = main.call("quarantine")
        names = main.spec.column_names if columns is None else main.columns(columns)
        shown = [quoted(name) for name in names]
        if not found:
            none = main.session.frame_of(Select(main.path, names), "false")
            return none.selectExpr(*shown, "CAST(NULL AS STRING) AS _failed")
        everything = (*main.spec.column_names, "_merge_info")
        held = main.session.frame_of(Select(main.on_branch(BRANCH).path, everything), None)
        known = [(each["condition"], each["versions"]) for each in found if each["is_known"]]
        return held.selectExpr(*shown, _failed(known))

    def release(
        self, *, where: str | Condition | None = None, failed: str | Condition | Check | None = None
    ) -> Released:
        """Bring rows to main as they are, in one commit: all of them, or those that a condition selects.

        With `failed`, a condition that writes required: the rows that carry its columns and do not satisfy it. Rows
        come to main with their versions, so that newer values there stay; where versions are commit times, that of the
        release counts. Without conditions no file is opened, and the branch is dropped; otherwise files of the other
        rows are written anew.

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
        words = {"where": condition_text(where), "failed": _text(failed)}
        return Released(**self._handle.on_main.call(procedure, **words)[0])


def _failed(conditions: Sequence[tuple[str, Sequence[str]]]) -> str:
    r"""The first condition that a row does not satisfy, as a column in SQL.

    >>> _failed([("id > 0", [])])
    "CASE WHEN NOT coalesce((id > 0\n), false) THEN 'id > 0' END AS _failed"
    """
    cases = [
        " ".join(
            (
                "WHEN",
                *(f"_merge_info.columns.{quoted(version)} IS NOT NULL AND" for version in versions),
                f"NOT coalesce(({text}\n), false) THEN {literal(text)}",  # a comment ends with its line
            )
        )
        for text, versions in conditions
    ]
    return f"CASE {' '.join(cases)} END AS _failed" if cases else "CAST(NULL AS STRING) AS _failed"


def _text(failed: str | Condition | Check | None) -> str | None:
    """The condition that rows failed, in SQL."""
    if isinstance(failed, Check):
        if failed.row is None:
            raise DefinitionError(f"{failed.text} looks at many rows. Say the condition that a row failed.")
        return failed.row
    check_type("failed", failed, str | Condition | None, "a condition that writes required")
    return condition_text(failed)
