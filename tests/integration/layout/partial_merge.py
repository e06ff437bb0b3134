"""A policy that merges some files of each bucket, and never all of them, however large files of the format are."""

from collections import Counter

import keylake as kl
from integration.reading.metadata_rows import rows_of


def some_of_each_bucket(table: kl.KeyedTable) -> kl.CompactionPolicy:
    """Merges files whose rows others supersede."""
    sizes: Counter[int] = Counter()
    for run in rows_of(table.runs()):
        sizes[run["bucket"]] += run["bytes"]
    most = min(sizes.values()) - 1
    return kl.CompactionPolicy(
        settle_share=0, superseded_share=0.3, least_freed_share=0, max_bytes=most, target_file_bytes=most // 2
    )
