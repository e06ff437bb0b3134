package io.keylake.spark.write;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;

import io.keylake.spark.write.WriteLayout.Column;
import io.keylake.tables.KeyedSchema;
import io.keylake.tables.KeylakeException;
import java.io.Closeable;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.MetricsConfig;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.encryption.EncryptedOutputFile;
import org.apache.iceberg.expressions.Evaluator;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Projections;
import org.apache.iceberg.formats.FormatModelRegistry;
import org.apache.iceberg.io.DataWriter;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.iceberg.types.Type;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The data files of one task. Rows come in (partition, bucket, key) order, so one file is open at a
 * time.
 */
final class BucketFiles implements Closeable {
  private static final int ROWS_BETWEEN_LENGTH_CHECKS = 1000;

  private final Table table;
  private final WriteLayout layout;
  private final StructType storedType;
  private final OutputFileFactory places;
  private final MetricsConfig metrics;
  private final SortOrder order;
  private final long targetFileSize;
  private final Evaluator stated;
  private final List<DataFile> done = new ArrayList<>();
  private PartitionTuple partition;
  private DataWriter<InternalRow> writer;
  private long rows;

  /**
   * @param replaces the partitions that the rows may lie in
   */
  BucketFiles(
      Table table,
      KeyedSchema schema,
      WriteLayout layout,
      OutputFileFactory places,
      Expression replaces,
      long targetFileSize) {
    this.table = table;
    this.layout = layout;
    this.storedType = layout.storedAsSpark();
    this.places = places;
    this.targetFileSize = targetFileSize;
    this.stated =
        new Evaluator(
            table.spec().partitionType(), Projections.inclusive(table.spec()).project(replaces));
    Map<String, String> properties = new HashMap<>(table.properties());
    // Planning lives from these statistics, so they are exact whatever the table's metrics defaults
    // are.
    schema
        .exactStatistics()
        .forEach(
            name -> properties.put(TableProperties.METRICS_MODE_COLUMN_CONF_PREFIX + name, "full"));
    this.order = KeyedSchema.keyOrder(table, schema.key());
    this.metrics = MetricsConfig.from(properties, table.schema(), order);
  }

  /** A partition value as Iceberg keeps it. */
  private record PartitionTuple(List<Object> values) implements StructLike {
    @Override
    public int size() {
      return values.size();
    }

    @Override
    public <T> T get(int pos, Class<T> javaClass) {
      return javaClass.cast(values.get(pos));
    }

    @Override
    public <T> void set(int pos, T value) {
      throw new UnsupportedOperationException("a partition tuple does not change");
    }
  }

  /**
   * @param source the incoming row, which knows its partition
   * @param stored the row as it is stored
   */
  void write(InternalRow source, InternalRow stored) throws IOException {
    if (partition == null || !isIn(partition, source)) {
      finishFile();
      partition = partitionOf(source);
    } else if (rows % ROWS_BETWEEN_LENGTH_CHECKS == 0
        && writer != null
        && writer.length() >= targetFileSize) {
      finishFile();
    }
    if (writer == null) {
      writer = open(stored);
    }
    writer.write(stored);
    rows++;
  }

  private boolean isIn(PartitionTuple tuple, InternalRow row) {
    int last = tuple.size() - 1;
    if ((Integer) tuple.values().get(last) != row.getInt(layout.bucket())) {
      return false;
    }
    for (int i = 0; i < last; i++) {
      if (!Objects.equals(tuple.values().get(i), value(row, layout.partitionBy().get(i)))) {
        return false;
      }
    }
    return true;
  }

  private PartitionTuple partitionOf(InternalRow row) {
    List<Object> values = new ArrayList<>();
    layout.partitionBy().forEach(column -> values.add(value(row, column)));
    values.add(row.getInt(layout.bucket()));
    PartitionTuple tuple = new PartitionTuple(values);
    if (!stated.eval(tuple)) {
      throw new KeylakeException(
          BAD_ROWS,
          "the row with key %s is outside the partition that the overwrite states; leave it out, or state its partition"
              .formatted(layout.keyOf(row)));
    }
    return tuple;
  }

  private static Object value(InternalRow row, Column column) {
    Object value = row.get(column.position(), column.type());
    if (value instanceof UTF8String text) {
      return column.field().type().typeId() == Type.TypeID.UUID
          ? BucketExpression.UuidText.parse(text)
          : text.toString();
    }
    if (value instanceof Decimal decimal) {
      BigDecimal exact = decimal.toJavaBigDecimal();
      return exact;
    }
    return value instanceof byte[] bytes ? ByteBuffer.wrap(bytes.clone()) : value;
  }

  private DataWriter<InternalRow> open(InternalRow first) throws IOException {
    EncryptedOutputFile file = places.newOutputFile(table.spec(), partition);
    Map<String, String> properties = new HashMap<>(table.properties());
    PageRows.limit(first, storedType).forEach(properties::putIfAbsent);
    return FormatModelRegistry.<InternalRow, StructType>dataWriteBuilder(
            FileFormat.PARQUET, InternalRow.class, file)
        .setAll(properties)
        .metricsConfig(metrics)
        .schema(layout.stored())
        .engineSchema(storedType)
        .spec(table.spec())
        .partition(partition)
        .keyMetadata(file.keyMetadata())
        .sortOrder(order)
        .build();
  }

  private void finishFile() throws IOException {
    if (writer != null) {
      writer.close();
      done.add(writer.toDataFile());
      writer = null;
    }
  }

  DataFile[] finish() throws IOException {
    finishFile();
    return done.toArray(DataFile[]::new);
  }

  void abort() throws IOException {
    finishFile();
    done.forEach(file -> table.io().deleteFile(file.location()));
    done.clear();
  }

  @Override
  public void close() throws IOException {
    if (writer != null) {
      writer.close();
    }
  }
}
