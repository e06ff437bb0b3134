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
 * Says whether a file may have rows that a filter wants, by its partition and its statistics: what
 * Iceberg's planning asks of each file that a manifest names.
 */
<<<<<<<< HEAD:server_plugins/tables/src/main/java/io/keylake/tables/cache/FileMatcher.java
public final class FileMatcher {
========
public final class FileFilter {
>>>>>>>> 33aeb9e0 (tables, spark: no class that ships is called a test):server_plugins/tables/src/main/java/io/keylake/tables/cache/FileFilter.java
  private final Schema schema;
  private final Expression filter;
  private final InclusiveMetricsEvaluator byStatistics;
  private final Map<Integer, Evaluator> byPartition = new HashMap<>();

  /**
   * @param schema has the names that the filter uses
   */
<<<<<<<< HEAD:server_plugins/tables/src/main/java/io/keylake/tables/cache/FileMatcher.java
  public FileMatcher(Schema schema, Expression filter) {
========
  public FileFilter(Schema schema, Expression filter) {
>>>>>>>> 33aeb9e0 (tables, spark: no class that ships is called a test):server_plugins/tables/src/main/java/io/keylake/tables/cache/FileFilter.java
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
