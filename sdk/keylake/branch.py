"""Branches of a table for writes that only checkers see, and their way to main."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial

from keylake.errors import DefinitionError, GateFailed
from keylake.gate import DELETED, Check, Finding
from keylake.history import TableHistory
from keylake.statements import Call, Select, quoted

TEMPORARY = "tmp_"  # how the names of branches begin that are made when they are first asked for


@dataclass(frozen=True)
class Published:
    """A branch that has come to main."""

    snapshot_id: int  # of main
    commits: int
    fast_forward: bool  # main had not moved since the branch was made
    findings: tuple[Finding, ...]


class TableBranch(TableHistory):
    """What a table can be asked about the branch that it stands for; a `KeyedTable` is one."""

    def publish(self, *, require: Sequence[Check] = ()) -> Published:
        """Bring the commits of this branch to main, all of them or none, if all checks pass.

        The checks look at what the branch has changed since it left main. If one fails, `GateFailed` has all findings,
        and nothing is published. No file is opened or written: where main has not moved, it moves to where the branch
        stands; otherwise the files of the branch's commits are added to main, and versions say what is newer. The
        findings are kept in the summary of the snapshot.

            draft = profiles.branch("tmp_nightly")
            draft.upsert(backfill)
            draft.publish(require=[kl.null_rate("spend", below=0.01)])
        """
        if self._path.branch is None:
            raise DefinitionError(
                f"{self._path} is main. A branch is published: table.branch('tmp_nightly').publish()."
            )
        found = self._session.call(Call.of("publication", self._path)).to_pylist()[0]
        findings = self._measured(require, found["base"], found["head"])
        failed = [finding for finding in findings if not finding.passed]
        if failed:
            raise GateFailed(
                f"{len(failed)} of {len(findings)} checks on {self._path} failed: {'; '.join(map(str, failed))}. "
                "Nothing was published.",
                findings,
            )
        report = json.dumps([asdict(finding) for finding in findings])
        published = Call.of("publish", self._path, head=found["head"], report=report)
        done = self._session.call(published).to_pylist()[0]
        return Published(done["snapshot_id"], done["commits"], done["fast_forward"], findings)

    def _measured(self, checks: Sequence[Check], base: int, head: int) -> tuple[Finding, ...]:
        if not checks:
            return ()
        changes = self.changes(after=base or None, until=head)
        values = ["_after.*"] if self.spec.value_columns else []
        changed = changes.where(f"NOT ({DELETED})").selectExpr(*map(quoted, self.spec.key), *values)
        whole = self._session.frame_of(Select(self._path, self.spec.column_names, head), None)
        measured = [self._session.answer(partial(check.measured, changes, changed, whole)) for check in checks]
        return tuple(check.found(value) for check, value in zip(checks, measured, strict=True))
