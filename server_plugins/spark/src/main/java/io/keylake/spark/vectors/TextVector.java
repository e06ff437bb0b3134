package io.keylake.spark.vectors;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;

/**
 * A stored column of text, which stays in the pages of its file: Parquet writes the length of a
 * text, in four bytes, and then its bytes, in pages of values and in dictionaries alike. So the
 * place where the bytes begin says all about a text.
 */
public final class TextVector extends ReadOnlyVector {
  /** Instead of the place of a text. */
  public static final int NULL = -1;

  /** How many bytes say how long a text is. */
  public static final int BYTES_OF_LENGTH = Integer.BYTES;

  static final int NOT_COPIED = -1;
  private static final VarHandle LENGTH =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

  private final int[] places;
  private byte[][] pages = new byte[2][];
  private int[] ends = new int[2]; // the number of the row after the last one of each page
  private int pagesUsed;
  private int rows;

  /**
   * @param capacity rows of a batch
   */
  public TextVector(int capacity) {
    super(DataTypes.StringType);
    places = new int[capacity];
  }

  /** The length that is written at a place. */
  public static int length(byte[] page, int at) {
    return (int) LENGTH.get(page, at);
  }

  /** Begins another batch. */
  public void clear() {
    Arrays.fill(pages, 0, pagesUsed, null);
    pagesUsed = 0;
    rows = 0;
  }

  /**
   * Adds rows.
   *
   * @param page where their texts lie; not changed any more
   * @param begins where the text of a row begins, or {@link #NULL}; it is copied
   */
  public void append(byte[] page, int[] begins, int first, int count) {
    if (pagesUsed == 0 || pages[pagesUsed - 1] != page) {
      if (pagesUsed == pages.length) {
        pages = Arrays.copyOf(pages, 2 * pagesUsed);
        ends = Arrays.copyOf(ends, 2 * pagesUsed);
      }
      pages[pagesUsed++] = page;
    }
    System.arraycopy(begins, first, places, rows, count);
    rows += count;
    ends[pagesUsed - 1] = rows;
  }

  private byte[] page(int row) {
    int i = 0;
    while (row >= ends[i]) {
      i++;
    }
    return pages[i];
  }

  @Override
  public boolean isNullAt(int row) {
    return places[row] == NULL;
  }

  @Override
  public @Nullable UTF8String getUTF8String(int row) {
    int place = places[row];
    if (place == NULL) {
      return null;
    }
    byte[] page = page(row);
    return UTF8String.fromBytes(page, place, length(page, place - BYTES_OF_LENGTH));
  }

  /**
   * Copies the text of a row that has one.
   *
   * @param into has room for the longest text that is copied
   * @return its bytes, or {@link #NOT_COPIED} where there are more of them than may be
   */
  int copy(int row, byte[] into, int at, int most) {
    int place = places[row];
    byte[] page = page(row);
    int length = length(page, place - BYTES_OF_LENGTH);
    if (length > most) {
      return NOT_COPIED;
    }
    System.arraycopy(page, place, into, at, length);
    return length;
  }
}
