package io.keylake.spark.vectors;

import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.VariantType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;

/** The elements of one list or map, or a member of those that are structs, with uuids as text. */
final class HeldVector extends ReadOnlyVector {
  private final ArrayData elements;
  private final Holder holder;

  /** Where a value is held. */
  private record Place(SpecializedGetters in, int at) {
    boolean isNull() {
      return in instanceof ArrayData array
          ? array.isNullAt(at)
          : ((org.apache.spark.sql.catalyst.InternalRow) in).isNullAt(at);
    }
  }

  /** Finds the value of an element; null where a struct around it is null. */
  private interface Holder {
    @Nullable Place of(int element);
  }

  private HeldVector(ArrayData elements, DataType shown, Holder holder) {
    super(shown);
    this.elements = elements;
    this.holder = holder;
  }

  static ColumnarArray array(ArrayData stored, DataType shown) {
    return new ColumnarArray(elements(stored, shown), 0, stored.numElements());
  }

  static ColumnarMap map(MapData stored, MapType shown) {
    return new ColumnarMap(
        elements(stored.keyArray(), shown.keyType()),
        elements(stored.valueArray(), shown.valueType()),
        0,
        stored.numElements());
  }

  private static HeldVector elements(ArrayData stored, DataType shown) {
    return new HeldVector(stored, shown, element -> new Place(stored, element));
  }

  private Place place(int element) {
    Place place = holder.of(element);
    if (place == null) {
      throw new IllegalStateException("the struct around element " + element + " is null");
    }
    return place;
  }

  @Override
  public boolean isNullAt(int element) {
    Place place = holder.of(element);
    return place == null || place.isNull();
  }
}
