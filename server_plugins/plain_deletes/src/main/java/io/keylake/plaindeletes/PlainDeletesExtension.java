package io.keylake.plaindeletes;

import io.keylake.plaindeletes.scan.PlainTable;
import io.keylake.plaindeletes.work.ApplyProcedure;
import io.keylake.plaindeletes.work.EqualityDeleteTask;
import io.keylake.spark.extension.CatalogTables;
import io.keylake.spark.extension.KeylakeExtension;
import io.keylake.spark.extension.MaintenanceTask;
import java.util.List;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;

/**
 * Reads plain Iceberg tables with an index of their equality deletes, and turns the deletes into
 * positions: by a call, or where a table asks for it. No table has to be keyed.
 */
public final class PlainDeletesExtension implements KeylakeExtension {
  @Override
  public String name() {
    return "keylake-plain-deletes";
  }

  @Override
  public List<UnboundProcedure> procedures(CatalogTables tables) {
    return List.of(ApplyProcedure.of(tables));
  }

  @Override
  public List<MaintenanceTask> tasks() {
    return List.of(new EqualityDeleteTask());
  }

  @Override
  public SparkTable plain(SparkTable loaded) {
    return PlainTable.of(loaded);
  }
}
