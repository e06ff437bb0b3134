package io.keylake.spark.reducers.builtin;

import io.keylake.spark.reducers.Accumulator;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.TypeUtils;
import org.apache.spark.sql.types.DataType;
import org.jspecify.annotations.Nullable;

/**
 * The elements of all lists, in the order in which they come: all, or each once; the first of them.
 */
final class CollectedList extends Accumulator {
  private final DataType type;
  private final @Nullable Set<Object> seen;
  private final int limit;
  private final List<Object> elements = new ArrayList<>();

  CollectedList(DataType type, boolean distinct, @Nullable Integer limit) {
    this.type = type;
    this.limit = limit == null ? Integer.MAX_VALUE : limit;
    if (distinct) {
      Comparator<Object> order = TypeUtils.getInterpretedOrdering(type);
      this.seen = new TreeSet<>(order);
    } else {
      this.seen = null;
    }
  }

  @Override
  protected void reset() {
    elements.clear();
    if (seen != null) {
      seen.clear();
    }
  }

  @Override
  protected void add(SpecializedGetters row, int ordinal) {
    ArrayData list = row.getArray(ordinal);
    for (int i = 0; i < list.numElements() && elements.size() < limit; i++) {
      if (!list.isNullAt(i)) {
        Object element = list.get(i, type);
        if (seen == null || !seen.contains(element)) {
          Object kept = InternalRow.copyValue(element);
          elements.add(kept);
          if (seen != null) {
            seen.add(kept);
          }
        }
      }
    }
  }

  @Override
  public @Nullable Object value() {
    return isEmpty() ? null : new GenericArrayData(elements.toArray());
  }
}
