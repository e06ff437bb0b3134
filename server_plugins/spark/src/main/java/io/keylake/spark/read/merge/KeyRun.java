package io.keylake.spark.read.merge;

import io.keylake.merge.MergeRules;
import io.keylake.merge.Presence;
import io.keylake.merge.RunCursor;
import io.keylake.merge.Stamps;
import io.keylake.spark.engine.ConstantVector;
import io.keylake.spark.keys.LookupKey;
import io.keylake.spark.read.task.OutputColumn;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.tables.planning.SectionPlan;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatchRow;
import org.jspecify.annotations.Nullable;

/** A run of which a merge sees the row of one key alone, in the batch that has it. */
final class KeyRun extends RunCursor {
  private final ColumnarRunCursor cursor;
  private final ReadTask task;
  private final LookupKey key;
  private boolean isSought;
  private int position = -1;

  KeyRun(ColumnarRunCursor cursor, ReadTask task, LookupKey key) {
    this.cursor = cursor;
    this.task = task;
    this.key = key;
  }

  /** The cursor, at the batch that has the row. */
  ColumnarRunCursor cursor() {
    return cursor;
  }

  @Override
  protected int load() throws IOException {
    if (isSought) {
      return 0;
    }
    isSought = true;
    for (int rows = cursor.load(); rows > 0; rows = cursor.load()) {
      position = key.rowIn(column -> vector(task.output().get(task.position(column))), rows);
      if (position >= 0) {
        show(new long[position + 1], position);
        return position + 1;
      }
    }
    return 0;
  }

  private @Nullable ColumnVector vector(OutputColumn column) {
    return MergeReader.sources(List.of(cursor), column)[0];
  }

  /**
   * The row that was found; null for none.
   *
   * @param run its number in the section
   */
  @Nullable StoredVersion row(SectionPlan section, int run) {
    if (position < 0) {
      return null;
    }
    MergeRules rules = section.merging();
    Map<Integer, Long> carried = new HashMap<>();
    for (int c = 0; c < rules.classes().size(); c++) {
      Long version = stamp(rules.classes().get(c).byRun().get(run), cursor.columns(c));
      if (version != null) {
        section.classes().get(c).values().forEach(value -> carried.put(value, version));
      }
    }
    return new StoredVersion(
        section.runs().get(run).get(cursor.file()).location(),
        run,
        values(),
        stamp(rules.written().get(run), cursor.written()),
        stamp(rules.deleted().get(run), cursor.deleted()),
        Map.copyOf(carried));
  }

  private @Nullable Long stamp(Presence presence, Stamps own) {
    return switch (presence) {
      case NEVER -> null;
      case ALWAYS -> cursor.versions().at(position);
      case PER_ROW -> own.isSet(position) ? Long.valueOf(own.at(position)) : null;
    };
  }

  private InternalRow values() {
    ColumnVector[] vectors =
        task.output().stream()
            .map(
                column -> {
                  ColumnVector stored = vector(column);
                  return stored == null
                      ? ConstantVector.ofNulls(column.type(), position + 1)
                      : stored;
                })
            .toArray(ColumnVector[]::new);
    ColumnarBatchRow row = new ColumnarBatchRow(vectors);
    row.rowId = position;
    return UnsafeProjection.create(task.outputTypes()).apply(row).copy();
  }

  @Override
  protected int compareTied(int row, RunCursor other, int otherRow) {
    return 0;
  }

  @Override
  protected boolean isExact() {
    return true; // all runs have one key
  }

  @Override
  public Stamps versions() {
    return cursor.versions();
  }

  @Override
  public Stamps written() {
    return cursor.written();
  }

  @Override
  public Stamps deleted() {
    return cursor.deleted();
  }

  @Override
  public Stamps columns(int columnClass) {
    return cursor.columns(columnClass);
  }

  @Override
  public void close() throws IOException {
    cursor.close();
  }
}
