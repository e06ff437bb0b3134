package io.keylake.spark.read.merge;

import io.keylake.merge.MergeRules;
import io.keylake.merge.Presence;
import io.keylake.merge.RunCursor;
import io.keylake.merge.Stamps;
import io.keylake.spark.keys.KeyOrder;
import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.parquet.SliceBounds;
import io.keylake.spark.parquet.StoredFileReader;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.tables.planning.SectionPlan;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import io.keylake.tables.spec.KeyedSchema;
import java.io.IOException;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.jspecify.annotations.Nullable;
import org.roaringbitmap.RoaringBitmap;

/** One run as the merge walks it: the files of the run, one after the other, as column batches. */
final class ColumnarRunCursor extends RunCursor {
  private static final int FEWEST_ROWS = 256;

  /** The stamps in place of those that nobody asks for. */
  private static final Stamps NONE = new Stamps(0);

  private final DataFiles dataFiles;
  private final SectionPlan section;
  private final StoredFileReader.Reading reading;
  private final List<StoredFile> files;
  private final @Nullable List<RoaringBitmap> needed;
  private final KeyOrder order;
  private final KeyedSchema schema;
  private final Set<Integer> states;
  private final int[] keyPositions;
  private final SliceBounds bounds;
  private final long[] prefixes;
  private final ColumnVector[] keys;
  private final Stamps versions;
  private final Stamps written;
  private final Stamps deleted;
  private final Stamps[] classes;
  private @Nullable StoredFileReader reader;
  private @Nullable ColumnarBatch batch;
  private int file = -1;
  private int firstNumber;
  private int nextNumber;
  private long rowsRead;
  private long stretch;
  private boolean isLocated;
  private long[] positions = {};

  /**
   * @param values which of the wanted value columns to open
   * @param needed for each file, numbers of the rows to read, or null for all of them; null where
   *     all files are read whole
   */
  ColumnarRunCursor(
      ReadTask task,
      SectionPlan section,
      int run,
      Set<Integer> values,
      @Nullable List<RoaringBitmap> needed,
      DataFiles dataFiles) {
    this.dataFiles = dataFiles;
    this.section = section;
    this.files = section.runs().get(run);
    this.needed = needed;
    this.order = new KeyOrder(task.keyTypes());
    this.schema = task.schema();
    int batchRows = batchRows(section, run, task.batchRows());
    this.reading =
        new StoredFileReader.Reading(
            task.columns(section, run, values),
            task.choice(section),
            batchRows,
            DataFiles.bytesEach(section.runs().size()));
    this.states = section.states().get(run);
    this.keyPositions =
        schema.sortKey().stream()
            .mapToInt(field -> reading.columns().position(field.fieldId()))
            .toArray();
    this.keys = new ColumnVector[keyPositions.length];
    this.bounds = SliceBounds.of(section.slice());
    this.prefixes = new long[batchRows];
    this.versions = section.readsVersions() ? new Stamps(batchRows) : NONE;
    MergeRules rules = section.merging();
    this.written = stampsFor(rules.written().get(run));
    this.deleted = stampsFor(rules.deleted().get(run));
    this.classes = new Stamps[section.classes().size()];
    for (int c = 0; c < classes.length; c++) {
      classes[c] = stampsFor(rules.classes().get(c).byRun().get(run));
    }
  }

  /**
   * Batches of the runs cover about the same range of keys, so that what lies in memory at once is
   * about to be used, and stays in the processor's cache; and none takes more than its share of
   * memory.
   */
  private static int batchRows(SectionPlan section, int run, int most) {
    long largest = 1;
    for (List<StoredFile> files : section.runs()) {
      largest = Math.max(largest, rows(files));
    }
    List<StoredFile> files = section.runs().get(run);
    long share = Math.max(most * rows(files) / largest, Math.min(most, FEWEST_ROWS));
    return DataFiles.fittingRows(files, section.runs().size(), (int) share);
  }

  private static long rows(List<StoredFile> files) {
    return files.stream().mapToLong(StoredFile::rows).sum();
  }

  private Stamps stampsFor(Presence presence) {
    return presence == Presence.PER_ROW ? new Stamps(prefixes.length) : NONE;
  }

  /** A stored column in the current batch; null when this run does not carry it or has ended. */
  @Nullable ColumnVector column(int fieldId) {
    int position = reading.columns().position(fieldId);
    return position < 0 || batch == null ? null : batch.column(position);
  }

  /** The states of a column in the current batch; null where this run has none or has ended. */
  @Nullable ColumnVector state(NestedField state) {
    ColumnarBatch now = batch;
    return now == null || !states.contains(state.fieldId()) ? null : leaf(now, state.fieldId());
  }

  /** The number of rows of the run that have been read. */
  long rowsRead() {
    return rowsRead;
  }

  /** The number of the file of the run that the batch is from. */
  int file() {
    return file;
  }

  /** The number of the batch's first row among those that are read of the file. */
  int firstNumber() {
    return firstNumber;
  }

  /** The position in its file of a row of the batch. */
  int position(int row) {
    if (stretch < 0 && !isLocated) {
      positions = positions.length == 0 ? new long[prefixes.length] : positions;
      Objects.requireNonNull(reader, "a batch has been read").positions(positions);
      isLocated = true;
    }
    return (int) (stretch < 0 ? positions[row] : stretch + row);
  }

  @Override
  protected int load() throws IOException {
    while (true) {
      ColumnarBatch now = nextBatch();
      batch = now;
      if (now == null) {
        return 0;
      }
      int size = now.numRows();
      rowsRead += size;
      order.prefixes(now.column(keyPositions[0]), 0, size, prefixes);
      int from = bounds.first(prefixes, size);
      int to = bounds.end(prefixes, size);
      if (from < to) {
        for (int i = 0; i < keys.length; i++) {
          keys[i] = now.column(keyPositions[i]);
        }
        show(prefixes, from);
        fillStamps(now, to);
        return to;
      }
      if (to == 0) {
        batch = null; // this batch, and all that follow, lie above the slice
        return 0;
      }
    }
  }

  private @Nullable ColumnarBatch nextBatch() throws IOException {
    while (true) {
      StoredFileReader open = reader;
      if (open == null) {
        if (++file >= files.size()) {
          return null;
        }
        StoredFile next = files.get(file);
        RoaringBitmap rows = needed == null ? null : needed.get(file);
        if (!dataFiles.hasRows(next) || (rows != null && rows.isEmpty())) {
          continue;
        }
        open = new StoredFileReader(dataFiles, next, reading, dataFiles.shown(next), rows);
        reader = open;
        nextNumber = 0;
      }
      ColumnarBatch next = open.next();
      if (next != null && next.numRows() > 0) {
        firstNumber = nextNumber;
        nextNumber += next.numRows();
        stretch = open.stretch();
        isLocated = false;
        return next;
      }
      if (next == null) {
        open.close();
        reader = null;
      }
    }
  }

  private void fillStamps(ColumnarBatch from, int size) {
    if (versions != NONE) {
      fillVersions(from, size);
    }
    fill(written, from, schema.written().fieldId(), size);
    fill(deleted, from, schema.deleted().fieldId(), size);
    for (int c = 0; c < classes.length; c++) {
      fill(classes[c], from, section.classes().get(c).leaf(), size);
    }
  }

  /**
   * A row's version is what the manifest says of all rows, or else the stored one, or else its
   * ordering column's value.
   */
  private void fillVersions(ColumnarBatch from, int size) {
    Long only = files.get(file).version();
    if (only != null) {
      for (int row = 0; row < size; row++) {
        versions.set(row, only);
      }
      return;
    }
    ColumnVector stored = leaf(from, schema.version().fieldId());
    NestedField ordering = schema.ordering();
    ColumnVector own = ordering == null ? null : column(ordering.fieldId());
    boolean isInt =
        ordering != null
            && (ordering.type().typeId() == Type.TypeID.INTEGER
                || ordering.type().typeId() == Type.TypeID.DATE);
    for (int row = 0; row < size; row++) {
      if (!stored.isNullAt(row)) {
        versions.set(row, stored.getLong(row));
      } else if (own != null && !own.isNullAt(row)) {
        versions.set(row, isInt ? own.getInt(row) : own.getLong(row));
      } else {
        versions.set(row, Long.MIN_VALUE);
      }
    }
  }

  private void fill(Stamps stamps, ColumnarBatch from, int leafId, int size) {
    if (stamps == NONE) {
      return;
    }
    ColumnVector lags = leaf(from, leafId);
    for (int row = 0; row < size; row++) {
      if (lags.isNullAt(row)) {
        stamps.clear(row);
      } else if (versions == NONE) {
        stamps.set(row, 0); // only its presence matters
      } else {
        stamps.set(row, versions.at(row) - lags.getLong(row));
      }
    }
  }

  /** A member of the struct of versions. */
  private ColumnVector leaf(ColumnarBatch from, int fieldId) {
    ColumnVector struct = from.column(reading.columns().mergeInfo());
    StructType type =
        (StructType) reading.columns().schema().fields()[reading.columns().mergeInfo()].dataType();
    return Objects.requireNonNull(find(struct, type, fieldId), "a leaf that is read is opened");
  }

  private static @Nullable ColumnVector find(ColumnVector struct, StructType type, int fieldId) {
    for (int i = 0; i < type.length(); i++) {
      if (type.fields()[i].dataType() instanceof StructType nested) {
        ColumnVector found = find(struct.getChild(i), nested, fieldId);
        if (found != null) {
          return found;
        }
      } else if (type.fields()[i].metadata().getLong("parquet.field.id") == fieldId) {
        return struct.getChild(i);
      }
    }
    return null;
  }

  @Override
  protected int compareTied(int row, RunCursor other, int otherRow) {
    return order.compareTied(keys, row, ((ColumnarRunCursor) other).keys, otherRow);
  }

  @Override
  protected boolean isExact() {
    return order.isExact();
  }

  @Override
  public Stamps versions() {
    return versions;
  }

  @Override
  public Stamps written() {
    return written;
  }

  @Override
  public Stamps deleted() {
    return deleted;
  }

  @Override
  public Stamps columns(int columnClass) {
    return classes[columnClass];
  }

  @Override
  public void close() throws IOException {
    if (reader != null) {
      reader.close();
    }
  }
}
