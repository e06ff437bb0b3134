package io.keylake.spark.parquet;

import io.keylake.spark.engine.Portion;
import io.keylake.spark.engine.RowGroupDecoder;
import io.keylake.spark.vectors.TakenVector;
import io.keylake.tables.FileDamage;
import io.keylake.tables.StoreFailure;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.filter2.predicate.FilterPredicate;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.schema.MessageType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.jspecify.annotations.Nullable;
import org.roaringbitmap.RoaringBitmap;

/**
 * Batches of one data file. Numbers and texts stay in their pages; all else is decoded by Spark's
 * own vectorised reader, which reads struct leaves, lists and maps as columns, as Iceberg's does
 * not. Bytes come through Iceberg's FileIO, from wherever the table lies. A batch is valid until
 * the next one is asked for.
 */
public final class StoredFileReader implements Closeable {
  private final String location;
  private final ReadCounters counters;
  private final RowGroupDecoder decoder;
  private final ParquetFileReader pages;
  private final Iterator<Portion> portions;
  private final MessageType columns;
  private final List<FlatColumn> flat = new ArrayList<>();
  private final ColumnarBatch batch;
  private final boolean skipsRows;
  private final int[] taken;
  private int rowGroup = -1;
  private @Nullable PortionRows rows;

  /** The settings with which a file is read. */
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
      Decoders decoders = Decoders.of(opened.footer(), reading.columns());
      decoder = decoders.others(reading.batchRows());
      columns = decoders.all();
      skipsRows = decoders.skipsRows(opened.footer());
      taken = new int[skipsRows ? 0 : reading.batchRows()];
      FilterPredicate predicate = reading.choice().on(columns);
      DataFiles.Opened asked = reading.choice().asksKeys() ? opened.asked(predicate) : opened;
      if (asked.footer().getBlocks().isEmpty() && file.rows() > 0) {
        counters.filesLeftOut++;
      } else {
        counters.openFile(location);
      }
      pages = asked.pages(predicate);
      pages.setRequestedSchema(columns);
      long mostBytes = skipsRows ? reading.mostBytes() : Long.MAX_VALUE;
      List<Portion> wanted = portions(predicate, mostBytes, shown, needed);
      portions = wanted.iterator();
      decoder.feed(
          this::open, wanted.stream().map(this::decoded).mapToLong(Portion::rowCount).sum());
      int read = (int) wanted.stream().mapToInt(Portion::rowGroup).distinct().count();
      counters.rowGroupsSkipped += opened.footer().getBlocks().size() - read;
      counters.columnsOpened += read == 0 ? 0 : columns.getColumns().size();
      decoder.initBatch(new StructType(), null);
      decoder.enableReturningBatches();
      batch = batch(decoders.flat(), reading.columns().schema(), reading.batchRows());
      isReady = true;
    } catch (IOException | RuntimeException e) {
      throw failed("what its footer says of it", e);
    } finally {
      if (!isReady) {
        opened.stream().close(); // also after an error: memory may be short
      }
    }
  }

  /**
   * @param names of the columns that {@link FlatColumn} decodes, or ""
   */
  private ColumnarBatch batch(List<String> names, StructType types, int batchRows) {
    ColumnVector[] vectors = new ColumnVector[names.size()];
    int others = 0;
    for (int i = 0; i < vectors.length; i++) {
      if (names.get(i).isEmpty()) {
        ColumnVector decoded = decoder.resultBatch().column(others++);
        vectors[i] = skipsRows ? decoded : new TakenVector(decoded.dataType(), decoded, taken);
      } else {
        String[] path = {names.get(i)};
        FlatColumn column =
            new FlatColumn(
                columns.getColumnDescription(path), types.fields()[i].dataType(), batchRows);
        flat.add(column);
        vectors[i] = column.values();
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
    int number = 0;
    for (int group = 0; group < pages.getRowGroups().size(); group++) {
      Portion rows =
          predicate == null
              ? Portion.all(pages, group)
              : Portion.matching(pages, group, predicate, columns);
      if (shown != null) {
        long first = pages.getRowGroups().get(group).getRowIndexOffset();
        rows = rows.at(shown, first);
      }
      int left = Math.toIntExact(rows.rowCount());
      if (needed != null) {
        rows = rows.numbered(needed, number);
      }
      number += left;
      if (rows.rowCount() > 0) {
        wanted.addAll(rows.cut(columns, mostBytes));
      }
    }
    return wanted;
  }

  private Portion decoded(Portion wanted) {
    return skipsRows ? wanted : Portion.all(pages, wanted.rowGroup());
  }

  private PageReadStore open() throws IOException {
    Portion next = portions.next();
    if (next.rowGroup() != rowGroup) {
      rowGroup = next.rowGroup();
      counters.rowGroupsRead++;
    }
    rows = new PortionRows(next, !skipsRows);
    PageReadStore opened = decoded(next).pages(columns);
    for (FlatColumn column : flat) {
      column.begin(opened, rowGroup);
    }
    return opened;
  }

  /** The next batch, or null at the end. */
  public @Nullable ColumnarBatch next() throws IOException {
    try {
      do {
        if (!decoder.nextBatch()) {
          return null;
        }
        PortionRows now = rows();
        int decoded = decoder.resultBatch().numRows();
        now.advance(decoded);
        batch.setNumRows(skipsRows ? decoded : now.take(taken));
      } while (batch.numRows() == 0);
      readFlat();
    } catch (IOException | RuntimeException e) {
      throw failed("row group " + rowGroup, e);
    }
    counters.rowsIn += batch.numRows();
    return batch;
  }

  /**
   * @param part of the file, that was decoded
   */
  private RuntimeException failed(String part, Exception e) {
    return StoreFailure.reading(location, FileDamage.isShownBy(e) ? FileDamage.of(part, e) : e);
  }

  private void readFlat() throws IOException {
    long first = rows().stretch();
    for (FlatColumn column : flat) {
      if (first >= 0) {
        column.read(first, batch.numRows());
      } else {
        column.read(rows().numbers(), batch.numRows());
      }
    }
  }

  private PortionRows rows() {
    return Objects.requireNonNull(rows, "a batch has been read");
  }

  /**
   * The position in the file of the first row of the batch, where the others follow it without a
   * gap; -1 where they do not.
   */
  public long stretch() {
    long first = rows().stretch();
    return first < 0 ? first : firstOfRowGroup() + first;
  }

  /** The positions in the file of the rows of the batch. */
  public void positions(long[] into) {
    long first = firstOfRowGroup();
    long[] numbers = rows().numbers();
    for (int i = 0; i < batch.numRows(); i++) {
      into[i] = first + numbers[i];
    }
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
