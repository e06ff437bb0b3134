package io.keylake.spark.parquet;

import io.keylake.spark.vectors.TextVector;
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
import org.jspecify.annotations.Nullable;

/**
 * The pages of one text column of a file, decoded to the places where texts lie in them. Spark's
 * decoder copies each text out of its page, which takes longer than everything else that it does.
 */
final class TextColumn {
  /** Ways to write texts that others may choose, and that are not read here. */
  static final Set<Encoding> NOT_READ =
      Set.of(Encoding.DELTA_LENGTH_BYTE_ARRAY, Encoding.DELTA_BYTE_ARRAY);

  private static final ByteBufferAllocator HEAP = HeapByteBufferAllocator.getInstance();
  private static final byte[] NO_BYTES = {};

  private final ColumnDescriptor column;
  private final TextVector texts;
  private @Nullable PageReader pages;
  private byte[] dictionary = NO_BYTES;
  private int[] entries = {};
  private byte[] page = NO_BYTES;
  private int[] places = {}; // of the texts of the page, row by row
  private int[] numbers = {};
  private long firstRow;
  private long endRow;

  /**
   * @param column flat: it is not repeated, and what may be null in it is its value
   */
  TextColumn(ColumnDescriptor column, int batchRows) {
    this.column = column;
    this.texts = new TextVector(batchRows);
  }

  TextVector texts() {
    return texts;
  }

  /** Begins other pages, of a row group that may have another dictionary. */
  void begin(PageReadStore store) throws IOException {
    PageReader reader = store.getPageReader(column);
    pages = reader;
    firstRow = 0;
    endRow = 0;
    DictionaryPage entryPage = reader.readDictionaryPage();
    if (entryPage == null) {
      dictionary = NO_BYTES;
      return;
    }
    ByteBuffer bytes = bytes(entryPage.getBytes());
    dictionary = bytes.array();
    entries = new int[entryPage.getDictionarySize()];
    addTexts(dictionary, begin(bytes), end(bytes), entries, entries.length);
  }

  /**
   * The next batch: rows that follow each other.
   *
   * @param first number of the first row in its row group
   */
  void read(long first, int count) throws IOException {
    texts.clear();
    int done = 0;
    while (done < count) {
      findPage(first + done);
      int many = (int) Math.min(count - done, endRow - first - done);
      texts.append(page, places, (int) (first + done - firstRow), many);
      done += many;
    }
  }

  /**
   * The next batch: any rows.
   *
   * @param rows their numbers in their row group, in order
   */
  void read(long[] rows, int count) throws IOException {
    texts.clear();
    for (int i = 0; i < count; i++) {
      findPage(rows[i]);
      texts.append(page, places, (int) (rows[i] - firstRow), 1);
    }
  }

  /** Pages without rows that are read may be missing, or not. */
  private void findPage(long row) throws IOException {
    while (row >= endRow) {
      DataPage next = pages == null ? null : pages.readPage();
      if (next == null) {
        throw damaged("ends before row " + row);
      }
      firstRow = next.getFirstRowIndex().orElse(endRow);
      endRow = firstRow + next.getValueCount();
      if (row < endRow) {
        decode(next);
      }
    }
  }

  private void decode(DataPage next) throws IOException {
    int rows = next.getValueCount();
    places = PackedNumbers.room(places, rows);
    if (next instanceof DataPageV1 old) {
      ByteBuffer bytes = bytes(old.getBytes());
      int at = begin(bytes);
      boolean mayBeNull = column.getMaxDefinitionLevel() > 0;
      if (mayBeNull) {
        int length = TextVector.length(bytes.array(), at);
        at += Integer.BYTES;
        PackedNumbers.unpack(bytes.array(), at, 1, places, rows);
        at += length;
      }
      decode(old.getValueEncoding(), bytes, at, rows, mayBeNull);
    } else {
      DataPageV2 now = (DataPageV2) next;
      boolean mayBeNull = now.getNullCount() > 0;
      if (mayBeNull) {
        ByteBuffer levels = bytes(now.getDefinitionLevels());
        PackedNumbers.unpack(levels.array(), begin(levels), 1, places, rows);
      }
      ByteBuffer bytes = bytes(now.getData());
      decode(now.getDataEncoding(), bytes, begin(bytes), rows, mayBeNull);
    }
  }

  /**
   * @param mayBeNull whether the places say, by a 1, which rows have a text
   */
  private void decode(Encoding encoding, ByteBuffer bytes, int at, int rows, boolean mayBeNull)
      throws IOException {
    int texts = rows;
    if (mayBeNull) {
      texts = 0;
      for (int i = 0; i < rows; i++) {
        texts += places[i];
      }
    }
    numbers = PackedNumbers.room(numbers, texts);
    if (encoding == Encoding.PLAIN) {
      page = bytes.array();
      addTexts(page, at, end(bytes), numbers, texts);
    } else if (!encoding.usesDictionary()) {
      throw damaged("is encoded as " + encoding);
    } else {
      page = dictionary;
      if (texts > 0) {
        PackedNumbers.unpack(bytes.array(), at + 1, bytes.array()[at], numbers, texts);
      }
      for (int i = 0; i < texts; i++) {
        numbers[i] = entries[numbers[i]];
      }
    }
    if (texts == rows) {
      int[] swapped = places;
      places = numbers;
      numbers = swapped;
    } else {
      int text = 0;
      for (int i = 0; i < rows; i++) {
        places[i] = places[i] == 0 ? TextVector.NULL : numbers[text++];
      }
    }
  }

  /** Where texts begin that follow each other, each after its length. */
  private void addTexts(byte[] bytes, int begin, int end, int[] into, int count)
      throws IOException {
    int at = begin;
    for (int i = 0; i < count; i++) {
      int length = end - at < TextVector.BYTES_OF_LENGTH ? -1 : TextVector.length(bytes, at);
      at += TextVector.BYTES_OF_LENGTH;
      if (length < 0 || length > end - at) {
        throw damaged("has a text that ends outside its page");
      }
      into[i] = at;
      at += length;
    }
  }

  private IOException damaged(String how) {
    return new IOException("column " + String.join(".", column.getPath()) + " " + how);
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
