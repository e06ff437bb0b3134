package io.keylake.spark.write;

import java.io.Serializable;
import java.util.List;
import java.util.function.Supplier;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.jspecify.annotations.Nullable;

/**
 * The places at which the ranges of a write begin: found on the driver when the write runs, since
 * that takes a look at its rows, and carried from there to its tasks.
 */
public final class KeyCuts implements Serializable {
  private static final long serialVersionUID = 1L;
  private final DataType[] types;
  private final transient Supplier<List<InternalRow>> look;
  private InternalRow @Nullable [] found;

  /**
   * @param types of the columns of a place
   * @param look finds the places, in order
   */
  public KeyCuts(DataType[] types, Supplier<List<InternalRow>> look) {
    this.types = types;
    this.look = look;
  }

  DataType[] types() {
    return types;
  }

  /** To be called on the driver, before tasks ask for what was found. */
  synchronized void find() {
    if (found == null) {
      found = look.get().toArray(InternalRow[]::new);
    }
  }

  InternalRow[] found() {
    if (found == null) {
      throw new IllegalStateException("the rows of this write were not looked at");
    }
    return found;
  }
}
