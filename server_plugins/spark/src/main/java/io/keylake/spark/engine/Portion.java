package io.keylake.spark.engine;

import io.keylake.spark.integrity.CheckedFooter;
import io.keylake.spark.integrity.CheckedPages;
import io.keylake.tables.FileDamage;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.PrimitiveIterator;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.filter2.compat.FilterCompat;
import org.apache.parquet.filter2.predicate.FilterPredicate;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.metadata.ColumnPath;
import org.apache.parquet.internal.column.columnindex.OffsetIndex;
import org.apache.parquet.internal.filter2.columnindex.ColumnIndexFilter;
import org.apache.parquet.internal.filter2.columnindex.ColumnIndexStore;
import org.apache.parquet.internal.filter2.columnindex.RowRanges;
import org.apache.parquet.schema.MessageType;
import org.jspecify.annotations.Nullable;
import org.roaringbitmap.PeekableIntIterator;
import org.roaringbitmap.RoaringBitmap;

/**
 * Rows of one row group whose pages are held in memory together. A row group that would take more
 * than its share of memory is read in several portions, cut where its heaviest column has pages.
 */
public final class Portion {
  private final ParquetFileReader file;
  private final int rowGroup;
  private final RowRanges rows;

  private Portion(ParquetFileReader file, int rowGroup, RowRanges rows) {
    this.file = file;
    this.rowGroup = rowGroup;
    this.rows = rows;
  }

  /** All rows of a row group. */
  public static Portion all(ParquetFileReader file, int rowGroup) {
    long count = file.getRowGroups().get(rowGroup).getRowCount();
    return new Portion(file, rowGroup, RowRanges.createSingle(count));
  }

  /**
   * The rows of a row group that lie in pages which may have what is asked for.
   *
   * @param columns that are read
   */
  public static Portion matching(
      ParquetFileReader file, int rowGroup, FilterPredicate predicate, MessageType columns) {
    Set<ColumnPath> paths = new HashSet<>();
    columns.getColumns().forEach(column -> paths.add(ColumnPath.get(column.getPath())));
    return new Portion(
        file,
        rowGroup,
        ColumnIndexFilter.calculateRowRanges(
            FilterCompat.get(predicate),
            file.getColumnIndexStore(rowGroup),
            paths,
            file.getRowGroups().get(rowGroup).getRowCount()));
  }

  public int rowGroup() {
    return rowGroup;
  }

  public long rowCount() {
    return rows.rowCount();
  }

  /** The numbers of the rows in their row group, in order. */
  public PrimitiveIterator.OfLong rows() {
    return rows.iterator();
  }

  /** The rows follow each other without a gap. */
  public boolean isStretch() {
    return rows.getRanges().size() == 1;
  }

  /** The number of the first row in its row group. */
  public long firstRow() {
    return rows.getRanges().get(0).from;
  }

  /**
   * The pages that have the rows, none of which is damaged.
   *
   * @param columns that are read
   */
  public PageReadStore pages(MessageType columns) throws IOException {
    boolean isPart = rows.rowCount() < block().getRowCount();
    PageReadStore pages;
    try {
      if (isPart && CheckedFooter.isOfParquetJava(file.getFileMetaData())) {
        checkIndex(columns);
      }
      pages = file.readFilteredRowGroup(rowGroup, rows);
    } catch (IOException | RuntimeException e) {
      if (FileDamage.isShownBy(e)) {
        throw located(columns, e);
      }
      throw e;
    }
    return CheckedPages.of(pages, file.getFileMetaData(), rowGroup, block(), this::ordinal);
  }

  /** The same error with the column that it is about, which is found by reading one at a time. */
  private IOException located(MessageType columns, Exception damage) {
    if (damage instanceof FileDamage told) {
      return told;
    }
    for (ColumnDescriptor column : columns.getColumns()) {
      file.setRequestedSchema(List.of(column));
      try {
        file.readFilteredRowGroup(rowGroup, rows);
      } catch (IOException | RuntimeException e) {
        return FileDamage.of(
            "column %s of row group %d".formatted(String.join(".", column.getPath()), rowGroup), e);
      }
    }
    return FileDamage.of("row group " + rowGroup, damage);
  }

  /**
   * Compares the indexes of pages with the footer: the pages of a column follow each other from its
   * first one to its end, and so do their rows.
   */
  private void checkIndex(MessageType columns) throws FileDamage {
    ColumnIndexStore indexes = file.getColumnIndexStore(rowGroup);
    for (ColumnChunkMetaData chunk : block().getColumns()) {
      if (columns.containsPath(chunk.getPath().toArray())
          && !covers(indexes.getOffsetIndex(chunk.getPath()), chunk)) {
        throw new FileDamage(
            "the index of pages of column %s of row group %d does not fit its footer"
                .formatted(chunk.getPath().toDotString(), rowGroup));
      }
    }
  }

  private boolean covers(OffsetIndex pages, ColumnChunkMetaData chunk) {
    long next = chunk.getFirstDataPageOffset();
    long row = -1;
    for (int i = 0; i < pages.getPageCount(); i++) {
      if (pages.getOffset(i) != next || pages.getFirstRowIndex(i) <= row) {
        return false;
      }
      next += pages.getCompressedPageSize(i);
      row = pages.getFirstRowIndex(i);
    }
    return pages.getPageCount() > 0
        && pages.getFirstRowIndex(0) == 0
        && row < block().getRowCount()
        && next == chunk.getStartingPos() + chunk.getTotalSize();
  }

  /** The number of the page that begins with a row. */
  private int ordinal(ColumnPath column, long firstRow) {
    OffsetIndex pages = file.getColumnIndexStore(rowGroup).getOffsetIndex(column);
    int first = 0;
    int last = pages.getPageCount() - 1;
    while (first < last) {
      int middle = (first + last + 1) >>> 1;
      if (pages.getFirstRowIndex(middle) <= firstRow) {
        first = middle;
      } else {
        last = middle - 1;
      }
    }
    return first;
  }

  /**
   * The same rows in portions of a size.
   *
   * @param columns that are read
   * @param mostBytes of compressed pages
   */
  public List<Portion> cut(MessageType columns, long mostBytes) {
    ColumnChunkMetaData heaviest = null;
    long bytes = 0;
    for (ColumnChunkMetaData chunk : block().getColumns()) {
      if (columns.containsPath(chunk.getPath().toArray())) {
        bytes += chunk.getTotalSize();
        heaviest =
            heaviest == null || chunk.getTotalSize() > heaviest.getTotalSize() ? chunk : heaviest;
      }
    }
    if (heaviest == null || bytes <= mostBytes || heaviest.getOffsetIndexReference() == null) {
      return List.of(this);
    }
    OffsetIndex pages = file.getColumnIndexStore(rowGroup).getOffsetIndex(heaviest.getPath());
    return cut(pages, Math.max(mostBytes * heaviest.getTotalSize() / bytes, 1));
  }

  private List<Portion> cut(OffsetIndex pages, long mostBytes) {
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
      RowRanges part = RowRanges.intersection(rows, ranges(first, next, pages));
      if (part.rowCount() > 0) {
        portions.add(new Portion(file, rowGroup, part));
      }
      first = next;
    }
    return portions;
  }

  private BlockMetaData block() {
    return file.getRowGroups().get(rowGroup);
  }

  private RowRanges ranges(int firstPage, int endPage, OffsetIndex pages) {
    PrimitiveIterator.OfInt numbers = IntStream.range(firstPage, endPage).iterator();
    return RowRanges.create(block().getRowCount(), numbers, pages);
  }

  /**
   * The rows that stand at some positions in their file.
   *
   * @param firstOfRowGroup the position of the first row of the row group
   */
  public Portion at(RoaringBitmap positions, long firstOfRowGroup) {
    Picked picked = new Picked(positions);
    for (RowRanges.Range range : rows.getRanges()) {
      picked.add(firstOfRowGroup + range.from, range);
    }
    return of(picked);
  }

  /**
   * The rows that have some numbers.
   *
   * @param firstNumber that of the first row of this portion; the others follow without a gap
   */
  public Portion numbered(RoaringBitmap numbers, long firstNumber) {
    Picked picked = new Picked(numbers);
    long number = firstNumber;
    for (RowRanges.Range range : rows.getRanges()) {
      picked.add(number, range);
      number += range.to - range.from + 1;
    }
    return of(picked);
  }

  private Portion of(Picked picked) {
    List<long[]> stretches = picked.stretches;
    return new Portion(file, rowGroup, ranges(0, stretches.size(), new Stretches(stretches)));
  }

  /** Stretches of rows, picked by bits that stand for them. */
  private static final class Picked {
    private final List<long[]> stretches = new ArrayList<>();
    private final PeekableIntIterator bits;
    private long @Nullable [] last;

    Picked(RoaringBitmap bits) {
      this.bits = bits.getIntIterator();
    }

    /**
     * Picks rows of a range; ranges come in order.
     *
     * @param bit that stands for the first row of the range
     */
    void add(long bit, RowRanges.Range range) {
      long end = bit + range.to - range.from + 1;
      bits.advanceIfNeeded((int) bit);
      while (bits.hasNext() && bits.peekNext() < end) {
        long row = range.from + bits.next() - bit;
        if (last != null && last[1] + 1 == row) {
          last[1] = row;
        } else {
          last = new long[] {row, row};
          stretches.add(last);
        }
      }
    }
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
