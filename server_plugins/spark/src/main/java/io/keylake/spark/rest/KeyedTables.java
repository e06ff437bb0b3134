package io.keylake.spark.rest;

import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Supplier;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.rest.requests.UpdateTableRequest;
import org.apache.iceberg.rest.responses.LoadTableResponse;
import org.jspecify.annotations.Nullable;

/** Keyed tables for clients that do not merge: what such a client loads in place of the table. */
public interface KeyedTables {
  /**
   * The answer to a client that loads a table.
   *
   * @param table its UUID
   * @param ref the branch or tag of which the rows are; null for main
   * @param newest the table as the catalog has it, which is asked only where that is needed
   * @param freshness how old the answer may be; null where the client does not say it
   */
  LoadTableResponse load(
      UUID table, @Nullable String ref, Supplier<Table> newest, @Nullable Duration freshness);

  /**
   * Takes a commit to what such a client has loaded, and answers as {@link #load} does.
   *
   * @param catalog that has the table
   * @param table as the catalog has it now
   */
  LoadTableResponse commit(
      Catalog catalog, TableIdentifier name, Table table, UpdateTableRequest commit);

  /**
   * Writes the rows of a commit where no reader sees them yet; empty where they were committed
   * before.
   *
   * @param catalog that has the table
   * @param table as the catalog has it now
   */
  Optional<UnseenRows> write(
      Catalog catalog, TableIdentifier name, Table table, UpdateTableRequest commit);

  /**
   * Has the next client load what a table has now, of whatever age it may be otherwise: whoever
   * commits sees what it has committed.
   *
   * @param table its UUID
   */
  void outdate(UUID table);

  /** Rows that are written to a table, and that no reader sees. */
  interface UnseenRows {
    /**
     * The table with the rows for all readers.
     *
     * @param now the table as it is
     * @throws CommitFailedException where others have committed to it since the rows were written
     */
    TableMetadata shown(TableMetadata now);

    /** Gives the rows up. */
    void discard();
  }
}
