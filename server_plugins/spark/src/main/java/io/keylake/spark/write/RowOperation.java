package io.keylake.spark.write;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;

import io.keylake.tables.KeylakeException;
import org.apache.spark.sql.catalyst.InternalRow;

/** What a row of a write does with its key. */
enum RowOperation {
  WRITE,
  DELETE,
  /** Takes contributions back that were made before, and leaves registers as they are. */
  RETRACT,
  /** The state before a change, of columns that need only the one after it. */
  NOTHING;

  /**
   * Of a row of apply_changes: {@code -U} and {@code -D} take back what accumulators count; where
   * there are only registers, the former says nothing, and the latter deletes.
   */
  static RowOperation of(InternalRow row, WriteLayout layout) {
    String op = row.isNullAt(layout.op()) ? "null" : row.getUTF8String(layout.op()).toString();
    return switch (op) {
      case "I", "U", "c", "r", "u", "+I", "+U" -> WRITE;
      case "D", "d" -> DELETE;
      case "-U" -> layout.accumulates() ? RETRACT : NOTHING;
      case "-D" -> layout.accumulates() ? RETRACT : DELETE;
      default ->
          throw new KeylakeException(
              BAD_ROWS,
              "the operation is '%s' in the row with key %s; it is one of I, U, D, c, r, u, d, +I, +U, -U, -D"
                  .formatted(op, layout.keyOf(row)));
    };
  }
}
