package io.keylake.spark.read;

import io.keylake.merge.Presence;
import io.keylake.merge.RunCursor;
import io.keylake.merge.Stamps;
import io.keylake.tables.KeyedSchema;
import io.keylake.tables.SectionPlan;
import io.keylake.tables.SectionPlan.StoredFile;
import java.io.IOException;
import java.util.Iterator;
import java.util.List;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** One run as the merge walks it: the files of the run, one after the other, as column batches. */
final class ColumnarRunCursor extends RunCursor {
  private static final int FEWEST_ROWS = Integer.getInteger("kl.few", 256);

  private final ReadTask task;
  private final SectionPlan section;
  private final int run;
  private final FileColumns columns;
  private final KeyOrder order;
  private final FileIO io;
  private final Iterator<StoredFile> files;
  private final int batchRows;
  private final int[] keyPositions;
  private final long[] prefixes;
  private final ColumnVector[] keys;
  private final Stamps versions;
  private final Stamps written;
  private final Stamps deleted;
  private final Stamps[] classes;
  private StoredFileReader reader;
  private ColumnarBatch batch;

  ColumnarRunCursor(ReadTask task, SectionPlan section, int run, KeyOrder order, FileIO io) {
    this.task = task;
    this.section = section;
    this.run = run;
    this.columns = task.columns(section, run);
    this.order = order;
    this.io = io;
    this.files = section.runs().get(run).iterator();
    KeyedSchema schema = task.schema();
    this.keyPositions =
        schema.key().stream().mapToInt(field -> columns.position(field.fieldId())).toArray();
    this.keys = new ColumnVector[keyPositions.length];
    this.batchRows = batchRows(section, run, task.batchRows());
    this.prefixes = new long[batchRows];
    this.versions = section.readsVersions() ? new Stamps(batchRows) : null;
    this.written = stampsFor(section.rules().written().get(run));
    this.deleted = stampsFor(section.rules().deleted().get(run));
    this.classes = new Stamps[section.classes().size()];
    for (int c = 0; c < classes.length; c++) {
      classes[c] = stampsFor(section.rules().classes().get(c).byRun().get(run));
    }
  }

  /**
   * Batches of the runs cover about the same range of keys, so that what lies in memory at once is
   * about to be used, and stays in the processor's cache.
   */
  private static int batchRows(SectionPlan section, int run, int most) {
    long largest = 1;
    for (List<StoredFile> files : section.runs()) {
      largest = Math.max(largest, rows(files));
    }
    long share = most * rows(section.runs().get(run)) / largest;
    return (int) Math.max(Math.min(most, FEWEST_ROWS), share);
  }

  private static long rows(List<StoredFile> files) {
    return files.stream().mapToLong(StoredFile::rows).sum();
  }

  private Stamps stampsFor(Presence presence) {
    return presence == Presence.PER_ROW ? new Stamps(batchRows) : null;
  }

  /** A stored column in the current batch; null when this run does not carry it or has ended. */
  ColumnVector column(int fieldId) {
    int position = columns.position(fieldId);
    return position < 0 || batch == null ? null : batch.column(position);
  }

  @Override
  protected int load() throws IOException {
    batch = nextBatch();
    if (batch == null) {
      return 0;
    }
    int size = batch.numRows();
    for (int i = 0; i < keys.length; i++) {
      keys[i] = batch.column(keyPositions[i]);
    }
    order.prefixes(keys[0], size, prefixes);
    show(prefixes);
    fillStamps(size);
    return size;
  }

  private ColumnarBatch nextBatch() throws IOException {
    while (true) {
      if (reader == null) {
        if (!files.hasNext()) {
          return null;
        }
        reader = new StoredFileReader(io, files.next(), columns, task.keyFilter(), batchRows);
      }
      ColumnarBatch next = reader.next();
      if (next != null && next.numRows() > 0) {
        return next;
      }
      if (next == null) {
        reader.close();
        reader = null;
      }
    }
  }

  private void fillStamps(int size) {
    KeyedSchema schema = task.schema();
    if (versions != null) {
      fillVersions(size);
    }
    fill(written, schema.written().fieldId(), size);
    fill(deleted, schema.deleted().fieldId(), size);
    for (int c = 0; c < classes.length; c++) {
      fill(classes[c], section.classes().get(c).leaf(), size);
    }
  }

  /** A row's version is the stored one, or else its ordering column's value. */
  private void fillVersions(int size) {
    ColumnVector stored = leaf(task.schema().version().fieldId());
    NestedField ordering = task.schema().ordering();
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

  private void fill(Stamps stamps, int leafId, int size) {
    if (stamps == null) {
      return;
    }
    ColumnVector lags = leaf(leafId);
    for (int row = 0; row < size; row++) {
      if (lags.isNullAt(row)) {
        stamps.clear(row);
      } else if (versions == null) {
        stamps.set(row, 0); // only its presence matters
      } else {
        stamps.set(row, versions.at(row) - lags.getLong(row));
      }
    }
  }

  /** A member of the struct of versions. */
  private ColumnVector leaf(int fieldId) {
    ColumnVector struct = batch.column(columns.mergeInfo());
    StructType type = (StructType) columns.schema().fields()[columns.mergeInfo()].dataType();
    return find(struct, type, fieldId);
  }

  private static ColumnVector find(ColumnVector struct, StructType type, int fieldId) {
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
