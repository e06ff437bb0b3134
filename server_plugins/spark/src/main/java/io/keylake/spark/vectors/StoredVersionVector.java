package io.keylake.spark.vectors;

import io.keylake.merge.Stamps;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.jspecify.annotations.Nullable;

/** Row versions as they are stored: null where the row's ordering column says the same. */
public final class StoredVersionVector extends ReadOnlyVector {
  private final Stamps versions;
  private final @Nullable ColumnVector ordering;
  private final boolean isInt;

  /**
   * @param ordering the ordering column of the same rows; null where the table has none
   */
  public StoredVersionVector(Stamps versions, @Nullable ColumnVector ordering) {
    super(DataTypes.LongType);
    this.versions = versions;
    this.ordering = ordering;
    this.isInt =
        ordering != null
            && (ordering.dataType().equals(DataTypes.IntegerType)
                || ordering.dataType().equals(DataTypes.DateType));
  }

  @Override
  public boolean isNullAt(int row) {
    if (ordering == null || ordering.isNullAt(row)) {
      return false;
    }
    long said = isInt ? ordering.getInt(row) : ordering.getLong(row);
    return said == versions.at(row);
  }

  @Override
  public long getLong(int row) {
    return versions.at(row);
  }
}
