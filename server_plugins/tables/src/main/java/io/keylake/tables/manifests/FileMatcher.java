package io.keylake.tables.manifests;

import io.keylake.tables.spec.ColumnNames;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.expressions.Evaluator;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.InclusiveMetricsEvaluator;
import org.apache.iceberg.expressions.ManifestEvaluator;
import org.apache.iceberg.expressions.Projections;

/**
 * The test of manifests, partitions and files, whether they may have rows that a filter wants: what
 * Iceberg's planning asks of each of them.
 */
final class FileMatcher {
  private final Schema schema;
  private final Expression filter;
  private final Map<Integer, PartitionSpec> specs;
  private final InclusiveMetricsEvaluator byStatistics;
  private final Map<Integer, Evaluator> byPartition = new ConcurrentHashMap<>();
  private final Map<Integer, ManifestEvaluator> byManifest = new ConcurrentHashMap<>();

  /**
   * @param schema has the names that the filter uses
   * @param specs of the table, by their ids
   */
  FileMatcher(Schema schema, Expression filter, Map<Integer, PartitionSpec> specs) {
    this.schema = schema;
    this.filter = filter;
    this.specs = specs;
    this.byStatistics = new InclusiveMetricsEvaluator(schema, filter);
  }

  boolean mayMatch(ManifestFile manifest) {
    return byManifest
        .computeIfAbsent(
            manifest.partitionSpecId(),
            id -> ManifestEvaluator.forPartitionFilter(onPartitions(spec(id)), spec(id), true))
        .eval(manifest);
  }

  boolean mayMatch(int specId, StructLike partition) {
    return byPartition
        .computeIfAbsent(
            specId, id -> new Evaluator(spec(id).partitionType(), onPartitions(spec(id))))
        .eval(partition);
  }

  /** A file of a partition that may match. */
  boolean mayMatch(DataFile file) {
    return byStatistics.eval(file);
  }

  PartitionSpec spec(int id) {
    PartitionSpec spec = specs.get(id);
    if (spec == null) {
      throw new IllegalStateException("the table has no partition spec " + id);
    }
    return spec;
  }

  private Expression onPartitions(PartitionSpec spec) {
    Expression named = new ColumnNames(schema, spec.schema()).translated(filter);
    return Projections.inclusive(spec).project(named);
  }
}
