package io.keylake.spark.parquet;

import io.keylake.spark.columnfilters.AskedFile;
import io.keylake.spark.columnfilters.ColumnFilters;
import io.keylake.spark.integrity.CheckedFooter;
import io.keylake.spark.integrity.FooterChecksum;
import io.keylake.spark.integrity.PageChecksums;
import io.keylake.tables.FileDamage;
import io.keylake.tables.cache.BoundedCache;
import io.keylake.tables.cache.CacheKind;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.ParquetReadOptions;
import org.apache.parquet.column.statistics.Statistics;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.metadata.FileMetaData;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.schema.MessageType;
import org.jspecify.annotations.Nullable;

/**
 * Footers of data files, kept by the process: tasks of one query, and queries one after the other,
 * open the same files.
 *
 * <p>A writer of Iceberg gives each file a name of its own and never changes it. A file of this
 * machine that somebody has put in the place of another is told by its time. Of a store it is not,
 * since asking for the time takes as long as reading the footer.
 *
 * <p>Files of one schema share it. What writers have noted beside it, such as the schema of the
 * table as text, is of no use to readers, and left out.
 */
final class Footers {
  private static final int SHARE_OF_HEAP_FOR_SCHEMAS = 256;
  private static final int BYTES_OF_CHUNK = 500;
  private static final int BYTES_OF_FILE = 500;
  private static final int BYTES_OF_COLUMN = 700;

  private static final long NO_FILTER = -1;
  private static final int BYTES_BEHIND_FOOTER = 8; // its length, and four letters

  private static final BoundedCache<Place, Footer> FOOTERS =
      BoundedCache.ofHeap(
          CacheKind.FOOTERS, (place, footer) -> place.location().length() + bytes(footer));
  private static final BoundedCache<Place, byte[]> INDEXES =
      BoundedCache.ofHeap(
          CacheKind.PAGE_INDEXES,
          (place, indexes) -> (long) place.location().length() + indexes.length);
  private static final BoundedCache<MessageType, MessageType> SCHEMAS =
      BoundedCache.ofHeap(
          SHARE_OF_HEAP_FOR_SCHEMAS,
          (schema, same) -> (long) BYTES_OF_COLUMN * schema.getPaths().size());

  private Footers() {}

  /**
   * @param changed in milliseconds; 0 where that is not known
   */
  private record Place(String location, long bytes, long changed) {
    static Place of(StoredFile file) {
      URI uri = new Path(file.location()).toUri();
      boolean isHere = uri.getScheme() == null || uri.getScheme().equals("file");
      long changed = isHere ? new File(uri.getPath()).lastModified() : 0;
      return new Place(file.location(), file.bytes(), changed);
    }
  }

  /**
   * @param begin of the footer in its file
   * @param checksum that it has of the indexes of pages and the filters of keys before it
   */
  private record Footer(
      ParquetMetadata content,
      long begin,
      @Nullable FooterChecksum checksum,
      @Nullable ColumnFilters filters) {

    /** The checksum of the indexes of pages alone. */
    @Nullable FooterChecksum ofIndexes() {
      return checksum == null || filters == null
          ? checksum
          : new FooterChecksum(checksum.begin(), filters.crcOfIndexes());
    }

    long endOfIndexes() {
      return filters == null ? begin : filters.begin();
    }
  }

  /**
   * The footer of a file, with what it says of filters.
   *
   * @param filters of its columns; null where it has none
   */
  record Known(ParquetMetadata footer, @Nullable AskedFile filters) {}

  /**
   * The footer of a file. The indexes of pages come out of the stream as they were written, from
   * now on, where the file has a checksum of them.
   *
   * @param stream to read the footer from, where it is not kept
   */
  static Known of(
      StoredFile file, IcebergInput input, ParquetReadOptions options, IcebergInput.Stream stream)
      throws IOException {
    Place place = Place.of(file);
    Footer footer = FOOTERS.get(place, () -> read(file, input, options, stream));
    FooterChecksum checksum = footer.ofIndexes();
    if (checksum != null && PageChecksums.areVerified()) {
      stream.give(
          checksum.begin(),
          footer.endOfIndexes(),
          () -> INDEXES.get(place, () -> bytes(footer.endOfIndexes(), checksum, stream)));
    }
    ColumnFilters filters = footer.filters();
    return new Known(
        footer.content(),
        filters == null ? null : new AskedFile(place.toString(), filters, stream::bytes));
  }

  /**
   * The footer as it is in the store now, with what its writer has noted; the indexes of pages and
   * the filters of keys are compared with their checksum, and nothing else is.
   */
  static ParquetMetadata anew(
      StoredFile file, IcebergInput input, ParquetReadOptions options, IcebergInput.Stream stream)
      throws IOException {
    try {
      Footer footer = decoded(file.bytes(), input, options, stream);
      FooterChecksum checksum = footer.checksum();
      if (checksum != null) {
        bytes(footer.begin(), checksum, stream);
      }
      return footer.content();
    } catch (IOException | RuntimeException e) {
      if (FileDamage.isShownBy(e)) {
        throw FileDamage.of("its footer", e);
      }
      throw e;
    }
  }

  /** All of them at once, which few requests to a store are; they are small beside the pages. */
  private static byte[] bytes(long end, FooterChecksum checksum, IcebergInput.Stream stream)
      throws IOException {
    int length = Math.toIntExact(end - checksum.begin());
    byte[] bytes = stream.bytes(checksum.begin(), length);
    try {
      checksum.check(bytes);
    } catch (FileDamage e) {
      throw new UncheckedIOException(e); // any other one is a file without indexes to Parquet
    }
    return bytes;
  }

  private static Footer read(
      StoredFile file, IcebergInput input, ParquetReadOptions options, IcebergInput.Stream stream)
      throws IOException {
    Footer footer;
    try {
      footer = decoded(file.bytes(), input, options, stream);
    } catch (IOException | RuntimeException e) {
      if (FileDamage.isShownBy(e)) {
        throw FileDamage.of("its footer", e);
      }
      throw e;
    }
    CheckedFooter.check(footer.content(), file.rows(), file.bytes());
    CheckedFooter.checkName(footer.content().getFileMetaData(), file.location());
    ParquetMetadata content = shared(footer.content());
    ColumnFilters filters = footer.filters();
    if (filters != null) {
      content.getBlocks().forEach(rowGroup -> hide(filters, rowGroup));
    }
    return new Footer(content, footer.begin(), footer.checksum(), filters);
  }

  private static Footer decoded(
      long bytes, IcebergInput input, ParquetReadOptions options, IcebergInput.Stream stream)
      throws IOException {
    long end = bytes - BYTES_BEHIND_FOOTER;
    long begin = end;
    FooterChecksum checksum = null;
    if (end > 0) {
      byte[] length = stream.bytes(end, BYTES_BEHIND_FOOTER);
      begin = end - ByteBuffer.wrap(length).order(ByteOrder.LITTLE_ENDIAN).getInt();
      if (0 < begin && begin < end) {
        byte[] last = stream.bytes(begin, Math.toIntExact(bytes - begin));
        byte[] footer = Arrays.copyOf(last, last.length - BYTES_BEHIND_FOOTER);
        checksum = FooterChecksum.of(footer).orElse(null);
        stream.give(begin, bytes, () -> last);
      }
    }
    ParquetMetadata footer = ParquetFileReader.readFooter(input, options, stream);
    ColumnFilters filters =
        checksum == null
            ? null
            : ColumnFilters.of(footer.getFileMetaData().getKeyValueMetaData()).orElse(null);
    return new Footer(footer, begin, checksum, filters);
  }

  /** Parquet's reader would read these filters as a whole, and take them as they are. */
  private static void hide(ColumnFilters filters, BlockMetaData rowGroup) {
    for (ColumnChunkMetaData chunk : rowGroup.getColumns()) {
      if (chunk.getBloomFilterOffset() >= filters.begin()) {
        chunk.setBloomFilterOffset(NO_FILTER);
      }
    }
  }

  private static ParquetMetadata shared(ParquetMetadata footer) throws IOException {
    FileMetaData file = footer.getFileMetaData();
    MessageType schema =
        SCHEMAS.get(
            file.getSchema(),
            () -> {
              CheckedFooter.checkColumns(file);
              return file.getSchema();
            });
    return new ParquetMetadata(
        new FileMetaData(schema, Map.of(), file.getCreatedBy()), footer.getBlocks());
  }

  private static long bytes(Footer footer) {
    ColumnFilters filters = footer.filters();
    return BYTES_OF_FILE
        + (filters == null ? 0 : filters.bytesInMemory())
        + footer.content().getBlocks().stream()
            .flatMap(rowGroup -> rowGroup.getColumns().stream())
            .mapToLong(Footers::bytes)
            .sum();
  }

  /** The least and the greatest value may be long texts. */
  private static long bytes(ColumnChunkMetaData chunk) {
    Statistics<?> values = chunk.getStatistics();
    return BYTES_OF_CHUNK
        + (values != null && values.hasNonNullValue()
            ? values.getMinBytes().length + values.getMaxBytes().length
            : 0);
  }
}
