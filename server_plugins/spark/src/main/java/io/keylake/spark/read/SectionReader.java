package io.keylake.spark.read;

import io.keylake.merge.Decisions;
import io.keylake.merge.SortedMerge;
import io.keylake.tables.KeyedSchema;
import io.keylake.tables.SectionPlan;
import io.keylake.tables.SectionPlan.StoredFile;
import java.io.Closeable;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.execution.vectorized.ConstantColumnVector;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * The merged rows of one section, in key order, batch by batch. A batch is valid until the next
 * one.
 */
abstract class SectionReader implements Closeable {
  final ReadTask task;
  final SectionPlan section;
  final int bucket;

  private SectionReader(ReadTask task, SectionPlan section, List<Serializable> partition) {
    this.task = task;
    this.section = section;
    this.bucket = (Integer) partition.get(partition.size() - 1);
  }

  static SectionReader open(
      ReadTask task, SectionPlan section, List<Serializable> partition, FileIO io) {
    return section.passedThrough()
        ? new PassedThrough(task, section, partition, io)
        : new Merged(task, section, partition, io);
  }

  /** The next batch, or null at the end. */
  abstract ColumnarBatch next() throws IOException;

  final ColumnVector bucketVector(int rows) {
    ConstantColumnVector vector = new ConstantColumnVector(rows, DataTypes.IntegerType);
    vector.setInt(bucket);
    return vector;
  }

  /** One run whose rows are the answer as they stand. */
  private static final class PassedThrough extends SectionReader {
    private final Iterator<StoredFile> files;
    private final FileIO io;
    private final FileColumns columns;
    private StoredFileReader reader;
    private long unread;

    PassedThrough(ReadTask task, SectionPlan section, List<Serializable> partition, FileIO io) {
      super(task, section, partition);
      this.files = section.runs().get(0).iterator();
      this.io = io;
      this.columns = task.columns(section, 0);
    }

    @Override
    ColumnarBatch next() throws IOException {
      return columns.ids().isEmpty() ? nextFromCounts() : nextFromFiles();
    }

    /** Where no stored column is wanted, the manifest has said how many rows there are. */
    private ColumnarBatch nextFromCounts() {
      while (unread == 0) {
        if (!files.hasNext()) {
          return null;
        }
        unread = files.next().rows();
      }
      int rows = (int) Math.min(unread, task.batchRows());
      unread -= rows;
      return show(null, rows);
    }

    private ColumnarBatch nextFromFiles() throws IOException {
      while (true) {
        if (reader == null) {
          if (!files.hasNext()) {
            return null;
          }
          reader =
              new StoredFileReader(io, files.next(), columns, task.keyFilter(), task.batchRows());
        }
        ColumnarBatch batch = reader.next();
        if (batch != null) {
          return show(batch, batch.numRows());
        }
        reader.close();
        reader = null;
      }
    }

    private ColumnarBatch show(ColumnarBatch batch, int rows) {
      ColumnVector[] vectors = new ColumnVector[task.output().size()];
      for (int i = 0; i < vectors.length; i++) {
        OutputColumn column = task.output().get(i);
        if (column.source() == OutputColumn.Source.BUCKET) {
          vectors[i] = bucketVector(rows);
        } else {
          ColumnVector stored = batch.column(columns.position(column.fieldId()));
          vectors[i] = column.isUuid() ? new UuidVector(stored) : stored;
        }
      }
      return new ColumnarBatch(vectors, rows);
    }

    @Override
    public void close() throws IOException {
      if (reader != null) {
        reader.close();
      }
    }
  }

  /** Several runs, or one with tombstones: decided key by key, then looked up. */
  private static final class Merged extends SectionReader {
    private final List<ColumnarRunCursor> cursors = new ArrayList<>();
    private final SortedMerge merge;
    private final GatheredVector[] gathered;

    Merged(ReadTask task, SectionPlan section, List<Serializable> partition, FileIO io) {
      super(task, section, partition);
      KeyOrder order = new KeyOrder(task.keyTypes());
      for (int run = 0; run < section.runs().size(); run++) {
        cursors.add(new ColumnarRunCursor(task, section, run, order, io));
      }
      this.merge = new SortedMerge(cursors, section.rules(), task.batchRows());
      this.gathered =
          task.output().stream()
              .map(column -> GatheredVector.of(column.type(), task.batchRows()))
              .toArray(GatheredVector[]::new);
    }

    @Override
    ColumnarBatch next() throws IOException {
      Decisions decisions = merge.next();
      if (decisions.count() == 0) {
        return null;
      }
      ColumnVector[] vectors = new ColumnVector[task.output().size()];
      for (int i = 0; i < vectors.length; i++) {
        OutputColumn column = task.output().get(i);
        vectors[i] =
            switch (column.source()) {
              case KEY -> picked(i, decisions.keys(), decisions.count());
              case VALUE ->
                  picked(i, decisions.places(classOf(column.fieldId())), decisions.count());
              case MERGE_INFO -> mergeInfo(decisions);
              case BUCKET -> bucketVector(decisions.count());
            };
      }
      return new ColumnarBatch(vectors, decisions.count());
    }

    private ColumnVector picked(int index, int[] places, int count) {
      OutputColumn column = task.output().get(index);
      ColumnVector[] sources = new ColumnVector[cursors.size()];
      for (int run = 0; run < sources.length; run++) {
        ColumnVector stored = cursors.get(run).column(column.fieldId());
        sources[run] = stored != null && column.isUuid() ? new UuidVector(stored) : stored;
      }
      GatheredVector numbers = gathered[index];
      if (numbers == null) {
        return new PickedVector(column.type(), sources, places);
      }
      numbers.gather(sources, places, count);
      return numbers;
    }

    private int classOf(int fieldId) {
      for (int c = 0; c < section.classes().size(); c++) {
        if (section.classes().get(c).values().contains(fieldId)) {
          return c;
        }
      }
      throw new IllegalStateException("column " + fieldId + " was not planned");
    }

    /** Unlike the stored struct, this one always says its version. */
    private ColumnVector mergeInfo(Decisions decisions) {
      KeyedSchema schema = task.schema();
      List<ColumnVector> leaves = new ArrayList<>();
      for (NestedField leaf : schema.leaves().fields()) {
        leaves.add(
            StampVector.lag(decisions.columns(classOfLeaf(leaf.fieldId())), decisions.versions()));
      }
      StructType type = MergeInfoType.of(schema);
      StructType columns = (StructType) type.apply(KeyedSchema.COLUMNS).dataType();
      return StampVector.struct(
          type,
          List.of(
              StampVector.absolute(decisions.versions()),
              StampVector.lag(decisions.written(), decisions.versions()),
              StampVector.lag(decisions.deleted(), decisions.versions()),
              StampVector.struct(columns, leaves)));
    }

    private int classOfLeaf(int leafId) {
      for (int c = 0; c < section.classes().size(); c++) {
        if (section.classes().get(c).leaf() == leafId) {
          return c;
        }
      }
      throw new IllegalStateException("leaf " + leafId + " was not planned");
    }

    @Override
    public void close() throws IOException {
      merge.close();
    }
  }
}
