package io.keylake.tables.commits;

import com.fasterxml.jackson.databind.JsonNode;
import io.keylake.tables.history.WriteSummary;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
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

  /**
   * The undos that have taken the writes of a commit back, and those that have taken such undos
   * back. One undo may take back a write and earlier undos of it, and a write may be taken back
   * twice.
   *
   * @param by in the order in which they were made
   */
  record TakenBack(List<By> by) {
    static final TakenBack NEVER = new TakenBack(List.of());

    /** The number that stands for the writes themselves. */
    private static final long WRITES = 0;

    /**
     * One undo.
     *
     * @param of the numbers of earlier undos, and {@code WRITES}, of what it takes back
     */
    record By(long number, List<Long> of) {
      By {
        of = List.copyOf(of);
      }
    }

    TakenBack {
      by = List.copyOf(by);
    }

    /**
     * The writes are taken back on a branch: by an undo that has not been taken back there itself.
     */
    boolean isOn(Ledger ledger) {
      Set<Long> taken = new HashSet<>();
      for (int i = by.size() - 1; i >= 0; i--) {
        By undo = by.get(i);
        if (ledger.has(undo.number()) && !taken.contains(undo.number())) {
          taken.addAll(undo.of());
        }
      }
      return taken.contains(WRITES);
    }

    /**
     * The same after an undo.
     *
     * @param sequenceNumber of the commit whose writes these are
     */
    TakenBack after(Undo undo, long sequenceNumber) {
      List<Long> of = new ArrayList<>();
      if (undo.of().contains(sequenceNumber)) {
        of.add(WRITES);
      }
      by.stream().map(By::number).filter(undo.of()::contains).forEach(of::add);
      return of.isEmpty() ? this : and(new By(undo.number(), of));
    }

    private TakenBack and(By undo) {
      List<By> all = new ArrayList<>(by);
      all.add(undo);
      return new TakenBack(all);
    }

    // ----------------------------------------------------------------------------- as it is stored

    /**
     * Undos as JSON: a number for one that takes the writes back, or the undo before it that has
     * brought them back; with a minus for one that brings them back, as it takes that before it
     * back; for any other one a list of its number and what it takes back.
     */
    static TakenBack parse(JsonNode values) {
      TakenBack all = NEVER;
      long before = WRITES; // with its sign
      for (JsonNode each : values) {
        if (each.isArray()) {
          List<Long> of = new ArrayList<>();
          each.forEach(number -> of.add(number.longValue()));
          all = all.and(new By(of.get(0), of.subList(1, of.size())));
          before = of.get(0);
        } else {
          long number = each.longValue();
          boolean isFirst = number > 0 && before >= 0;
          all = all.and(new By(Math.abs(number), List.of(isFirst ? WRITES : Math.abs(before))));
          before = number;
        }
      }
      return all;
    }

    List<Object> values() {
      List<Object> values = new ArrayList<>();
      long before = WRITES;
      for (By each : by) {
        boolean isOfLast = before != WRITES && each.of().equals(List.of(Math.abs(before)));
        if (isOfLast || (each.of().equals(List.of(WRITES)) && before >= 0)) {
          before = isOfLast && before > 0 ? -each.number() : each.number();
          values.add(before);
        } else {
          List<Long> list = new ArrayList<>(each.of());
          list.add(0, each.number());
          before = each.number();
          values.add(list);
        }
      }
      return values;
    }
  }

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
