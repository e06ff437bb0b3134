package io.keylake.tables.cache;

import io.keylake.tables.spec.ColumnNames;
import java.util.HashMap;
import java.util.Map;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.expressions.Evaluator;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.InclusiveMetricsEvaluator;
import org.apache.iceberg.expressions.Projections;

/**
 * The test of a file, whether it may have rows that a filter wants, by its partition and its
 * statistics: what Iceberg's planning asks of each file that a manifest names.
 */
public final class FileMatcher {
  private final Schema schema;
  private final Expression filter;
  private final InclusiveMetricsEvaluator byStatistics;
  private final Map<Integer, Evaluator> byPartition = new HashMap<>();

  /**
   * @param schema has the names that the filter uses
   */
  public FileMatcher(Schema schema, Expression filter) {
    this.schema = schema;
    this.filter = filter;
    this.byStatistics = new InclusiveMetricsEvaluator(schema, filter);
  }

  public boolean mayMatch(FileScanTask task) {
    DataFile file = task.file();
    return byPartition
            .computeIfAbsent(file.specId(), id -> byPartition(task.spec()))
            .eval(file.partition())
        && byStatistics.eval(file);
  }

  private Evaluator byPartition(PartitionSpec spec) {
    Expression named = new ColumnNames(schema, spec.schema()).translated(filter);
    return new Evaluator(spec.partitionType(), Projections.inclusive(spec).project(named));
  }
}
