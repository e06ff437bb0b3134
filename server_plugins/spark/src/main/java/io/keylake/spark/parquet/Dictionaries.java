package io.keylake.spark.parquet;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.Schema;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types.DecimalType;
import org.apache.iceberg.types.Types.FixedType;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Finds the columns of a file that get no dictionary. Parquet begins one for each column, and drops
 * it after the first page where it saves nothing; by then it has taken longer than all else that is
 * done with the values. So the first rows of a file are looked at before it is begun:
 *
 * <ol>
 *   <li>Of a number of values, how many are different?
 *   <li>If they were drawn from a set of equally frequent values, how large is the set, and how
 *       many of it are in a page?
 *   <li>A dictionary of these, together with the numbers that stand for the values, has to be
 *       clearly smaller than the values.
 * </ol>
 *
 * <p>Rows come in key order. A column that goes with the key has few different values in
 * neighbouring rows, and keeps its dictionary.
 */
final class Dictionaries {
  /** The number of rows that are looked at. */
  static final int ROWS = 1024;

  private static final int ROWS_OF_PAGE = TableProperties.PARQUET_PAGE_ROW_LIMIT_DEFAULT;
  private static final double WORTH_IT = 0.75;
  private static final int HALVINGS = 50;

  private final List<Leaf> leaves = new ArrayList<>();

  /**
   * Table properties that leave dictionaries out.
   *
   * @param rows the first of a file
   * @param areAll whether it has no others
   * @param schema of the file
   */
  static Map<String, String> leftOut(List<InternalRow> rows, boolean areAll, Schema schema) {
    Dictionaries dictionaries = new Dictionaries();
    Struct columns = dictionaries.struct(schema.columns(), schema);
    rows.forEach(columns::add);
    long ofPage = areAll ? rows.size() : Math.max(rows.size(), ROWS_OF_PAGE);
    Map<String, String> properties = new HashMap<>();
    for (Leaf leaf : dictionaries.leaves) {
      if (!leaf.wantsDictionary(rows.size(), ofPage)) {
        properties.put(
            TableProperties.PARQUET_DICT_ENCODING_ENABLED_COLUMN_PREFIX + leaf.name, "false");
      }
    }
    return properties;
  }

  /** A column or a part of one, whose values are looked at. */
  private interface Part {
    void add(SpecializedGetters holder, int at);
  }

  private record Struct(List<Part> parts) {
    void add(SpecializedGetters row) {
      for (int i = 0; i < parts.size(); i++) {
        if (!row.isNullAt(i)) {
          parts.get(i).add(row, i);
        }
      }
    }
  }

  private Struct struct(List<NestedField> fields, Schema schema) {
    return new Struct(
        fields.stream().map(field -> part(field.type(), field.fieldId(), schema)).toList());
  }

  private Part part(Type type, int id, Schema schema) {
    return switch (type.typeId()) {
      case STRUCT -> {
        Struct struct = struct(type.asStructType().fields(), schema);
        yield (holder, at) -> struct.add(holder.getStruct(at, struct.parts().size()));
      }
      case LIST -> {
        Part element = part(type.asListType().elementType(), type.asListType().elementId(), schema);
        yield (holder, at) -> addAll(element, holder.getArray(at));
      }
      case MAP -> {
        Part key = part(type.asMapType().keyType(), type.asMapType().keyId(), schema);
        Part value = part(type.asMapType().valueType(), type.asMapType().valueId(), schema);
        yield (holder, at) -> {
          MapData map = holder.getMap(at);
          addAll(key, map.keyArray());
          addAll(value, map.valueArray());
        };
      }
      case BOOLEAN, VARIANT, UNKNOWN, GEOMETRY, GEOGRAPHY -> (holder, at) -> {};
      default -> {
        Leaf leaf = new Leaf(schema.findColumnName(id), type);
        leaves.add(leaf);
        yield leaf;
      }
    };
  }

  private static void addAll(Part element, ArrayData array) {
    for (int i = 0; i < array.numElements(); i++) {
      if (!array.isNullAt(i)) {
        element.add(array, i);
      }
    }
  }

  /** A column as Parquet has it. */
  private static final class Leaf implements Part {
    private final String name;
    private final Type type;
    private final DataType asSpark;
    private final Set<Object> different = new HashSet<>();
    private int values;
    private long bytes;

    Leaf(String name, Type type) {
      this.name = name;
      this.type = type;
      this.asSpark = SparkSchemaUtil.convert(type);
    }

    @Override
    public void add(SpecializedGetters holder, int at) {
      if (values < ROWS) {
        Object value = holder.get(at, asSpark);
        different.add(value instanceof byte[] binary ? ByteBuffer.wrap(binary) : value);
        bytes += bytes(value);
        values++;
      }
    }

    /** The number of bytes that a value takes in a page, and in a dictionary. */
    private int bytes(Object value) {
      return switch (type.typeId()) {
        case INTEGER, FLOAT, DATE -> Integer.BYTES;
        case LONG, DOUBLE, TIME, TIMESTAMP, TIMESTAMP_NANO -> Long.BYTES;
        case UUID -> 2 * Long.BYTES;
        case FIXED -> ((FixedType) type).length();
        case DECIMAL -> TypeUtil.decimalRequiredBytes(((DecimalType) type).precision());
        default ->
            Integer.BYTES
                + (value instanceof UTF8String text ? text.numBytes() : ((byte[]) value).length);
      };
    }

    boolean wantsDictionary(long rows, long rowsOfPage) {
      if (values == 0) {
        return true;
      }
      double ofPage = Math.min(1, (double) values / rows) * rowsOfPage;
      double entries = differentOf(Math.max(ofPage, values));
      double bytesOfNumber = Math.ceil(Math.log(entries) / Math.log(2)) / Byte.SIZE;
      double bytesEach = (double) bytes / values;
      return entries * bytesEach + ofPage * bytesOfNumber < WORTH_IT * ofPage * bytesEach;
    }

    /** The number of different values among so many, estimated from those that were looked at. */
    private double differentOf(double many) {
      if (different.size() == values) {
        return many;
      }
      double least = different.size();
      double most = (double) values * values;
      for (int i = 0; i < HALVINGS; i++) {
        double middle = (least + most) / 2;
        if (drawn(middle, values) < different.size()) {
          least = middle;
        } else {
          most = middle;
        }
      }
      return drawn(least, many);
    }

    /** The number of different values that are drawn from a set of a size, on average. */
    private static double drawn(double size, double draws) {
      return -size * Math.expm1(-draws / size);
    }
  }
}
