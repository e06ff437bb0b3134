package io.keylake.spark.engine;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec;
import org.apache.spark.sql.execution.exchange.EnsureRequirements;
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.execution.joins.StoragePartitionJoinParams;
import org.jspecify.annotations.Nullable;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * Keeps from scans below an exchange what Spark tells all scans below a join of tables in buckets:
 * which buckets there are. A table that is broadcast lies in others, and would lose the rest of its
 * rows; and its scan forgets what it was planned from, which fails the query.
 *
 * <p>A query that reads no table of ours keeps the plan that it has without us.
 */
public final class ExchangeRule extends Rule<SparkPlan> {
  private final Predicate<Scan> isOurs;

  /**
   * @param isOurs whether a scan is one of a keyed table
   */
  public ExchangeRule(Predicate<Scan> isOurs) {
    this.isOurs = isOurs;
  }

  @Override
  public SparkPlan apply(SparkPlan plan) {
    return readsOurs(plan) ? visit(plan, null) : plan;
  }

  /** Stages that have run, or that other queries share, are leaves of the plan. */
  private boolean readsOurs(SparkPlan plan) {
    if (plan instanceof QueryStageExec stage) {
      return readsOurs(stage.plan());
    }
    if (plan instanceof ReusedExchangeExec reused) {
      return readsOurs(reused.child());
    }
    return plan instanceof BatchScanExec scan
        ? isOurs.test(scan.scan())
        : CollectionConverters.asJava(plan.children()).stream().anyMatch(this::readsOurs);
  }

  /**
   * @param planned the nearest logical plan above
   */
  private static SparkPlan visit(SparkPlan plan, @Nullable LogicalPlan planned) {
    LogicalPlan nearest = plan.logicalLink().isDefined() ? plan.logicalLink().get() : planned;
    boolean isExchange =
        plan instanceof ShuffleExchangeExec || plan instanceof BroadcastExchangeExec;
    List<SparkPlan> children = new ArrayList<>();
    for (SparkPlan child : CollectionConverters.asJava(plan.children())) {
      SparkPlan own =
          isExchange && child.exists(ExchangeRule::isTold)
              ? new EnsureRequirements(false, Option.empty()).apply(untold(child, nearest))
              : child;
      children.add(visit(own, nearest));
    }
    return plan.withNewChildren(CollectionConverters.asScala(children).toSeq());
  }

  private static boolean isTold(SparkPlan plan) {
    return plan instanceof BatchScanExec scan
        && scan.spjParams().commonPartitionValues().isDefined();
  }

  private static SparkPlan untold(SparkPlan plan, @Nullable LogicalPlan planned) {
    return plan.transform(
        new AbstractPartialFunction<SparkPlan, SparkPlan>() {
          @Override
          public boolean isDefinedAt(SparkPlan node) {
            return isTold(node);
          }

          @Override
          public SparkPlan apply(SparkPlan node) {
            return untold((BatchScanExec) node, planned);
          }
        });
  }

  private static SparkPlan untold(BatchScanExec scan, @Nullable LogicalPlan planned) {
    StoragePartitionJoinParams told = scan.spjParams();
    BatchScanExec untold =
        scan.copy(
            scan.output(),
            scan.scan(),
            scan.runtimeFilters(),
            scan.ordering(),
            scan.table(),
            new StoragePartitionJoinParams(
                told.keyGroupedPartitioning(),
                Option.empty(),
                Option.empty(),
                Option.empty(),
                false,
                false));
    if (scan.logicalLink().isDefined()) {
      untold.setLogicalLink(scan.logicalLink().get());
    } else if (planned != null) {
      for (LogicalPlan leaf : CollectionConverters.asJava(planned.collectLeaves())) {
        if (leaf instanceof DataSourceV2ScanRelation relation && relation.scan() == scan.scan()) {
          untold.setLogicalLink(relation);
        }
      }
    }
    return untold;
  }
}
