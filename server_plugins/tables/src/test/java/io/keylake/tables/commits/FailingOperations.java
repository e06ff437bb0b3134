package io.keylake.tables.commits;

import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.LocationProvider;

/** A table whose catalog fails at each commit, though it may have taken it. */
record FailingOperations(TableOperations operations, boolean isTaken, RuntimeException failure)
    implements TableOperations {
  @Override
  public TableMetadata current() {
    return operations.current();
  }

  @Override
  public TableMetadata refresh() {
    return operations.refresh();
  }

  @Override
  public void commit(TableMetadata base, TableMetadata metadata) {
    if (isTaken) {
      operations.commit(base, metadata);
    }
    throw failure;
  }

  @Override
  public FileIO io() {
    return operations.io();
  }

  @Override
  public String metadataFileLocation(String fileName) {
    return operations.metadataFileLocation(fileName);
  }

  @Override
  public LocationProvider locationProvider() {
    return operations.locationProvider();
  }
}
