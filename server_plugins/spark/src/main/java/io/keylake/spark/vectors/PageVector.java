package io.keylake.spark.vectors;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;

/**
 * A stored column of numbers or texts, which stay in the pages of their file: Parquet has them in
 * the same form in pages of values and in dictionaries, and the length of a text before its bytes.
 * So the place where a value begins says all about it.
 */
public final class PageVector extends ReadOnlyVector {
  /** Instead of the place of a value. */
  public static final int NULL = -1;

  /** The number of bytes that hold the length of a text. */
  public static final int BYTES_OF_LENGTH = Integer.BYTES;

  static final int NOT_COPIED = -1;
  private static final VarHandle INTS =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private final int[] places;
  private byte[][] pages = new byte[2][];
  private int[] ends = new int[2]; // the number of the row after the last one of each page
  private int pagesUsed;
  private int rows;
  private boolean hasNull;

  /**
   * @param places of the values of a batch, row by row; who decodes the pages fills it
   */
  public PageVector(DataType type, int[] places) {
    super(type);
    this.places = places;
  }

  /** A number of four bytes. */
  public static int intAt(byte[] page, int place) {
    return (int) INTS.get(page, place);
  }

  /** Begins another batch. */
  public void clear() {
    Arrays.fill(pages, 0, pagesUsed, null);
    pagesUsed = 0;
    rows = 0;
    hasNull = false;
  }

  /**
   * Says that the places of more rows are known.
   *
   * @param page where their values lie; not changed any more
   */
  public void add(byte[] page, int count, boolean mayBeNull) {
    if (pagesUsed == 0 || pages[pagesUsed - 1] != page) {
      if (pagesUsed == pages.length) {
        pages = Arrays.copyOf(pages, 2 * pagesUsed);
        ends = Arrays.copyOf(ends, 2 * pagesUsed);
      }
      pages[pagesUsed++] = page;
    }
    rows += count;
    ends[pagesUsed - 1] = rows;
    hasNull |= mayBeNull;
  }

  private byte[] page(int row) {
    int i = 0;
    while (row >= ends[i]) {
      i++;
    }
    return pages[i];
  }

  @Override
  public boolean hasNull() {
    return hasNull;
  }

  @Override
  public boolean isNullAt(int row) {
    return places[row] == NULL;
  }

  @Override
  public int getInt(int row) {
    return (int) INTS.get(page(row), places[row]);
  }

  @Override
  public long getLong(int row) {
    return (long) LONGS.get(page(row), places[row]);
  }

  @Override
  public float getFloat(int row) {
    return Float.intBitsToFloat(getInt(row));
  }

  @Override
  public double getDouble(int row) {
    return Double.longBitsToDouble(getLong(row));
  }

  @Override
  public @Nullable UTF8String getUTF8String(int row) {
    int place = places[row];
    if (place == NULL) {
      return null;
    }
    byte[] page = page(row);
    return UTF8String.fromBytes(page, place, intAt(page, place - BYTES_OF_LENGTH));
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
    int length = intAt(page, place - BYTES_OF_LENGTH);
    if (length > most) {
      return NOT_COPIED;
    }
    System.arraycopy(page, place, into, at, length);
    return length;
  }
}
