package io.keylake.tables.planning;

import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.io.Serializable;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Asks a data file where its row groups start. */
public interface RowGroups {

  /**
   * A row group.
   *
   * @param lower its first key column's smallest value, as a {@link KeySlice} has boundaries; null
   *     where the file does not say
   */
  record RowGroup(@Nullable Serializable lower, long rows) {}

  /** The row groups of a file, in key order. */
  List<RowGroup> of(StoredFile file);
}
