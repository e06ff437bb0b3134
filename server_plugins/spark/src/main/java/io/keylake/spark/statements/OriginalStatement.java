package io.keylake.spark.statements;

import io.keylake.spark.read.scan.StatementRead.Original;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.execution.LogicalRDD;
import org.jspecify.annotations.Nullable;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/** The statement that a plan was, and whether it can be run again: see {@link Rerun}. */
public final class OriginalStatement {
  private static final TreeNodeTag<LogicalPlan> ORIGINAL = new TreeNodeTag<>("keylake.said");

  private OriginalStatement() {}

  /**
   * Remembers a statement.
   *
   * @param held what stands between the statement and its table; rules of the analyzer leave its
   *     tags alone
   * @param statement as it was said
   */
  public static void remember(LogicalPlan held, LogicalPlan statement) {
    if (held.getTagValue(ORIGINAL).isEmpty()) {
      held.setTagValue(ORIGINAL, statement);
    }
  }

  /**
   * A statement that was remembered.
   *
   * @param held what stands between the statement and its table
   * @param resolved the part of the statement that changes rows
   */
  public static Original of(LogicalPlan held, LogicalPlan resolved) {
    Option<LogicalPlan> original = held.getTagValue(ORIGINAL);
    return new Original(original.isEmpty() ? null : original.get(), hindrance(resolved));
  }

  private static @Nullable String hindrance(LogicalPlan resolved) {
    if (resolved.isStreaming() || isComputed(resolved)) {
      return "its source has rows of a stream or of an earlier step";
    }
    return resolved.deterministic() ? null : "a value in it is not deterministic";
  }

  private static boolean isComputed(LogicalPlan resolved) {
    return hasComputedRows(resolved)
        || CollectionConverters.asJava(resolved.subqueriesAll()).stream()
            .anyMatch(OriginalStatement::hasComputedRows);
  }

  /** Rows that were kept by a checkpoint can be read again. */
  private static boolean hasComputedRows(LogicalPlan plan) {
    return plan.exists(
        new AbstractFunction1<LogicalPlan, Object>() {
          @Override
          public Object apply(LogicalPlan node) {
            return node instanceof LogicalRDD rows && !rows.rdd().isCheckpointed();
          }
        });
  }
}
