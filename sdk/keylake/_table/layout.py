"""Verbs for how a table lies in files: compaction, retention, the merged branch for other engines, and bucket counts.

change_buckets ── metadata only ── new files lie in the new buckets; the old are read beside them
rebucket ───────── bucket by bucket ── old files are divided, each commit a part of the move
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from keylake._definition.indexes import Bloom
from keylake._display.html_table import ShownFields
from keylake._maintenance.compaction import (
    BucketPicture,
    CompactionPlan,
    CompactionPolicy,
    CompactionReport,
    Merge,
    PolicyWord,
)
from keylake._maintenance.retention import Cleaned, RetentionPolicy
from keylake._outcomes.lateness import Lateness, text_of
from keylake._table.finding import indexes_of
from keylake._table.handle import Namespace, Verbs
from keylake.errors import DefinitionError, check_type


@dataclass(frozen=True)
class BucketChange(ShownFields):
    """A change of the number of buckets: what a table had, and has from now on.

    >>> BucketChange(before=16, after=64).after
    64
    """

    before: int
    after: int


@dataclass(frozen=True)
class BucketAdvice(ShownFields):
    """An advice on the number of buckets of a table, and why; `recommended` is `buckets` where all is well.

    >>> BucketAdvice(buckets=16, recommended=64, reason="...").recommended
    64
    """

    buckets: int  # that it has
    recommended: int
    reason: str  # the sizes that it comes from


class LayoutVerbs(Verbs):
    """The verbs that keep files few."""

    def compact(self, policy: CompactionPolicy | PolicyWord | None = None) -> CompactionReport:
        """Merge and settle runs until a policy is content: the table's own, unless another is given.

        "full" merges all there is. "settle" merges nothing, and only records which rows are superseded: reads need no
        merge from then on, and other engines read the merged rows, where every row was written whole. "maintenance" is
        the table's own as maintenance applies it, which leaves recent small runs as they were written.

        Readers and writers go on meanwhile, and no answer changes. Each merge is committed by itself, so what is done
        stays done if the rest is stopped.

        Raises `DefinitionError` for a policy that is none, `ForeignCommit` after a commit of another engine, and
        `TableNotFound` if the table is dropped meanwhile. A merge that loses against another commit is no error: the
        report says so.

        Example::

            profiles.compact("full")
        """
        rows = self._handle.call("compact", policy=_policy_text(policy))
        return CompactionReport(str(self._handle.path), (Merge(**row) for row in rows))


class Layout(Namespace):
    """`table.layout`: how many files and buckets a table has, what of its past is kept, and by which policies."""

    def compaction_plan(self, policy: CompactionPolicy | PolicyWord | None = None) -> CompactionPlan:
        """The compactions that `compact` would do now, bucket by bucket, with its reasons. Nothing is done.

        Raises `DefinitionError` for a policy that is none, and `ForeignCommit` after a commit of another engine.

        Example::

            print(profiles.layout.compaction_plan())
        """
        rows = self._handle.call("compaction_plan", policy=_policy_text(policy))
        return CompactionPlan(str(self._handle.path), map(BucketPicture.from_row, rows))

    def compaction_policy(self) -> CompactionPolicy:
        """The policy of the table: its own, or the default.

        Raises `TableNotFound` if the table is not there any more.

        Example::

            profiles.layout.compaction_policy().tier_runs
        """
        rows = self._handle.on_main.call("compaction_policy")
        return CompactionPolicy.from_json(rows[0]["policy"])

    def set_compaction_policy(self, policy: CompactionPolicy) -> None:
        """Give the table a policy of its own, for all of its branches.

        Raises `DefinitionError` for a policy that is none, and `TableNotFound` if the table is not there any more.

        Example::

            profiles.layout.set_compaction_policy(kl.CompactionPolicy(tier_runs=8))
        """
        check_type("policy", policy, CompactionPolicy, "a CompactionPolicy")
        self._handle.on_main.call("compaction_policy", policy=policy.to_json())

    def retention_policy(self) -> RetentionPolicy:
        """The retention policy of the table: its own, or the default: a week, and at most 1,000 snapshots.

        Raises `TableNotFound` if the table is not there any more.

        Example::

            profiles.layout.retention_policy().days
        """
        rows = self._handle.on_main.call("retention_policy")
        return RetentionPolicy.from_json(rows[0]["policy"])

    def set_retention_policy(self, policy: RetentionPolicy) -> None:
        """Say what of the table's past is kept; maintenance cleans up by it, and so does `clean`.

        Raises `DefinitionError` for a policy that is none, and `TableNotFound` if the table is not there any more.

        Example::

            profiles.layout.set_retention_policy(kl.RetentionPolicy(days=30, max_snapshots=20_000))
        """
        check_type("policy", policy, RetentionPolicy, "a RetentionPolicy")
        self._handle.on_main.call("retention_policy", policy=policy.to_json())

    def lateness(self) -> Lateness:
        """The lateness that the table allows, and the late rows that lie apart.

        Raises `TableNotFound` if the table is not there any more.

        Example::

            print(profiles.layout.lateness())
        """
        return Lateness.from_row(self._handle.on_main.call("lateness")[0])

    def set_lateness(self, lateness: str | timedelta | None) -> Lateness:
        """Say how far behind the watermark of the table event times may lie; rows further behind are late.

        Writes put late rows into files of their own. All reads have them but those with `freshness="on_time"`, which
        open none of these files. Compactions leave them where they are, and make them a run like others
        when they are many or old (`late_share` and `late_seconds` of the policy), and with "full". None allows any
        lateness. The watermark is what writes have said by `watermark=`, the lowest of all streams.

        Raises `DefinitionError` for what is no length of time, for a table whose ordering column is no timestamp, and
        for one with accumulators, and `TableNotFound` if the table is not there any more.

        Example::

            profiles.layout.set_lateness("1 hour")
        """
        text = "none" if lateness is None else text_of(lateness)
        return Lateness.from_row(self._handle.on_main.call("lateness", lateness=text)[0])

    def clean(self, policy: RetentionPolicy | None = None) -> Cleaned:
        """Expire snapshots and delete files that nobody needs, by a policy: the table's own unless another is given.

        Raises `DefinitionError` for a policy that is none, and `TableNotFound` if the table is not there any more.

        Example::

            profiles.layout.clean(kl.RetentionPolicy(days=7))
        """
        check_type("policy", policy, RetentionPolicy | None, "a RetentionPolicy")
        text = None if policy is None else policy.to_json()
        return Cleaned(**self._handle.on_main.call("clean", policy=text)[0])

    def indexes(self) -> tuple[Bloom, ...]:
        """The indices of values that the table has.

        Raises `TableNotFound` if the table is not there any more.

        Example::

            [index.column for index in profiles.layout.indexes()]
        """
        return indexes_of(self._handle)

    def add_index(self, index: Bloom) -> tuple[Bloom, ...]:
        """Give a column an index, and return all that the table has. No file is touched, and writers go on.

        Files that are written from now on have it; older ones get it when they are compacted, at once by
        `compact("full")`. A column keeps its index when it is renamed. A table has up to 8.

        Raises `DefinitionError` for a column that cannot have an index: one of the key, whose columns have filters
        anyway, one of another type, one that accumulates, one too many, or one that is not there.

        Example::

            profiles.layout.add_index(kl.Bloom("device"))
        """
        check_type("index", index, Bloom, "a kl.Bloom, such as kl.Bloom('device')")
        return indexes_of(self._handle, "add_index", column=index.column)

    def drop_index(self, column: str) -> tuple[Bloom, ...]:
        """Take the index of a column back, and return those that are left. Filters in files stay until a compaction.

        Raises `DefinitionError` if the column has no index.

        Example::

            profiles.layout.drop_index("device")
        """
        check_type("column", column, str, "the name of a column")
        return indexes_of(self._handle, "drop_index", column=column)

    def change_buckets(self, buckets: int) -> BucketChange:
        """Spread what is written from now on over more buckets, a multiple of those there are. No file is touched.

        Old and new files are read together meanwhile, by the old buckets. The server's maintenance then divides the old
        files, or `rebucket` does. The count belongs to the table with all of its branches, and cannot shrink. A class
        that declares it wants the new number, too, and so do other open handles, which keep their `spec`.

        Raises `DefinitionError` for a count that is no larger multiple of the present one, and `Unsupported` for a
        table with groups of keys.

        Example::

            profiles.layout.change_buckets(128)
        """
        check_type("buckets", buckets, int, "a whole number, a multiple of the present one")
        row = self._handle.on_main.call("change_buckets", buckets=buckets)[0]
        self._learn(replace(self._handle, spec=replace(self.spec, buckets=row["after"])))
        return BucketChange(**row)

    def rebucket(self) -> CompactionReport:
        """Divide the files from when the table had fewer buckets, bucket by bucket, and merge nothing else.

        Readers and writers go on meanwhile, and no answer changes. Each bucket is committed by itself, so what is done
        stays done if the rest is stopped; begin again at any time. `compact` and the maintenance do the same, first of
        all.

        Raises `ForeignCommit` after a commit of another engine, and `TableNotFound` if the table is dropped meanwhile.

        Example::

            profiles.layout.rebucket()
        """
        rows = self._handle.call("rebucket")
        return CompactionReport(str(self._handle.path), (Merge(**row) for row in rows))

    def bucket_advice(self) -> BucketAdvice:
        """The number of buckets that the table should have, from its size and its growth; only metadata is read.

        A bucket of the largest partition, merged, should fit into one file of the size that the compaction policy aims
        at (512 MiB unless it says otherwise), also when the partition grows by as much again as it did over the commits
        that are kept. The number is a multiple of the present one, never a smaller one.

        Raises `TableNotFound` if the table is not there any more.

        Example::

            profiles.layout.change_buckets(profiles.layout.bucket_advice().recommended)
        """
        return BucketAdvice(**self._handle.call("bucket_advice")[0])


def _policy_text(policy: CompactionPolicy | PolicyWord | None) -> str | None:
    if not isinstance(policy, CompactionPolicy) and policy not in (None, "full", "settle", "maintenance"):
        raise DefinitionError(f"policy is {policy!r}. Use 'full', 'settle', 'maintenance' or a CompactionPolicy.")
    return policy.to_json() if isinstance(policy, CompactionPolicy) else policy
