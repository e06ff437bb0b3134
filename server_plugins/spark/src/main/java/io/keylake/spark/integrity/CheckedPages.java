package io.keylake.spark.integrity;

import io.keylake.tables.FileDamage;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.PrimitiveIterator;
import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.bytes.HeapByteBufferAllocator;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.column.EncodingStats;
import org.apache.parquet.column.page.DataPage;
import org.apache.parquet.column.page.DataPageV1;
import org.apache.parquet.column.page.DataPageV2;
import org.apache.parquet.column.page.DictionaryPage;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.column.page.PageReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.metadata.ColumnPath;
import org.apache.parquet.hadoop.metadata.FileMetaData;
import org.jspecify.annotations.Nullable;

/**
 * Pages whose headers agree with the footer and the index of pages. A checksum of Parquet covers
 * what follows the header of a page, so the header is compared with what is said elsewhere:
 *
 * <ol>
 *   <li>A page of a flat column has as many values as the index says that it has rows. Where all
 *       pages of a column are read, their values are counted, by parquet-java itself.
 *   <li>The first pages of a column use its dictionary, as many as its footer says, and the others
 *       do not.
 *   <li>A dictionary has as many entries as its bytes make.
 * </ol>
 *
 * <p>Its sizes are checked by unpacking, since a page is unpacked to exactly the size that it
 * states. All this holds for files of parquet-java, which is what all writers of keylake's server
 * use; pages of others are passed on.
 */
public final class CheckedPages implements PageReadStore {
  private final PageReadStore pages;
  private final int rowGroup;
  private final Index index;
  private final Map<ColumnPath, ColumnChunkMetaData> chunks = new HashMap<>();

  /** Says the number of the page of a column that begins with some row. */
  public interface Index {
    int ordinal(ColumnPath column, long firstRow);
  }

  private CheckedPages(PageReadStore pages, int rowGroup, BlockMetaData block, Index index) {
    this.pages = pages;
    this.rowGroup = rowGroup;
    this.index = index;
    block.getColumns().forEach(chunk -> chunks.put(chunk.getPath(), chunk));
  }

  /** The same pages, checked where their writer is known. */
  public static PageReadStore of(
      PageReadStore pages, FileMetaData file, int rowGroup, BlockMetaData block, Index index) {
    return CheckedFooter.isOfParquetJava(file)
        ? new CheckedPages(pages, rowGroup, block, index)
        : pages;
  }

  @Override
  public PageReader getPageReader(ColumnDescriptor column) {
    ColumnChunkMetaData chunk = chunks.get(ColumnPath.get(column.getPath()));
    PageReader reader = pages.getPageReader(column);
    return chunk == null ? reader : new Reader(reader, column, chunk);
  }

  @Override
  public long getRowCount() {
    return pages.getRowCount();
  }

  @Override
  public Optional<Long> getRowIndexOffset() {
    return pages.getRowIndexOffset();
  }

  @Override
  public Optional<PrimitiveIterator.OfLong> getRowIndexes() {
    return pages.getRowIndexes();
  }

  @Override
  public void close() {
    pages.close();
  }

  private final class Reader implements PageReader {
    private final PageReader reader;
    private final ColumnDescriptor column;
    private final ColumnChunkMetaData chunk;
    private int read;

    Reader(PageReader reader, ColumnDescriptor column, ColumnChunkMetaData chunk) {
      this.reader = reader;
      this.column = column;
      this.chunk = chunk;
    }

    @Override
    public long getTotalValueCount() {
      return reader.getTotalValueCount();
    }

    /** Bytes of a page that was packed can be taken once, so the page is given anew. */
    @Override
    public @Nullable DictionaryPage readDictionaryPage() {
      DictionaryPage page = reader.readDictionaryPage();
      if (page == null) {
        return null;
      }
      ByteBuffer bytes =
          page.getBytes().toByteBuffer(HeapByteBufferAllocator.getInstance(), buffer -> {});
      int entries = page.getDictionarySize();
      if (!isFull(bytes.slice().order(ByteOrder.LITTLE_ENDIAN), entries)) {
        throw damaged("states %d entries of its dictionary", entries);
      }
      return new DictionaryPage(BytesInput.from(bytes), entries, page.getEncoding());
    }

    private boolean isFull(ByteBuffer bytes, long entries) {
      int width =
          switch (column.getPrimitiveType().getPrimitiveTypeName()) {
            case INT32, FLOAT -> Integer.BYTES;
            case INT64, DOUBLE -> Long.BYTES;
            case INT96 -> Integer.BYTES + Long.BYTES;
            case FIXED_LEN_BYTE_ARRAY -> column.getPrimitiveType().getTypeLength();
            case BOOLEAN, BINARY -> 0;
          };
      if (width > 0) {
        return entries * width == bytes.limit();
      }
      int at = 0;
      long left = entries;
      while (left > 0 && bytes.limit() - at >= Integer.BYTES) {
        int length = bytes.getInt(at);
        if (length < 0 || length > bytes.limit() - at - Integer.BYTES) {
          return false;
        }
        at += Integer.BYTES + length;
        left--;
      }
      return left == 0 && at == bytes.limit();
    }

    @Override
    public @Nullable DataPage readPage() {
      DataPage page = reader.readPage();
      if (page == null) {
        return null;
      }
      Optional<Long> first = page.getFirstRowIndex();
      int ordinal = first.map(row -> index.ordinal(chunk.getPath(), row)).orElse(read);
      read++;
      checkCount(page);
      checkEncoding(
          page instanceof DataPageV1 old
              ? old.getValueEncoding()
              : ((DataPageV2) page).getDataEncoding(),
          ordinal);
      return page;
    }

    private void checkCount(DataPage page) {
      int values = page.getValueCount();
      boolean isFlat = column.getMaxRepetitionLevel() == 0;
      if (values < 0
          || values > chunk.getValueCount()
          || isFlat && page.getIndexRowCount().orElse(values) != values) {
        throw damaged("states %d values of a page", values);
      }
      if (page instanceof DataPageV2 now
          && (now.getNullCount() < 0 || now.getNullCount() > values)) {
        throw damaged("states %d nulls of a page", now.getNullCount());
      }
    }

    private void checkEncoding(Encoding encoding, int ordinal) {
      EncodingStats stated = chunk.getEncodingStats();
      if (stated == null) {
        return;
      }
      int withDictionary = 0;
      for (Encoding each : stated.getDataEncodings()) {
        withDictionary += each.usesDictionary() ? stated.getNumDataPagesEncodedAs(each) : 0;
      }
      if (!stated.getDataEncodings().contains(encoding)
          || encoding.usesDictionary() != ordinal < withDictionary) {
        throw damaged("states the encoding %s of a page", encoding);
      }
    }

    private RuntimeException damaged(String how, Object value) {
      return new UncheckedIOException(
          new FileDamage(
              "column %s of row group %d %s"
                  .formatted(chunk.getPath().toDotString(), rowGroup, how.formatted(value))));
    }
  }
}
