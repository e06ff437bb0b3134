package io.keylake.plaindeletes.scan;

import io.keylake.plaindeletes.index.DeleteGroup;
import io.keylake.plaindeletes.index.EqualityDeletes;
import io.keylake.plaindeletes.index.PlannedFile;
import io.keylake.spark.engine.SessionSettings;
import io.keylake.spark.read.pinned.FilePlan;
import io.keylake.spark.read.pinned.PinnedScans;
import io.keylake.tables.KeylakeException;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Set;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Table;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.spark.source.SparkScanBuilder;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.jspecify.annotations.Nullable;

/**
 * Builds Iceberg's scan, lets it plan its files, and looks for equality deletes among them. If
 * there are any, Iceberg's scan is built once more: of the same files without the deletes that are
 * indexed, and with the columns that are needed to apply them.
 */
final class IndexedScanBuilder
    implements ScanBuilder,
        SupportsPushDownV2Filters,
        SupportsPushDownRequiredColumns,
        SupportsPushDownLimit,
        SupportsPushDownAggregates {
  /** The way in which Iceberg's builder makes a scan. */
  interface Kind {
    Scan build(SparkScanBuilder builder);
  }

  static final String MEMORY = "spark.keylake.equality-deletes.memory";
  private static final long LEAST_BYTES = 1 << 20;

  private final PinnedScans planned;
  private final CaseInsensitiveStringMap options;
  private final long memoryBytes;
  private final SparkScanBuilder first;
  private final Kind kind;
  private final StructType columns;
  private Predicate[] predicates = {};
  private StructType required;
  private @Nullable Integer limit;

  /**
   * @param first Iceberg's builder for the planned table
   * @param kind of the scans that it builds
   */
  IndexedScanBuilder(
      PinnedScans planned, CaseInsensitiveStringMap options, SparkScanBuilder first, Kind kind) {
    this.planned = planned;
    this.options = options;
    this.first = first;
    this.kind = kind;
    columns = SparkSchemaUtil.convert(planned.schema());
    required = columns;
    memoryBytes = memoryBytes();
  }

  private static long memoryBytes() {
    long bytes = SessionSettings.bytes(MEMORY, Long.MAX_VALUE);
    if (bytes < LEAST_BYTES) {
      throw new KeylakeException(
          KeylakeException.Kind.DEFINITION,
          "%s is %s bytes, but an index of equality deletes needs a page of %s bytes; set 1m or more"
              .formatted(MEMORY, bytes, LEAST_BYTES));
    }
    return bytes;
  }

  @Override
  public Predicate[] pushPredicates(Predicate[] given) {
    predicates = given;
    return first.pushPredicates(given);
  }

  @Override
  public Predicate[] pushedPredicates() {
    return first.pushedPredicates();
  }

  @Override
  public void pruneColumns(StructType wanted) {
    required = wanted;
    first.pruneColumns(wanted);
  }

  @Override
  public boolean pushLimit(int rows) {
    limit = rows;
    return first.pushLimit(rows);
  }

  @Override
  public boolean isPartiallyPushed() {
    return first.isPartiallyPushed();
  }

  @Override
  public boolean pushAggregation(Aggregation aggregation) {
    return first.pushAggregation(aggregation);
  }

  @Override
  public Scan build() {
    FilePlan plan = planned.plan();
    plan.keep();
    Scan plain = first.build();
    // Rows that are deleted are shown and marked.
    boolean showsDeleted =
        Arrays.asList(required.fieldNames()).contains(MetadataColumns.IS_DELETED.name());
    if (plain instanceof LocalScan || showsDeleted) {
      return plain;
    }
    plain.toBatch(); // plans its files
    Table table = planned.table().table();
    EqualityDeletes deletes = EqualityDeletes.of(plan.files(), planned.schema(), table.specs());
    if (deletes.groups().isEmpty()) {
      return plain;
    }
    plan.replace(deletes.files().stream().map(PlannedFile::task).toList());
    Scan scan = withKeys(deletes);
    ReadColumns read = ReadColumns.of(scan.readSchema(), hidden(deletes), deletes.groups());
    return new IndexedScan(plain, scan, table, deletes, read, memoryBytes);
  }

  /** The columns that the query does not ask for. */
  private Set<String> hidden(EqualityDeletes deletes) {
    Set<String> needed = new LinkedHashSet<>();
    for (DeleteGroup group : deletes.groups()) {
      group.fields().stream().map(NestedField::name).forEach(needed::add);
    }
    needed.add(MetadataColumns.FILE_PATH.name());
    needed.removeAll(Arrays.asList(required.fieldNames()));
    return needed;
  }

  private Scan withKeys(EqualityDeletes deletes) {
    SparkScanBuilder second = (SparkScanBuilder) planned.table().newScanBuilder(options);
    second.pushPredicates(predicates);
    StructType read = required;
    for (String name : hidden(deletes)) {
      read =
          name.equals(MetadataColumns.FILE_PATH.name())
              ? read.add(name, "string", false)
              : read.add(columns.apply(name));
    }
    second.pruneColumns(read);
    if (limit != null) {
      second.pushLimit(limit);
    }
    return kind.build(second);
  }
}
