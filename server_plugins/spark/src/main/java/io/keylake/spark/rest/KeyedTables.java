package io.keylake.spark.rest;

import java.time.Duration;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.rest.responses.LoadTableResponse;
import org.jspecify.annotations.Nullable;

/** Keyed tables for clients that do not merge: what such a client loads in place of the table. */
public interface KeyedTables {
  /**
   * The answer to a client that loads the table.
   *
   * @param table as the catalog has it now
   * @param freshness how old the answer may be; null where the client does not say it
   */
  LoadTableResponse load(TableIdentifier name, Table table, @Nullable Duration freshness);
}
