package io.keylake.spark.parquet;

import io.keylake.spark.engine.Portion;
import io.keylake.spark.engine.RowGroupDecoder;
import io.keylake.spark.vectors.TextVector;
import io.keylake.tables.StoreFailure;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.PrimitiveIterator;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.filter2.predicate.FilterPredicate;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.schema.MessageType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.jspecify.annotations.Nullable;
import org.roaringbitmap.RoaringBitmap;

/**
 * Batches of one data file, by Spark's own vectorised reader: it reads struct leaves, lists and
 * maps as columns, which Iceberg's does not. Bytes come through Iceberg's FileIO, from wherever the
 * table lies. A batch is valid until the next one is asked for.
 */
public final class StoredFileReader implements Closeable {
  private final String location;
  private final ReadCounters counters;
  private final RowGroupDecoder decoder;
  private final ParquetFileReader pages;
  private final Iterator<Portion> portions;
  private final List<TextVector> texts = new ArrayList<>();
  private final ColumnarBatch batch;
  private int rowGroup = -1;
  private @Nullable Portion portion;
  private PrimitiveIterator.@Nullable OfLong rows;
  private int rowsBefore;
  private int rowsRead;
  private int rowsTold;

  /** How a file is read. */
  public record Reading(FileColumns columns, RowChoice choice, int batchRows, long mostBytes) {}

  /**
   * @param shown positions of the rows to be read; null for all of them
   * @param needed numbers of the rows that are wanted, counted among those that the choice leaves
   *     of the shown ones; null for all of them
   */
  public StoredFileReader(
      DataFiles files,
      StoredFile file,
      Reading reading,
      @Nullable RoaringBitmap shown,
      @Nullable RoaringBitmap needed)
      throws IOException {
    counters = files.counters();
    location = file.location();
    DataFiles.Opened opened = files.open(file);
    boolean isReady = false;
    try {
      decoder = Decoders.of(opened.footer(), reading.columns(), reading.batchRows());
      MessageType columns = decoder.columns();
      FilterPredicate predicate = reading.choice().on(columns);
      pages = opened.pages(predicate);
      pages.setRequestedSchema(columns);
      List<Portion> wanted = portions(predicate, reading.mostBytes(), shown, needed);
      portions = wanted.iterator();
      decoder.feed(this::open, wanted.stream().mapToLong(Portion::rowCount).sum());
      int read = (int) wanted.stream().mapToInt(Portion::rowGroup).distinct().count();
      counters.rowGroupsSkipped += opened.footer().getBlocks().size() - read;
      counters.columnsOpened += read == 0 ? 0 : columns.getColumns().size();
      decoder.initBatch(new StructType(), null);
      decoder.enableReturningBatches();
      batch = shown(decoder.resultBatch());
      isReady = true;
    } catch (IOException | RuntimeException e) {
      throw StoreFailure.reading(location, e);
    } finally {
      if (!isReady) {
        opened.stream().close(); // also after an error: memory may be short
      }
    }
  }

  private ColumnarBatch shown(ColumnarBatch stored) {
    ColumnVector[] vectors = new ColumnVector[stored.numCols()];
    for (int i = 0; i < vectors.length; i++) {
      vectors[i] = stored.column(i);
      if (vectors[i].dataType() instanceof StringType) {
        TextVector text = new TextVector(vectors[i]);
        texts.add(text);
        vectors[i] = text;
      }
    }
    return new ColumnarBatch(vectors);
  }

  private List<Portion> portions(
      @Nullable FilterPredicate predicate,
      long mostBytes,
      @Nullable RoaringBitmap shown,
      @Nullable RoaringBitmap needed) {
    List<Portion> wanted = new ArrayList<>();
    MessageType columns = decoder.columns();
    int number = 0;
    for (int group = 0; group < pages.getRowGroups().size(); group++) {
      Portion rows =
          predicate == null
              ? Portion.all(pages, group)
              : Portion.matching(pages, group, predicate, columns);
      if (shown != null) {
        long first = pages.getRowGroups().get(group).getRowIndexOffset();
        rows = rows.chosen((any, row) -> shown.contains((int) (first + row)), number);
      }
      int left = Math.toIntExact(rows.rowCount());
      if (needed != null) {
        rows = rows.chosen((each, row) -> needed.contains(each), number);
      }
      number += left;
      if (rows.rowCount() > 0) {
        wanted.addAll(rows.cut(columns, mostBytes));
      }
    }
    return wanted;
  }

  private PageReadStore open() throws IOException {
    texts.forEach(TextVector::forgetDictionary);
    Portion next = portions.next();
    if (next.rowGroup() != rowGroup) {
      rowGroup = next.rowGroup();
      counters.rowGroupsRead++;
    }
    portion = next;
    rows = null;
    rowsRead = 0;
    rowsTold = 0;
    return next.pages();
  }

  /** The next batch, or null at the end. */
  public @Nullable ColumnarBatch next() throws IOException {
    try {
      if (!decoder.nextBatch()) {
        return null;
      }
    } catch (IOException | RuntimeException e) {
      throw StoreFailure.reading(location, e);
    }
    batch.setNumRows(decoder.resultBatch().numRows());
    rowsBefore = rowsRead;
    rowsRead += batch.numRows();
    counters.rowsIn += batch.numRows();
    return batch;
  }

  /**
   * The position in the file of the first row of the batch, where the others follow it without a
   * gap; -1 where they do not.
   */
  public long stretch() {
    Portion now = Objects.requireNonNull(portion, "a batch has been read");
    return now.isStretch() ? firstOfRowGroup() + now.firstRow() + rowsBefore : -1;
  }

  /** The positions in the file of the rows of the batch. To be asked at most once for each. */
  public void positions(long[] into) {
    PrimitiveIterator.OfLong each = rows;
    if (each == null) {
      each = Objects.requireNonNull(portion, "a batch has been read").rows();
      rows = each;
    }
    for (; rowsTold < rowsBefore; rowsTold++) {
      each.nextLong();
    }
    long first = firstOfRowGroup();
    for (int i = 0; i < batch.numRows(); i++) {
      into[i] = first + each.nextLong();
    }
    rowsTold += batch.numRows();
  }

  private long firstOfRowGroup() {
    return pages.getRowGroups().get(rowGroup).getRowIndexOffset();
  }

  @Override
  public void close() throws IOException {
    decoder.close();
    pages.close();
  }
}
