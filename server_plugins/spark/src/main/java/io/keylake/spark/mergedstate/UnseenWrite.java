package io.keylake.spark.mergedstate;

import io.keylake.spark.rest.KeyedTables.UnseenRows;
import io.keylake.tables.branches.DroppedBranch;
import io.keylake.tables.branches.TransactionBranch;
import io.keylake.tables.commits.Commits;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.catalog.TableIdentifier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Rows of an engine that does not merge, on a branch of the keyed table. */
record UnseenWrite(Table table, TransactionBranch branch) implements UnseenRows {
  private static final Logger LOG = LoggerFactory.getLogger(UnseenWrite.class);

  /** Writes the rows to a branch of what main is now. */
  static UnseenWrite of(ForeignWrite write, String catalog, TableIdentifier name, Table table) {
    UnseenWrite unseen = new UnseenWrite(table, TransactionBranch.unused());
    new Commits(table).make(unseen.branch);
    try {
      write.makeOn(unseen.branch.name(), catalog, name, table);
    } catch (RuntimeException e) {
      unseen.discard();
      throw e;
    }
    return unseen;
  }

  @Override
  public TableMetadata shown(TableMetadata now) {
    return branch.shown(now);
  }

  @Override
  public void discard() {
    try {
      table.refresh();
      new Commits(table).make(new DroppedBranch(branch.name()));
    } catch (RuntimeException e) {
      LOG.warn("Branch {} of {} is left until it expires", branch.name(), table.name(), e);
    }
  }
}
