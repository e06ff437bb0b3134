package io.keylake.spark.parquet;

import java.util.Map;
import org.apache.iceberg.TableProperties;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.expressions.UnsafeMapData;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;

/**
 * How many rows a page may have. Parquet looks at the size of a page after a hundred rows at the
 * earliest; of large values that would make pages that no merge of many files can hold.
 */
final class PageRows {
  private static final long PAGE_BYTES = 256 << 10;
  private static final long LARGE_ROW_BYTES = 8 << 10;

  private PageRows() {}

  /**
   * Table properties that limit pages where rows are large, else none; the first row of a file
   * speaks for the others. The limit alone would not be looked at before a hundred rows are there.
   */
  static Map<String, String> limit(InternalRow first, StructType type) {
    long bytes = 0;
    for (int i = 0; i < type.length(); i++) {
      if (!first.isNullAt(i)) {
        bytes += bytes(first, i, type);
      }
    }
    if (bytes < LARGE_ROW_BYTES) {
      return Map.of();
    }
    String rows = String.valueOf(Math.max(PAGE_BYTES / bytes, 1));
    return Map.of(
        TableProperties.PARQUET_PAGE_ROW_LIMIT,
        rows,
        TableProperties.PARQUET_ROW_GROUP_CHECK_MIN_RECORD_COUNT,
        rows);
  }

  private static long bytes(InternalRow row, int position, StructType type) {
    var column = type.fields()[position].dataType();
    if (column instanceof StringType) {
      return row.getUTF8String(position).numBytes();
    }
    if (column instanceof BinaryType) {
      return row.getBinary(position).length;
    }
    if (column instanceof ArrayType && row.getArray(position) instanceof UnsafeArrayData array) {
      return array.getSizeInBytes();
    }
    if (column instanceof MapType && row.getMap(position) instanceof UnsafeMapData map) {
      return map.getSizeInBytes();
    }
    if (column instanceof StructType struct
        && row.getStruct(position, struct.length()) instanceof UnsafeRow nested) {
      return nested.getSizeInBytes();
    }
    return Long.BYTES;
  }
}
