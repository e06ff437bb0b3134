package io.keylake.tables.catalogs;

import org.apache.iceberg.catalog.TableIdentifier;
import org.jspecify.annotations.Nullable;

/**
 * A table that gets other metadata.
 *
 * @param from the location of the metadata that it has; null for a table that is not there
 * @param to the location of the new metadata; the same for a table that has to stay as it is
 */
public record MetadataMove(TableIdentifier table, @Nullable String from, String to) {
  boolean stays() {
    return to.equals(from);
  }
}
