package io.keylake.spark.reducers.builtin;

import io.keylake.spark.reducers.Accumulator;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.jspecify.annotations.Nullable;

/**
 * The elements of all lists that have the newest versions, the newest first; of equal versions
 * those that come last. A list is itself from the newest element to the oldest.
 *
 * <p>The state has the versions: byte 0 is the form, then follows the version of each element, a
 * long. Where all are 0, as where commits are the versions, there is none.
 */
final class NewestElements extends Accumulator {
  private static final byte FORM = 1;

  private final DataType type;
  private final int most;
  private final List<Object> elements = new ArrayList<>();
  private final List<Long> versions = new ArrayList<>();

  NewestElements(DataType type, int most) {
    this.type = type;
    this.most = most;
  }

  @Override
  protected void reset() {
    elements.clear();
    versions.clear();
  }

  @Override
  protected void add(SpecializedGetters row, int ordinal) {
    add(row, ordinal, 0);
  }

  @Override
  protected void add(SpecializedGetters row, int ordinal, long version) {
    ArrayData list = row.getArray(ordinal);
    for (int i = list.numElements() - 1; i >= 0; i--) {
      insert(list, i, version);
    }
  }

  @Override
  protected void merge(SpecializedGetters row, int ordinal, byte @Nullable [] state) {
    if (state == null) {
      add(row, ordinal);
      return;
    }
    ArrayData list = row.getArray(ordinal);
    ByteBuffer of = ByteBuffer.wrap(state);
    for (int i = list.numElements() - 1; i >= 0; i--) {
      insert(list, i, of.getLong(1 + i * Long.BYTES));
    }
  }

  private void insert(ArrayData list, int index, long version) {
    if (list.isNullAt(index)) {
      return;
    }
    int at = 0;
    while (at < versions.size() && versions.get(at) > version) {
      at++;
    }
    if (at < most) {
      elements.add(at, InternalRow.copyValue(list.get(index, type)));
      versions.add(at, version);
      if (elements.size() > most) {
        elements.remove(most);
        versions.remove(most);
      }
    }
  }

  @Override
  public @Nullable Object value() {
    return isEmpty() ? null : new GenericArrayData(elements.toArray());
  }

  @Override
  public byte @Nullable [] state() {
    if (versions.stream().allMatch(version -> version == 0)) {
      return null;
    }
    ByteBuffer bytes = ByteBuffer.allocate(1 + Long.BYTES * versions.size()).put(FORM);
    versions.forEach(bytes::putLong);
    return bytes.array();
  }
}
