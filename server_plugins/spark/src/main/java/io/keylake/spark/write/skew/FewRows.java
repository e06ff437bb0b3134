package io.keylake.spark.write.skew;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.util.AccumulatorV2;
import org.jspecify.annotations.Nullable;

/**
 * The rows that tasks make, told to the driver while they are few:
 *
 * <ol>
 *   <li>A task passes its rows on, and at its end tells them, unless it has more than its share of
 *       the limit.
 *   <li>Where each task has told its rows, the driver has all, and what the tasks passed on is not
 *       needed. A task that runs again tells the same rows again.
 * </ol>
 */
public final class FewRows extends AccumulatorV2<FewRows.OfTask, Map<Integer, List<UnsafeRow>>> {
  private static final long serialVersionUID = 1L;
  private final Limit limit;
  private final Map<Integer, List<UnsafeRow>> told = new TreeMap<>(); // by task
  private int tasks = -1; // unknown until they are planned

  /** The numbers of rows and bytes that are few, for all tasks together. */
  public record Limit(long rows, long bytes) implements Serializable {
    public static final Limit NONE = new Limit(0, 0);

    boolean isNone() {
      return rows == 0;
    }

    Limit ofEach(int tasks) {
      return new Limit(rows / tasks, bytes / tasks);
    }
  }

  /** All rows of a task. */
  record OfTask(int task, List<UnsafeRow> rows) {}

  FewRows(Limit limit) {
    this.limit = limit;
  }

  /** Who tells the rows of each task. */
  Teller teller(int ofTasks) {
    tasks = ofTasks;
    return new Teller(this, limit.ofEach(Math.max(ofTasks, 1)));
  }

  /** All rows; null where a task had too many. */
  @Nullable List<InternalRow> all() {
    return told.size() == tasks
        ? told.values().stream().<InternalRow>flatMap(List::stream).toList()
        : null;
  }

  /** Tells rows of tasks. */
  record Teller(FewRows to, Limit limit) implements Serializable {

    /** The rows, which are told when the last one has been asked for. */
    Iterator<InternalRow> of(int task, Iterator<InternalRow> rows) {
      return new Iterator<>() {
        private @Nullable List<UnsafeRow> kept = new ArrayList<>();
        private long bytes;

        @Override
        public boolean hasNext() {
          boolean hasNext = rows.hasNext();
          if (!hasNext && kept != null) {
            to.add(new OfTask(task, kept));
            kept = null;
          }
          return hasNext;
        }

        @Override
        public InternalRow next() {
          UnsafeRow row = (UnsafeRow) rows.next();
          bytes += row.getSizeInBytes();
          if (kept != null && kept.size() < limit.rows() && bytes <= limit.bytes()) {
            kept.add(row.copy());
          } else {
            kept = null;
          }
          return row;
        }
      };
    }
  }

  @Override
  public boolean isZero() {
    return told.isEmpty();
  }

  @Override
  public AccumulatorV2<OfTask, Map<Integer, List<UnsafeRow>>> copy() {
    FewRows copy = new FewRows(limit);
    copy.tasks = tasks;
    copy.told.putAll(told);
    return copy;
  }

  @Override
  public void reset() {
    told.clear();
  }

  @Override
  public void add(OfTask rows) {
    told.put(rows.task(), rows.rows());
  }

  @Override
  public void merge(AccumulatorV2<OfTask, Map<Integer, List<UnsafeRow>>> other) {
    told.putAll(other.value());
  }

  @Override
  public Map<Integer, List<UnsafeRow>> value() {
    return told;
  }

  /** The value without the rows: plans are logged. */
  @Override
  public String toString() {
    return "at most %,d rows of %,d bytes".formatted(limit.rows(), limit.bytes());
  }
}
