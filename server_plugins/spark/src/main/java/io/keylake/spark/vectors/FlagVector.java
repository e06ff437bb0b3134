package io.keylake.spark.vectors;

import org.apache.spark.sql.types.DataTypes;

/** A column that is true or false in each row. */
public final class FlagVector extends ReadOnlyVector {
  private final boolean[] flags;

  /**
   * @param flags one for each row; they are not copied
   */
  public FlagVector(boolean[] flags) {
    super(DataTypes.BooleanType);
    this.flags = flags;
  }

  @Override
  public boolean hasNull() {
    return false;
  }

  @Override
  public int numNulls() {
    return 0;
  }

  @Override
  public boolean isNullAt(int row) {
    return false;
  }

  @Override
  public boolean getBoolean(int row) {
    return flags[row];
  }
}
