"""Delta Lake's MERGE INTO with deletion vectors. Files are clustered by key when the table is made."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from benchmarks.spark_server import SHUFFLE_PARTITIONS
from benchmarks.system import Reader, Staged, StockSpark
from benchmarks.systems.merge_into import merge_into
from benchmarks.workload import KEY, TIME, Batch, Workload

PACKAGE = "io.delta:delta-spark_4.1_2.13:4.4.0"


class DeltaMerge(StockSpark):
    name: ClassVar[str] = "Delta MERGE"
    workloads = frozenset({"W1", "W2"})
    knows_late_columns = False
    feeds_sinks = False  # with deletion vectors it refuses every sink of Spark's newer kind, and `noop` is one
    settings: ClassVar[Mapping[str, str]] = {
        "spark.jars.packages": PACKAGE,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }

    def take(self, staged: Staged) -> tuple[Reader, ...]:
        table = DeltaTable(self, staged)
        self.timed(table, staged.batches)
        return (table,)

    def compact(self, staged: Staged) -> tuple[Reader, ...]:
        self.run(f"OPTIMIZE {staged.workload.name}")
        return (DeltaTable(self, staged, is_new=False),)


class DeltaTable:
    name = DeltaMerge.name

    def __init__(self, system: DeltaMerge, staged: Staged, *, is_new: bool = True) -> None:
        self.engine = system.engine
        self.workload: Workload = staged.workload
        self.table = self.workload.name
        if is_new:
            # The same row groups as everybody's.
            size = staged.files.properties.get("write.parquet.row-group-size-bytes")
            if size:
                self.engine.spark.conf.set("parquet.block.size", size)
            columns = self.workload.columns_in_sql(tuple(dict.fromkeys((KEY, TIME, *self.workload.columns))))
            system.run(
                f"CREATE TABLE {self.table} ({columns}) USING delta "
                "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
            )

    def write(self, batch: Batch) -> None:
        frame = batch.frame(self.engine.spark)
        if not batch.number:
            rows = frame.select(KEY, TIME, *batch.columns).repartitionByRange(SHUFFLE_PARTITIONS, KEY)
            rows.sortWithinPartitions(KEY).writeTo(self.table).append()
            return
        frame.createOrReplaceTempView("batch")
        self.engine.fetch(merge_into(self.table, batch))

    def rows(self, columns: Sequence[str]) -> str:
        return f"SELECT {', '.join(columns)} FROM {self.table}"
