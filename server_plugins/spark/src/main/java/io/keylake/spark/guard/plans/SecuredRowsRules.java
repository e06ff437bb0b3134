package io.keylake.spark.guard.plans;

import io.keylake.spark.layout.Comparison;
import io.keylake.spark.table.NodeRule;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** The optimizer and the planner of {@link SecuredRows}. */
final class SecuredRowsRules {
  private SecuredRowsRules() {}

  /**
   * The rule that moves comparisons of a column with a literal below: they cannot fail, and so tell
   * nothing of rows that are hidden. With them a look-up opens the files of its keys only.
   */
  static final class Pushdown extends NodeRule {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      return plan.transformUp(changes());
    }

    @Override
    protected boolean concerns(LogicalPlan node) {
      return node instanceof Filter filter
          && filter.child() instanceof SecuredRows
          && Comparison.terms(filter.condition()).stream()
              .anyMatch(each -> isHarmless(each, (SecuredRows) filter.child()));
    }

    @Override
    protected LogicalPlan changed(LogicalPlan node) {
      Filter filter = (Filter) node;
      SecuredRows secured = (SecuredRows) filter.child();
      List<Expression> below = new ArrayList<>();
      List<Expression> above = new ArrayList<>();
      for (Expression each : Comparison.terms(filter.condition())) {
        (isHarmless(each, secured) ? below : above).add(each);
      }
      LogicalPlan rows = secured.over(List.of(new Filter(and(below), secured.rows())));
      return above.isEmpty() ? rows : new Filter(and(above), rows);
    }

    private static boolean isHarmless(Expression condition, SecuredRows secured) {
      return !secured.isHidden(condition.references()) && isComparison(condition);
    }

    private static boolean isComparison(Expression condition) {
      if (condition instanceof BinaryComparison compared) {
        return isPlain(compared.left()) && isPlain(compared.right());
      }
      if (condition instanceof In in) {
        return isPlain(in.value())
            && CollectionConverters.asJava(in.list()).stream().allMatch(Pushdown::isPlain);
      }
      if (condition instanceof InSet in) {
        return isPlain(in.child());
      }
      return (condition instanceof IsNotNull || condition instanceof IsNull)
          && isPlain(condition.children().head());
    }

    private static boolean isPlain(Expression operand) {
      return operand instanceof Attribute || operand instanceof Literal;
    }

    private static Expression and(List<Expression> conditions) {
      return conditions.stream().reduce(And::new).orElseThrow();
    }
  }

  /** The strategy that plans the rows themselves, without a step of their own. */
  static final class Strategy extends SparkStrategy {
    @Override
    public Seq<SparkPlan> apply(LogicalPlan plan) {
      if (!(plan instanceof SecuredRows secured)) {
        return CollectionConverters.asScala(List.<SparkPlan>of()).toSeq();
      }
      secured.checkUsed();
      return CollectionConverters.asScala(List.of(planLater(secured.rows()))).toSeq();
    }
  }
}
