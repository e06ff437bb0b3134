package io.keylake.spark.write.tasks;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;

import io.keylake.spark.keys.RowHash;
import io.keylake.spark.parquet.SortedFiles;
import io.keylake.spark.write.tasks.WriteLayout.Column;
import io.keylake.tables.KeylakeException;
import java.io.Closeable;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.expressions.Evaluator;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Projections;
import org.apache.iceberg.types.Type;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;

/**
 * The data files of one task. Rows come in (partition, bucket, sort key) order, so one file is open
 * at a time.
 */
final class BucketFiles implements Closeable {
  private final WriteLayout layout;
  private final SortedFiles files;
  private final Evaluator stated;
  private @Nullable PartitionTuple partition;

  /**
   * @param replaces the partitions that the rows may lie in
   */
  BucketFiles(WriteLayout layout, SortedFiles files, Expression replaces) {
    this.layout = layout;
    this.files = files;
    this.stated =
        new Evaluator(
            files.spec().partitionType(), Projections.inclusive(files.spec()).project(replaces));
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
      files.finishFile();
      partition = partitionOf(source);
    }
    files.write(partition, stored);
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
          ? RowHash.uuid(text)
          : text.toString();
    }
    if (value instanceof Decimal decimal) {
      BigDecimal exact = decimal.toJavaBigDecimal();
      return exact;
    }
    return value instanceof byte[] bytes ? ByteBuffer.wrap(bytes.clone()) : value;
  }

  DataFile[] finish() throws IOException {
    return files.finish();
  }

  void abort() throws IOException {
    files.abort();
  }

  @Override
  public void close() throws IOException {
    files.close();
  }
}
