package io.keylake.tables.planning;

import java.util.HashMap;
import java.util.Map;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.InclusiveMetricsEvaluator;
import org.apache.iceberg.expressions.ResidualEvaluator;
import org.apache.iceberg.expressions.StrictMetricsEvaluator;

/** Says of files, from metadata alone, whether a condition holds for all of their rows, or none. */
public final class WholeFiles {
  private final Table table;
  private final Expression condition;
  private final Map<Integer, ResidualEvaluator> residuals = new HashMap<>();

  public enum Fit {
    INSIDE,
    OUTSIDE,
    /** The condition holds for some rows, or nobody knows without reading. */
    PARTLY
  }

  public WholeFiles(Table table, Expression condition) {
    this.table = table;
    this.condition = condition;
  }

  /** Asks the partition first: what it decides need not be asked of the bounds of columns. */
  public Fit fit(DataFile file) {
    PartitionSpec spec = table.specs().get(file.specId());
    Expression left =
        residuals
            .computeIfAbsent(file.specId(), id -> ResidualEvaluator.of(spec, condition, true))
            .residualFor(file.partition());
    if (!new InclusiveMetricsEvaluator(table.schema(), left).eval(file)) {
      return Fit.OUTSIDE;
    }
    return new StrictMetricsEvaluator(table.schema(), left).eval(file) ? Fit.INSIDE : Fit.PARTLY;
  }
}
