package io.keylake.spark.rest;

import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.KeylakeException;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.rest.responses.LoadTableResponse;

/** Refuses clients that do not merge, which would read each version of a row as a row. */
public final class RefusedKeyedTables implements KeyedTables {
  @Override
  public LoadTableResponse load(Catalog catalog, TableIdentifier name, Table table) {
    throw new KeylakeException(
        UNSUPPORTED,
        "table %s is keyed, and its merged state is not served to engines without keylake yet; read it with keylake, or with Spark and the plug-in"
            .formatted(name));
  }
}
