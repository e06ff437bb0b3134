package io.keylake.spark;

import io.keylake.spark.engine.EngineVersions;
import io.keylake.spark.engine.ExchangeRule;
import io.keylake.spark.join.KeyedMergeJoinRule;
import io.keylake.spark.layout.BucketExchange;
import io.keylake.spark.layout.BucketedFrameRule;
import io.keylake.spark.layout.KeyLayoutRule;
import io.keylake.spark.rules.KeyRangeRule;
import io.keylake.spark.rules.KeyedWriteRule;
import io.keylake.spark.rules.PlainScanRule;
import io.keylake.spark.rules.ReadOptionsRule;
import io.keylake.spark.rules.TableChangeRule;
import io.keylake.spark.write.KeyRangeExchange;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * What a session needs beside the catalog: the rules that keep reads apart, prepare and spread
 * writes, show Spark how tables lie, and find plain scans. Named in {@code spark.sql.extensions}.
 */
public final class KeylakeExtensions extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    EngineVersions.check();
    extensions.injectHintResolutionRule(
        new AbstractFunction1<SparkSession, Rule<LogicalPlan>>() {
          @Override
          public Rule<LogicalPlan> apply(SparkSession session) {
            return new ReadOptionsRule(session); // before Spark resolves tables
          }
        });
    extensions.injectResolutionRule(
        new AbstractFunction1<SparkSession, Rule<LogicalPlan>>() {
          @Override
          public Rule<LogicalPlan> apply(SparkSession session) {
            return new KeyedWriteRule();
          }
        });
    extensions.injectResolutionRule(
        new AbstractFunction1<SparkSession, Rule<LogicalPlan>>() {
          @Override
          public Rule<LogicalPlan> apply(SparkSession session) {
            return new BucketedFrameRule();
          }
        });
    extensions.injectResolutionRule(
        new AbstractFunction1<SparkSession, Rule<LogicalPlan>>() {
          @Override
          public Rule<LogicalPlan> apply(SparkSession session) {
            return new TableChangeRule(session);
          }
        });
    extensions.injectPreCBORule(
        new AbstractFunction1<SparkSession, Rule<LogicalPlan>>() {
          @Override
          public Rule<LogicalPlan> apply(SparkSession session) {
            return new KeyLayoutRule();
          }
        });
    extensions.injectOptimizerRule(
        new AbstractFunction1<SparkSession, Rule<LogicalPlan>>() {
          @Override
          public Rule<LogicalPlan> apply(SparkSession session) {
            return new KeyRangeRule(session);
          }
        });
    extensions.injectPreCBORule(
        new AbstractFunction1<SparkSession, Rule<LogicalPlan>>() {
          @Override
          public Rule<LogicalPlan> apply(SparkSession session) {
            return new PlainScanRule();
          }
        });
    extensions.injectPlannerStrategy(
        new AbstractFunction1<SparkSession, SparkStrategy>() {
          @Override
          public SparkStrategy apply(SparkSession session) {
            return new BucketExchange(session);
          }
        });
    extensions.injectPlannerStrategy(
        new AbstractFunction1<SparkSession, SparkStrategy>() {
          @Override
          public SparkStrategy apply(SparkSession session) {
            return new KeyRangeExchange();
          }
        });
    extensions.injectQueryStagePrepRule(
        new AbstractFunction1<SparkSession, Rule<SparkPlan>>() {
          @Override
          public Rule<SparkPlan> apply(SparkSession session) {
            return new ExchangeRule();
          }
        });
    extensions.injectColumnar(
        new AbstractFunction1<SparkSession, ColumnarRule>() {
          @Override
          public ColumnarRule apply(SparkSession session) {
            return new ColumnarRule() {
              @Override
              public Rule<SparkPlan> preColumnarTransitions() {
                return new KeyedMergeJoinRule();
              }
            };
          }
        });
    return BoxedUnit.UNIT;
  }
}
