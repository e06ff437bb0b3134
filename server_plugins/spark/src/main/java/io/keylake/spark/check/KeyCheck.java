package io.keylake.spark.check;

import io.keylake.spark.keys.RowBucket;
import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.parquet.FileColumns;
import io.keylake.spark.parquet.RowChoice;
import io.keylake.spark.parquet.StoredFileReader;
import io.keylake.tables.check.Finding;
import io.keylake.tables.check.Finding.Kind;
import io.keylake.tables.check.NeededFile;
import io.keylake.tables.planning.KeyBound;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import io.keylake.tables.spec.KeyedSchema;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Type.TypeID;
import org.apache.iceberg.types.Types.DecimalType;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.jspecify.annotations.Nullable;

/**
 * The check of the keys of a data file: they ascend without one twice, lie within the bounds that
 * the manifest has of each key column, and in the partition and the bucket of the file.
 */
final class KeyCheck {
  private final NeededFile file;
  private final KeyedSchema schema;
  private final int buckets;
  private final List<NestedField> key;
  private final Comparator<KeyBound> order;
  private final List<Bounds> bounds = new ArrayList<>();

  /** The places in the key of the columns of the partition; none in files of other engines. */
  private final List<Integer> partitionedBy;

  /** The bounds of a key column, in the column's order. */
  private record Bounds(
      String column,
      Comparator<KeyBound> order,
      @Nullable KeyBound lower,
      @Nullable KeyBound upper) {
    boolean have(Object value) {
      KeyBound each = new KeyBound(List.of(value), 0);
      return (lower == null || order.compare(lower, each) <= 0)
          && (upper == null || order.compare(each, upper) <= 0);
    }
  }

  KeyCheck(NeededFile file, KeyedSchema schema, int buckets) {
    this.file = file;
    this.schema = schema;
    this.buckets = buckets;
    this.key = schema.sortKey();
    this.order = KeyBound.order(key);
    List<String> names = key.stream().map(NestedField::name).toList();
    List<String> partitionBy = schema.spec().partitionBy();
    this.partitionedBy =
        file.partition().size() == partitionBy.size() + 1
            ? partitionBy.stream().map(names::indexOf).toList()
            : List.of();
    for (NestedField field : key) {
      bounds.add(
          new Bounds(
              field.name(),
              KeyBound.order(List.of(field)),
              bound(field, file.lower().get(field.fieldId())),
              bound(field, file.upper().get(field.fieldId()))));
    }
  }

  private static @Nullable KeyBound bound(NestedField field, byte @Nullable [] bytes) {
    Object value =
        bytes == null ? null : Conversions.fromByteBuffer(field.type(), ByteBuffer.wrap(bytes));
    return value == null ? null : new KeyBound(List.of(value), 0);
  }

  /** The first thing that is wrong; empty where all is well. */
  Optional<Finding> check(DataFiles files, StoredFile stored) throws IOException {
    FileColumns columns = FileColumns.of(key, schema, Set.of());
    StoredFileReader.Reading reading =
        new StoredFileReader.Reading(
            columns, RowChoice.ALL, DataFiles.BATCH_ROWS, DataFiles.bytesEach(1));
    RowBucket bucketOf = bucketOf(columns.schema());
    KeyBound last = null;
    long rows = 0;
    try (StoredFileReader reader = new StoredFileReader(files, stored, reading, null, null)) {
      for (ColumnarBatch batch = reader.next(); batch != null; batch = reader.next()) {
        for (int row = 0; row < batch.numRows(); row++) {
          KeyBound now = keyOf(batch, row);
          Optional<Finding> found = now == null ? nullKey(rows) : wrong(last, now, rows);
          if (found.isEmpty() && bucketOf != null) {
            found = wrongBucket(bucketOf.of(batch.getRow(row)) % buckets, rows);
          }
          if (found.isPresent()) {
            return found;
          }
          last = now;
          rows++;
        }
      }
    }
    return rows == file.rows()
        ? Optional.empty()
        : found(Kind.COUNTS, "it has %d rows, its manifest says %d".formatted(rows, file.rows()));
  }

  private Optional<Finding> found(Kind kind, String detail) {
    return Optional.of(Finding.of(kind, file.location(), detail));
  }

  private Optional<Finding> nullKey(long row) {
    return found(Kind.ORDER, "row %d has a key that is null".formatted(row));
  }

  private Optional<Finding> wrong(@Nullable KeyBound last, KeyBound now, long row) {
    if (last != null && order.compare(last, now) >= 0) {
      return found(Kind.ORDER, "the key of row %d is not above the one before".formatted(row));
    }
    for (int i = 0; i < bounds.size(); i++) {
      if (!bounds.get(i).have(now.values().get(i))) {
        return found(
            Kind.BOUNDS,
            "column %s of row %d is outside of the bounds in the manifest"
                .formatted(bounds.get(i).column(), row));
      }
    }
    return wrongPartition(now, row);
  }

  private Optional<Finding> wrongPartition(KeyBound now, long row) {
    for (int i = 0; i < partitionedBy.size(); i++) {
      Object value = now.values().get(partitionedBy.get(i));
      boolean hasText = !(value instanceof ByteBuffer);
      if (hasText && !file.partition().get(i).equals(value.toString())) {
        return found(
            Kind.BUCKET,
            "column %s of row %d is %s, and %s in the partition"
                .formatted(
                    key.get(partitionedBy.get(i)).name(), row, value, file.partition().get(i)));
      }
    }
    return Optional.empty();
  }

  private Optional<Finding> wrongBucket(int bucket, long row) {
    String said = file.partition().get(file.partition().size() - 1);
    return said.equals(String.valueOf(bucket))
        ? Optional.empty()
        : found(
            Kind.BUCKET,
            "the key of row %d lies in bucket %d, not %s".formatted(row, bucket, said));
  }

  /** The bucket of rows; null where the partition says none, or rows have the key as text. */
  private @Nullable RowBucket bucketOf(StructType stored) {
    boolean isText =
        schema.bucketBy().stream().anyMatch(field -> field.type().typeId() == TypeID.UUID);
    return buckets == 0 || file.partition().isEmpty() || isText
        ? null
        : new RowBucket(schema, stored);
  }

  private @Nullable KeyBound keyOf(ColumnarBatch batch, int row) {
    List<Object> values = new ArrayList<>();
    for (int i = 0; i < key.size(); i++) {
      ColumnVector column = batch.column(i);
      if (column.isNullAt(row)) {
        return null;
      }
      values.add(value(key.get(i).type(), column, row));
    }
    return new KeyBound(values, 0);
  }

  /** A value as Iceberg compares it. */
  private static Object value(Type type, ColumnVector column, int row) {
    return switch (type.typeId()) {
      case BOOLEAN -> column.getBoolean(row);
      case INTEGER, DATE -> column.getInt(row);
      case STRING -> column.getUTF8String(row).toString();
      case DECIMAL -> {
        DecimalType number = (DecimalType) type;
        yield Objects.requireNonNull(
            column.getDecimal(row, number.precision(), number.scale()).toJavaBigDecimal());
      }
      case BINARY, FIXED -> ByteBuffer.wrap(column.getBinary(row));
      case UUID -> {
        ByteBuffer bytes = ByteBuffer.wrap(column.getBinary(row));
        yield new UUID(bytes.getLong(), bytes.getLong());
      }
      default -> column.getLong(row);
    };
  }
}
