package io.keylake.spark.write;

import io.keylake.spark.engine.SessionSettings;
import io.keylake.spark.parquet.PageRows;
import io.keylake.spark.write.KeyedWriteBuilder.Rows;
import io.keylake.spark.write.PartRun.Part;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.TableSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InterpretedOrdering;
import org.apache.spark.sql.catalyst.expressions.InterpretedUnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.execution.streaming.sources.MicroBatchWrite;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A write of rows that are so few that the driver writes them itself: a job takes longer to start
 * than the files take. They came with the statement, or are a batch of a stream.
 */
public final class DriverWrite {
  /** More bytes are written by tasks. */
  public static final long MOST_BYTES = 8L << 20;

  private static final long MOST_ROWS_BY_DEFAULT = 4096;

  private final KeyedWrite write;
  private final BatchWrite commits;
  private final IntFunction<List<DataWriter<InternalRow>>> writers;

  /**
   * @param commits where files go that are written
   */
  private DriverWrite(
      KeyedWrite write, BatchWrite commits, IntFunction<List<DataWriter<InternalRow>>> writers) {
    this.write = write;
    this.commits = commits;
    this.writers = writers;
  }

  /**
   * The driver writes these rows to a table.
   *
   * @param type of the rows
   */
  public static boolean takes(List<InternalRow> rows, StructType type, KeyedSchema schema) {
    return rows.size() <= mostRows(schema) && areSmall(rows, type);
  }

  static boolean areSmall(List<InternalRow> rows, StructType type) {
    return rows.stream().mapToLong(row -> PageRows.bytes(row, type)).sum() <= MOST_BYTES;
  }

  /**
   * The largest number of rows that the driver writes to a table. Classes of users, by which
   * columns may be reduced, run in tasks.
   */
  public static long mostRows(KeyedSchema schema) {
    TableSpec spec = schema.spec();
    boolean isOfUser =
        schema.values().stream()
            .map(NestedField::name)
            .anyMatch(column -> spec.reducer(column).isOfUser());
    return isOfUser ? 0 : SessionSettings.number(SessionSettings.DRIVER_ROWS, MOST_ROWS_BY_DEFAULT);
  }

  /** The write of the driver; null for one that is left to tasks. */
  public static @Nullable DriverWrite of(Write write) {
    return write instanceof KeyedWrite keyed && keyed.rows() == Rows.BY_DRIVER
        ? new DriverWrite(keyed, keyed, keyed::writersHere)
        : null;
  }

  /** The write of the driver; null for one that is no batch of a stream into a keyed table. */
  public static @Nullable DriverWrite of(BatchWrite write) {
    return write instanceof MicroBatchWrite batch
            && batch.writeSupport() instanceof StreamedBatches batches
        ? new DriverWrite(batches.write(), batch, batches::writersHere)
        : null;
  }

  /** Writes the rows and commits them, or leaves nothing of them. */
  public void run(List<InternalRow> rows) {
    PartRun run = new PartRun(write.tableName(), parts(sorted(rows)));
    try {
      run.finish();
      if (Thread.currentThread().isInterrupted()) {
        throw new CancellationException(write.description());
      }
      commits.commit(run.written());
    } catch (RuntimeException | Error e) {
      abort(run.written(), e);
      throw e;
    }
  }

  private void abort(WriterCommitMessage[] written, Throwable why) {
    try {
      commits.abort(written);
    } catch (RuntimeException e) {
      why.addSuppressed(e);
    }
  }

  /** The rows in the form that tasks get them. */
  private List<InternalRow> sorted(List<InternalRow> rows) {
    StructField[] fields = write.rowType().fields();
    List<Expression> columns = IntStream.range(0, fields.length).mapToObj(this::column).toList();
    UnsafeProjection packed = InterpretedUnsafeProjection.createProjection(seq(columns));
    List<InternalRow> sorted = new ArrayList<>();
    rows.forEach(row -> sorted.add(packed.apply(row).copy()));
    sorted.sort(ordering(write.order()));
    return sorted;
  }

  /** Some rows for each writer, none of which shares a file with another one. */
  private List<Part> parts(List<InternalRow> rows) {
    InterpretedOrdering cell = ordering(write.order().subList(0, write.columnsOfCell()));
    List<Integer> begins = new ArrayList<>();
    for (int i = 0; i < rows.size(); i++) {
      if (i == 0 || cell.compare(rows.get(i - 1), rows.get(i)) != 0) {
        begins.add(i);
      }
    }
    int count = Math.min(begins.size(), PartRun.MOST_AT_ONCE);
    List<DataWriter<InternalRow>> each = writers.apply(count);
    List<Part> parts = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      int next = (i + 1) * begins.size() / count;
      int end = next == begins.size() ? rows.size() : begins.get(next);
      int begin = begins.get(i * begins.size() / count);
      parts.add(new Part(each.get(i), rows.subList(begin, end)));
    }
    return parts;
  }

  private InterpretedOrdering ordering(List<String> names) {
    List<String> all = Arrays.asList(write.rowType().fieldNames());
    return new InterpretedOrdering(
        seq(
            names.stream()
                .map(name -> column(all.indexOf(name)))
                .map(
                    column ->
                        new SortOrder(
                            column,
                            Ascending$.MODULE$,
                            NullsFirst$.MODULE$,
                            seq(List.<Expression>of())))
                .toList()));
  }

  private Expression column(int position) {
    StructField field = write.rowType().fields()[position];
    return new BoundReference(position, field.dataType(), true);
  }

  private static <T> Seq<T> seq(List<T> list) {
    return CollectionConverters.asScala(list).toSeq();
  }

  @Override
  public String toString() {
    return write.description();
  }
}
