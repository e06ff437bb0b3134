package io.keylake.tables.history;

import org.apache.iceberg.Snapshot;

/** The highest version on a branch: each commit says it again, as those before it may expire. */
public final class HighestVersion {
  private HighestVersion() {}

  /** Null where no commit says a version. */
  public static Long of(Iterable<Snapshot> newestFirst) {
    Long highest = null;
    for (Snapshot each : newestFirst) {
      highest = larger(highest, number(each, WriteSummary.MAX_VERSION));
      Long said = number(each, WriteSummary.HIGHEST_VERSION);
      if (said != null) {
        return larger(highest, said);
      }
    }
    return highest;
  }

  private static Long number(Snapshot commit, String name) {
    String said = commit.summary().get(name);
    return said == null ? null : Long.valueOf(said);
  }

  /** The larger of two numbers, of which any may be missing. */
  public static Long larger(Long one, Long other) {
    return one == null ? other : other == null ? one : Long.valueOf(Math.max(one, other));
  }
}
