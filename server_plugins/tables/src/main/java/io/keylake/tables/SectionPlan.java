package io.keylake.tables;

import io.keylake.merge.MergeRules;
import io.keylake.merge.Presence;
import java.io.Serializable;
import java.util.List;

/**
 * How one section of a bucket is read: decided from metadata, carried out wherever the task runs.
 *
 * @param runs the files of each run, in key order; the runs in the order that {@code rules} speak
 *     of
 * @param rules how the runs are merged; null when there is one run and its rows are the answer as
 *     they stand
 * @param classes the columns behind {@code rules.classes()}, in the same order
 */
public record SectionPlan(
    List<List<StoredFile>> runs, MergeRules rules, List<DecidedColumns> classes)
    implements Serializable {
  public SectionPlan {
    runs = List.copyOf(runs);
    classes = List.copyOf(classes);
  }

  /** A data file. */
  public record StoredFile(String location, long bytes, long rows) implements Serializable {}

  /**
   * Columns that are decided together.
   *
   * @param leaf field id of the version leaf, read where a run carries the columns in some rows
   *     only
   * @param values field ids of the wanted value columns
   */
  public record DecidedColumns(int leaf, List<Integer> values) implements Serializable {
    public DecidedColumns {
      values = List.copyOf(values);
    }
  }

  public boolean passedThrough() {
    return rules == null;
  }

  public boolean readsVersions() {
    return rules != null
        && (rules.order() == MergeRules.Order.VERSION || rules.wanted() != MergeRules.Wanted.ROWS);
  }

  /** Whether a run can hold values of a class, so that its columns are worth opening. */
  public boolean carries(int run, int columnClass) {
    return rules.classes().get(columnClass).byRun().get(run) != Presence.NEVER;
  }

  public long rows() {
    return runs.stream().flatMap(List::stream).mapToLong(StoredFile::rows).sum();
  }

  public long bytes() {
    return runs.stream().flatMap(List::stream).mapToLong(StoredFile::bytes).sum();
  }
}
