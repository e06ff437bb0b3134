package io.keylake.spark.changes;

import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.parquet.ReadCounters;
import io.keylake.spark.read.merge.BucketRows;
import io.keylake.spark.read.task.OutputColumn;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.tables.planning.BucketPlan;
import io.keylake.tables.planning.ChangePlan;
import io.keylake.tables.spec.KeyedSchema;
import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import org.apache.iceberg.Schema;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * The merged rows of a bucket one at a time, by group and key: all of them, or those that have
 * changed in a range of commits. Only a batch of each run is in memory.
 */
public abstract class PublishedRows implements Closeable {
  private PublishedRows() {}

  /** Moves on; false at the end. */
  public abstract boolean next() throws IOException;

  /** The group of the row; in a table without groups, its bucket. */
  public abstract int group();

  /** The key was deleted; then the row has nothing but the key. */
  public abstract boolean isDeleted();

  /** The key and the wanted values, valid until the next row. */
  public abstract InternalRow row();

  private static int bucket(List<?> partition) {
    return (Integer) partition.get(partition.size() - 1);
  }

  /** All rows. */
  public static PublishedRows of(
      FileIO io, KeyedSchema schema, List<NestedField> values, BucketPlan bucket) {
    return new Merged(io, schema, values, bucket);
  }

  private static final class Merged extends PublishedRows {
    private final BucketRows rows;
    private final StructField[] types;
    private final int keyAt;
    private final int bucket;
    private final Object[] cells;
    private final InternalRow row;
    private Iterator<InternalRow> batch = Collections.emptyIterator();
    private int group;

    Merged(FileIO io, KeyedSchema schema, List<NestedField> values, BucketPlan plan) {
      List<NestedField> fields = new ArrayList<>(schema.sortKey());
      this.keyAt = fields.size() - schema.key().size();
      fields.addAll(values);
      this.types = SparkSchemaUtil.convert(new Schema(fields)).fields();
      List<OutputColumn> output = new ArrayList<>();
      for (int i = 0; i < types.length; i++) {
        output.add(OutputColumn.of(schema, fields.get(i), types[i].dataType()));
      }
      this.bucket = bucket(plan.partition());
      this.cells = new Object[types.length - keyAt];
      this.row = new GenericInternalRow(cells);
      this.rows =
          new BucketRows(
              ReadTask.unfiltered(schema, output),
              plan.partition(),
              plan.sections(),
              new DataFiles(io, new ReadCounters()));
    }

    @Override
    public boolean next() throws IOException {
      while (!batch.hasNext()) {
        ColumnarBatch next = rows.next();
        if (next == null) {
          return false;
        }
        batch = next.rowIterator();
      }
      InternalRow stored = batch.next();
      group = keyAt == 0 ? bucket : stored.getInt(0);
      for (int i = 0; i < cells.length; i++) {
        int at = keyAt + i;
        cells[i] = stored.isNullAt(at) ? null : stored.get(at, types[at].dataType());
      }
      return true;
    }

    @Override
    public int group() {
      return group;
    }

    @Override
    public boolean isDeleted() {
      return false;
    }

    @Override
    public InternalRow row() {
      return row;
    }

    @Override
    public void close() throws IOException {
      rows.close();
    }
  }

  /** The keys that have changed. */
  public static PublishedRows of(
      FileIO io, KeyedSchema schema, List<NestedField> values, ChangePlan.Bucket bucket) {
    return new Changed(io, schema, values, bucket);
  }

  private static final class Changed extends PublishedRows {
    private final ChangeReader changes;
    private final StructField[] feed;
    private final int keys;
    private final int after;
    private final StructType image;
    private final int[] places;
    private final Object[] cells;
    private final InternalRow row;
    private boolean isDeleted;

    Changed(FileIO io, KeyedSchema schema, List<NestedField> values, ChangePlan.Bucket bucket) {
      StructType type = ChangesScan.type(schema);
      this.changes = new ChangeReader(io, schema, bucket);
      this.feed = type.fields();
      this.keys = schema.key().size();
      this.after = type.fieldIndex(ChangesScan.AFTER);
      this.image = (StructType) type.apply(ChangesScan.AFTER).dataType();
      List<String> names = Arrays.asList(image.fieldNames());
      this.places = values.stream().mapToInt(value -> names.indexOf(value.name())).toArray();
      this.cells = new Object[keys + places.length];
      this.row = new GenericInternalRow(cells);
    }

    @Override
    public boolean next() throws IOException {
      if (!changes.next()) {
        return false;
      }
      InternalRow change = changes.get();
      isDeleted = change.isNullAt(after);
      for (int i = 0; i < keys; i++) {
        cells[i] = change.get(i, feed[i].dataType());
      }
      InternalRow now = isDeleted ? null : change.getStruct(after, image.length());
      for (int i = 0; i < places.length; i++) {
        cells[keys + i] =
            now == null || now.isNullAt(places[i])
                ? null
                : now.get(places[i], image.fields()[places[i]].dataType());
      }
      return true;
    }

    @Override
    public int group() {
      return changes.group();
    }

    @Override
    public boolean isDeleted() {
      return isDeleted;
    }

    @Override
    public InternalRow row() {
      return row;
    }

    @Override
    public void close() throws IOException {
      changes.close();
    }
  }
}
