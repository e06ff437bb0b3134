package io.keylake.spark.read.scan;

import java.util.Set;
import org.apache.spark.sql.connector.read.Scan;

/** The facts that a plan may count on in the rows of a scan. */
public final class ScannedRows {
  private ScannedRows() {}

  public static boolean areKeyed(Scan scan) {
    return scan instanceof KeyedScan;
  }

  /** Names of columns of which no two rows have the same values; none where that is not known. */
  public static Set<String> uniqueBy(Scan scan) {
    return scan instanceof KeyedScan keyed ? keyed.uniqueBy() : Set.of();
  }

  /** Each task has rows of one bucket of a table that a statement writes them to. */
  public static boolean areInPlace(Scan scan) {
    return scan instanceof KeyedScan keyed && keyed.isInPlace();
  }
}
