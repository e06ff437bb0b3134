package io.keylake.spark.parquet;

import io.keylake.tables.planning.KeySlice;
import java.io.Serializable;
import java.util.Arrays;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;

/**
 * The bounds of a slice among the prefixes of a batch's keys. Rows with one prefix lie in one
 * slice, whatever follows in their keys, so that all runs are cut alike.
 */
public final class SliceBounds {
  private final boolean isOpenAbove;
  private final long lowest;
  private final long above;

  private SliceBounds(boolean isOpenAbove, long lowest, long above) {
    this.isOpenAbove = isOpenAbove;
    this.lowest = lowest;
    this.above = above;
  }

  /**
   * @param slice null for no bounds
   */
  public static SliceBounds of(@Nullable KeySlice slice) {
    Serializable lower = slice == null ? null : slice.lower();
    Serializable upper = slice == null ? null : slice.upper();
    boolean isOne = slice != null && slice.isOneValue();
    long above = upper == null ? Long.MAX_VALUE : prefix(upper);
    return new SliceBounds(
        upper == null || (isOne && above == Long.MAX_VALUE),
        lower == null ? Long.MIN_VALUE : prefix(lower),
        isOne ? above + 1 : above);
  }

  private static long prefix(Serializable boundary) {
    return boundary instanceof String text
        ? UTF8String.fromString(text).getPrefix() ^ Long.MIN_VALUE
        : (Long) boundary;
  }

  /** The first row that is not below the slice. */
  public int first(long[] prefixes, int size) {
    return lowest == Long.MIN_VALUE ? 0 : firstFrom(lowest, prefixes, size);
  }

  /** The first row that is above the slice. */
  public int end(long[] prefixes, int size) {
    return isOpenAbove ? size : firstFrom(above, prefixes, size);
  }

  private static int firstFrom(long bound, long[] prefixes, int size) {
    int found = Arrays.binarySearch(prefixes, 0, size, bound);
    if (found < 0) {
      return -found - 1;
    }
    while (found > 0 && prefixes[found - 1] == bound) {
      found--;
    }
    return found;
  }
}
