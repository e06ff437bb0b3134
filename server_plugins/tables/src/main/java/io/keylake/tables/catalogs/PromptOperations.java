package io.keylake.tables.catalogs;

import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.io.FileIO;

/** Operations of a table whose metadata is read by way of {@link MetadataFiles}. */
final class PromptOperations extends ForwardedOperations {
  private final MetadataFiles files;

  /**
   * @param table reads its metadata with these files
   */
  PromptOperations(TableOperations table, MetadataFiles files) {
    super(table);
    this.files = files;
  }

  @Override
  public TableMetadata current() {
    return files.asked(table::current);
  }

  @Override
  public TableMetadata refresh() {
    return files.asked(table::refresh);
  }

  @Override
  public FileIO io() {
    return files.store();
  }

  @Override
  public TableOperations temp(TableMetadata uncommitted) {
    return new PromptOperations(table.temp(uncommitted), files);
  }
}
