package io.keylake.spark.vectors;

import io.keylake.merge.Stamps;
import java.util.List;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.jspecify.annotations.Nullable;

/** Stamps of merged rows as a column: absolute, or as lags behind the row's version. */
public final class StampVector extends ReadOnlyVector {
  private final Stamps stamps;
  private final @Nullable Stamps behind;

  private StampVector(Stamps stamps, @Nullable Stamps behind) {
    super(DataTypes.LongType);
    this.stamps = stamps;
    this.behind = behind;
  }

  public static StampVector absolute(Stamps stamps) {
    return new StampVector(stamps, null);
  }

  public static StampVector lag(Stamps stamps, Stamps versions) {
    return new StampVector(stamps, versions);
  }

  /** A struct that is never null. */
  public static ColumnVector struct(StructType type, List<ColumnVector> members) {
    return new ReadOnlyVector(type) {
      @Override
      public boolean isNullAt(int row) {
        return false;
      }

      @Override
      public ColumnVector getChild(int ordinal) {
        return members.get(ordinal);
      }
    };
  }

  @Override
  public boolean isNullAt(int row) {
    return !stamps.isSet(row);
  }

  @Override
  public long getLong(int row) {
    return behind == null ? stamps.at(row) : behind.at(row) - stamps.at(row);
  }
}
