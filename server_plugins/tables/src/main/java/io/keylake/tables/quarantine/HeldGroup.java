package io.keylake.tables.quarantine;

import io.keylake.tables.history.CommitLog;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.iceberg.Snapshot;

/**
 * Commits of the quarantine that follow each other and have held rows back for the same conditions.
 * A commit without conditions mends rows that were held before it.
 *
 * @param before the commit before the first of them
 * @param commits oldest first
 */
public record HeldGroup(Snapshot before, List<Snapshot> commits, List<String> conditions) {
  public HeldGroup {
    commits = List.copyOf(commits);
    conditions = List.copyOf(conditions);
  }

  /**
   * @param begin the first commit of the branch
   * @param oldestFirst all others
   */
  static List<HeldGroup> of(Snapshot begin, List<Snapshot> oldestFirst) {
    List<HeldGroup> groups = new ArrayList<>();
    Snapshot before = begin;
    List<Snapshot> commits = new ArrayList<>();
    List<String> conditions = List.of();
    for (Snapshot each : oldestFirst) {
      List<String> said = Quarantine.conditions(each.summary());
      if (!said.isEmpty() && !said.equals(conditions)) {
        if (!commits.isEmpty()) {
          groups.add(new HeldGroup(before, commits, conditions));
          before = commits.get(commits.size() - 1);
          commits.clear();
        }
        conditions = said;
      }
      commits.add(each);
    }
    if (!commits.isEmpty()) {
      groups.add(new HeldGroup(before, commits, conditions));
    }
    return groups;
  }

  public Snapshot last() {
    return commits.get(commits.size() - 1);
  }

  /** One of the commits has the sequence number. */
  public boolean has(long sequenceNumber) {
    return before.sequenceNumber() < sequenceNumber && sequenceNumber <= last().sequenceNumber();
  }

  /** The value columns that the commits have written. */
  List<String> columns() {
    Set<String> columns = new TreeSet<>();
    commits.forEach(each -> columns.addAll(CommitLog.Entry.of(each).columns()));
    return List.copyOf(columns);
  }
}
