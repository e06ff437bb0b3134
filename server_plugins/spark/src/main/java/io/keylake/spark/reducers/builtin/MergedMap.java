package io.keylake.spark.reducers.builtin;

import io.keylake.spark.reducers.Accumulator;
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

/** The union of maps: of one key the value that comes last. */
final class MergedMap extends Accumulator {
  private final MapType type;
  private final Map<Object, Integer> places;
  private final List<Object> keys = new ArrayList<>();
  private final List<@Nullable Object> values = new ArrayList<>();

  MergedMap(MapType type) {
    this.type = type;
    Comparator<Object> order = TypeUtils.getInterpretedOrdering(type.keyType());
    this.places = new TreeMap<>(order);
  }

  @Override
  protected void reset() {
    places.clear();
    keys.clear();
    values.clear();
  }

  @Override
  protected void add(SpecializedGetters row, int ordinal) {
    MapData map = row.getMap(ordinal);
    ArrayData mapKeys = map.keyArray();
    ArrayData mapValues = map.valueArray();
    for (int i = 0; i < map.numElements(); i++) {
      Object key = mapKeys.get(i, type.keyType());
      Object value =
          mapValues.isNullAt(i) ? null : InternalRow.copyValue(mapValues.get(i, type.valueType()));
      Integer place = places.get(key);
      if (place != null) {
        values.set(place, value);
      } else {
        Object kept = InternalRow.copyValue(key);
        places.put(kept, keys.size());
        keys.add(kept);
        values.add(value);
      }
    }
  }

  @Override
  public @Nullable Object value() {
    return isEmpty()
        ? null
        : new ArrayBasedMapData(
            new GenericArrayData(keys.toArray()), new GenericArrayData(values.toArray()));
  }
}
