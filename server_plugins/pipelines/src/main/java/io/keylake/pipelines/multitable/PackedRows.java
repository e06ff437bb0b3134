package io.keylake.pipelines.multitable;

import java.util.List;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InterpretedUnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.expressions.UnsafeMapData;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Packs values into rows of Spark's binary form, always in the order of their columns. Spark's
 * interpreted projection gives the same rows, and looks for the kind of each value in each row; its
 * compiled one costs a compilation for each table, of which there are thousands.
 */
final class PackedRows {
  private final UnsafeRowWriter writer;
  private final Column[] columns;

  /** Writes a value, which is not null, at a place of the row. */
  @FunctionalInterface
  private interface Column {
    void write(int place, Object value);
  }

  PackedRows(StructType type) {
    writer = new UnsafeRowWriter(type.size());
    columns = new Column[type.size()];
    for (int i = 0; i < columns.length; i++) {
      columns[i] = column(type.fields()[i].dataType());
    }
  }

  /**
   * The row of some values; valid until the next.
   *
   * @param values as Spark has those of the columns
   */
  UnsafeRow of(@Nullable Object[] values) {
    writer.reset();
    writer.zeroOutNullBytes();
    for (int i = 0; i < columns.length; i++) {
      Object value = values[i];
      if (value == null) {
        writer.setNullAt(i);
      } else {
        columns[i].write(i, value);
      }
    }
    return writer.getRow();
  }

  private Column column(DataType type) {
    if (type instanceof BooleanType) {
      return (place, value) -> writer.write(place, ((Boolean) value).booleanValue());
    }
    if (type instanceof IntegerType || type instanceof DateType) {
      return (place, value) -> writer.write(place, ((Integer) value).intValue());
    }
    if (type instanceof FloatType) {
      return (place, value) -> writer.write(place, ((Float) value).floatValue());
    }
    if (type instanceof DoubleType) {
      return (place, value) -> writer.write(place, ((Double) value).doubleValue());
    }
    if (type instanceof StringType) {
      return (place, value) -> writer.write(place, (UTF8String) value);
    }
    if (type instanceof BinaryType) {
      return (place, value) -> writer.write(place, (byte[]) value);
    }
    if (type instanceof DecimalType decimal) {
      int precision = decimal.precision();
      int scale = decimal.scale();
      return (place, value) -> writer.write(place, (Decimal) value, precision, scale);
    }
    if (type instanceof ArrayType) {
      Function<Object, UnsafeRow> packed = alone(type);
      return (place, value) ->
          write(
              place, value instanceof UnsafeArrayData own ? own : packed.apply(value).getArray(0));
    }
    if (type instanceof MapType) {
      Function<Object, UnsafeRow> packed = alone(type);
      return (place, value) -> {
        UnsafeMapData map = packed.apply(value).getMap(0);
        writer.write(place, map);
      };
    }
    if (type instanceof StructType struct) {
      Function<Object, UnsafeRow> packed = alone(type);
      return (place, value) -> {
        UnsafeRow members = packed.apply(value).getStruct(0, struct.size());
        writer.write(place, members);
      };
    }
    return (place, value) -> writer.write(place, ((Long) value).longValue()); // and moments
  }

  private void write(int place, UnsafeArrayData array) {
    int begin = writer.cursor();
    writer.write(array);
    writer.setOffsetAndSizeFromPreviousCursor(place, begin);
  }

  /** A row of one value of a type, which is packed by Spark's interpreted projection. */
  static Function<Object, UnsafeRow> alone(DataType type) {
    Seq<Expression> one = seq(List.of(new BoundReference(0, type, true)));
    UnsafeProjection packed = InterpretedUnsafeProjection.createProjection(one);
    return value -> packed.apply(InternalRow.apply(seq(List.of(value))));
  }

  private static <T> Seq<T> seq(List<T> list) {
    return CollectionConverters.asScala(list).toSeq();
  }
}
