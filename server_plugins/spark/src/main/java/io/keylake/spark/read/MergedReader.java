package io.keylake.spark.read;

import io.keylake.merge.Decisions;
import io.keylake.merge.SortedMerge;
import io.keylake.tables.KeyedSchema;
import io.keylake.tables.SectionPlan;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * Several runs, or one with tombstones: decided key by key, then looked up. Where a look at keys
 * (and at what is filtered by) is likely to spare most of the other columns, that look comes first.
 */
final class MergedReader extends SectionReader {
  private final DataFiles files;
  private final List<ColumnarRunCursor> cursors;
  private final SortedMerge merge;
  private final GatheredVector[] gathered;

  MergedReader(ReadTask task, SectionPlan section, List<Serializable> partition, DataFiles files)
      throws IOException {
    super(task, section, partition);
    this.files = files;
    Sieve.Needed needed = Sieve.sift(task, section, files);
    this.cursors = new ArrayList<>();
    for (int run = 0; run < section.runs().size(); run++) {
      cursors.add(
          new ColumnarRunCursor(
              task,
              section,
              run,
              task.outputIds(OutputColumn.Source.VALUE),
              needed.ofRun(run),
              files));
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
                picked(i, decisions.places(section.classOf(column.fieldId())), decisions.count());
            case MERGE_INFO -> mergeInfo(decisions);
            case BUCKET -> bucketVector(decisions.count());
          };
    }
    return new ColumnarBatch(vectors, decisions.count());
  }

  private ColumnVector picked(int index, int[] places, int count) {
    OutputColumn column = task.output().get(index);
    ColumnVector[] sources = sources(cursors, column);
    GatheredVector numbers = gathered[index];
    if (numbers == null) {
      return new PickedVector(column.type(), sources, places);
    }
    numbers.gather(sources, places, count);
    return numbers;
  }

  /** A column in each run's current batch; null in runs that do not carry it. */
  static ColumnVector[] sources(List<ColumnarRunCursor> cursors, OutputColumn column) {
    ColumnVector[] sources = new ColumnVector[cursors.size()];
    for (int run = 0; run < sources.length; run++) {
      ColumnVector stored = cursors.get(run).column(column.fieldId());
      sources[run] = stored != null && column.isUuid() ? new UuidVector(stored) : stored;
    }
    return sources;
  }

  /** Unlike the stored struct, this one always says its version. */
  private ColumnVector mergeInfo(Decisions decisions) {
    KeyedSchema schema = task.schema();
    List<ColumnVector> leaves = new ArrayList<>();
    for (NestedField leaf : schema.leaves().fields()) {
      int columnClass = section.classOfLeaf(leaf.fieldId());
      leaves.add(StampVector.lag(decisions.columns(columnClass), decisions.versions()));
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

  @Override
  public void close() throws IOException {
    files.forgetFooters();
    merge.close();
  }
}
