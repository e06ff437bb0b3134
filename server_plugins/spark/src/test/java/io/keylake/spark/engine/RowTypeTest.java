package io.keylake.spark.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class RowTypeTest {
  private record Place(InternalRow partition, int bucket) {}

  private record Line(
      String name,
      @Nullable Place place,
      long minVersion,
      @Nullable Double share,
      boolean isMerged,
      @Nullable Instant committedAt,
      List<Long> runBytes) {}

  private record Unknown(Object anything) {}

  private static Line line(@Nullable Place place) {
    return new Line(
        "a", place, -1, null, true, Instant.parse("1969-12-31T23:59:59.999999Z"), List.of(3L, 4L));
  }

  @Test
  void componentsAreColumns() {
    RowType<Line> type = RowType.of(Line.class);
    assertEquals(
        "name STRING,bucket INT,min_version BIGINT,share DOUBLE,is_merged BOOLEAN,committed_at TIMESTAMP,run_bytes ARRAY<BIGINT>",
        type.type().toDDL());
    InternalRow row = type.row(line(new Place(new GenericInternalRow(0), 7)));
    assertEquals("a", row.getUTF8String(0).toString());
    assertEquals(7, row.getInt(1));
    assertEquals(-1L, row.getLong(2));
    assertTrue(row.isNullAt(3));
    assertTrue(row.getBoolean(4));
    assertEquals(-1L, row.getLong(5));
    assertEquals(4L, row.getArray(6).getLong(1));
  }

  @Test
  void columnsOfARecordThatIsNotThereAreNull() {
    InternalRow row = RowType.of(Line.class).row(line(null));
    assertTrue(row.isNullAt(1));
    assertEquals(-1L, row.getLong(2));
  }

  @Test
  void structsHaveTheTypeOfTheirTable() {
    StructType day = new StructType().add("day", DataTypes.IntegerType);
    RowType<Line> type = RowType.with(Line.class, Map.of("partition", day));
    assertEquals("partition", type.type().fieldNames()[1]);
    InternalRow row = type.row(line(new Place(new GenericInternalRow(new Object[] {20}), 7)));
    assertEquals(20, row.getStruct(1, 1).getInt(0));
    assertEquals(7, row.getInt(2));
  }

  @Test
  void columnsMayBeDeclaredNotNull() {
    StructType type = RowType.notNull(Place.class, "bucket").type();
    assertEquals("bucket INT NOT NULL", type.toDDL());
  }

  @Test
  void otherTypesAreRefused() {
    IllegalArgumentException refused =
        assertThrows(IllegalArgumentException.class, () -> RowType.of(Unknown.class));
    assertTrue(refused.getMessage().endsWith("the type java.lang.Object"), refused.getMessage());
  }
}
