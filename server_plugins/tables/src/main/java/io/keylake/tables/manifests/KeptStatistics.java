package io.keylake.tables.manifests;

import java.io.ByteArrayOutputStream;
import java.io.Serial;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.AbstractMap;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.IntFunction;
import java.util.function.IntPredicate;
import org.apache.iceberg.DataFile;
import org.jspecify.annotations.Nullable;

/**
 * Counts, sizes and bounds of the columns of a file, in arrays.
 *
 * @param columns field ids of the columns of which something is known, ascending
 * @param kinds of which the file has a map at all, a bit for each
 * @param numbers of each kind one for each column; -1 where it is not known
 * @param ends of the bounds of each column, lower and upper; those that are not there are empty
 * @param has says of each bound whether it is there: an empty text has a bound of no bytes
 * @param bounds of all columns, one after the other
 */
record KeptStatistics(
    int[] columns, int kinds, long[] numbers, int[] ends, boolean[] has, byte[] bounds)
    implements Serializable {
  @Serial private static final long serialVersionUID = 1L;

  static final KeptStatistics NONE =
      new KeptStatistics(new int[0], 0, new long[0], new int[0], new boolean[0], new byte[0]);

  private static final int SIZES = 0;
  private static final int VALUES = 1;
  private static final int NULLS = 2;
  private static final int NANS = 3;
  private static final int NUMBERS = 4;
  private static final int LOWER = 4;
  private static final int UPPER = 5;
  private static final long UNKNOWN = -1;

  static KeptStatistics of(DataFile file, Set<Integer> wanted) {
    Numbers[] numbers = {
      new Numbers(file.columnSizes()),
      new Numbers(file.valueCounts()),
      new Numbers(file.nullValueCounts()),
      new Numbers(file.nanValueCounts())
    };
    Bounds[] bounds = {new Bounds(file.lowerBounds()), new Bounds(file.upperBounds())};
    int kinds = 0;
    Set<Integer> known = new HashSet<>();
    for (int kind = 0; kind < NUMBERS; kind++) {
      Map<Integer, Long> all = numbers[kind].all;
      if (all != null) {
        kinds |= 1 << kind;
        known.addAll(all.keySet());
      }
    }
    for (int kind = LOWER; kind <= UPPER; kind++) {
      Map<Integer, ByteBuffer> all = bounds[kind - LOWER].all;
      if (all != null) {
        kinds |= 1 << kind;
        known.addAll(all.keySet());
      }
    }
    known.retainAll(wanted);
    int[] columns = new TreeSet<>(known).stream().mapToInt(Integer::intValue).toArray();
    long[] all = new long[NUMBERS * columns.length];
    int[] ends = new int[2 * columns.length];
    boolean[] has = new boolean[2 * columns.length];
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    for (int place = 0; place < columns.length; place++) {
      for (int kind = 0; kind < NUMBERS; kind++) {
        all[kind * columns.length + place] = numbers[kind].of(columns[place]);
      }
      for (int side = 0; side < 2; side++) {
        byte[] bound = bounds[side].of(columns[place]);
        has[2 * place + side] = bound != null;
        if (bound != null) {
          bytes.writeBytes(bound);
        }
        ends[2 * place + side] = bytes.size();
      }
    }
    return new KeptStatistics(columns, kinds, all, ends, has, bytes.toByteArray());
  }

  private record Numbers(@Nullable Map<Integer, Long> all) {
    long of(int column) {
      return all == null ? UNKNOWN : all.getOrDefault(column, UNKNOWN);
    }
  }

  private record Bounds(@Nullable Map<Integer, ByteBuffer> all) {
    byte @Nullable [] of(int column) {
      return all == null ? null : bytes(all.get(column));
    }
  }

  /** The content of a buffer; null for none. */
  static byte @Nullable [] bytes(@Nullable ByteBuffer buffer) {
    if (buffer == null) {
      return null;
    }
    byte[] content = new byte[buffer.remaining()];
    buffer.duplicate().get(content);
    return content;
  }

  /** About the bytes that they take. */
  long memory() {
    return 120L + 4L * columns.length + 8L * numbers.length + 5L * ends.length + bounds.length;
  }

  @Nullable Map<Integer, Long> sizes() {
    return numbers(SIZES);
  }

  @Nullable Map<Integer, Long> values() {
    return numbers(VALUES);
  }

  @Nullable Map<Integer, Long> nulls() {
    return numbers(NULLS);
  }

  @Nullable Map<Integer, Long> nans() {
    return numbers(NANS);
  }

  @Nullable Map<Integer, ByteBuffer> lowerBounds() {
    return bounds(LOWER);
  }

  @Nullable Map<Integer, ByteBuffer> upperBounds() {
    return bounds(UPPER);
  }

  private @Nullable Map<Integer, Long> numbers(int kind) {
    int first = kind * columns.length;
    return isKnown(kind)
        ? new ByColumn<>(
            columns, place -> numbers[first + place] != UNKNOWN, place -> numbers[first + place])
        : null;
  }

  private @Nullable Map<Integer, ByteBuffer> bounds(int kind) {
    int side = kind - LOWER;
    return isKnown(kind)
        ? new ByColumn<>(columns, place -> has[2 * place + side], place -> bound(2 * place + side))
        : null;
  }

  private boolean isKnown(int kind) {
    return (kinds & 1 << kind) != 0;
  }

  private ByteBuffer bound(int number) {
    int from = number == 0 ? 0 : ends[number - 1];
    return ByteBuffer.wrap(bounds, from, ends[number] - from).slice().asReadOnlyBuffer();
  }

  /** One kind of statistics, as Iceberg asks for it. */
  private static final class ByColumn<V> extends AbstractMap<Integer, V> {
    private final int[] columns;
    private final IntPredicate isThere;
    private final IntFunction<V> value;

    /**
     * @param isThere says it of the column at a place
     * @param value of the column at a place
     */
    ByColumn(int[] columns, IntPredicate isThere, IntFunction<V> value) {
      this.columns = columns;
      this.isThere = isThere;
      this.value = value;
    }

    @Override
    public @Nullable V get(@Nullable Object column) {
      int place = place(column);
      return place < 0 ? null : value.apply(place);
    }

    @Override
    public boolean containsKey(@Nullable Object column) {
      return place(column) >= 0;
    }

    private int place(@Nullable Object column) {
      int place = column instanceof Integer id ? Arrays.binarySearch(columns, id) : -1;
      return place >= 0 && isThere.test(place) ? place : -1;
    }

    @Override
    public Set<Entry<Integer, V>> entrySet() {
      Set<Entry<Integer, V>> all = new HashSet<>();
      for (int place = 0; place < columns.length; place++) {
        if (isThere.test(place)) {
          all.add(Map.entry(columns[place], value.apply(place)));
        }
      }
      return all;
    }
  }
}
