package io.keylake.spark.table;

import io.keylake.spark.write.KeyedWriteBuilder.Rows;
import io.keylake.tables.staged.Staging;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.spark.sql.connector.catalog.StagedTable;

/** A keyed table that is made, or put in the place of another, together with its rows. */
public final class StagedKeyedTable extends KeyedTable implements StagedTable {
  private final Staging staged;
  private final Runnable afterwards;

  /**
   * @param afterwards is run when the table is there
   */
  public StagedKeyedTable(Staging staged, Runnable afterwards) {
    super(new SparkTable(staged.table()));
    this.staged = staged;
    this.afterwards = afterwards;
  }

  @Override
  public KeyedTable taking(Rows next) {
    staged.takeRows();
    return super.taking(next);
  }

  @Override
  public void commitStagedChanges() {
    staged.commit();
    afterwards.run();
  }

  @Override
  public void abortStagedChanges() {
    staged.discard();
  }
}
