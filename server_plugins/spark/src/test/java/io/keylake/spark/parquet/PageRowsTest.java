package io.keylake.spark.parquet;

import static org.apache.iceberg.TableProperties.PARQUET_PAGE_ROW_LIMIT;
import static org.apache.iceberg.TableProperties.PARQUET_ROW_GROUP_CHECK_MIN_RECORD_COUNT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

class PageRowsTest {
  @Test
  void smallRowsHaveNoLimit() {
    assertEquals(Map.of(), ofDoubles(200));
  }

  @Test
  void rowsOfLargeValuesHavePagesOfFew() {
    StructType type = new StructType().add("id", DataTypes.LongType).add("a", DataTypes.StringType);
    InternalRow row =
        new GenericInternalRow(new Object[] {1L, UTF8String.fromString("x".repeat(64 << 10))});
    Map<String, String> limit = PageRows.limit(row, type);
    assertEquals("3", limit.get(PARQUET_PAGE_ROW_LIMIT));
    assertEquals("3", limit.get(PARQUET_ROW_GROUP_CHECK_MIN_RECORD_COUNT));
  }

  @Test
  void pagesOfManyColumnsAreWorthTheirHeaders() {
    for (int columns : new int[] {1_100, 3_000, 20_000}) {
      Map<String, String> limit = ofDoubles(columns);
      long bytes = Long.parseLong(limit.get(PARQUET_PAGE_ROW_LIMIT)) * Double.BYTES;
      assertTrue(bytes >= 8 << 10, columns + " columns have pages of " + bytes + " bytes");
      assertEquals("100", limit.get(PARQUET_ROW_GROUP_CHECK_MIN_RECORD_COUNT));
    }
  }

  @Test
  void rowGroupsOfManyColumnsAreWorthTheirEntriesInTheFooter() {
    assertEquals(16L << 20, PageRows.groupBytes(16L << 20, doubles(1_024)));
    assertEquals(2 * (16L << 20), PageRows.groupBytes(16L << 20, doubles(2_048)));
    assertEquals(1L << 20, PageRows.groupBytes(1L << 20, doubles(2_048)), "as it was asked for");
  }

  private static Map<String, String> ofDoubles(int columns) {
    Object[] values = new Object[columns];
    Arrays.fill(values, 0.5);
    return PageRows.limit(new GenericInternalRow(values), doubles(columns));
  }

  private static StructType doubles(int columns) {
    return new StructType(
        IntStream.range(0, columns)
            .mapToObj(i -> new StructField("c" + i, DataTypes.DoubleType, true, Metadata.empty()))
            .toArray(StructField[]::new));
  }
}
