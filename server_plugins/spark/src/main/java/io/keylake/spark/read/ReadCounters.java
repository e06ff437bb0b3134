package io.keylake.spark.read;

/** What one task of a scan did. Its reader counts; {@link ReadMetrics} shows it to Spark. */
final class ReadCounters {
  long filesOpened;
  long rowGroupsRead;
  long rowGroupsSkipped;

  /** Of all runs, before they were merged. */
  long rowsIn;

  long rowsOut;

  /** Leaf columns, summed over the files. */
  long columnsOpened;

  long bytesRead;
}
