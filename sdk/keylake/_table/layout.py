"""Verbs for how files are kept few: compaction, retention, and the merged branch for other engines."""

from __future__ import annotations

import time

from keylake._maintenance.compaction import (
    BucketPicture,
    CompactionPlan,
    CompactionPolicy,
    CompactionReport,
    Merge,
    PolicyWord,
)
from keylake._maintenance.retention import Cleaned, RetentionPolicy
from keylake._table.handle import Verbs
from keylake.errors import DefinitionError, check_type
from keylake.results import Commit


class LayoutVerbs(Verbs):
    """How runs are merged, and what of the past is kept."""

    def compaction_plan(self, policy: CompactionPolicy | PolicyWord | None = None) -> CompactionPlan:
        """What `compact` would do now, bucket by bucket, with its reasons. Nothing is done.

        print(profiles.compaction_plan())
        """
        rows = self._handle.call("compaction_plan", policy=_policy_text(policy))
        return CompactionPlan(str(self._handle.path), map(BucketPicture.from_row, rows))

    def compact(self, policy: CompactionPolicy | PolicyWord | None = None) -> CompactionReport:
        """Merge and settle runs until a policy is content: the table's own, unless another is given.

        "full" merges all there is. "settle" merges nothing, and only records which rows are superseded: reads need no
        merge from then on, and other engines read the merged rows, where every row was written whole.

        Readers and writers go on meanwhile, and no answer changes. Each merge is committed by itself, so what is done
        stays done if the rest is stopped.

            profiles.compact("full")
        """
        rows = self._handle.call("compact", policy=_policy_text(policy))
        return CompactionReport(str(self._handle.path), (Merge(**row) for row in rows))

    def compaction_policy(self) -> CompactionPolicy:
        """The policy of the table: its own, or the default.

        profiles.compaction_policy().tier_runs
        """
        rows = self._handle.on_main.call("compaction_policy")
        return CompactionPolicy.from_json(rows[0]["policy"])

    def set_compaction_policy(self, policy: CompactionPolicy) -> None:
        """Give the table a policy of its own, for all of its branches.

        profiles.set_compaction_policy(kl.CompactionPolicy(tier_runs=8))
        """
        check_type("policy", policy, CompactionPolicy, "a CompactionPolicy")
        self._handle.on_main.call("compaction_policy", policy=policy.to_json())

    def refresh_merged(self) -> Commit:
        """Make the branch `merged` anew, in which every key stands once, for engines that know nothing of keyed tables.

        Trino, DuckDB or pyiceberg read the right rows from that branch; its snapshot says of which one of main it was
        made (`keylake.merged_of`). It takes as long as merging everything that is not merged yet.

            profiles.refresh_merged().rows
        """
        begun_at = time.perf_counter()
        row = self._handle.on_main.call("refresh_merged")[0]
        return Commit(row["snapshot_id"], row["rows"], None, time.perf_counter() - begun_at)

    def retention_policy(self) -> RetentionPolicy:
        """What of the table's past is kept: its own policy, or the default, which keeps every snapshot.

        profiles.retention_policy().days
        """
        rows = self._handle.on_main.call("retention_policy")
        return RetentionPolicy.from_json(rows[0]["policy"])

    def set_retention_policy(self, policy: RetentionPolicy) -> None:
        """Say what of the table's past is kept; maintenance cleans up by it, and so does `clean`.

        profiles.set_retention_policy(kl.RetentionPolicy(days=7, snapshots=100))
        """
        check_type("policy", policy, RetentionPolicy, "a RetentionPolicy")
        self._handle.on_main.call("retention_policy", policy=policy.to_json())

    def clean(self, policy: RetentionPolicy | None = None) -> Cleaned:
        """Expire snapshots and delete files that nobody needs, by a policy: the table's own unless another is given.

        profiles.clean(kl.RetentionPolicy(days=7))
        """
        check_type("policy", policy, RetentionPolicy | None, "a RetentionPolicy")
        text = None if policy is None else policy.to_json()
        return Cleaned(**self._handle.on_main.call("clean", policy=text)[0])


def _policy_text(policy: CompactionPolicy | PolicyWord | None) -> str | None:
    if not isinstance(policy, CompactionPolicy) and policy not in (None, "full", "settle"):
        raise DefinitionError(f"policy is {policy!r}. Use 'full', 'settle' or a CompactionPolicy.")
    return policy.to_json() if isinstance(policy, CompactionPolicy) else policy
