package io.keylake.tables.staged;

import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.catalogs.ForwardedOperations;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.jspecify.annotations.Nullable;

/** A table with other metadata than it has, to be read only. */
final class ReadOnly extends ForwardedOperations {
  private final TableMetadata past;

  /**
   * @param table whose files they are
   */
  ReadOnly(TableOperations table, TableMetadata past) {
    super(table);
    this.past = past;
  }

  @Override
  public TableMetadata current() {
    return past;
  }

  @Override
  public TableMetadata refresh() {
    return past;
  }

  @Override
  public void commit(@Nullable TableMetadata base, TableMetadata metadata) {
    throw new KeylakeException(
        UNSUPPORTED, "a table as it was before it was replaced is only read; write to the table");
  }
}
