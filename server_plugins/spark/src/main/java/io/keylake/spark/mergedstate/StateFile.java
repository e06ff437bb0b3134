package io.keylake.spark.mergedstate;

import java.io.Serializable;
import java.util.Objects;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.jspecify.annotations.Nullable;

/**
 * A data file of a merged state.
 *
 * @param hidden says which of its rows are no merged rows; null where all of them are
 */
record StateFile(DataFile file, @Nullable DeleteFile hidden) implements Serializable {
  String location() {
    return file.location();
  }

  /** The same without statistics: a state remembers all of its files. */
  StateFile remembered() {
    return new StateFile(
        file.copyWithoutStats(), hidden == null ? null : hidden.copyWithoutStats());
  }

  /** The same rows of the same file are hidden. */
  boolean hidesAs(StateFile other) {
    return Objects.equals(vector(hidden), vector(other.hidden));
  }

  private static @Nullable String vector(@Nullable DeleteFile hidden) {
    return hidden == null ? null : hidden.location() + "@" + hidden.contentOffset();
  }
}
