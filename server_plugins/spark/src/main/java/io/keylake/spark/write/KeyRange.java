package io.keylake.spark.write;

import io.keylake.spark.keys.IntFunction;
import java.util.Arrays;
import java.util.Comparator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.jspecify.annotations.Nullable;

/** The number of the range in which a row lies: how many cuts are not above it. */
public final class KeyRange implements IntFunction {
  private static final long serialVersionUID = 1L;
  private final KeyCuts cuts;
  private transient @Nullable Comparator<InternalRow> order;

  public KeyRange(KeyCuts cuts) {
    this.cuts = cuts;
  }

  KeyCuts cuts() {
    return cuts;
  }

  @Override
  public Integer produceResult(InternalRow row) {
    if (order == null) {
      order = KeyRanges.order(cuts.types());
    }
    int found = Arrays.binarySearch(cuts.found(), row, order);
    return found >= 0 ? found + 1 : -found - 1;
  }

  @Override
  public DataType[] inputTypes() {
    return cuts.types();
  }

  @Override
  public String name() {
    return "keylake_key_range";
  }

  @Override
  public String canonicalName() {
    return "keylake.key_range";
  }
}
