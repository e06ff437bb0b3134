package io.keylake.spark.parquet;

import io.keylake.tables.ReadTotal;

/**
 * The numbers of what one task of a scan did. Its reader counts; {@code ReadMetrics} shows it to
 * Spark.
 */
public final class ReadCounters {
  public long filesOpened;
  public long rowGroupsRead;
  public long rowGroupsSkipped;

  /** The rows of all runs, before they were merged. */
  public long rowsIn;

  public long rowsOut;

  /** Leaf columns, summed over the files. */
  public long columnsOpened;

  public long bytesRead;

  /** Adds what a read did that has ended to the totals of this process. */
  public void addToTotals() {
    ReadTotal.ROWS_IN.add(rowsIn);
    ReadTotal.ROWS_OUT.add(rowsOut);
    ReadTotal.FILES.add(filesOpened);
    ReadTotal.BYTES.add(bytesRead);
  }
}
