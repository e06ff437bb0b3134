package io.keylake.spark.read;

import io.keylake.tables.SectionPlan;
import io.keylake.tables.SectionPlan.StoredFile;
import java.io.IOException;
import java.io.Serializable;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** One run whose rows are the answer as they stand. */
final class PassedThroughReader extends SectionReader {
  private final Iterator<StoredFile> files;
  private final DataFiles dataFiles;
  private final FileColumns columns;
  private final StoredFileReader.Reading reading;
  private final KeyOrder order;
  private final SliceBounds bounds;
  private final long[] prefixes;
  private StoredFileReader reader;
  private long unread;

  PassedThroughReader(
      ReadTask task, SectionPlan section, List<Serializable> partition, DataFiles dataFiles) {
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
    this.order = new KeyOrder(task.keyTypes());
    this.bounds = section.slice() == null ? null : SliceBounds.of(section.slice());
    this.prefixes = new long[bounds == null ? 0 : reading.batchRows()];
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
    return show(null, 0, rows);
  }

  private ColumnarBatch nextFromFiles() throws IOException {
    while (true) {
      if (reader == null) {
        if (!files.hasNext()) {
          return null;
        }
        reader = new StoredFileReader(dataFiles, files.next(), reading, null);
      }
      ColumnarBatch batch = reader.next();
      if (batch == null) {
        reader.close();
        reader = null;
      } else if (bounds == null) {
        return show(batch, 0, batch.numRows());
      } else {
        int size = batch.numRows();
        order.prefixes(batch.column(columns.position(task.firstKey())), size, prefixes);
        int from = bounds.first(prefixes, size);
        int to = bounds.end(prefixes, size);
        if (from < to) {
          return show(batch, from, to);
        }
      }
    }
  }

  /** Rows of a stored batch, from one to before another. */
  private ColumnarBatch show(ColumnarBatch batch, int from, int to) {
    int rows = to - from;
    int[] places = new int[from == 0 ? 0 : rows];
    Arrays.setAll(places, i -> from + i);
    ColumnVector[] vectors = new ColumnVector[task.output().size()];
    for (int i = 0; i < vectors.length; i++) {
      OutputColumn column = task.output().get(i);
      if (column.source() == OutputColumn.Source.BUCKET) {
        vectors[i] = bucketVector(rows);
      } else {
        ColumnVector stored = batch.column(columns.position(column.fieldId()));
        ColumnVector shown = column.isUuid() ? new UuidVector(stored) : stored;
        vectors[i] =
            from == 0 ? shown : new PickedVector(column.type(), new ColumnVector[] {shown}, places);
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
