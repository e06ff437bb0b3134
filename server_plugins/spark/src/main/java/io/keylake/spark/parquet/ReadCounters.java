package io.keylake.spark.parquet;

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
}
