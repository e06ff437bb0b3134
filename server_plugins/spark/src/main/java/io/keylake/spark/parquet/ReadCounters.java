package io.keylake.spark.parquet;

import io.keylake.tables.ReadTotal;
import java.util.HashSet;
import java.util.Set;

/**
 * The numbers of what one task of a scan did. Its reader counts; {@code ReadMetrics} shows it to
 * Spark.
 */
public final class ReadCounters {
  /** The files whose rows were looked at; one that is read for its keys first counts once. */
  public long filesOpened;

  /** The files that filters of their keys have left out: their rows are not looked at. */
  public long filesLeftOut;

  private final Set<String> opened = new HashSet<>();

  public long rowGroupsRead;
  public long rowGroupsSkipped;

  /** The rows of all runs, before they were merged. */
  public long rowsIn;

  public long rowsOut;

  /** Leaf columns, summed over the files. */
  public long columnsOpened;

  public long bytesRead;

  void openFile(String location) {
    filesOpened += opened.add(location) ? 1 : 0;
  }

  /** Adds what a read did that has ended to the totals of this process. */
  public void addToTotals() {
    ReadTotal.ROWS_IN.add(rowsIn);
    ReadTotal.ROWS_OUT.add(rowsOut);
    ReadTotal.FILES.add(filesOpened);
    ReadTotal.FILES_LEFT_OUT.add(filesLeftOut);
    ReadTotal.BYTES.add(bytesRead);
  }
}
