package io.keylake.tables.commits;

import io.keylake.tables.history.WriteSummary;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongFunction;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.util.SnapshotUtil;
import org.jspecify.annotations.Nullable;

/**
 * The commits of the table that a branch has taken in, by their sequence numbers, which are unique
 * in a table and only grow:
 *
 * <ol>
 *   <li>The commits of the branch itself, those it was made from, and those whose writes were made
 *       again on it or were published to it. What became of their files since does not matter.
 *   <li>Each commit says it of its parent, and what it adds. So it is read from the newest commit
 *       that says it and those after it; the others may have expired.
 *   <li>Tables from before this was said have it in the commits that are still there.
 * </ol>
 *
 * @param isWhole whether no commit can be missing, as may be where older ones have expired unsaid
 */
public record Ledger(NumberSet commits, boolean isWhole) {
  static final Ledger NOTHING = new Ledger(NumberSet.EMPTY, true);

  private static final String NOT_WHOLE = "?";

  /**
   * A commit that takes others back.
   *
   * @param of the numbers of the commits that it takes back; none for a commit of another kind
   */
  record Undo(long number, NumberSet of) {}

  /** The ledger of a branch that stands at a snapshot; null for a branch without one. */
  public static Ledger of(Table table, @Nullable Snapshot head) {
    return of(table.snapshots(), table::snapshot, head);
  }

  static Ledger of(Iterable<Snapshot> all, LongFunction<Snapshot> byId, @Nullable Snapshot head) {
    if (head == null) {
      return NOTHING;
    }
    Ledger ledger = NOTHING;
    Snapshot oldest = head;
    for (Snapshot each : SnapshotUtil.ancestorsOf(head.snapshotId(), byId::apply)) {
      ledger = ledger.and(sameAs(all, byId, each));
      String said = each.summary().get(WriteSummary.TAKEN_IN);
      if (said != null) {
        return ledger.and(parse(said));
      }
      ledger = ledger.and(publishedBy(all, byId, each));
      oldest = each;
    }
    return new Ledger(ledger.commits, WriteSummary.isFirst(oldest));
  }

  /** The ledger of the parent of a commit, with what the commit takes in, if that says it. */
  public static Optional<Ledger> before(Snapshot commit) {
    return Optional.ofNullable(commit.summary().get(WriteSummary.TAKEN_IN)).map(Ledger::parse);
  }

  private static Ledger parse(String said) {
    boolean isWhole = !said.startsWith(NOT_WHOLE);
    return new Ledger(NumberSet.parse(isWhole ? said : said.substring(1)), isWhole);
  }

  /** The commits whose writes are those of a commit, with itself. */
  public static NumberSet sameAs(Table table, Snapshot commit) {
    return sameAs(table.snapshots(), table::snapshot, commit);
  }

  /** The same of the commit with a number, as far as that has not expired. */
  public static NumberSet sameAs(Table table, long sequenceNumber) {
    for (Snapshot each : table.snapshots()) {
      if (each.sequenceNumber() == sequenceNumber) {
        return sameAs(table, each);
      }
    }
    return NumberSet.of(sequenceNumber);
  }

  private static NumberSet sameAs(
      Iterable<Snapshot> all, LongFunction<Snapshot> byId, Snapshot commit) {
    NumberSet own = NumberSet.of(commit.sequenceNumber());
    Map<String, String> summary = commit.summary();
    String said = summary.get(WriteSummary.SAME_AS);
    if (said != null) {
      return own.and(NumberSet.parse(said));
    }
    if (summary.containsKey(WriteSummary.TAKEN_IN)) {
      return own; // there is no other
    }
    String late = summary.get(WriteSummary.LATE);
    if (late != null) {
      for (Snapshot each : all) {
        if (late.equals(each.summary().get(WriteSummary.LATE))) {
          own = own.and(NumberSet.of(each.sequenceNumber()));
        }
      }
    }
    String from = summary.get(WriteSummary.COPIED_FROM);
    Snapshot source = from == null ? null : byId.apply(Long.parseLong(from));
    boolean isWhole = !summary.containsKey(WriteSummary.COPIED_WHERE);
    return source != null && isWhole ? own.and(sameAs(all, byId, source)) : own;
  }

  /** The commits that came with a publication that does not say them. */
  private static NumberSet publishedBy(
      Iterable<Snapshot> all, LongFunction<Snapshot> byId, Snapshot commit) {
    String published = commit.summary().get(WriteSummary.PUBLISHED_OF);
    Snapshot of = published == null ? null : byId.apply(Long.parseLong(published));
    boolean isElsewhere = of != null && !Long.valueOf(of.snapshotId()).equals(commit.parentId());
    return isElsewhere ? of(all, byId, of).commits : NumberSet.EMPTY;
  }

  public Ledger and(NumberSet more) {
    return new Ledger(commits.and(more), isWhole);
  }

  private Ledger and(Ledger older) {
    return new Ledger(commits.and(older.commits), older.isWhole);
  }

  /** The writes of a commit are there, or were. */
  public boolean has(NumberSet sameWrites) {
    return commits.hasOneOf(sameWrites);
  }

  boolean has(long sequenceNumber) {
    return commits.contains(sequenceNumber);
  }

  /**
   * The writes of a commit may be there or not: one of the commits that made them is older than all
   * that is known of the branch.
   */
  public boolean isUnknown(NumberSet sameWrites) {
    return !isWhole
        && !has(sameWrites)
        && sameWrites.hasOneOf(NumberSet.between(0, commits.ranges().get(0).first()));
  }

  /** Everything is there that another branch has taken in. */
  public boolean hasAllOf(Ledger other) {
    return commits.containsAll(other.commits);
  }

  /** The text of the property {@link WriteSummary#TAKEN_IN}. */
  String said() {
    return (isWhole ? "" : NOT_WHOLE) + commits;
  }
}
