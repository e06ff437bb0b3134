package io.keylake.spark.table;

import io.keylake.spark.write.KeyedWriteBuilder.Rows;
import io.keylake.tables.drafts.Draft;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.spark.sql.connector.catalog.StagedTable;

/** A keyed table that is made, or put in the place of another, together with its rows. */
public final class StagedKeyedTable extends KeyedTable implements StagedTable {
  private final Draft draft;
  private final Runnable afterwards;

  /**
   * @param afterwards is run when the table is there
   */
  public StagedKeyedTable(Draft draft, Runnable afterwards) {
    super(new SparkTable(draft.table()));
    this.draft = draft;
    this.afterwards = afterwards;
  }

  @Override
  public KeyedTable taking(Rows next) {
    draft.takeRows();
    return super.taking(next);
  }

  @Override
  public void commitStagedChanges() {
    draft.commit();
    afterwards.run();
  }

  @Override
  public void abortStagedChanges() {
    draft.discard();
  }
}
