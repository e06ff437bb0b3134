package io.keylake.spark.read.pinned;

import org.apache.iceberg.BaseTable;
import org.apache.iceberg.BatchScan;

/** A table for Iceberg's own scans, which get their files from a plan. */
final class PinnedTable extends BaseTable {
  private static final long serialVersionUID = 1L;

  private final transient FilePlan plan;

  PinnedTable(BaseTable table, FilePlan plan) {
    super(table.operations(), table.name(), table.reporter());
    this.plan = plan;
  }

  @Override
  public BatchScan newBatchScan() {
    return new PinnedScan(super.newBatchScan(), plan);
  }

  /** Spark's tasks would plan by another scan than this one. */
  @Override
  public boolean allowDistributedPlanning() {
    return false;
  }
}
