package io.keylake.spark.read.pinned;

import io.keylake.tables.GuestApi;
import java.util.Arrays;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.spark.TimeTravel;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.iceberg.util.SnapshotUtil;
import org.jspecify.annotations.Nullable;

/**
 * A table whose scans have their files from a plan.
 *
 * @param table that makes the scans
 * @param schema of what they read
 */
@GuestApi
public record PinnedScans(SparkTable table, Schema schema, FilePlan plan) {

  /** A table as it was loaded; null where Iceberg would show other columns than it shows there. */
  public static @Nullable PinnedScans of(SparkTable loaded, long snapshot) {
    Table iceberg = loaded.table();
    boolean isPresent = loaded.equals(SparkTable.create(iceberg, loaded.branch()));
    Schema schema = isPresent ? iceberg.schema() : SnapshotUtil.schemaFor(iceberg, snapshot);
    FilePlan plan = new FilePlan();
    PinnedTable planned = new PinnedTable((BaseTable) iceberg, plan);
    SparkTable table =
        isPresent
            ? SparkTable.create(planned, loaded.branch())
            : SparkTable.create(planned, TimeTravel.version(String.valueOf(snapshot)));
    return Arrays.equals(table.columns(), loaded.columns())
        ? new PinnedScans(table, schema, plan)
        : null;
  }
}
