package io.keylake.plaindeletes.scan;

import io.keylake.plaindeletes.index.EqualityDeletes;
import java.util.Arrays;
import java.util.stream.Stream;
import org.apache.iceberg.Table;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportPartitioning;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering;
import org.apache.spark.sql.connector.read.partitioning.Partitioning;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructType;

/** Iceberg's scan, whose rows go by the index of the equality deletes. */
final class IndexedScan
    implements Scan,
        SupportsReportStatistics,
        SupportsReportPartitioning,
        SupportsRuntimeV2Filtering {
  private final Scan plain;
  private final Scan scan;
  private final Table table;
  private final EqualityDeletes deletes;
  private final ReadColumns columns;
  private final long memoryBytes;

  /**
   * @param plain what Iceberg would read, with all deletes
   * @param scan without those that are indexed, but with their columns
   */
  IndexedScan(
      Scan plain,
      Scan scan,
      Table table,
      EqualityDeletes deletes,
      ReadColumns columns,
      long memoryBytes) {
    this.plain = plain;
    this.scan = scan;
    this.table = table;
    this.deletes = deletes;
    this.columns = columns;
    this.memoryBytes = memoryBytes;
  }

  @Override
  public StructType readSchema() {
    return columns.shown();
  }

  @Override
  public String description() {
    long files = deletes.groups().stream().mapToLong(group -> group.files().size()).sum();
    return "%s, equality deletes: %d files in %d indexes"
        .formatted(scan.description(), files, deletes.groups().size());
  }

  @Override
  public Batch toBatch() {
    return new IndexedBatch(scan.toBatch(), table, deletes, columns, memoryBytes);
  }

  @Override
  public MicroBatchStream toMicroBatchStream(String checkpoint) {
    return plain.toMicroBatchStream(checkpoint);
  }

  @Override
  public Statistics estimateStatistics() {
    return ((SupportsReportStatistics) scan).estimateStatistics();
  }

  @Override
  public Partitioning outputPartitioning() {
    return ((SupportsReportPartitioning) scan).outputPartitioning();
  }

  /** The columns that runtime filters may name: those that the query has. */
  @Override
  public NamedReference[] filterAttributes() {
    return ((SupportsRuntimeV2Filtering) plain).filterAttributes();
  }

  @Override
  public void filter(Predicate[] predicates) {
    ((SupportsRuntimeV2Filtering) scan).filter(predicates);
    ((SupportsRuntimeV2Filtering) plain).filter(predicates); // a statement asks it for its files
  }

  @Override
  public CustomMetric[] supportedCustomMetrics() {
    return Stream.concat(Arrays.stream(scan.supportedCustomMetrics()), DeleteMetrics.all())
        .toArray(CustomMetric[]::new);
  }

  @Override
  public CustomTaskMetric[] reportDriverMetrics() {
    return plain.reportDriverMetrics();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof IndexedScan that
        && scan.equals(that.scan)
        && readSchema().equals(that.readSchema());
  }

  @Override
  public int hashCode() {
    return scan.hashCode();
  }

  @Override
  public String toString() {
    return description();
  }
}
