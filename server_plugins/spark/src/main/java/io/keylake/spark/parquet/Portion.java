package io.keylake.spark.parquet;

import java.util.ArrayList;
import java.util.List;
import java.util.PrimitiveIterator;
import java.util.stream.IntStream;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.internal.column.columnindex.OffsetIndex;
import org.apache.parquet.internal.filter2.columnindex.RowRanges;
import org.apache.parquet.schema.MessageType;

/**
 * Rows of one row group whose pages are held in memory together. A row group that would take more
 * than its share of memory is read in several portions, cut where its heaviest column has pages.
 */
record Portion(int rowGroup, RowRanges rows) {

  /**
   * @param rows of the row group that are wanted
   * @param columns that are read
   * @param mostBytes of compressed pages
   */
  static List<Portion> of(
      ParquetFileReader file, int rowGroup, RowRanges rows, MessageType columns, long mostBytes) {
    BlockMetaData block = file.getRowGroups().get(rowGroup);
    ColumnChunkMetaData heaviest = null;
    long bytes = 0;
    for (ColumnChunkMetaData chunk : block.getColumns()) {
      if (columns.containsPath(chunk.getPath().toArray())) {
        bytes += chunk.getTotalSize();
        heaviest =
            heaviest == null || chunk.getTotalSize() > heaviest.getTotalSize() ? chunk : heaviest;
      }
    }
    if (heaviest == null || bytes <= mostBytes || heaviest.getOffsetIndexReference() == null) {
      return List.of(new Portion(rowGroup, rows));
    }
    OffsetIndex pages = file.getColumnIndexStore(rowGroup).getOffsetIndex(heaviest.getPath());
    long each = Math.max(mostBytes * heaviest.getTotalSize() / bytes, 1);
    return cut(rowGroup, rows, block.getRowCount(), pages, each);
  }

  private static List<Portion> cut(
      int rowGroup, RowRanges rows, long rowCount, OffsetIndex pages, long mostBytes) {
    List<Portion> portions = new ArrayList<>();
    int first = 0;
    while (first < pages.getPageCount()) {
      int next = first;
      long bytes = 0;
      while (next < pages.getPageCount()
          && (next == first || bytes + pages.getCompressedPageSize(next) <= mostBytes)) {
        bytes += pages.getCompressedPageSize(next);
        next++;
      }
      PrimitiveIterator.OfInt numbers = IntStream.range(first, next).iterator();
      RowRanges part = RowRanges.intersection(rows, RowRanges.create(rowCount, numbers, pages));
      if (part.rowCount() > 0) {
        portions.add(new Portion(rowGroup, part));
      }
      first = next;
    }
    return portions;
  }

  /** Which rows are chosen. */
  interface Choice {
    /**
     * @param number of the row among some ranges
     * @param row in its row group
     */
    boolean takes(int number, long row);
  }

  /**
   * The rows among some ranges that are chosen.
   *
   * @param firstNumber the number of the first row of the ranges
   */
  static RowRanges chosen(RowRanges rows, Choice choice, int firstNumber, long rowCount) {
    List<long[]> stretches = new ArrayList<>();
    PrimitiveIterator.OfLong each = rows.iterator();
    long[] last = null;
    for (int number = firstNumber; each.hasNext(); number++) {
      long row = each.nextLong();
      if (choice.takes(number, row)) {
        if (last != null && last[1] + 1 == row) {
          last[1] = row;
        } else {
          last = new long[] {row, row};
          stretches.add(last);
        }
      }
    }
    PrimitiveIterator.OfInt numbers = IntStream.range(0, stretches.size()).iterator();
    return RowRanges.create(rowCount, numbers, new Stretches(stretches));
  }

  /** Ranges of rows in the only form that makes {@link RowRanges}: as if each were a page. */
  private record Stretches(List<long[]> stretches) implements OffsetIndex {
    @Override
    public int getPageCount() {
      return stretches.size();
    }

    @Override
    public long getOffset(int number) {
      throw new UnsupportedOperationException();
    }

    @Override
    public int getCompressedPageSize(int number) {
      throw new UnsupportedOperationException();
    }

    @Override
    public long getFirstRowIndex(int number) {
      return stretches.get(number)[0];
    }

    @Override
    public long getLastRowIndex(int number, long rowCount) {
      return stretches.get(number)[1];
    }

    @Override
    public int getPageOrdinal(int number) {
      return number;
    }
  }
}
