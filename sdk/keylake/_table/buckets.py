"""How many buckets a table has: more of them for new data, the move of the old, and how many there should be.

change_buckets ── metadata only ── new files lie in the new buckets; the old are read beside them
rebucket ───────── bucket by bucket ── old files are divided, each commit a part of the move
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from keylake._display.html_table import ShownFields
from keylake._maintenance.compaction import CompactionReport, Merge
from keylake._table.handle import Verbs
from keylake.errors import check_type


@dataclass(frozen=True)
class BucketChange(ShownFields):
    """How many buckets a table had, and has from now on.

    >>> BucketChange(before=16, after=64).after
    64
    """

    before: int
    after: int


@dataclass(frozen=True)
class BucketAdvice(ShownFields):
    """How many buckets a table should have, and why; `recommended` is `buckets` where all is well.

    >>> BucketAdvice(buckets=16, recommended=64, reason="...").recommended
    64
    """

    buckets: int  # that it has
    recommended: int
    reason: str  # the sizes that it comes from


class BucketVerbs(Verbs):
    """How many buckets a table has, and should have."""

    def change_buckets(self, buckets: int) -> BucketChange:
        """Spread what is written from now on over more buckets, a multiple of those there are. No file is touched.

        Old and new files are read together meanwhile, by the old buckets. The server's maintenance then divides the old
        files, or `rebucket` does. The count belongs to the table with all of its branches, and cannot shrink. A class
        that declares it wants the new number, too, and so do other open handles, which keep their `spec`. A count that
        is no larger multiple is refused with `DefinitionError`.

            profiles.change_buckets(128)
        """
        check_type("buckets", buckets, int, "a whole number, a multiple of the present one")
        row = self._handle.on_main.call("change_buckets", buckets=buckets)[0]
        self._learn(replace(self.spec, buckets=row["after"]))
        return BucketChange(**row)

    def rebucket(self) -> CompactionReport:
        """Divide the files from when the table had fewer buckets, bucket by bucket, and merge nothing else.

        Readers and writers go on meanwhile, and no answer changes. Each bucket is committed by itself, so what is done
        stays done if the rest is stopped; begin again at any time. `compact` and the maintenance do the same, first of
        all.

            profiles.rebucket()
        """
        rows = self._handle.call("rebucket")
        return CompactionReport(str(self._handle.path), (Merge(**row) for row in rows))

    def bucket_advice(self) -> BucketAdvice:
        """How many buckets the table should have, from its size and its growth; only metadata is read.

        A bucket of the largest partition, merged, should fit into one file of the size that the compaction policy aims
        at (512 MiB unless it says otherwise), also when the partition grows by as much again as it did over the commits
        that are kept. The number is a multiple of the present one, never a smaller one.

            profiles.change_buckets(profiles.bucket_advice().recommended)
        """
        return BucketAdvice(**self._handle.call("bucket_advice")[0])
