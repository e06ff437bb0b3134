package io.keylake.spark.reducers.builtin;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;

import io.keylake.spark.reducers.Accumulator;
import io.keylake.tables.KeylakeException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;

/**
 * The elements of all lists that are the largest by one of their members, the largest first; of
 * equal ones those that come first.
 */
final class LargestElements extends Accumulator {
  private final StructType type;
  private final int by;
  private final DataType byType;
  private final int most;
  private final Comparator<Object> order;
  private final List<InternalRow> elements = new ArrayList<>();

  LargestElements(StructType type, String by, int most) {
    this.type = type;
    this.by = type.fieldIndex(by);
    this.byType = type.fields()[this.by].dataType();
    this.most = most;
    this.order = Extreme.order(byType);
  }

  @Override
  protected void reset() {
    elements.clear();
  }

  @Override
  protected void add(SpecializedGetters row, int ordinal) {
    ArrayData list = row.getArray(ordinal);
    for (int i = 0; i < list.numElements(); i++) {
      if (!list.isNullAt(i)) {
        insert(list.getStruct(i, type.length()));
      }
    }
  }

  private void insert(InternalRow element) {
    if (element.isNullAt(by)) {
      throw new KeylakeException(
          BAD_ROWS,
          "an element of the contribution has no '%s', by which the largest are kept; give it, or leave the element out"
              .formatted(type.fieldNames()[by]));
    }
    Object value = element.get(by, byType);
    int at = elements.size();
    while (at > 0 && order.compare(value, elements.get(at - 1).get(by, byType)) > 0) {
      at--;
    }
    if (at < most) {
      elements.add(at, element.copy());
      if (elements.size() > most) {
        elements.remove(most);
      }
    }
  }

  @Override
  public @Nullable Object value() {
    return isEmpty() ? null : new GenericArrayData(elements.toArray());
  }
}
