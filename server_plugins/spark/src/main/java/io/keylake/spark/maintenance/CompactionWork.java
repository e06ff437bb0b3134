package io.keylake.spark.maintenance;

import io.keylake.spark.conditions.RowCondition;
import io.keylake.spark.keys.RowBucket;
import io.keylake.spark.parquet.SortedFiles;
import io.keylake.spark.read.merge.CompactionRows;
import io.keylake.tables.buckets.BucketCounts;
import io.keylake.tables.planning.BucketPlan;
import io.keylake.tables.spec.KeyedSchema;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.SerializableTable;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.jspecify.annotations.Nullable;

/**
 * The work of one task of a compaction: it streams the merged rows of some stretches of a bucket
 * into sorted files. Nothing is sorted again, and memory holds a batch of each run and the row
 * group that is written.
 *
 * <p>Where the table has more buckets by now, the rows are dealt out to those that the bucket is
 * made of. Then a row group of each is held, so no more than {@value #MOST_OPEN} are written at
 * once; for more of them, the rows are read again.
 *
 * @param tuple a partition of the bucket, as Iceberg has it
 * @param of how many buckets there are where it is one
 * @param operation the common part of the new files' names
 * @param wanted the rows that are written; null for all
 */
record CompactionWork(
    KeyedSchema schema,
    List<BucketPlan> stretches,
    StructLike tuple,
    int of,
    String operation,
    long targetFileBytes,
    @Nullable RowCondition wanted)
    implements Serializable {
  private static final int MOST_OPEN = 8;

  /** Runs a work where a task is; a class of its own, so that nothing else travels with it. */
  record Runner(Broadcast<Table> table) implements Function<CompactionWork, DataFile[]> {
    @Override
    public DataFile[] call(CompactionWork work) throws IOException {
      return work.run(table.value());
    }
  }

  /** The files that some works write, a task for each. */
  static List<DataFile> run(SparkContext spark, Table table, List<CompactionWork> works) {
    if (works.isEmpty()) {
      return List.of();
    }
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark);
    Broadcast<Table> copy = context.broadcast(SerializableTable.copyOf(table));
    try {
      return context.parallelize(works, works.size()).map(new Runner(copy)).collect().stream()
          .flatMap(Arrays::stream)
          .toList();
    } finally {
      copy.destroy();
    }
  }

  /** The partition of a bucket, where that of another with the same values is known. */
  private record BucketTuple(StructLike other, int bucket) implements StructLike {
    @Override
    public int size() {
      return other.size();
    }

    @Override
    public <T> T get(int position, Class<T> type) {
      return position == size() - 1 ? type.cast(bucket) : other.get(position, type);
    }

    @Override
    public <T> void set(int position, T value) {
      throw new UnsupportedOperationException("a partition tuple does not change");
    }
  }

  /** The files that one bucket gets. */
  private record Target(BucketTuple tuple, SortedFiles files) {}

  private DataFile[] run(Table table) throws IOException {
    TaskContext task = TaskContext.get();
    OutputFileFactory places = TaskFiles.named(table, FileFormat.PARQUET, operation);
    int bucket = (Integer) stretches.get(0).partition().get(tuple.size() - 1);
    List<Integer> buckets = BucketCounts.fine(bucket, of, schema.spec().buckets());
    List<SortedFiles> written = new ArrayList<>();
    try {
      for (int next = 0; next < buckets.size(); next += MOST_OPEN) {
        Map<Integer, Target> open = new LinkedHashMap<>();
        for (int each : buckets.subList(next, Math.min(next + MOST_OPEN, buckets.size()))) {
          SortedFiles files =
              new SortedFiles(table, schema, schema.table(), places, targetFileBytes);
          open.put(each, new Target(new BucketTuple(tuple, each), files));
          written.add(files);
        }
        for (BucketPlan stretch : stretches) {
          write(table, stretch, open, task);
          for (Target target : open.values()) {
            target.files().finishFile();
          }
        }
      }
      List<DataFile> all = new ArrayList<>();
      for (SortedFiles files : written) {
        all.addAll(Arrays.asList(files.finish()));
      }
      return all.toArray(DataFile[]::new);
    } catch (IOException | RuntimeException e) {
      for (SortedFiles files : written) {
        files.abort();
      }
      throw e;
    }
  }

  /**
   * @param open some of the buckets; rows of others are left out
   */
  private void write(Table table, BucketPlan stretch, Map<Integer, Target> open, TaskContext task)
      throws IOException {
    StructType type = CompactionRows.type(schema);
    StructField[] types = type.fields();
    Object[] values = new Object[types.length];
    GenericInternalRow row = new GenericInternalRow(values);
    int stored = schema.hasBucketColumn() ? type.fieldIndex(KeyedSchema.BUCKET) : -1;
    RowBucket buckets = of == schema.spec().buckets() ? null : new RowBucket(schema, type);
    Target target = open.values().iterator().next();
    RowCondition.Test test = wanted == null ? null : wanted.test();
    try (CompactionRows rows = new CompactionRows(table.io(), schema, stretch)) {
      for (ColumnarBatch batch = rows.next(); batch != null; batch = rows.next()) {
        if (task.isInterrupted()) {
          throw new IOException("the compaction was cancelled");
        }
        for (Iterator<InternalRow> each = batch.rowIterator(); each.hasNext(); ) {
          SortedFiles.fill(values, each.next(), types);
          if (test != null && !test.holds(row)) {
            continue;
          }
          if (buckets != null) {
            target = open.get(buckets.of(row));
          }
          if (target != null) {
            if (stored >= 0) {
              values[stored] = target.tuple().bucket();
            }
            target.files().write(target.tuple(), row);
          }
        }
      }
    }
  }
}
