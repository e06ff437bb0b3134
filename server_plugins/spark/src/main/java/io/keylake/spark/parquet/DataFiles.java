package io.keylake.spark.parquet;

import io.keylake.spark.columnfilters.AskedFile;
import io.keylake.spark.integrity.PageChecksums;
import io.keylake.tables.StoreFailure;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.io.FileIO;
import org.apache.parquet.ParquetReadOptions;
import org.apache.parquet.conf.PlainParquetConfiguration;
import org.apache.parquet.filter2.compat.FilterCompat;
import org.apache.parquet.filter2.predicate.FilterPredicate;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.io.InputFile;
import org.apache.parquet.io.SeekableInputStream;
import org.apache.parquet.schema.MessageType;
import org.jspecify.annotations.Nullable;
import org.roaringbitmap.RoaringBitmap;

/**
 * The data files of one task: opens them, counts what that costs, and shares its memory among those
 * that are open at once.
 */
public final class DataFiles {
  public static final int BATCH_ROWS = 4096;

  /** More would only be more garbage to collect: reading ahead is the file system's affair. */
  private static final long MOST_OPEN_BYTES = 256L << 20;

  /** Compressed pages, unpacked pages and decoded values of all tasks take a few times that. */
  private static final int SHARE_OF_HEAP = 16;

  private static final int WORST_COMPRESSION = 4;

  private final FileIO io;
  private final ReadCounters counters;
  private final Map<String, RoaringBitmap> wanted;

  public DataFiles(FileIO io, ReadCounters counters) {
    this(io, counters, Map.of());
  }

  private DataFiles(FileIO io, ReadCounters counters, Map<String, RoaringBitmap> wanted) {
    this.io = io;
    this.counters = counters;
    this.wanted = wanted;
  }

  /**
   * The same files with some of their rows.
   *
   * @param rows their positions, by the location of the file; all of files that are not in it
   */
  public DataFiles with(Map<String, RoaringBitmap> rows) {
    return new DataFiles(io, counters, rows);
  }

  /** Few rows of some files are read: each costs the page that it lies in. */
  public boolean areCut() {
    return !wanted.isEmpty();
  }

  ReadCounters counters() {
    return counters;
  }

  /**
   * The number of bytes of compressed pages that each of some files may hold.
   *
   * @param files how many are open at once
   */
  public static long bytesEach(int files) {
    long all = Math.min(MOST_OPEN_BYTES, Runtime.getRuntime().maxMemory() / SHARE_OF_HEAP);
    return Math.max(all / files, 1);
  }

  /**
   * The number of rows that a batch may have where unpacked values grow as much as they can.
   *
   * @param open how many files are open at once
   */
  public static int fittingRows(List<StoredFile> files, int open, int most) {
    long rows = Math.max(files.stream().mapToLong(StoredFile::rows).sum(), 1);
    long bytes = files.stream().mapToLong(StoredFile::bytes).sum();
    long fitting = bytesEach(open) / Math.max(WORST_COMPRESSION * bytes / rows, 1);
    return (int) Math.max(Math.min(most, fitting), 1);
  }

  /**
   * An open file.
   *
   * @param filters of its columns; null where it has none
   */
  public record Opened(
      InputFile input,
      SeekableInputStream stream,
      ParquetMetadata footer,
      @Nullable AskedFile filters) {

    /** The file without the row groups that filters of its keys leave out. */
    Opened asked(@Nullable FilterPredicate predicate) {
      if (filters == null || predicate == null) {
        return this;
      }
      ParquetMetadata left =
          new ParquetMetadata(footer.getFileMetaData(), filters.thatMayHave(footer, predicate));
      return new Opened(input, stream, left, filters);
    }

    /** Reads pages of the row groups that may have what the predicate wants; null wants all. */
    public ParquetFileReader pages(@Nullable FilterPredicate predicate) throws IOException {
      long most =
          footer.getBlocks().stream()
              .flatMap(rowGroup -> rowGroup.getColumns().stream())
              .mapToLong(ColumnChunkMetaData::getTotalUncompressedSize)
              .max()
              .orElse(0);
      return new ParquetFileReader(input, footer, options(predicate, most), stream);
    }
  }

  /** The footer alone, which the reader that opens the file next finds in memory. */
  ParquetMetadata footer(StoredFile file) throws IOException {
    Opened opened = open(file);
    opened.stream().close();
    return opened.footer();
  }

  /**
   * A file may have rows that pass a filter of one column, as far as its filters of columns tell.
   *
   * @param field id of the column, whatever its name was then
   * @param isOfOthers whether rows of a file without the column pass
   */
  public boolean mayHave(StoredFile file, FileFilter filter, int field, boolean isOfOthers)
      throws IOException {
    Opened opened = open(file);
    try {
      MessageType schema = opened.footer().getFileMetaData().getSchema();
      boolean hasColumn =
          schema.getFields().stream()
              .anyMatch(column -> column.getId() != null && column.getId().intValue() == field);
      return hasColumn
          ? !opened.asked(filter.on(schema)).footer().getBlocks().isEmpty()
          : isOfOthers;
    } catch (RuntimeException e) {
      throw StoreFailure.reading(file.location(), e);
    } finally {
      opened.stream().close();
    }
  }

  /** Counts files whose rows are not looked at. */
  public void leaveOut(int number) {
    counters.filesLeftOut += number;
  }

  Opened open(StoredFile file) throws IOException {
    IcebergInput input =
        new IcebergInput(io.newInputFile(file.location(), file.bytes()), file.bytes(), counters);
    IcebergInput.Stream stream = input.newStream();
    try {
      Footers.Known known = Footers.of(file, input, options(null, 0), stream);
      return new Opened(input, stream, known.footer(), known.filters());
    } catch (IOException | RuntimeException e) {
      stream.close();
      throw StoreFailure.reading(file.location(), e);
    }
  }

  /** Opens a file with its footer as the store has it now; the footer is not checked. */
  public Opened openAnew(StoredFile file) {
    IcebergInput input =
        new IcebergInput(io.newInputFile(file.location(), file.bytes()), file.bytes(), counters);
    IcebergInput.Stream stream = input.newStream();
    boolean isReady = false;
    try {
      Opened opened =
          new Opened(input, stream, Footers.anew(file, input, options(null, 0), stream), null);
      isReady = true;
      return opened;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      if (!isReady) {
        close(stream);
      }
    }
  }

  private static void close(SeekableInputStream stream) {
    try {
      stream.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A file has a row that is not left out. */
  public boolean hasRows(StoredFile file) {
    RoaringBitmap rows = wanted.get(file.location());
    return file.liveRows() > 0 && (rows == null || !rows.isEmpty());
  }

  /** The number of rows of a file that are not left out, if it has none that are superseded. */
  public long rows(StoredFile file) {
    RoaringBitmap rows = wanted.get(file.location());
    return rows == null ? file.liveRows() : rows.getLongCardinality();
  }

  /** The rows of a file that are not to be left out, by their position; null for all of them. */
  public @Nullable RoaringBitmap shown(StoredFile file) throws IOException {
    RoaringBitmap superseded = Superseded.of(this, io, file);
    RoaringBitmap rows = wanted.get(file.location());
    if (superseded == null) {
      return rows;
    }
    RoaringBitmap others = RoaringBitmap.flip(superseded, 0L, file.rows());
    if (rows != null) {
      others.and(rows);
    }
    return others;
  }

  /**
   * @param mostPageBytes what a page may say that it has when it is unpacked
   */
  private static ParquetReadOptions options(
      @Nullable FilterPredicate predicate, long mostPageBytes) {
    ParquetReadOptions.Builder options =
        ParquetReadOptions.builder(new PlainParquetConfiguration());
    if (predicate != null) {
      options.withRecordFilter(FilterCompat.get(predicate));
    }
    return options
        .withCodecFactory(new PageCodecs(mostPageBytes))
        .usePageChecksumVerification(PageChecksums.areVerified())
        .build();
  }
}
