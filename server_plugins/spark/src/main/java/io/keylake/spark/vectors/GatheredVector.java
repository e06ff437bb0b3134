package io.keylake.spark.vectors;

import io.keylake.merge.Decisions;
import java.util.Arrays;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;

/**
 * A column of numbers or texts of merged rows, gathered from the places that were decided: one
 * tight loop over one column keeps to a few streams of memory, where a look-up for every value of a
 * row jumps among all columns of all runs.
 */
public abstract class GatheredVector extends ReadOnlyVector {
  private final boolean[] nulls;
  private boolean hasNull;

  private GatheredVector(DataType type, int capacity) {
    super(type);
    this.nulls = new boolean[capacity];
  }

  /** A vector for this type, or null where looking values up is as good. */
  public static @Nullable GatheredVector of(DataType type, int capacity) {
    if (type instanceof LongType
        || type instanceof TimestampType
        || type instanceof TimestampNTZType) {
      return new Longs(type, capacity);
    }
    if (type instanceof DoubleType) {
      return new Doubles(type, capacity);
    }
    if (type instanceof IntegerType || type instanceof DateType) {
      return new Ints(type, capacity);
    }
    if (type instanceof FloatType) {
      return new Floats(type, capacity);
    }
    return type instanceof StringType ? new Texts(type, capacity) : null;
  }

  /**
   * @param sources the column in each run's current batch; null in runs that do not carry it
   */
  public final void gather(ColumnVector[] sources, int[] places, int count) {
    begin();
    if (hasNull) {
      Arrays.fill(nulls, false);
      hasNull = false;
    }
    int anywhere = 0;
    for (int i = 0; i < count; i++) {
      anywhere |= places[i];
    }
    boolean mayHaveNull = anywhere < 0; // only NOWHERE is negative
    for (ColumnVector source : sources) {
      mayHaveNull |= source == null || source.hasNull();
    }
    if (mayHaveNull) {
      for (int i = 0; i < count; i++) {
        int place = places[i];
        if (place == Decisions.NOWHERE) {
          setNull(i);
        } else {
          ColumnVector source = sources[Decisions.run(place)];
          int row = Decisions.row(place);
          if (source.isNullAt(row)) {
            setNull(i);
          } else {
            set(i, source, row);
          }
        }
      }
    } else {
      gatherAll(sources, places, count);
    }
  }

  private void setNull(int row) {
    nulls[row] = true;
    hasNull = true;
  }

  /** Forgets what was gathered before. */
  void begin() {}

  abstract void set(int i, ColumnVector source, int row);

  /** Gathers where every place is somewhere and no value is null. */
  abstract void gatherAll(ColumnVector[] sources, int[] places, int count);

  @Override
  public final boolean isNullAt(int row) {
    return hasNull && nulls[row];
  }

  @Override
  public final boolean hasNull() {
    return hasNull;
  }

  private static final class Longs extends GatheredVector {
    private final long[] values;

    Longs(DataType type, int capacity) {
      super(type, capacity);
      values = new long[capacity];
    }

    @Override
    void set(int i, ColumnVector source, int row) {
      values[i] = source.getLong(row);
    }

    @Override
    void gatherAll(ColumnVector[] sources, int[] places, int count) {
      for (int i = 0; i < count; i++) {
        int place = places[i];
        values[i] = sources[Decisions.run(place)].getLong(Decisions.row(place));
      }
    }

    @Override
    public long getLong(int row) {
      return values[row];
    }
  }

  private static final class Doubles extends GatheredVector {
    private final double[] values;

    Doubles(DataType type, int capacity) {
      super(type, capacity);
      values = new double[capacity];
    }

    @Override
    void set(int i, ColumnVector source, int row) {
      values[i] = source.getDouble(row);
    }

    @Override
    void gatherAll(ColumnVector[] sources, int[] places, int count) {
      for (int i = 0; i < count; i++) {
        int place = places[i];
        values[i] = sources[Decisions.run(place)].getDouble(Decisions.row(place));
      }
    }

    @Override
    public double getDouble(int row) {
      return values[row];
    }
  }

  private static final class Ints extends GatheredVector {
    private final int[] values;

    Ints(DataType type, int capacity) {
      super(type, capacity);
      values = new int[capacity];
    }

    @Override
    void set(int i, ColumnVector source, int row) {
      values[i] = source.getInt(row);
    }

    @Override
    void gatherAll(ColumnVector[] sources, int[] places, int count) {
      for (int i = 0; i < count; i++) {
        int place = places[i];
        values[i] = sources[Decisions.run(place)].getInt(Decisions.row(place));
      }
    }

    @Override
    public int getInt(int row) {
      return values[row];
    }
  }

  private static final class Floats extends GatheredVector {
    private final float[] values;

    Floats(DataType type, int capacity) {
      super(type, capacity);
      values = new float[capacity];
    }

    @Override
    void set(int i, ColumnVector source, int row) {
      values[i] = source.getFloat(row);
    }

    @Override
    void gatherAll(ColumnVector[] sources, int[] places, int count) {
      for (int i = 0; i < count; i++) {
        int place = places[i];
        values[i] = sources[Decisions.run(place)].getFloat(Decisions.row(place));
      }
    }

    @Override
    public float getFloat(int row) {
      return values[row];
    }
  }

  /**
   * Short texts lie anywhere in the pages of their runs: they are copied next to each other. Long
   * ones stay where they are.
   */
  private static final class Texts extends GatheredVector {
    private static final int SHORT_BYTES = 64;
    private static final int ELSEWHERE = PageVector.NOT_COPIED;
    private final int[] begins;
    private final int[] lengths;
    private final UTF8String[] elsewhere;
    private byte[] bytes = new byte[0];
    private int end;

    Texts(DataType type, int capacity) {
      super(type, capacity);
      begins = new int[capacity];
      lengths = new int[capacity];
      elsewhere = new UTF8String[capacity];
    }

    @Override
    void begin() {
      end = 0;
    }

    @Override
    void set(int i, ColumnVector source, int row) {
      if (end + SHORT_BYTES > bytes.length) {
        int least = Math.max(SHORT_BYTES, begins.length * SHORT_BYTES / 4);
        bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, least));
      }
      int length =
          source instanceof PageVector texts ? texts.copy(row, bytes, end, SHORT_BYTES) : ELSEWHERE;
      begins[i] = end;
      lengths[i] = length;
      if (length == ELSEWHERE) {
        elsewhere[i] = source.getUTF8String(row);
      } else {
        end += length;
      }
    }

    @Override
    void gatherAll(ColumnVector[] sources, int[] places, int count) {
      for (int i = 0; i < count; i++) {
        int place = places[i];
        set(i, sources[Decisions.run(place)], Decisions.row(place));
      }
    }

    @Override
    public @Nullable UTF8String getUTF8String(int row) {
      if (isNullAt(row)) {
        return null;
      }
      return lengths[row] == ELSEWHERE
          ? elsewhere[row]
          : UTF8String.fromBytes(bytes, begins[row], lengths[row]);
    }
  }
}
