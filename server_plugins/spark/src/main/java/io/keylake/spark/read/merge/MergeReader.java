package io.keylake.spark.read.merge;

import static io.keylake.spark.read.task.OutputColumn.Source.IS_DELETED;

import io.keylake.merge.ColumnClass.Takes;
import io.keylake.merge.Contributions;
import io.keylake.merge.Decisions;
import io.keylake.merge.MergeRules;
import io.keylake.merge.SortedMerge;
import io.keylake.merge.Stamps;
import io.keylake.spark.engine.ConstantVector;
import io.keylake.spark.keys.KeyText;
import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.read.task.MergeInfoType;
import io.keylake.spark.read.task.OutputColumn;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.spark.vectors.FlagVector;
import io.keylake.spark.vectors.GatheredVector;
import io.keylake.spark.vectors.PickedVector;
import io.keylake.spark.vectors.RefusedVector;
import io.keylake.spark.vectors.StampVector;
import io.keylake.spark.vectors.StoredVersionVector;
import io.keylake.spark.vectors.UuidVector;
import io.keylake.tables.planning.SectionPlan;
import io.keylake.tables.spec.KeyedSchema;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.sql.vectorized.ColumnarBatchRow;
import org.jspecify.annotations.Nullable;

/** Several runs, or one with tombstones: decided key by key, then looked up. */
final class MergeReader extends SectionReader {
  private final List<ColumnarRunCursor> cursors;
  private final SortedMerge merge;
  private final @Nullable SelectedRows selected;
  private final GatheredVector[] gathered;
  private final @Nullable CombinedColumn[] combined;
  private final boolean isStored;
  private final StructType mergeInfoType;
  private final int orderingPosition;

  /**
   * @param needed which stored rows to read
   * @param notesSelection whether to note which stored rows win, for later reads
   */
  MergeReader(
      ReadTask task,
      SectionPlan section,
      List<Serializable> partition,
      DataFiles files,
      Sieve.Needed needed,
      boolean notesSelection)
      throws IOException {
    super(task, section, partition);
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
    this.merge = new SortedMerge(cursors, section.merging(), task.batchRows());
    this.selected = notesSelection ? new SelectedRows(section, cursors) : null;
    this.gathered =
        task.output().stream()
            .map(column -> GatheredVector.of(column.type(), task.batchRows()))
            .toArray(GatheredVector[]::new);
    this.isStored =
        task.output().stream()
            .anyMatch(column -> column.source() == OutputColumn.Source.STORED_MERGE_INFO);
    this.combined = task.output().stream().map(this::combinedColumn).toArray(CombinedColumn[]::new);
    this.mergeInfoType =
        isStored ? MergeInfoType.stored(task.schema()) : MergeInfoType.of(task.schema());
    this.orderingPosition = orderingPosition(task);
  }

  /**
   * The column as contributions are combined; null for one of which one stored value is the answer.
   */
  private @Nullable CombinedColumn combinedColumn(OutputColumn column) {
    if (column.source() != OutputColumn.Source.VALUE
        || section.takes(column.fieldId()) != Takes.ALL) {
      return null;
    }
    boolean isHistory = section.merging().wanted() == MergeRules.Wanted.HISTORY;
    return CombinedColumn.of(task.schema(), column, isHistory);
  }

  /** The position of the ordering column among the output, or -1. */
  private static int orderingPosition(ReadTask task) {
    NestedField ordering = task.schema().ordering();
    for (int i = 0; ordering != null && i < task.output().size(); i++) {
      if (task.output().get(i).fieldId() == ordering.fieldId()) {
        return i;
      }
    }
    return -1;
  }

  @Override
  @Nullable ColumnarBatch next() throws IOException {
    Decisions decisions = merge.next();
    if (decisions.count() == 0) {
      if (selected != null) {
        selected.keep();
      }
      return null;
    }
    if (selected != null) {
      selected.note(decisions);
    }
    boolean[] deleted = isDeleted(decisions);
    ColumnVector[] vectors = new ColumnVector[task.output().size()];
    for (int i = 0; i < vectors.length; i++) {
      OutputColumn column = task.output().get(i);
      vectors[i] =
          switch (column.source()) {
            case KEY -> picked(i, decisions.keys(), decisions.count());
            case VALUE -> value(i, decisions, deleted);
            case MERGE_INFO, STORED_MERGE_INFO -> null; // it may look at the ordering column
            case BUCKET -> bucketVector(decisions.count());
            case IS_DELETED -> new FlagVector(deleted);
          };
    }
    for (int i = 0; i < vectors.length; i++) {
      if (task.output().get(i).source() == OutputColumn.Source.MERGE_INFO) {
        vectors[i] = mergeInfo(decisions, StampVector.absolute(decisions.versions()));
      } else if (task.output().get(i).source() == OutputColumn.Source.STORED_MERGE_INFO) {
        ColumnVector ordering = orderingPosition < 0 ? null : vectors[orderingPosition];
        vectors[i] = mergeInfo(decisions, new StoredVersionVector(decisions.versions(), ordering));
      }
    }
    return new ColumnarBatch(vectors, decisions.count());
  }

  /**
   * @param deleted rows of which nothing is shown, though contributions may wait for a newer write
   */
  private ColumnVector value(int index, Decisions decisions, boolean[] deleted) {
    int fieldId = task.output().get(index).fieldId();
    int columnClass = section.classOf(fieldId);
    CombinedColumn column = combined[index];
    if (column == null) {
      int[] places = decisions.places(columnClass);
      boolean hides = section.takes(fieldId) == Takes.EARLIEST && deleted.length > 0;
      return picked(index, hides ? without(places, deleted) : places, decisions.count());
    }
    Contributions all =
        Objects.requireNonNull(decisions.contributions(columnClass), "a class that takes all");
    ColumnVector[] states = column.states(cursors);
    if (all.isOneEach() && states.length == 0 && !isStored && deleted.length == 0) {
      return picked(index, all.places(), decisions.count());
    }
    ColumnVector[] sources = sources(cursors, task.output().get(index));
    column.combine(sources, states, all, decisions.count(), deleted);
    return isStored || column.withoutValue().isEmpty()
        ? column.values()
        : RefusedVector.among(
            column.values(),
            column.withoutValue(),
            decisions.count(),
            row -> column.overflow(keyOf(decisions.keys()[row])));
  }

  private static int[] without(int[] places, boolean[] deleted) {
    int[] shown = places.clone();
    for (int i = 0; i < deleted.length; i++) {
      shown[i] = deleted[i] ? Decisions.NOWHERE : shown[i];
    }
    return shown;
  }

  /** The key at a place, for sentences. */
  private String keyOf(int place) {
    List<String> parts = new ArrayList<>();
    for (NestedField field : task.schema().key()) {
      DataType type = SparkSchemaUtil.convert(field.type());
      ColumnVector[] sources = sources(cursors, OutputColumn.of(task.schema(), field, type));
      ColumnVector only = new PickedVector(type, sources, new int[] {place});
      InternalRow row = new ColumnarBatchRow(new ColumnVector[] {only});
      parts.add(field.name() + "=" + KeyText.of(row, 0, type));
    }
    return String.join(", ", parts);
  }

  private ColumnVector picked(int index, int[] places, int count) {
    OutputColumn column = task.output().get(index);
    ColumnVector[] sources = sources(cursors, column);
    if (Decisions.areFirstRows(places, count)) {
      ColumnVector only = sources[Decisions.run(places[0])];
      if (only != null) {
        return only;
      }
    }
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
      sources[run] =
          stored != null && column.hasUuids() ? UuidVector.of(stored, column.type()) : stored;
    }
    return sources;
  }

  private ColumnVector mergeInfo(Decisions decisions, ColumnVector versions) {
    KeyedSchema schema = task.schema();
    List<ColumnVector> leaves = new ArrayList<>();
    for (NestedField leaf : schema.leaves().fields()) {
      int columnClass = section.classOfLeaf(leaf.fieldId());
      leaves.add(StampVector.lag(decisions.columns(columnClass), decisions.versions()));
    }
    List<ColumnVector> parts = new ArrayList<>();
    parts.add(versions);
    parts.add(StampVector.lag(decisions.written(), decisions.versions()));
    parts.add(deleted(decisions));
    if (!leaves.isEmpty()) {
      StructType columns = (StructType) mergeInfoType.apply(KeyedSchema.COLUMNS).dataType();
      parts.add(StampVector.struct(columns, leaves));
    }
    if (mergeInfoType.getFieldIndex(KeyedSchema.STATES).isDefined()) {
      StructType states = (StructType) mergeInfoType.apply(KeyedSchema.STATES).dataType();
      parts.add(states(states, decisions.count()));
    }
    return StampVector.struct(mergeInfoType, parts);
  }

  private ColumnVector states(StructType type, int count) {
    List<ColumnVector> members = new ArrayList<>();
    for (String column : type.fieldNames()) {
      int fieldId = task.schema().table().asStruct().field(column).fieldId();
      ColumnVector states = null;
      for (CombinedColumn each : combined) {
        if (each != null && each.fieldId() == fieldId) {
          states = each.states();
        }
      }
      members.add(states == null ? ConstantVector.ofNulls(DataTypes.BinaryType, count) : states);
    }
    return StampVector.struct(type, members);
  }

  /** Says which rows are tombstones; empty where the output does not tell them from others. */
  private boolean[] isDeleted(Decisions decisions) {
    if (task.output().stream().noneMatch(column -> column.source() == IS_DELETED)) {
      return new boolean[0];
    }
    boolean[] deleted = new boolean[decisions.count()];
    MergeRules.Wanted wanted = section.merging().wanted();
    int[] rows =
        wanted == MergeRules.Wanted.ROWS_AND_TOMBSTONES
            ? decisions.places(section.classOfLeaf(task.schema().written().fieldId()))
            : null;
    for (int i = 0; i < decisions.count(); i++) {
      boolean isWritten =
          rows != null
              ? rows[i] != Decisions.NOWHERE
              : !wanted.hasStamps() || decisions.written().isSet(i);
      deleted[i] = !isWritten;
    }
    return deleted;
  }

  /** A file to be written keeps tombstones only where the merge keeps their rows. */
  private ColumnVector deleted(Decisions decisions) {
    return isStored && section.merging().wanted() != MergeRules.Wanted.HISTORY
        ? StampVector.lag(new Stamps(decisions.count()), decisions.versions())
        : StampVector.lag(decisions.deleted(), decisions.versions());
  }

  @Override
  public void close() throws IOException {
    merge.close();
  }
}
