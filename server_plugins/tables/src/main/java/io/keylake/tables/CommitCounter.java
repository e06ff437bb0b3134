package io.keylake.tables;

import java.util.concurrent.atomic.LongAdder;

/**
 * Numbers of what became of the commits that this process has made since it started, of all tables
 * and branches. They only grow.
 */
public enum CommitCounter {
  /** Changes that were committed; appends that go together are several. */
  COMMITS("commits"),
  /** Attempts that lost to another commit and were followed by another attempt. */
  RETRIES("commit_retries"),
  /** Changes that were given up because others came first; nothing of them was committed. */
  CONFLICTS("commit_conflicts"),
  /** Changes of which neither the catalog nor the table said that they were committed. */
  UNKNOWN("commits_unknown"),
  /** Rows in the files of committed writes; compactions are not writes. */
  ROWS("rows_written");

  private final String label;
  private final LongAdder number = new LongAdder();

  CommitCounter(String label) {
    this.label = label;
  }

  /** The name under which monitoring knows it. */
  public String label() {
    return label;
  }

  public void add(long more) {
    number.add(more);
  }

  public long value() {
    return number.sum();
  }
}
