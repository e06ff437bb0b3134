package io.keylake.spark.integrity;

/**
 * Says whether readers compare the pages of Parquet files with their checksums. All writers of
 * keylake note one for each page; pages of other writers that have none are read as they are.
 */
public final class PageChecksums {
  // Of a process, which runs one application: each of its servers and executors is told as it
  // starts.
  private static volatile boolean isVerified = true;

  private PageChecksums() {}

  /** Says whether this process compares them. */
  public static void verify(boolean wanted) {
    isVerified = wanted;
  }

  public static boolean areVerified() {
    return isVerified;
  }
}
