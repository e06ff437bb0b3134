package io.keylake.tables.planning;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.TableDefinition;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.Metrics;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Types.NestedField;
import org.junit.jupiter.api.Test;

/**
 * Which sections a filter on values leaves out, where Spark and statistics see values differently.
 */
class ValueFilterTest {
  private static final String SPEC =
      """
      {"spec_version": 1, "key": ["k"], "bucket_by": ["k"], "buckets": 1, "versions": "explicit",
       "schema": {"type": "struct", "fields": [
         {"id": 1, "name": "k", "required": true, "type": "long"},
         {"id": 2, "name": "x", "required": false, "type": "double"},
         {"id": 3, "name": "y", "required": false, "type": "double"},
         {"id": 4, "name": "u", "required": false, "type": "uuid"}]}}
      """;
  private static final Table TABLE = MemoryTables.create(TableDefinition.fromJson(SPEC));
  private static final KeyedSchema SCHEMA = KeyedSchema.of(TABLE);

  /** What the manifest says of a column: its bounds, and how many of ten values are what. */
  private record Column(String name, Object lower, Object upper, long nulls, Long nans) {}

  private static Column column(String name, Object lower, Object upper) {
    return new Column(name, lower, upper, 0, 0L);
  }

  private static DataFile file(Column... columns) {
    Map<Integer, Long> counts = new HashMap<>();
    Map<Integer, Long> nulls = new HashMap<>();
    Map<Integer, Long> nans = new HashMap<>();
    Map<Integer, ByteBuffer> lower = new HashMap<>();
    Map<Integer, ByteBuffer> upper = new HashMap<>();
    for (Column column : columns) {
      NestedField field = SCHEMA.table().findField(column.name());
      counts.put(field.fieldId(), 10L);
      nulls.put(field.fieldId(), column.nulls());
      if (column.nans() != null) {
        nans.put(field.fieldId(), column.nans());
      }
      if (column.lower() != null) {
        lower.put(field.fieldId(), Conversions.toByteBuffer(field.type(), column.lower()));
        upper.put(field.fieldId(), Conversions.toByteBuffer(field.type(), column.upper()));
      }
    }
    return DataFiles.builder(TABLE.spec())
        .withPath("file")
        .withFormat("parquet")
        .withFileSizeInBytes(10)
        .withPartitionPath("k_bucket=0")
        .withMetrics(new Metrics(10L, null, counts, nulls, nans, lower, upper))
        .build();
  }

  private static void assertMayMatch(boolean expected, Expression filter, DataFile... files) {
    ValueFilter asked = new ValueFilter(SCHEMA, filter);
    List<PlannedFile> section =
        Arrays.stream(files)
            .map(file -> new PlannedFile(null, 1, false, null, Map.of(), 0, asked.mayMatch(file)))
            .toList();
    assertEquals(expected, asked.mayMatch(section), filter.toString());
  }

  private static final DataFile FROM_1_TO_5 = file(column("x", 1.0, 5.0), column("y", 1.0, 5.0));
  private static final DataFile FROM_7_TO_9 = file(column("x", 7.0, 9.0), column("y", 7.0, 9.0));

  @Test
  void aSectionIsLeftOutWhereNoFileHoldsTheValue() {
    assertMayMatch(false, Expressions.equal("x", 6.0), FROM_1_TO_5, FROM_7_TO_9);
    assertMayMatch(true, Expressions.equal("x", 8.0), FROM_1_TO_5, FROM_7_TO_9);
    assertMayMatch(false, Expressions.not(Expressions.lessThan("x", 10.0)), FROM_1_TO_5);
    assertMayMatch(true, Expressions.alwaysTrue(), FROM_1_TO_5);
    assertMayMatch(false, Expressions.alwaysFalse(), FROM_1_TO_5);
  }

  @Test
  void valuesOfOneRowMayComeFromTwoFiles() {
    Expression both =
        Expressions.and(Expressions.lessThan("x", 2.0), Expressions.greaterThan("y", 8.0));
    assertMayMatch(false, both, FROM_1_TO_5);
    assertMayMatch(false, both, FROM_7_TO_9);
    assertMayMatch(true, both, FROM_1_TO_5, FROM_7_TO_9);
  }

  @Test
  void anyKeyMayLackAValue() {
    assertMayMatch(true, Expressions.isNull("x"), FROM_1_TO_5);
    assertMayMatch(true, Expressions.notEqual("x", 3.0), FROM_1_TO_5);
    assertMayMatch(false, Expressions.notNull("x"), file(new Column("x", null, null, 10, 0L)));
  }

  @Test
  void whatAFileDoesNotSayMayBeThere() {
    assertMayMatch(true, Expressions.equal("x", 6.0), file());
  }

  @Test
  void nanIsAboveEveryNumber() {
    DataFile withNaN = file(new Column("x", 1.0, 5.0, 0, 1L));
    DataFile unknown = file(new Column("x", 1.0, 5.0, 0, null));
    assertMayMatch(true, Expressions.greaterThan("x", 6.0), withNaN);
    assertMayMatch(true, Expressions.not(Expressions.lessThan("x", 6.0)), withNaN);
    assertMayMatch(true, Expressions.greaterThan("x", 6.0), unknown);
    assertMayMatch(false, Expressions.greaterThan("x", 6.0), FROM_1_TO_5);
    assertMayMatch(false, Expressions.lessThan("x", 0.5), withNaN);
  }

  @Test
  void thereIsOneZero() {
    DataFile zero = file(column("x", 0.0, 0.0));
    DataFile minusZero = file(column("x", -0.0, -0.0));
    assertMayMatch(true, Expressions.equal("x", -0.0), zero);
    assertMayMatch(true, Expressions.equal("x", 0.0), minusZero);
    assertMayMatch(true, Expressions.in("x", 9.0, 0.0), minusZero);
    assertMayMatch(true, Expressions.lessThanOrEqual("x", -0.0), zero);
  }

  @Test
  void uuidsHaveNoBoundsToTrust() {
    DataFile file = file(column("u", new UUID(1, 1), new UUID(2, 2)));
    assertMayMatch(true, Expressions.equal("u", new UUID(7, 7).toString()), file);
  }
}
