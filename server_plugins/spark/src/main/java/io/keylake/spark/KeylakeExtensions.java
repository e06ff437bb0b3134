package io.keylake.spark;

import io.keylake.spark.catalog.CreateLikeRule;
import io.keylake.spark.catalog.TableChangeRule;
import io.keylake.spark.engine.ExchangeRule;
import io.keylake.spark.extension.EngineVersions;
import io.keylake.spark.extension.Guests;
import io.keylake.spark.guard.plans.AccessRules;
import io.keylake.spark.join.KeyedMergeJoinRule;
import io.keylake.spark.layout.BucketExchange;
import io.keylake.spark.layout.BucketedFrameRule;
import io.keylake.spark.layout.KeyLayoutRule;
import io.keylake.spark.layout.PlainScanRule;
import io.keylake.spark.metadata.DescribeRule;
import io.keylake.spark.preparation.KeyedWriteRule;
import io.keylake.spark.preparation.SpreadBatchRule;
import io.keylake.spark.preparation.SpreadRule;
import io.keylake.spark.preparation.StreamWriteRule;
import io.keylake.spark.read.lookups.LookupStrategy;
import io.keylake.spark.read.scan.ScannedRows;
import io.keylake.spark.reducers.functions.ColumnFunctions;
import io.keylake.spark.reducers.functions.WindowFunctions;
import io.keylake.spark.reducers.partial.CombineStrategy;
import io.keylake.spark.statements.HeldStatementRule;
import io.keylake.spark.statements.MergedInPlaceRule;
import io.keylake.spark.statements.RetryRule;
import io.keylake.spark.statements.RowStatementRule;
import io.keylake.spark.statements.StatementTargetRule;
import io.keylake.spark.table.ReadOptionsRule;
import io.keylake.spark.write.driverwrite.BatchWriteRule;
import io.keylake.spark.write.driverwrite.DriverWriteStrategy;
import io.keylake.spark.write.skew.SpreadStrategy;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.SparkPlan;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * The extensions that a session needs beside the catalog: the rules that keep reads apart, prepare
 * and spread writes, show Spark how tables lie, and find plain scans. Named in {@code
 * spark.sql.extensions}.
 */
public final class KeylakeExtensions extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    EngineVersions.check();
    ColumnFunctions.register(extensions);
    WindowFunctions.register(extensions);
    extensions.injectHintResolutionRule(
        session -> new ReadOptionsRule(session)); // before Spark resolves tables
    extensions.injectHintResolutionRule(
        session -> new HeldStatementRule()); // before Spark resolves tables
    extensions.injectResolutionRule(session -> ReadOptionsRule.ofOthers());
    extensions.injectResolutionRule(session -> new StatementTargetRule());
    extensions.injectResolutionRule(session -> new RowStatementRule());
    extensions.injectResolutionRule(session -> new KeyedWriteRule());
    extensions.injectResolutionRule(session -> new StreamWriteRule());
    extensions.injectResolutionRule(session -> new BucketedFrameRule());
    extensions.injectResolutionRule(session -> new TableChangeRule(session));
    extensions.injectResolutionRule(session -> new CreateLikeRule(session));
    extensions.injectPostHocResolutionRule(session -> new DescribeRule());
    extensions.injectPreCBORule(session -> new KeyLayoutRule());
    extensions.injectOptimizerRule(session -> new SpreadRule());
    extensions.injectOptimizerRule(session -> new SpreadBatchRule());
    extensions.injectPreCBORule(session -> new PlainScanRule());
    extensions.injectPlannerStrategy(session -> new BucketExchange(session));
    extensions.injectPlannerStrategy(session -> new SpreadStrategy());
    extensions.injectPlannerStrategy(session -> new CombineStrategy());
    extensions.injectPlannerStrategy(session -> new LookupStrategy(session));
    extensions.injectPlannerStrategy(session -> new DriverWriteStrategy());
    extensions.injectQueryStagePrepRule(session -> new ExchangeRule(ScannedRows::areKeyed));
    extensions.injectQueryStagePrepRule(session -> new MergedInPlaceRule());
    extensions.injectColumnar(session -> physical(new KeyedMergeJoinRule()));
    extensions.injectColumnar(session -> physical(new RetryRule()));
    extensions.injectColumnar(session -> physical(new BatchWriteRule()));
    Guests.loaded().addTo(extensions);
    AccessRules.addTo(extensions);
    return BoxedUnit.UNIT;
  }

  /** A rule for physical plans, before Spark says where batches become rows. */
  private static ColumnarRule physical(Rule<SparkPlan> rule) {
    return new ColumnarRule() {
      @Override
      public Rule<SparkPlan> preColumnarTransitions() {
        return rule;
      }
    };
  }
}
