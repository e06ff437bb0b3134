package io.keylake.spark.changes;

import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.parquet.ReadCounters;
import io.keylake.spark.read.merge.BucketRows;
import io.keylake.spark.read.task.OutputColumn;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.tables.planning.ChangePlan;
import io.keylake.tables.planning.ChangePlan.Stretch;
import io.keylake.tables.planning.SectionPlan;
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
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.InterpretedOrdering;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The changes of one bucket: two merged reads of the touched stretches, before and after, of the
 * touched keys where these are few, walked side by side in sort key order. Both hold a batch in
 * memory; a key costs a comparison, and its rows are compared as bytes, column by column only where
 * they differ.
 */
final class ChangeReader implements PartitionReader<InternalRow> {
  private final DataFiles files;
  private final ReadTask task;
  private final ChangePlan.Bucket bucket;
  private final Iterator<Stretch> stretches;
  private final StructType type;
  private final int sorted; // columns of the sort key, which come first
  private final int keyAt; // the key's place in it
  private final InterpretedOrdering keyOrder;
  private final UnsafeProjection oldRow;
  private final UnsafeProjection newRow;
  private final UnsafeProjection[] oldValues;
  private final UnsafeProjection[] newValues;
  private @Nullable MergedRows before;
  private @Nullable MergedRows after;
  private InternalRow change = InternalRow.empty();
  private int group;

  ChangeReader(FileIO io, KeyedSchema schema, ChangePlan.Bucket bucket) {
    this.files = new DataFiles(io, new ReadCounters());
    this.bucket = bucket;
    this.stretches = bucket.stretches().iterator();
    List<NestedField> fields = new ArrayList<>(schema.sortKey());
    this.sorted = fields.size();
    this.keyAt = sorted - schema.key().size();
    fields.addAll(schema.values());
    this.type = SparkSchemaUtil.convert(new Schema(fields));
    List<OutputColumn> output = new ArrayList<>();
    for (int i = 0; i < fields.size(); i++) {
      output.add(OutputColumn.of(schema, fields.get(i), type.fields()[i].dataType()));
    }
    this.task = ReadTask.unfiltered(schema, output);
    this.keyOrder = InterpretedOrdering.forSchema(sequence(types().subList(0, sorted)));
    this.oldRow = UnsafeProjection.create(type);
    this.newRow = UnsafeProjection.create(type);
    this.oldValues = projections();
    this.newValues = projections();
  }

  private List<DataType> types() {
    return Arrays.stream(type.fields()).map(StructField::dataType).toList();
  }

  private static <T> Seq<T> sequence(List<T> list) {
    return CollectionConverters.asScala(list).toSeq();
  }

  /** One for each value column: its bytes, by which equal values are known. */
  private UnsafeProjection[] projections() {
    UnsafeProjection[] projections = new UnsafeProjection[type.length() - sorted];
    for (int i = 0; i < projections.length; i++) {
      int at = sorted + i;
      projections[i] =
          UnsafeProjection.create(
              sequence(
                  List.<Expression>of(new BoundReference(at, type.fields()[at].dataType(), true))));
    }
    return projections;
  }

  @Override
  public boolean next() throws IOException {
    while (true) {
      MergedRows old = before;
      MergedRows now = after;
      if (old == null || now == null) {
        if (!stretches.hasNext()) {
          return false;
        }
        Stretch stretch = stretches.next();
        DataFiles touched = files.with(TouchedRows.find(task, stretch, files));
        before = rows(stretch.before(), touched);
        after = rows(stretch.after(), touched);
      } else if (old.row() == null && now.row() == null) {
        close();
      } else if (compare(old, now)) {
        return true;
      }
    }
  }

  private MergedRows rows(List<SectionPlan> sections, DataFiles touched) throws IOException {
    return new MergedRows(new BucketRows(task, bucket.partition(), sections, touched));
  }

  /** Looks at the smaller of both keys, moves on, and says whether it has changed. */
  private boolean compare(MergedRows before, MergedRows after) throws IOException {
    InternalRow old = before.row();
    InternalRow now = after.row();
    int order = old == null || now == null ? 0 : keyOrder.compare(old, now);
    if (old == null || order > 0) {
      UnsafeRow copy = newRow.apply(now).copy();
      change = change("insert", copy, null, copy, List.of());
      after.advance();
      return true;
    }
    if (now == null || order < 0) {
      UnsafeRow copy = oldRow.apply(old).copy();
      change = change("delete", copy, copy, null, List.of());
      before.advance();
      return true;
    }
    List<String> differing =
        oldRow.apply(old).equals(newRow.apply(now)) ? List.of() : differing(old, now);
    if (!differing.isEmpty()) {
      UnsafeRow copy = oldRow.apply(old).copy();
      change = change("update", copy, copy, newRow.apply(now).copy(), differing);
    }
    before.advance();
    after.advance();
    return !differing.isEmpty();
  }

  private List<String> differing(InternalRow old, InternalRow now) {
    List<String> names = new ArrayList<>();
    for (int i = 0; i < oldValues.length; i++) {
      if (!oldValues[i].apply(old).equals(newValues[i].apply(now))) {
        names.add(type.fields()[sorted + i].name());
      }
    }
    return names;
  }

  /**
   * A row of the feed, made of copies, since the batches move on.
   *
   * @param keyed one of both images
   * @param old null for a key that is new
   * @param now null for a key that is gone
   */
  private InternalRow change(
      String kind,
      UnsafeRow keyed,
      @Nullable UnsafeRow old,
      @Nullable UnsafeRow now,
      List<String> differing) {
    group = keyAt == 0 ? bucket() : keyed.getInt(0);
    List<Object> row = new ArrayList<>();
    for (int i = keyAt; i < sorted; i++) {
      row.add(keyed.get(i, type.fields()[i].dataType()));
    }
    row.add(UTF8String.fromString(kind));
    row.add(new GenericArrayData(differing.stream().map(UTF8String::fromString).toArray()));
    row.add(image(old));
    row.add(image(now));
    row.add(bucket.commit());
    return new GenericInternalRow(row.toArray());
  }

  private @Nullable InternalRow image(@Nullable UnsafeRow row) {
    if (row == null) {
      return null;
    }
    Object[] image = new Object[type.length() - sorted];
    for (int i = 0; i < image.length; i++) {
      image[i] = row.get(sorted + i, type.fields()[sorted + i].dataType());
    }
    return new GenericInternalRow(image);
  }

  @Override
  public InternalRow get() {
    return change;
  }

  /** The group of the change's key; in a table without groups, its bucket. */
  int group() {
    return group;
  }

  private int bucket() {
    return (Integer) bucket.partition().get(bucket.partition().size() - 1);
  }

  @Override
  public void close() throws IOException {
    try (MergedRows first = before;
        MergedRows second = after) {
      before = null;
      after = null;
    }
  }

  /** Merged rows one at a time, the sort key first, each valid until the next. */
  private static final class MergedRows implements Closeable {
    private final BucketRows rows;
    private Iterator<InternalRow> batch = Collections.emptyIterator();
    private @Nullable InternalRow row;

    MergedRows(BucketRows rows) throws IOException {
      this.rows = rows;
      boolean isReady = false;
      try {
        advance();
        isReady = true;
      } finally {
        if (!isReady) {
          rows.close();
        }
      }
    }

    void advance() throws IOException {
      while (!batch.hasNext()) {
        ColumnarBatch next = rows.next();
        if (next == null) {
          row = null;
          return;
        }
        batch = next.rowIterator();
      }
      row = batch.next();
    }

    /** The row at which the reader stands; null at the end. */
    @Nullable InternalRow row() {
      return row;
    }

    @Override
    public void close() throws IOException {
      rows.close();
    }
  }
}
