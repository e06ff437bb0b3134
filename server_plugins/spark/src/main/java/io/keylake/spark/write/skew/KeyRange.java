package io.keylake.spark.write.skew;

import io.keylake.spark.keys.IntFunction;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.jspecify.annotations.Nullable;

/** The number of the range in which a row lies: how many cuts are not above it. */
final class KeyRange implements IntFunction {
  private static final long serialVersionUID = 1L;
  private final DataType[] types;
  private final InternalRow[] cuts;
  private transient @Nullable Comparator<InternalRow> order;

  /**
   * @param types of the columns of a place
   * @param cuts the places at which ranges begin, without the first, in order
   */
  KeyRange(DataType[] types, List<InternalRow> cuts) {
    this.types = types;
    this.cuts = cuts.toArray(InternalRow[]::new);
  }

  @Override
  public Integer produceResult(InternalRow row) {
    if (order == null) {
      order = KeyRanges.order(types);
    }
    int found = Arrays.binarySearch(cuts, row, order);
    return found >= 0 ? found + 1 : -found - 1;
  }

  @Override
  public DataType[] inputTypes() {
    return types;
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
