package io.keylake.spark.mergedstate;

import io.keylake.spark.changes.TouchedKeys;
import io.keylake.spark.maintenance.TaskFiles;
import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.parquet.ReadCounters;
import io.keylake.spark.parquet.SortedFiles;
import io.keylake.spark.read.merge.BucketRows;
import io.keylake.spark.read.merge.StandingRows;
import io.keylake.spark.read.task.OutputColumn;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.tables.planning.SectionPlan;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import io.keylake.tables.spec.KeyedSchema;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Table;
import org.apache.iceberg.deletes.BaseDVFileWriter;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.jspecify.annotations.Nullable;
import org.roaringbitmap.PeekableIntIterator;
import org.roaringbitmap.RoaringBitmap;

/**
 * The work of one task: the sections of one bucket that no earlier state has as they are now. Rows
 * that stand for themselves stay where they are, the others of their files are hidden by deletion
 * vectors, and composed rows are written to files of their own.
 *
 * @param operation the common part of the new files' names
 */
record StateWork(
    KeyedSchema schema, List<Serializable> partition, List<Part> parts, String operation)
    implements Serializable {
  private static final long TARGET_BYTES = 512L << 20;

  /**
   * A section to be made.
   *
   * @param earlier its rows in the state before; null where it is made as a whole
   */
  record Part(SectionPlan section, @Nullable EarlierRows earlier) implements Serializable {}

  /**
   * The files of one section in the state.
   *
   * @param hidden by the location of the file; a file without any has all of its rows
   * @param dropped locations of stored files that have no merged row
   * @param composed files of composed rows, new ones and those that stay
   */
  record Made(Map<String, DeleteFile> hidden, List<String> dropped, List<DataFile> composed)
      implements Serializable {}

  /** Runs a work where a task is; a class of its own, so that nothing else travels with it. */
  record Runner(Broadcast<Table> state) implements Function<StateWork, List<Made>> {
    @Override
    public List<Made> call(StateWork work) throws IOException {
      return work.run(state.value());
    }
  }

  /** The columns of the state, in its order. */
  static ReadTask task(KeyedSchema schema) {
    List<OutputColumn> output = new ArrayList<>();
    StructType shown = SparkSchemaUtil.convert(schema.visible());
    for (StructField field : shown.fields()) {
      NestedField column = schema.table().asStruct().field(field.name());
      output.add(OutputColumn.of(schema, column, field.dataType()));
    }
    return ReadTask.unfiltered(schema, output);
  }

  private List<Made> run(Table state) throws IOException {
    List<Made> made = new ArrayList<>();
    OutputFileFactory places = TaskFiles.named(state, FileFormat.PARQUET, operation, state.io());
    OutputFileFactory vectors = TaskFiles.named(state, FileFormat.PUFFIN, operation, state.io());
    for (Part part : parts) {
      if (TaskContext.get().isInterrupted()) {
        throw new IOException("the merged state is not wanted any more");
      }
      EarlierRows earlier = part.earlier();
      made.add(
          earlier != null && earlier.areReadable(state.io())
              ? moved(state, part.section(), earlier, places, vectors)
              : made(state, part.section(), places, vectors));
    }
    return made;
  }

  /** Makes a section as a whole. */
  private Made made(
      Table state, SectionPlan section, OutputFileFactory places, OutputFileFactory vectors)
      throws IOException {
    ReadTask task = task(schema);
    DataFiles files = new DataFiles(state.io(), new ReadCounters());
    Map<String, RoaringBitmap> shown = new HashMap<>();
    List<DataFile> composed = List.of();
    if (!section.passedThrough()) {
      StandingRows rows = StandingRows.find(task, section, files);
      shown.putAll(rows.byFile());
      composed = written(state, places, sink -> rows.compose(partition, sink));
    } else if (StandingRows.mayStand(task)) {
      for (StoredFile file : section.runs().get(0)) {
        shown.put(file.location(), all(file, files));
      }
    } else {
      composed = written(state, places, sink -> all(task, section, files, sink));
    }
    Shown now = new Shown(files, vectors);
    for (StoredFile file : stored(section)) {
      now.show(file, shown.getOrDefault(file.location(), new RoaringBitmap()));
    }
    return new Made(now.hidden, now.dropped, composed);
  }

  /** Looks at the keys of files that have come or gone: all others have the rows that they had. */
  private Made moved(
      Table state,
      SectionPlan section,
      EarlierRows earlier,
      OutputFileFactory places,
      OutputFileFactory vectors)
      throws IOException {
    DataFiles files = new DataFiles(state.io(), new ReadCounters());
    TouchedKeys keys = earlier.keys(schema, stored(section), files, state.io());
    Map<String, RoaringBitmap> touched = new HashMap<>();
    for (StoredFile file : stored(section)) {
      touched.put(file.location(), keys.rowsIn(file));
    }
    StandingRows rows = StandingRows.find(task(schema), section, files.with(touched));
    List<DataFile> composed =
        new ArrayList<>(written(state, places, sink -> rows.compose(partition, sink)));
    Shown now = new Shown(files, vectors);
    Map<String, RoaringBitmap> standing = rows.byFile();
    for (StoredFile file : stored(section)) {
      StateFile before = earlier.stored().get(file.location());
      RoaringBitmap stands =
          Objects.requireNonNull(
              standing.get(file.location()), "each file of the section is there");
      if (before == null) {
        now.show(file, stands);
      } else {
        RoaringBitmap shown = all(before.read(), files);
        shown.andNot(Objects.requireNonNull(touched.get(file.location())));
        shown.or(stands);
        now.show(before, shown);
      }
    }
    for (StateFile before : earlier.composed()) {
      RoaringBitmap shown = all(before.read(), files);
      shown.andNot(keys.rowsIn(before.read()));
      now.show(before, shown);
      if (!shown.isEmpty()) {
        composed.add(before.file());
      }
    }
    return new Made(now.hidden, now.dropped, composed);
  }

  private static List<StoredFile> stored(SectionPlan section) {
    return section.runs().stream().flatMap(List::stream).toList();
  }

  /** The positions of all rows of a file that are not left out. */
  private static RoaringBitmap all(StoredFile file, DataFiles files) throws IOException {
    RoaringBitmap left = files.shown(file);
    return left == null ? RoaringBitmap.bitmapOfRange(0, file.rows()) : left;
  }

  /** The source of rows that are written. */
  private interface Rows {
    void give(StandingRows.Sink sink) throws IOException;
  }

  private void all(ReadTask task, SectionPlan section, DataFiles files, StandingRows.Sink sink)
      throws IOException {
    try (BucketRows rows = new BucketRows(task, partition, List.of(section), files)) {
      for (ColumnarBatch batch = rows.next(); batch != null; batch = rows.next()) {
        for (Iterator<InternalRow> each = batch.rowIterator(); each.hasNext(); ) {
          sink.accept(each.next());
        }
      }
    }
  }

  private static List<DataFile> written(Table state, OutputFileFactory places, Rows rows)
      throws IOException {
    StructField[] types = SparkSchemaUtil.convert(state.schema()).fields();
    Object[] values = new Object[types.length];
    GenericInternalRow written = new GenericInternalRow(values);
    SortedFiles files = SortedFiles.ofPlain(state, places, TARGET_BYTES);
    try {
      rows.give(
          row -> {
            SortedFiles.fill(values, row, types);
            files.write(null, written);
          });
      return List.of(files.finish());
    } catch (IOException | RuntimeException e) {
      files.abort();
      throw e;
    }
  }

  /** The rows of files that a state shows. */
  private static final class Shown {
    private final DataFiles files;
    private final OutputFileFactory vectors;
    private final Map<String, DeleteFile> hidden = new HashMap<>();
    private final List<String> dropped = new ArrayList<>();

    Shown(DataFiles files, OutputFileFactory vectors) {
      this.files = files;
      this.vectors = vectors;
    }

    void show(StoredFile file, RoaringBitmap rows) throws IOException {
      RoaringBitmap others = RoaringBitmap.flip(rows, 0L, file.rows());
      if (rows.isEmpty()) {
        dropped.add(file.location());
      } else if (!others.isEmpty()) {
        hidden.put(file.location(), written(file.location(), others));
      }
    }

    /** The same of a file of the state before, whose vector stays where it says the same. */
    void show(StateFile file, RoaringBitmap rows) throws IOException {
      DeleteFile before = file.hidden();
      if (before != null && rows.equals(all(file.read(), files))) {
        hidden.put(file.location(), before);
      } else {
        show(file.read(), rows);
      }
    }

    /** A file for each vector: DuckDB 1.5 mixes up those that share one. */
    private DeleteFile written(String location, RoaringBitmap rows) throws IOException {
      BaseDVFileWriter writer = new BaseDVFileWriter(vectors, other -> null);
      try (writer) {
        for (PeekableIntIterator each = rows.getIntIterator(); each.hasNext(); ) {
          writer.delete(location, each.next(), PartitionSpec.unpartitioned(), null);
        }
      }
      return writer.result().deleteFiles().get(0);
    }
  }
}
