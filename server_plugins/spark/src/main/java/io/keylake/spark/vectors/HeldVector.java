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
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.VariantType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.unsafe.types.VariantVal;

/**
 * The elements of one stored list or map, or a member of the structs among them, with uuids as
 * text. A list may have any values beside uuids, so all kinds of values are passed on.
 */
final class HeldVector extends ReadOnlyVector {
  private final Elements elements;
  private final int at; // in what holds an element; -1 where that is the list itself
  private final boolean isUuid;
  private final DataType stored;

  /** The holders of the values of elements: the list itself, or for each element a struct in it. */
  private interface Elements {
    boolean isNull(int element);

    SpecializedGetters holder(int element);
  }

  private HeldVector(Elements elements, int at, DataType stored, DataType shown) {
    super(shown);
    this.elements = elements;
    this.at = at;
    this.isUuid = shown instanceof StringType && stored instanceof BinaryType;
    this.stored = stored;
  }

  static ColumnarArray array(ArrayData list, DataType stored, DataType shown) {
    return new ColumnarArray(elements(list, stored, shown), 0, list.numElements());
  }

  static ColumnarMap map(MapData map, MapType stored, MapType shown) {
    return new ColumnarMap(
        elements(map.keyArray(), stored.keyType(), shown.keyType()),
        elements(map.valueArray(), stored.valueType(), shown.valueType()),
        0,
        map.numElements());
  }

  private static HeldVector elements(ArrayData list, DataType stored, DataType shown) {
    Elements of =
        new Elements() {
          @Override
          public boolean isNull(int element) {
            return false;
          }

          @Override
          public SpecializedGetters holder(int element) {
            return list;
          }
        };
    return new HeldVector(of, -1, stored, shown);
  }

  /** The structs that this has, as what holds their members. */
  private Elements structs(int length) {
    return new Elements() {
      @Override
      public boolean isNull(int element) {
        return isNullAt(element);
      }

      @Override
      public SpecializedGetters holder(int element) {
        return HeldVector.this.holder(element).getStruct(HeldVector.this.at(element), length);
      }
    };
  }

  private SpecializedGetters holder(int element) {
    return elements.holder(element);
  }

  private int at(int element) {
    return at < 0 ? element : at;
  }

  @Override
  public ColumnVector getChild(int ordinal) {
    if (type instanceof VariantType) {
      return new VariantPart(ordinal == 0);
    }
    StructType struct = (StructType) type;
    StructType of = (StructType) stored;
    return new HeldVector(
        structs(struct.length()),
        ordinal,
        of.fields()[ordinal].dataType(),
        struct.fields()[ordinal].dataType());
  }

  @Override
  public boolean isNullAt(int element) {
    return elements.isNull(element) || holder(element).isNullAt(at(element));
  }

  @Override
  public boolean getBoolean(int element) {
    return holder(element).getBoolean(at(element));
  }

  @Override
  public byte getByte(int element) {
    return holder(element).getByte(at(element));
  }

  @Override
  public short getShort(int element) {
    return holder(element).getShort(at(element));
  }

  @Override
  public int getInt(int element) {
    return holder(element).getInt(at(element));
  }

  @Override
  public long getLong(int element) {
    return holder(element).getLong(at(element));
  }

  @Override
  public float getFloat(int element) {
    return holder(element).getFloat(at(element));
  }

  @Override
  public double getDouble(int element) {
    return holder(element).getDouble(at(element));
  }

  @Override
  public Decimal getDecimal(int element, int precision, int scale) {
    return holder(element).getDecimal(at(element), precision, scale);
  }

  @Override
  public UTF8String getUTF8String(int element) {
    SpecializedGetters holder = holder(element);
    return isUuid
        ? UuidVector.text(holder.getBinary(at(element)))
        : holder.getUTF8String(at(element));
  }

  @Override
  public byte[] getBinary(int element) {
    return holder(element).getBinary(at(element));
  }

  @Override
  public ColumnarArray getArray(int element) {
    return array(
        holder(element).getArray(at(element)),
        ((ArrayType) stored).elementType(),
        ((ArrayType) type).elementType());
  }

  @Override
  public ColumnarMap getMap(int element) {
    return map(holder(element).getMap(at(element)), (MapType) stored, (MapType) type);
  }

  /** The value or the metadata of variants, as vectors have them. */
  private final class VariantPart extends ReadOnlyVector {
    private final boolean isValue;

    VariantPart(boolean isValue) {
      super(DataTypes.BinaryType);
      this.isValue = isValue;
    }

    @Override
    public boolean isNullAt(int element) {
      return HeldVector.this.isNullAt(element);
    }

    @Override
    public byte[] getBinary(int element) {
      VariantVal variant = holder(element).getVariant(at(element));
      return isValue ? variant.getValue() : variant.getMetadata();
    }
  }
}
