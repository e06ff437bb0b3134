package io.keylake.spark.maintenance;

import io.keylake.tables.commits.Commits;
import java.util.List;
import java.util.function.Predicate;
import org.apache.iceberg.Table;
import org.apache.iceberg.exceptions.CommitStateUnknownException;

/** Commits files that were written beforehand, or deletes them. */
final class Writing {
  private Writing() {}

  /**
   * Whether the commit was made.
   *
   * @param branch null for main
   * @param written locations of the files
   * @param commit says whether it was made
   */
  static boolean isCommitted(
      Table table, String branch, List<String> written, Predicate<Commits> commit) {
    boolean isCommitted = false;
    try {
      table.refresh();
      isCommitted = commit.test(new Commits(table, branch));
      return isCommitted;
    } catch (CommitStateUnknownException e) {
      isCommitted = true; // the files may be part of the table
      throw e;
    } finally {
      if (!isCommitted) {
        written.forEach(location -> table.io().deleteFile(location));
      }
    }
  }
}
