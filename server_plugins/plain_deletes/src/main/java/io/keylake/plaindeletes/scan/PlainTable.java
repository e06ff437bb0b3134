package io.keylake.plaindeletes.scan;

import io.keylake.spark.read.pinned.PinnedScans;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.spark.source.SparkScanBuilder;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.constraints.Constraint;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperationBuilder;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.jspecify.annotations.Nullable;

/**
 * A plain Iceberg table that has equality deletes, at one of its branches or snapshots: queries,
 * UPDATE, DELETE and MERGE read it with an index of the deletes. Everything else is Iceberg's own,
 * so streams read as they do there.
 */
@SuppressWarnings(
    "deprecation") // Iceberg's table implements the method that Spark's newer one comes down to
public final class PlainTable extends SparkTable {
  private static final String EQUALITY_DELETES = "total-equality-deletes";

  private final SparkTable loaded;

  private PlainTable(SparkTable loaded) {
    super(loaded.table());
    this.loaded = loaded;
  }

  /** The table itself where it has no equality deletes. */
  public static SparkTable of(SparkTable loaded) {
    // Other classes plan in ways of their own: on a server, or as before a replacement.
    boolean isOrdinary =
        loaded.getClass() == SparkTable.class && loaded.table().getClass() == BaseTable.class;
    return isOrdinary && hasDeletes(loaded) ? new PlainTable(loaded) : loaded;
  }

  /**
   * Says whether the table has deletes, also on a branch, of which Spark may make another table.
   */
  private static boolean hasDeletes(SparkTable loaded) {
    Table table = loaded.table();
    return Stream.concat(
            Stream.ofNullable(loaded.snapshotId()),
            table.refs().values().stream().map(ref -> ref.snapshotId()))
        .distinct()
        .anyMatch(id -> hasDeletes(table.snapshot(id)));
  }

  private static boolean hasDeletes(@Nullable Snapshot snapshot) {
    return snapshot != null && !"0".equals(snapshot.summary().get(EQUALITY_DELETES));
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    boolean isIncremental =
        options.containsKey("start-snapshot-id") || options.containsKey("end-snapshot-id");
    PinnedScans planned = isIncremental ? null : planned();
    if (planned == null) {
      return loaded.newScanBuilder(options);
    }
    SparkScanBuilder first = (SparkScanBuilder) planned.table().newScanBuilder(options);
    return new IndexedScanBuilder(planned, options, first, SparkScanBuilder::build);
  }

  @Override
  public RowLevelOperationBuilder newRowLevelOperationBuilder(RowLevelOperationInfo info) {
    PinnedScans planned = planned();
    return planned == null
        ? loaded.newRowLevelOperationBuilder(info)
        : () -> IndexedOperation.of(planned, info);
  }

  /** The table for scans whose files come from a plan; null where Iceberg's own scans are right. */
  private @Nullable PinnedScans planned() {
    Long snapshot = snapshotId();
    return snapshot != null && hasDeletes(table().snapshot(snapshot))
        ? PinnedScans.of(loaded, snapshot)
        : null;
  }

  @Override
  public SparkTable copyWithBranch(String branch) {
    return of(loaded.copyWithBranch(branch));
  }

  @Override
  public @Nullable Long snapshotId() {
    return loaded.snapshotId();
  }

  @Override
  public @Nullable String branch() {
    return loaded.branch();
  }

  @Override
  public String version() {
    return loaded.version();
  }

  @Override
  public StructType schema() {
    return loaded.schema();
  }

  @Override
  public Set<TableCapability> capabilities() {
    return loaded.capabilities();
  }

  @Override
  public Constraint[] constraints() {
    return loaded.constraints();
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return loaded.newWriteBuilder(info);
  }

  @Override
  public boolean canDeleteWhere(Predicate[] predicates) {
    return loaded.canDeleteWhere(predicates);
  }

  @Override
  public void deleteWhere(Predicate[] predicates) {
    loaded.deleteWhere(predicates);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof PlainTable that && loaded.equals(that.loaded);
  }

  @Override
  public int hashCode() {
    return loaded.hashCode();
  }
}
