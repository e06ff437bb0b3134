package io.keylake.tables.drafts;

import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.KeylakeException;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;

/**
 * A table with other metadata than it has, to be read only.
 *
 * @param table whose files they are
 */
record ReadOnly(TableOperations table, TableMetadata current) implements SameFiles {
  @Override
  public TableMetadata refresh() {
    return current;
  }

  @Override
  public void commit(TableMetadata base, TableMetadata metadata) {
    throw new KeylakeException(
        UNSUPPORTED, "a table as it was before it was replaced is only read; write to the table");
  }
}
