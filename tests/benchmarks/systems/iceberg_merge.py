"""Iceberg's own MERGE INTO, which finds the old rows when it writes: as deletion vectors, or by writing files anew."""

from collections.abc import Sequence
from typing import ClassVar

from benchmarks.spark_server import CATALOG
from benchmarks.system import Reader, Staged, StockSpark
from benchmarks.systems.merge_into import merge_into
from benchmarks.systems.plain import IN_BUCKETS, create_in_buckets
from benchmarks.workload import KEY, TIME, Batch, Workload


class IcebergMerge(StockSpark):
    """Merge-on-read: format 3, deletion vectors."""

    name: ClassVar[str] = "Iceberg MERGE"
    workloads = frozenset({"W1", "W2", "W6"})
    knows_late_columns = False
    settings = IN_BUCKETS
    mode: ClassVar[str] = "merge-on-read"

    def take(self, staged: Staged) -> tuple[Reader, ...]:
        table = MergedInto(self, staged)
        self.timed(table, staged.batches)
        return (table,)

    def compact(self, staged: Staged) -> tuple[Reader, ...]:
        table = f"bench.{staged.workload.name}"
        self.run(
            f"CALL {CATALOG}.system.rewrite_data_files(table => '{table}', strategy => 'sort', sort_order => '{KEY}', "
            "options => map('rewrite-all', 'true'))"
        )
        return (MergedInto(self, staged, is_new=False),)


class IcebergMergeCopying(IcebergMerge):
    """Copy-on-write."""

    name: ClassVar[str] = "Iceberg MERGE, copying"
    workloads = frozenset({"W1"})
    mode = "copy-on-write"

    def compact(self, staged: Staged) -> tuple[Reader, ...]:
        return ()


class MergedInto:
    def __init__(self, system: IcebergMerge, staged: Staged, *, is_new: bool = True) -> None:
        self.name = system.name
        self.engine = system.engine
        self.workload: Workload = staged.workload
        self.table = f"{CATALOG}.bench.{self.workload.name}"
        modes = {f"write.{verb}.mode": system.mode for verb in ("merge", "update", "delete")}
        if is_new:
            columns = self.workload.columns_in_sql(tuple(dict.fromkeys((KEY, TIME, *self.workload.columns))))
            properties = {**staged.files.properties, "format-version": "3", **modes}
            create_in_buckets(self.engine, self.table, columns, properties)

    def write(self, batch: Batch) -> None:
        if not batch.number:
            batch.frame(self.engine.spark).select(KEY, TIME, *batch.columns).writeTo(self.table).append()
            return
        batch.frame(self.engine.spark).createOrReplaceTempView("batch")
        self.engine.fetch(merge_into(self.table, batch))

    def rows(self, columns: Sequence[str]) -> str:
        return f"SELECT {', '.join(columns)} FROM {self.table}"
