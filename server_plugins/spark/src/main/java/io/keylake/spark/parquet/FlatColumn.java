package io.keylake.spark.parquet;

import io.keylake.spark.vectors.PageVector;
import io.keylake.tables.FileDamage;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Set;
import org.apache.parquet.bytes.ByteBufferAllocator;
import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.bytes.HeapByteBufferAllocator;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.column.page.DataPage;
import org.apache.parquet.column.page.DataPageV1;
import org.apache.parquet.column.page.DataPageV2;
import org.apache.parquet.column.page.DictionaryPage;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.column.page.PageReader;
import org.apache.spark.sql.types.DataType;
import org.jspecify.annotations.Nullable;

/**
 * One column of numbers or texts of a file, decoded to the places where its values lie in its
 * pages. Spark's decoder copies each value, which for texts takes longer than all else that it
 * does, and looks at each stretch of nulls.
 */
final class FlatColumn {
  /** Ways to write values that others may choose, and that are not read here. */
  static final Set<Encoding> NOT_READ =
      Set.of(
          Encoding.DELTA_BINARY_PACKED,
          Encoding.DELTA_LENGTH_BYTE_ARRAY,
          Encoding.DELTA_BYTE_ARRAY,
          Encoding.BYTE_STREAM_SPLIT);

  private static final ByteBufferAllocator HEAP = HeapByteBufferAllocator.getInstance();
  private static final byte[] NO_BYTES = {};

  private final ColumnDescriptor column;
  private final int width; // of a value, in bytes; 0 for texts
  private final int[] places;
  private final int[] numbers;
  private final PageVector values;
  private @Nullable PageReader pages;
  private int rowGroup;
  private byte[] dictionary = NO_BYTES;
  private int[] entries = {};

  private byte[] page = NO_BYTES;
  private int at; // of the next value, in a page without a dictionary
  private int end;
  private @Nullable PackedNumbers numbered; // the values of a page with a dictionary
  private @Nullable PackedNumbers levels; // 1 where a row has a value; null where all have
  private long nextRow;
  private long endRow;

  /**
   * @param column flat: it is not repeated, and what may be null in it is its value
   */
  FlatColumn(ColumnDescriptor column, DataType type, int batchRows) {
    this.column = column;
    this.width =
        switch (column.getPrimitiveType().getPrimitiveTypeName()) {
          case INT32, FLOAT -> Integer.BYTES;
          case INT64, DOUBLE -> Long.BYTES;
          default -> 0;
        };
    this.places = new int[batchRows];
    this.numbers = new int[batchRows];
    this.values = new PageVector(type, places);
  }

  PageVector values() {
    return values;
  }

  /** Begins other pages, of a row group that may have another dictionary. */
  void begin(PageReadStore store, int number) throws IOException {
    PageReader reader = store.getPageReader(column);
    pages = reader;
    rowGroup = number;
    nextRow = 0;
    endRow = 0;
    DictionaryPage entryPage = reader.readDictionaryPage();
    if (entryPage == null) {
      dictionary = NO_BYTES;
      return;
    }
    ByteBuffer bytes = bytes(entryPage.getBytes());
    dictionary = bytes.array();
    entries = new int[entryPage.getDictionarySize()];
    at = begin(bytes);
    end = end(bytes);
    findValues(dictionary, entries, 0, entries.length);
  }

  /**
   * The next batch: rows that follow each other.
   *
   * @param first number of the first row in its row group
   */
  void read(long first, int count) throws IOException {
    values.clear();
    int done = 0;
    while (done < count) {
      find(first + done);
      int many = (int) Math.min(count - done, endRow - nextRow);
      decode(done, many);
      done += many;
    }
  }

  /**
   * The next batch: any rows.
   *
   * @param rows their numbers in their row group, in order
   */
  void read(long[] rows, int count) throws IOException {
    values.clear();
    int done = 0;
    while (done < count) {
      find(rows[done]);
      int many = 1;
      while (done + many < count
          && rows[done + many] == rows[done] + many
          && rows[done + many] < endRow) {
        many++;
      }
      decode(done, many);
      done += many;
    }
  }

  /** Goes to a row. Pages without rows that are read may be missing, or not. */
  private void find(long row) throws IOException {
    while (row >= endRow) {
      DataPage next = pages == null ? null : pages.readPage();
      if (next == null) {
        throw damaged("ends before row " + row);
      }
      nextRow = next.getFirstRowIndex().orElse(endRow);
      endRow = nextRow + next.getValueCount();
      if (row < endRow) {
        open(next);
      }
    }
    skip((int) (row - nextRow));
  }

  private void open(DataPage next) throws IOException {
    levels = null;
    if (next instanceof DataPageV1 old) {
      ByteBuffer bytes = bytes(old.getBytes());
      int begin = begin(bytes);
      if (column.getMaxDefinitionLevel() > 0) {
        levels = new PackedNumbers(bytes.array(), begin + Integer.BYTES, 1);
        begin += Integer.BYTES + PageVector.intAt(bytes.array(), begin);
      }
      open(old.getValueEncoding(), bytes, begin);
    } else {
      DataPageV2 now = (DataPageV2) next;
      if (now.getNullCount() > 0) {
        ByteBuffer packed = bytes(now.getDefinitionLevels());
        levels = new PackedNumbers(packed.array(), begin(packed), 1);
      }
      ByteBuffer bytes = bytes(now.getData());
      open(now.getDataEncoding(), bytes, begin(bytes));
    }
  }

  private void open(Encoding encoding, ByteBuffer bytes, int begin) throws IOException {
    at = begin;
    end = end(bytes);
    if (encoding == Encoding.PLAIN) {
      page = bytes.array();
      numbered = null;
    } else if (encoding.usesDictionary()) {
      page = dictionary;
      // A page without values need not say how many bits their numbers have.
      numbered =
          begin < end
              ? new PackedNumbers(bytes.array(), begin + 1, bytes.array()[begin])
              : new PackedNumbers(NO_BYTES, 0, 0);
    } else {
      throw damaged("is encoded as " + encoding);
    }
  }

  private void skip(int rows) throws IOException {
    nextRow += rows;
    int left = levels == null ? rows : levels.skipOnes(rows);
    if (numbered != null) {
      numbered.skip(left);
    } else if (width > 0) {
      at += left * width;
    } else {
      while (left > 0) {
        int many = Math.min(left, numbers.length);
        findValues(page, numbers, 0, many);
        left -= many;
      }
    }
  }

  /** Finds the places of the next rows, which are on the page. */
  private void decode(int first, int rows) throws IOException {
    nextRow += rows;
    if (levels == null) {
      readValues(places, first, rows);
      values.add(page, rows, false);
      return;
    }
    levels.read(places, first, rows);
    int many = 0;
    for (int i = first; i < first + rows; i++) {
      many += places[i];
    }
    if (many == rows) {
      readValues(places, first, rows);
    } else {
      readValues(numbers, 0, many);
      int value = 0;
      for (int i = first; i < first + rows; i++) {
        places[i] = places[i] == 0 ? PageVector.NULL : numbers[value++];
      }
    }
    values.add(page, rows, many < rows);
  }

  private void readValues(int[] into, int first, int count) throws IOException {
    if (numbered == null) {
      findValues(page, into, first, count);
      return;
    }
    numbered.read(into, first, count);
    for (int i = first; i < first + count; i++) {
      into[i] = entries[into[i]];
    }
  }

  /** The places of the next values, as they follow each other. */
  private void findValues(byte[] bytes, int[] into, int first, int count) throws IOException {
    if (width > 0) {
      if (count > (end - at) / width) {
        throw damaged("has fewer values than its page says");
      }
      for (int i = 0; i < count; i++) {
        into[first + i] = at + i * width;
      }
      at += count * width;
      return;
    }
    int place = at;
    for (int i = first; i < first + count; i++) {
      int length = end - place < PageVector.BYTES_OF_LENGTH ? -1 : PageVector.intAt(bytes, place);
      place += PageVector.BYTES_OF_LENGTH;
      if (length < 0 || length > end - place) {
        throw damaged("has a text that ends outside its page");
      }
      into[i] = place;
      place += length;
    }
    at = place;
  }

  private FileDamage damaged(String how) {
    return new FileDamage(
        "column %s of row group %d %s"
            .formatted(String.join(".", column.getPath()), rowGroup, how));
  }

  private static ByteBuffer bytes(BytesInput input) {
    ByteBuffer bytes = input.toByteBuffer(HEAP, buffer -> {});
    return bytes.hasArray() ? bytes : ByteBuffer.allocate(bytes.remaining()).put(bytes).flip();
  }

  private static int begin(ByteBuffer bytes) {
    return bytes.arrayOffset() + bytes.position();
  }

  private static int end(ByteBuffer bytes) {
    return bytes.arrayOffset() + bytes.limit();
  }
}
