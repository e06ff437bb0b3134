package io.keylake.spark.reducers.builtin;

import io.keylake.spark.reducers.Accumulator;
import io.keylake.tables.spec.Reducer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.catalyst.util.TypeUtils;
import org.apache.spark.sql.types.MapType;
import org.jspecify.annotations.Nullable;

/**
 * The union of maps, in the order of their keys; the values of one key are combined by a reducer.
 */
final class ReducedMap extends Accumulator {
  private final MapType type;
  private final Reducer of;
  private final Map<Object, Part> parts;
  private final List<Part> free = new ArrayList<>();
  private boolean isShown;

  ReducedMap(MapType type, Reducer of) {
    this.type = type;
    this.of = of;
    Comparator<Object> order = TypeUtils.getInterpretedOrdering(type.keyType());
    this.parts = new TreeMap<>(order);
  }

  @Override
  protected void reset() {
    for (Part part : parts.values()) {
      part.accumulator().clear();
      free.add(part);
    }
    parts.clear();
  }

  @Override
  protected void add(SpecializedGetters row, int ordinal) {
    MapData map = row.getMap(ordinal);
    ArrayData values = map.valueArray();
    for (int i = 0; i < map.numElements(); i++) {
      Part part = part(map.keyArray(), i);
      if (!values.isNullAt(i)) {
        part.accumulator().contribute(values, i);
      }
    }
  }

  @Override
  protected void merge(SpecializedGetters row, int ordinal, byte @Nullable [] state) {
    MapData map = row.getMap(ordinal);
    ArrayData values = map.valueArray();
    byte[][] states = Part.states(state, map.numElements());
    for (int i = 0; i < map.numElements(); i++) {
      Part part = part(map.keyArray(), i);
      if (states[i] != null || !values.isNullAt(i)) {
        part.accumulator().combine(values, i, states[i]);
      }
    }
  }

  private Part part(ArrayData keys, int index) {
    Object key = keys.get(index, type.keyType());
    Part part = parts.get(key);
    if (part == null) {
      part = free.isEmpty() ? Part.of(of, type.valueType()) : free.remove(free.size() - 1);
      parts.put(InternalRow.copyValue(key), part);
    }
    return part;
  }

  @Override
  public @Nullable Object value() {
    if (isEmpty()) {
      return null;
    }
    List<@Nullable Object> values = new ArrayList<>();
    isShown = true;
    for (Part part : parts.values()) {
      values.add(part.value());
      isShown &= part.isShown();
    }
    return new ArrayBasedMapData(
        new GenericArrayData(parts.keySet().toArray()), new GenericArrayData(values.toArray()));
  }

  @Override
  public boolean isShown(@Nullable Object value) {
    return isShown;
  }

  @Override
  public byte @Nullable [] state() {
    return isEmpty() ? null : Part.states(List.copyOf(parts.values()));
  }
}
