"""Rows that were polled and are not written: by keyed table, as the source gave them, until they are due.

Positions of a pipeline never move past what waits: a partition goes on at the first row of it that waits.
"""

# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def by_table(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """The rows of each table, in their order.

    >>> rows = pa.table({"table": ["b", "a", "b"], "offset": [1, 2, 3]})
    >>> [(name, part["offset"].to_pylist()) for name, part in by_table(rows)]
    [('a', [2]), ('b', [1, 3])]
    """
    if rows.num_rows == 0:
        return
    ordered = rows.take(pc.sort_indices(rows["table"]))  # which is stable
    names: Any = ordered["table"].combine_chunks()
    runs = pc.run_end_encode(names)
    begin = 0
    for name, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        yield name, ordered.slice(begin, end - begin)
        begin = end


def offsets_in(rows: pa.Table) -> dict[str, tuple[int, int]]:
    """The first offset of each partition of rows, and the one after the last.

    >>> offsets_in(pa.table({"partition": ["p", "q", "p"], "offset": [4, 9, 7]}))
    {'p': (4, 8), 'q': (9, 10)}
    """
    found = rows.group_by("partition", use_threads=False).aggregate([("offset", "min"), ("offset", "max")])
    columns = (found[name].to_pylist() for name in ("partition", "offset_min", "offset_max"))
    return {partition: (least, most + 1) for partition, least, most in zip(*columns, strict=True)}


def from_offsets(rows: pa.Table, first: Mapping[str, int]) -> pa.Table:
    """The rows at these offsets and later ones; those of other partitions stay, too.

    >>> from_offsets(pa.table({"partition": ["p", "q", "p"], "offset": [4, 9, 7]}), {"p": 5})["offset"].to_pylist()
    [9, 7]
    """
    for partition in pc.unique(rows["partition"]).to_pylist():
        if partition in first:
            other = pc.not_equal(rows["partition"], partition)
            rows = rows.filter(pc.or_(other, pc.greater_equal(rows["offset"], first[partition])))
    return rows


@dataclass
class Waiting:
    """The rows of one keyed table that wait, by source table, and the first offset of each partition."""

    since: float
    rows: dict[str, list[pa.Table]] = field(default_factory=dict[str, "list[pa.Table]"])
    first: dict[str, int] = field(default_factory=dict[str, int])
    count: int = 0

    def add(self, source: str, rows: pa.Table) -> None:
        """Add rows of a source table."""
        self.rows.setdefault(source, []).append(rows)
        self.count += rows.num_rows
        for partition, (least, _) in offsets_in(rows).items():
            self.first[partition] = min(least, self.first.get(partition, least))

    def by_source(self) -> Iterator[tuple[str, pa.Table]]:
        """All rows, by source table."""
        for source, parts in self.rows.items():
            yield source, pa.concat_tables(parts)
