package io.keylake.spark.mergedstate;

import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.io.Serializable;
import java.util.List;
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

  /** The number of its rows that are merged rows. */
  long shownRows() {
    return file.recordCount() - (hidden == null ? 0 : hidden.recordCount());
  }

  /** The file as one that is read, of whose rows those that are hidden are left out. */
  StoredFile read() {
    return new StoredFile(
        file.location(),
        file.fileSizeInBytes(),
        file.recordCount(),
        hidden == null ? List.of() : List.of(hidden));
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
