package io.keylake.spark.read;

import io.keylake.merge.Decisions;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A column of merged rows that copies nothing: row i is looked up at the place that was decided for
 * it, in the batch of the run that won. The batches stay in place until the next {@link Decisions}.
 */
final class PickedVector extends ReadOnlyVector {
  private final ColumnVector[] sources;
  private final int[] places;
  private final PickedVector[] children;

  /**
   * @param sources the column in each run's current batch; null in runs that do not carry it
   */
  PickedVector(DataType type, ColumnVector[] sources, int[] places) {
    super(type);
    this.sources = sources;
    this.places = places;
    this.children = type instanceof StructType struct ? new PickedVector[struct.length()] : null;
  }

  private ColumnVector source(int place) {
    return sources[Decisions.run(place)];
  }

  @Override
  public boolean isNullAt(int row) {
    int place = places[row];
    return place == Decisions.NOWHERE || source(place).isNullAt(Decisions.row(place));
  }

  @Override
  public boolean getBoolean(int row) {
    int place = places[row];
    return source(place).getBoolean(Decisions.row(place));
  }

  @Override
  public byte getByte(int row) {
    int place = places[row];
    return source(place).getByte(Decisions.row(place));
  }

  @Override
  public short getShort(int row) {
    int place = places[row];
    return source(place).getShort(Decisions.row(place));
  }

  @Override
  public int getInt(int row) {
    int place = places[row];
    return source(place).getInt(Decisions.row(place));
  }

  @Override
  public long getLong(int row) {
    int place = places[row];
    return source(place).getLong(Decisions.row(place));
  }

  @Override
  public float getFloat(int row) {
    int place = places[row];
    return source(place).getFloat(Decisions.row(place));
  }

  @Override
  public double getDouble(int row) {
    int place = places[row];
    return source(place).getDouble(Decisions.row(place));
  }

  @Override
  public ColumnarArray getArray(int row) {
    int place = places[row];
    return source(place).getArray(Decisions.row(place));
  }

  @Override
  public ColumnarMap getMap(int row) {
    int place = places[row];
    return source(place).getMap(Decisions.row(place));
  }

  @Override
  public Decimal getDecimal(int row, int precision, int scale) {
    int place = places[row];
    return source(place).getDecimal(Decisions.row(place), precision, scale);
  }

  @Override
  public UTF8String getUTF8String(int row) {
    int place = places[row];
    return source(place).getUTF8String(Decisions.row(place));
  }

  @Override
  public byte[] getBinary(int row) {
    int place = places[row];
    return source(place).getBinary(Decisions.row(place));
  }

  @Override
  public ColumnVector getChild(int ordinal) {
    if (children[ordinal] == null) {
      ColumnVector[] childSources = new ColumnVector[sources.length];
      for (int run = 0; run < sources.length; run++) {
        childSources[run] = sources[run] == null ? null : sources[run].getChild(ordinal);
      }
      DataType childType = ((StructType) type).fields()[ordinal].dataType();
      children[ordinal] = new PickedVector(childType, childSources, places);
    }
    return children[ordinal];
  }
}
