package io.keylake.tables.catalogs;

import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.encryption.EncryptionManager;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.LocationProvider;
import org.jspecify.annotations.Nullable;

/** Operations of a table that hand everything on to those beneath, but for what a class changes. */
public abstract class ForwardedOperations implements TableOperations {
  /** The operations beneath. */
  protected final TableOperations table;

  protected ForwardedOperations(TableOperations table) {
    this.table = table;
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
  public void commit(@Nullable TableMetadata base, TableMetadata metadata) {
    table.commit(base, metadata);
  }

  @Override
  public FileIO io() {
    return table.io();
  }

  @Override
  public EncryptionManager encryption() {
    return table.encryption();
  }

  @Override
  public String metadataFileLocation(String fileName) {
    return table.metadataFileLocation(fileName);
  }

  @Override
  public LocationProvider locationProvider() {
    return table.locationProvider();
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
