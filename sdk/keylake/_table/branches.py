"""Branches of a table for writes that only checkers see, and their way to main."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING

from keylake._display.html_table import ShownFields
from keylake._gate.checks import DELETED, Check, checks_of
from keylake._outcomes.findings import Finding
from keylake._server.conditions import condition_text
from keylake._server.statements import Select, quoted
from keylake._table.changes import ChangeVerbs, Feed
from keylake._table.handle import Namespace, Verbs, ends_of
from keylake.conditions import Condition
from keylake.errors import DefinitionError, GateFailed, check_type
from keylake.results import Commit, CommitInfo

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TEMPORARY = "tmp_"  # how the names of branches begin that are made when they are first asked for
NAME = re.compile(r"[\w.-]+", re.ASCII)
_OF_KEYLAKE = ("main", "merged", "quarantine")
_BEGINNINGS_OF_KEYLAKE = ("experiment_", "history_")


@dataclass(frozen=True)
class Published(ShownFields):
    """A branch that has come to main.

    >>> print(Published(17, commits=2, fast_forward=True, findings=(), columns_of_both=(), buckets_of_both=0,
    ...                 rows_of_both_at_most=0))
    snapshot 17: 2 commits are published
    >>> print(Published(18, commits=1, fast_forward=False, findings=(Finding("unique('id')", 0, "0", True),),
    ...                 columns_of_both=("clicks",), buckets_of_both=3, rows_of_both_at_most=70))
    snapshot 18: 1 commit is published, 1 check passed; main has other writes of clicks, at most 70 rows of both
    """

    snapshot_id: int  # of main
    commits: int
    fast_forward: bool  # main had not moved since the branch was made
    findings: tuple[Finding, ...]
    columns_of_both: tuple[str, ...]  # that main, too, has got values of since the branch was made
    buckets_of_both: int  # in which both have written to some range of keys
    rows_of_both_at_most: int  # no more keys than these have been written by both

    def __str__(self) -> str:
        said = f"snapshot {self.snapshot_id}: {_commits(self.commits)} published"
        if self.findings:
            said += f", {len(self.findings)} check{'' if len(self.findings) == 1 else 's'} passed"
        if self.columns_of_both:
            both = ", ".join(self.columns_of_both)
            said += f"; main has other writes of {both}, at most {self.rows_of_both_at_most:,} rows of both"
        return said


@dataclass(frozen=True)
class Picked(ShownFields):
    """Commits of a branch that were made again on another, or would be.

    >>> print(Picked(17, commits=2, files=8, rows=1200, files_cut=0, rows_cut=0))
    snapshot 17: 2 commits are picked, with 1,200 rows in 8 files
    >>> print(Picked(None, commits=1, files=4, rows=70, files_cut=2, rows_cut=30))
    plan: 1 commit is picked, with 70 rows in 4 files; the condition cuts through 2 files with 30 rows
    """

    snapshot_id: int | None  # of the last one; None where that was only planned
    commits: int
    files: int
    rows: int
    files_cut: int  # files of which the condition selects a part, which would have to be written anew
    rows_cut: int

    def __str__(self) -> str:
        begin = "plan" if self.snapshot_id is None else f"snapshot {self.snapshot_id}"
        said = f"{begin}: {_commits(self.commits)} picked, with {self.rows:,} rows in {self.files:,} files"
        cut = f"; the condition cuts through {self.files_cut:,} files with {self.rows_cut:,} rows"
        return said + cut if self.files_cut else said


def _commits(number: int) -> str:
    return f"{number} commit{' is' if number == 1 else 's are'}"


class BranchVerbs(Verbs):
    """The verbs that bring the writes of a branch to main."""

    def publish(self, *, require: Sequence[Check] = ()) -> Published:
        """Bring the commits of this branch to main, all of them or none, if all checks pass.

        The checks look at what the branch has changed since it left main. If one fails, or the branch or main moves
        before the commit, nothing is published. No file is opened or written: where main has not moved, it moves to
        where the branch stands; otherwise the files of the branch's commits are added to main, and versions say what is
        newer. The findings are kept in the summary of the snapshot.

        Raises `GateFailed` with all findings if a check fails; `CommitConflict` if the branch or main moves between the
        checks and the commit; `NothingToDo` if main has all commits of the branch; `DefinitionError` on main and for
        what is no check; `SnapshotExpired` if the commit where the branch left main has expired; `ForeignCommit` after
        a commit of another engine; and `Unsupported` on an experiment.

        Example::

            draft = profiles.branch("tmp_nightly")
            draft.upsert(backfill)
            draft.publish(require=[kl.null_rate("spend", below=0.01)])
        """
        if self._handle.path.branch is None:
            raise DefinitionError(
                f"{self._handle.path} is main. A branch is published: table.branch('tmp_nightly').publish()."
            )
        checks = checks_of(require)
        found = self._handle.call("publication")[0]
        findings = self._measured(checks, found["base"], found["head"])
        failed = [finding for finding in findings if not finding.passed]
        if failed:
            raise GateFailed(
                f"{len(failed)} of {len(findings)} checks on {self._handle.path} failed: "
                f"{'; '.join(map(str, failed))}. Nothing was published.",
                findings,
            )
        report = json.dumps([asdict(finding) for finding in findings])
        # What was checked is published while the branch and main stand where they stood; without checks, main may move.
        main = found["main"] if require else None
        done = self._handle.call("publish", head=found["head"], main=main, report=report)[0]
        return Published(**done, findings=findings)

    def _measured(self, checks: Sequence[Check], base: int, head: int) -> tuple[Finding, ...]:
        if not checks:
            return ()
        changes = ChangeVerbs(self._handle).changes(after=base or None, until=head)
        spec = self._current()
        values = ["_after.*"] if spec.value_columns else []
        changed = changes.where(f"NOT ({DELETED})").selectExpr(*map(quoted, spec.key), *values)
        whole = self._handle.session.frame_of(Select(self._handle.path, at=head), None)
        measured = [self._handle.session.answer(partial(check.measured, changes, changed, whole)) for check in checks]
        return tuple(check.found(value) for check, value in zip(checks, measured, strict=True))


class Branches(Namespace):
    """`table.branches`: the branches of a table, and how writes get from one to another."""

    def __call__(self) -> DataFrame:
        """The branches and tags of the table: where they stand, how many commits main has not, how long they are kept.

        Raises `TableNotFound` if the table is not there any more.

        Example::

            profiles.branches().where("type = 'branch'").show()
        """
        return self._handle.part("branches")

    def create(self, name: str) -> bool:
        """Make a branch of what main is now, of any name; False where the table has the branch already.

        `table.branch(name)` opens it. That makes branches itself if their names begin with `tmp_`, and no other, so
        that a misspelt name is an error.

        Raises `DefinitionError` for a name of other characters than letters, digits, `_`, `-` and `.`, and for one that
        keylake gives itself, and `CommitConflict` if other commits come first.

        Example::

            profiles.branches.create("nightly")
        """
        check_type("The name of a branch", name, str, "text such as 'nightly'")
        if not NAME.fullmatch(name):
            raise DefinitionError(
                f"The name of a branch is {name!r}. Use letters, digits, '_', '-' and '.', which every engine can read."
            )
        if name in _OF_KEYLAKE or name.startswith(_BEGINNINGS_OF_KEYLAKE):
            raise DefinitionError(f"keylake itself gives the name {name!r} to a branch. Take another name.")
        return bool(self._handle.on_branch(name).value("ensure_branch"))

    def drop(self, name: str) -> int:
        """Remove a branch of the table; gives the snapshot id of its newest commit.

        Its commits can be read by their snapshot ids until they expire. Files that other branches need stay.

        Raises `TableNotFound` for an unknown branch, `DefinitionError` for main, a tag or an archived state, and
        `CommitConflict` if other commits come first.

        Example::

            profiles.branches.drop("tmp_nightly")
        """
        check_type("The name of a branch", name, str, f"text such as '{TEMPORARY}nightly'")
        return int(self._handle.on_branch(name).value("drop_branch"))

    def touched_by_both(self) -> DataFrame:
        """The keys that this branch and main have both written since the branch was made, or last published.

        Raises `NothingToDo` if main has all commits of the branch, and `SnapshotExpired` if a commit since it left main
        is not kept any more.

        Example::

            draft.branches.touched_by_both().show()
        """
        found = self._handle.call("publication")[0]
        key = self._current().key
        ours = Feed(ChangeVerbs(self._handle)).appended(after=found["base"] or None, until=found["head"], columns=key)
        theirs = Feed(ChangeVerbs(self._handle.on_main)).appended(after=found["base_on_main"] or None, columns=key)
        return ours.join(theirs, list(key), "left_semi").select(*map(quoted, key))

    def cherry_pick(
        self,
        source: Verbs | str,
        *,
        after: Commit | CommitInfo | int | None = None,
        until: Commit | CommitInfo | int | None = None,
        where: str | Condition | None = None,
    ) -> Picked:
        """Make the writes of a branch in (after, until] again on this one, all of them or none.

        No file is opened: whole files are added, commit by commit, and an overwrite replaces here what it replaced
        there. What is here already is left out. `where`, in Spark's SQL, picks the files all of whose rows it holds
        for, as far as partitions and bounds of columns tell; if it cuts through a file nothing is picked, and the error
        says what would have to be written anew. Without `after` the range begins with the first commit of the branch,
        without `until` it ends with its newest.

        Raises `NothingToDo` if all of it is here already, `Unsupported` if `where` cuts through files or a commit
        cannot be made again elsewhere, `DefinitionError` for a `where` that cannot be asked of files and for another
        table, `SnapshotExpired` if a commit of the range is not kept any more, `TableNotFound` for an unknown branch,
        `ForeignCommit` after a commit of another engine on either side, and `CommitConflict` if other commits come
        first.

        Example::

            profiles.branches.cherry_pick(draft, after=first, until=last, where="day = DATE '2026-11-01'")
        """
        return self._pick("cherry_pick", source, after, until, where)

    def cherry_pick_plan(
        self,
        source: Verbs | str,
        *,
        after: Commit | CommitInfo | int | None = None,
        until: Commit | CommitInfo | int | None = None,
        where: str | Condition | None = None,
    ) -> Picked:
        """The result that `cherry_pick` would have now, and the files that `where` cuts through. Nothing is done.

        Raises `NothingToDo`, `DefinitionError`, `SnapshotExpired` and `TableNotFound` where `cherry_pick` does.

        Example::

            profiles.branches.cherry_pick_plan(draft, where="day = DATE '2026-11-01'").files_cut
        """
        return self._pick("cherry_pick_plan", source, after, until, where)

    def _pick(
        self, procedure: str, source: Verbs | str, after: object, until: object, where: str | Condition | None
    ) -> Picked:
        check_type("source", source, Verbs | str, "the name of a branch, or table.branch(...)")
        text = condition_text(where)
        path = self._handle.on_branch(source).path if isinstance(source, str) else source._handle.path
        if path.name != self._handle.path.name:
            raise DefinitionError(
                f"{path} is another table than {self._handle.path}. Pick from a branch of the same table."
            )
        ends = ends_of(after, until)
        return Picked(**self._handle.call(procedure, **ends, source=path.branch, where=text)[0])
