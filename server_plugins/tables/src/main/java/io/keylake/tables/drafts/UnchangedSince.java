package io.keylake.tables.drafts;

import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.exceptions.CleanableFailure;

/**
 * Commits to a table only if nobody else has since it was looked at. Iceberg's replacement of a
 * table would drop what others commit meanwhile, snapshots and all.
 */
record UnchangedSince(TableOperations table, TableMetadata base, String name) implements SameFiles {

  /** It is certain that nothing was committed. */
  static final class Changed extends RuntimeException implements CleanableFailure {
    private static final long serialVersionUID = 1L;

    private Changed(String name) {
      super("changed meanwhile: " + name);
    }
  }

  @Override
  public TableMetadata current() {
    return table.current();
  }

  @Override
  public TableMetadata refresh() {
    return table.refresh();
  }

  @Override
  public void commit(TableMetadata now, TableMetadata next) {
    if (now != base) {
      throw new Changed(name);
    }
    table.commit(base, next);
  }

  @Override
  public TableOperations temp(TableMetadata uncommitted) {
    return table.temp(uncommitted);
  }

  @Override
  public long newSnapshotId() {
    return table.newSnapshotId();
  }

  @Override
  public boolean requireStrictCleanup() {
    return table.requireStrictCleanup();
  }
}
