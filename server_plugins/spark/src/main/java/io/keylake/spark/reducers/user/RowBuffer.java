package io.keylake.spark.reducers.user;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Rows that are to be written and whose columns with reducers in Python have gathered contributions
 * and no values yet. They are completed some at a time, and go on in their order.
 */
public final class RowBuffer {
  private static final int MOST_ROWS = 4096;
  private static final long MOST_BYTES = 32L << 20;

  private final List<Column> columns;
  private final Info info;
  private final Target target;
  private final List<Pending> rows = new ArrayList<>();
  private long bytes;

  /**
   * A column with a reducer in Python.
   *
   * @param position where its value lies in the stored row
   * @param state where its state lies among the states
   */
  public record Column(GatheredColumn gathered, int position, int state) {}

  /** The place of the states in a stored row: in a struct of so many members, as one of them. */
  public record Info(int position, int members, int states, int count) {}

  /** Takes rows that are complete. */
  public interface Target {
    void write(InternalRow source, InternalRow stored) throws IOException;
  }

  /**
   * @param gathered the row's number in each of the columns; -1 where it has no contributions
   */
  private record Pending(InternalRow source, InternalRow stored, int[] gathered) {}

  public RowBuffer(List<Column> columns, Info info, Target target) {
    this.columns = columns;
    this.info = info;
    this.target = target;
  }

  /**
   * Takes a row, of which nothing is kept.
   *
   * @param gathered the row's number in each of the columns; -1 where it has no contributions
   * @param size of what it was made of, in bytes
   */
  public void add(InternalRow source, InternalRow stored, int[] gathered, long size)
      throws IOException {
    rows.add(new Pending(source.copy(), stored.copy(), gathered));
    bytes += size;
    if (rows.size() == MOST_ROWS || bytes > MOST_BYTES) {
      flush();
    }
  }

  /** Completes the rows that are left. No row may be half gathered. */
  public void flush() throws IOException {
    columns.forEach(column -> column.gathered().reduce());
    for (Pending row : rows) {
      InternalRow states =
          row.stored.getStruct(info.position, info.members).getStruct(info.states, info.count);
      for (int i = 0; i < columns.size(); i++) {
        Column column = columns.get(i);
        int at = row.gathered[i];
        if (at >= 0) {
          row.stored.update(column.position(), column.gathered().value(at));
          states.update(column.state(), column.gathered().state(at));
        }
      }
      target.write(row.source, row.stored);
    }
    rows.clear();
    bytes = 0;
    columns.forEach(column -> column.gathered().clear());
  }
}
