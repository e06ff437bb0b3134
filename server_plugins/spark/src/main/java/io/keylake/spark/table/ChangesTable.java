package io.keylake.spark.table;

import io.keylake.spark.changes.ChangesScan;
import java.util.EnumSet;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The change feed of a keyed table, under the name {@code table.changes}: {@code SELECT * FROM
 * lake.shop.clicks.changes WITH ('after' = '17')}.
 */
public record ChangesTable(KeyedTable of) implements SupportsRead {
  public static final String NAME = "changes";

  public ChangesTable {
    of.checkIsNoExperiment("changes");
  }

  @Override
  public String name() {
    return of.name() + "." + NAME;
  }

  @Override
  public Column[] columns() {
    return CatalogV2Util.structTypeToV2Columns(ChangesScan.type(of.keyed()));
  }

  @Override
  public Set<TableCapability> capabilities() {
    return EnumSet.of(TableCapability.BATCH_READ, TableCapability.MICRO_BATCH_READ);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return new ChangesScan(
        SparkSession.active(), of.table(), of.keyed(), of.branch(), of.snapshotId(), options);
  }
}
