package io.keylake.tables.staged;

import io.keylake.tables.catalogs.ForwardedOperations;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.exceptions.CleanableFailure;
import org.jspecify.annotations.Nullable;

/**
 * Commits to a table only if nobody else has since it was looked at. Iceberg's replacement of a
 * table would drop what others commit meanwhile, snapshots and all.
 */
final class UnchangedSince extends ForwardedOperations {

  /** An end of a commit of which it is certain that nothing was committed. */
  static final class Changed extends RuntimeException implements CleanableFailure {
    private static final long serialVersionUID = 1L;

    private Changed(String name) {
      super("changed meanwhile: " + name);
    }
  }

  private final TableMetadata base;
  private final String name;

  UnchangedSince(TableOperations table, TableMetadata base, String name) {
    super(table);
    this.base = base;
    this.name = name;
  }

  @Override
  public void commit(@Nullable TableMetadata now, TableMetadata next) {
    if (now != base) {
      throw new Changed(name);
    }
    super.commit(base, next);
  }
}
