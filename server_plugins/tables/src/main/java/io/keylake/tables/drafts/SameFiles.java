package io.keylake.tables.drafts;

import org.apache.iceberg.TableOperations;
import org.apache.iceberg.encryption.EncryptionManager;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.LocationProvider;

/** Operations on the files of a table that are those of another one. */
interface SameFiles extends TableOperations {
  /** Whose files they are. */
  TableOperations table();

  @Override
  default FileIO io() {
    return table().io();
  }

  @Override
  default EncryptionManager encryption() {
    return table().encryption();
  }

  @Override
  default String metadataFileLocation(String fileName) {
    return table().metadataFileLocation(fileName);
  }

  @Override
  default LocationProvider locationProvider() {
    return table().locationProvider();
  }
}
