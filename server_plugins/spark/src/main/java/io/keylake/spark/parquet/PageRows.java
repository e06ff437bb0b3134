package io.keylake.spark.parquet;

import io.keylake.tables.spec.TableDefinition;
import java.util.Arrays;
import java.util.Map;
import org.apache.iceberg.TableProperties;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * The number of rows that a page may have, and the bytes of a row group. Parquet looks at the size
 * of a page after a hundred rows at the earliest; of large values that would make pages that no
 * merge of many files can hold. A row is also large because it has many columns: their pages may
 * hold more together, so that each is still worth its header, its statistics and its place in the
 * index.
 */
public final class PageRows {
  private static final long PAGE_BYTES = 256 << 10; // of the pages of all columns together
  private static final long COLUMN_PAGE_BYTES = 8 << 10; // where there are many, on average
  private static final long ROWS_BEFORE_CHECK =
      TableProperties.PARQUET_ROW_GROUP_CHECK_MIN_RECORD_COUNT_DEFAULT;
  private static final long LARGE_ROW_BYTES = 8 << 10;

  private static final int PAGES_OF_GROUP = 2; // of each column at least

  private PageRows() {}

  /**
   * The bytes of a row group, as Parquet counts them before it compresses: those of the table, or
   * more where the usual number would leave columns less than some pages. Each column of a group is
   * an entry of the footer, whatever its rows.
   *
   * @param wished by the table
   */
  static long groupBytes(long wished, StructType type) {
    return wished == TableDefinition.ROW_GROUP_BYTES
        ? Math.max(wished, leaves(type) * COLUMN_PAGE_BYTES * PAGES_OF_GROUP)
        : wished;
  }

  /**
   * Table properties that limit pages where rows are large, else none; the first row of a file
   * speaks for the others. The limit alone would not be looked at before a hundred rows are there.
   */
  static Map<String, String> limit(InternalRow first, StructType type) {
    long bytes = bytes(first, type);
    if (bytes < LARGE_ROW_BYTES) {
      return Map.of();
    }
    long together = Math.max(PAGE_BYTES, leaves(type) * COLUMN_PAGE_BYTES);
    long rows = Math.max(together / bytes, 1);
    return Map.of(
        TableProperties.PARQUET_PAGE_ROW_LIMIT,
        String.valueOf(rows),
        TableProperties.PARQUET_ROW_GROUP_CHECK_MIN_RECORD_COUNT,
        String.valueOf(Math.min(rows, ROWS_BEFORE_CHECK)));
  }

  /** The number of columns that Parquet has for a type. */
  private static long leaves(DataType type) {
    if (type instanceof ArrayType array) {
      return leaves(array.elementType());
    }
    if (type instanceof MapType map) {
      return leaves(map.keyType()) + leaves(map.valueType());
    }
    return type instanceof StructType struct
        ? Arrays.stream(struct.fields()).mapToLong(field -> leaves(field.dataType())).sum()
        : 1;
  }

  /** About how many bytes a row has. */
  public static long bytes(InternalRow row, StructType type) {
    long bytes = 0;
    StructField[] fields = type.fields();
    for (int i = 0; i < fields.length; i++) {
      if (!row.isNullAt(i)) {
        bytes += bytes(row, i, fields[i].dataType());
      }
    }
    return bytes;
  }

  private static long bytes(SpecializedGetters holder, int position, DataType type) {
    if (type instanceof StringType) {
      return holder.getUTF8String(position).numBytes();
    }
    if (type instanceof BinaryType) {
      return holder.getBinary(position).length;
    }
    if (type instanceof ArrayType array) {
      return bytes(holder.getArray(position), array.elementType());
    }
    if (type instanceof MapType map) {
      MapData entries = holder.getMap(position);
      return bytes(entries.keyArray(), map.keyType())
          + bytes(entries.valueArray(), map.valueType());
    }
    if (type instanceof StructType struct) {
      return bytes(holder.getStruct(position, struct.length()), struct);
    }
    return Long.BYTES;
  }

  private static long bytes(ArrayData array, DataType type) {
    if (array instanceof UnsafeArrayData packed) {
      return packed.getSizeInBytes();
    }
    if (UnsafeRow.isFixedLength(type)) {
      return (long) array.numElements() * type.defaultSize();
    }
    long bytes = 0;
    for (int i = 0; i < array.numElements(); i++) {
      bytes += array.isNullAt(i) ? 0 : bytes(array, i, type);
    }
    return bytes;
  }
}
