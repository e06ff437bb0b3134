package io.keylake.spark.read.merge;

import io.keylake.spark.engine.ConstantVector;
import io.keylake.spark.keys.KeyOrder;
import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.parquet.FileColumns;
import io.keylake.spark.parquet.SliceBounds;
import io.keylake.spark.parquet.StoredFileReader;
import io.keylake.spark.read.task.OutputColumn;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.spark.vectors.CountVector;
import io.keylake.spark.vectors.GatheredVector;
import io.keylake.spark.vectors.TakenVector;
import io.keylake.spark.vectors.UuidVector;
import io.keylake.tables.planning.SectionPlan;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.io.IOException;
import java.io.Serializable;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.jspecify.annotations.Nullable;
import org.roaringbitmap.PeekableIntIterator;
import org.roaringbitmap.RoaringBitmap;

/** One run whose rows are the answer as they stand, but for those that have to be left out. */
final class PassThroughReader extends SectionReader {
  /**
   * The share of a file's rows below which the others are not unpacked; of more, skipping among
   * them costs more than reading.
   */
  private static final double FEW_LEFT = 0.25;

  private static final ColumnarBatch NO_COLUMNS = new ColumnarBatch(new ColumnVector[0]);

  private final Iterator<StoredFile> files;
  private final DataFiles dataFiles;
  private final FileColumns columns;
  private final StoredFileReader.Reading reading;
  private final KeyOrder order;
  private final SliceBounds bounds;
  private final long[] prefixes;
  private final Set<Integer> counts;
  private final boolean sievesFiles;
  private final long[] positions;
  private final int[] places;
  private final GatheredVector[] gathered;
  private @Nullable StoredFileReader reader;
  private @Nullable PeekableIntIterator left;
  private long unread;

  /**
   * @param sievesFiles whether the filter of the task is asked of a file before its other columns
   *     are opened
   */
  PassThroughReader(
      ReadTask task,
      SectionPlan section,
      List<Serializable> partition,
      DataFiles dataFiles,
      boolean sievesFiles) {
    super(task, section, partition);
    this.files = section.runs().get(0).iterator();
    this.dataFiles = dataFiles;
    this.columns = task.columns(section);
    this.reading =
        new StoredFileReader.Reading(
            columns,
            task.choice(section),
            DataFiles.fittingRows(section.runs().get(0), 1, task.batchRows()),
            DataFiles.bytesEach(1));
    this.counts = ReadFacts.counts(task.schema());
    this.sievesFiles = sievesFiles;
    this.order = new KeyOrder(task.keyTypes());
    this.bounds = SliceBounds.of(section.slice());
    int batchRows = reading.batchRows();
    this.prefixes = new long[section.slice() == null ? 0 : batchRows];
    this.positions = new long[batchRows];
    this.places = new int[batchRows];
    this.gathered =
        task.output().stream()
            .map(column -> gathering(column.type(), batchRows))
            .toArray(GatheredVector[]::new);
  }

  /**
   * The vector into which values are gathered; null where they are looked up: texts of one file are
   * copied once, into rows.
   */
  private static @Nullable GatheredVector gathering(DataType type, int batchRows) {
    return type instanceof StringType ? null : GatheredVector.of(type, batchRows);
  }

  @Override
  @Nullable ColumnarBatch next() throws IOException {
    return columns.schema().isEmpty() ? nextFromCounts() : nextFromFiles();
  }

  /**
   * The next batch where no stored column is wanted: the manifest has said how many rows there are.
   */
  private @Nullable ColumnarBatch nextFromCounts() {
    while (unread == 0) {
      if (!files.hasNext()) {
        return null;
      }
      unread = dataFiles.rows(files.next());
    }
    int rows = (int) Math.min(unread, task.batchRows());
    unread -= rows;
    return show(NO_COLUMNS, rows, true);
  }

  private @Nullable ColumnarBatch nextFromFiles() throws IOException {
    while (true) {
      StoredFileReader open = reader;
      if (open == null) {
        if (!files.hasNext()) {
          return null;
        }
        open(files.next());
      } else {
        ColumnarBatch batch = open.next();
        if (batch == null) {
          open.close();
          reader = null;
        } else {
          int size = batch.numRows();
          int count = choose(open, batch, size);
          if (count > 0) {
            return show(batch, count, count == size);
          }
        }
      }
    }
  }

  private void open(StoredFile file) throws IOException {
    if (dataFiles.hasRows(file)) {
      RoaringBitmap all = dataFiles.shown(file);
      RoaringBitmap passing =
          sievesFiles ? Sieve.passing(task, reading.choice(), file, all, dataFiles) : null;
      RoaringBitmap rows = passing == null ? all : passing;
      boolean hasFewLeft = rows != null && rows.getLongCardinality() < FEW_LEFT * file.rows();
      reader = new StoredFileReader(dataFiles, file, reading, hasFewLeft ? rows : null, null);
      left = hasFewLeft || rows == null ? null : rows.getIntIterator();
    }
  }

  /** Finds the places of the rows to be shown, and how many there are. */
  private int choose(StoredFileReader open, ColumnarBatch batch, int size) {
    int from = 0;
    int to = size;
    if (section.slice() != null) {
      order.prefixes(batch.column(columns.position(task.firstKey())), 0, size, prefixes);
      from = bounds.first(prefixes, size);
      to = bounds.end(prefixes, size);
    }
    PeekableIntIterator rows = left;
    if (rows == null) {
      for (int row = from; row < to; row++) {
        places[row - from] = row;
      }
      return Math.max(to - from, 0);
    }
    long stretch = open.stretch();
    return stretch < 0
        ? chooseAmong(open, rows, from, to)
        : chooseIn((int) stretch, rows, from, to);
  }

  private int chooseIn(int stretch, PeekableIntIterator rows, int from, int to) {
    rows.advanceIfNeeded(stretch + from);
    int end = stretch + to;
    int count = 0;
    while (rows.hasNext() && rows.peekNext() < end) {
      places[count++] = rows.next() - stretch;
    }
    return count;
  }

  private int chooseAmong(StoredFileReader open, PeekableIntIterator rows, int from, int to) {
    open.positions(positions);
    int count = 0;
    for (int row = from; row < to; row++) {
      int position = (int) positions[row];
      rows.advanceIfNeeded(position);
      places[count] = row;
      count += rows.hasNext() && rows.peekNext() == position ? 1 : 0;
    }
    return count;
  }

  /**
   * Rows of a stored batch.
   *
   * @param isWhole whether they are all of it
   */
  private ColumnarBatch show(ColumnarBatch batch, int rows, boolean isWhole) {
    ColumnVector[] vectors = new ColumnVector[task.output().size()];
    for (int i = 0; i < vectors.length; i++) {
      OutputColumn column = task.output().get(i);
      if (column.source() == OutputColumn.Source.BUCKET) {
        vectors[i] = bucketVector(rows);
      } else if (column.source() == OutputColumn.Source.IS_DELETED) {
        vectors[i] = ConstantVector.of(false, rows);
      } else {
        ColumnVector stored = batch.column(columns.position(column.fieldId()));
        ColumnVector shown = shown(column, stored);
        vectors[i] = isWhole ? shown : picked(i, shown, rows);
      }
    }
    return new ColumnarBatch(vectors, rows);
  }

  private ColumnVector shown(OutputColumn column, ColumnVector stored) {
    if (column.hasUuids()) {
      return UuidVector.of(stored, column.type());
    }
    return counts.contains(column.fieldId()) ? new CountVector(stored) : stored;
  }

  private ColumnVector picked(int index, ColumnVector stored, int count) {
    GatheredVector numbers = gathered[index];
    if (numbers == null) {
      return new TakenVector(task.output().get(index).type(), stored, places);
    }
    numbers.gather(new ColumnVector[] {stored}, places, count);
    return numbers;
  }

  @Override
  public void close() throws IOException {
    if (reader != null) {
      reader.close();
    }
  }
}
