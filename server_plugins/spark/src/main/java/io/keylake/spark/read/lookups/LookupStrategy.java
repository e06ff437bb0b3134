package io.keylake.spark.read.lookups;

import io.keylake.spark.read.scan.Lookup;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Unevaluable;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.ReturnAnswer;
import org.apache.spark.sql.execution.CollectLimitExec;
import org.apache.spark.sql.execution.LocalTableScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * Plans queries that are a look-up of one key and nothing else: the scan, the conditions on its
 * rows, and the columns made of them, in one step that the driver does.
 *
 * <ul>
 *   <li>For a client of Spark Connect that waits for the rows, they are read here.
 *   <li>For all others the plan reads when it runs. A limit stands above it: of such a plan Spark
 *       takes the rows without a job, and a key has one row at most.
 * </ul>
 */
public final class LookupStrategy extends SparkStrategy {
  private static final Seq<SparkPlan> NONE = seq(List.of());

  private final SparkSession session;

  public LookupStrategy(SparkSession session) {
    this.session = session;
  }

  @Override
  public Seq<SparkPlan> apply(LogicalPlan plan) {
    return plan instanceof ReturnAnswer answer ? lookup(answer.child()) : NONE;
  }

  private Seq<SparkPlan> lookup(LogicalPlan query) {
    LogicalPlan rows = query instanceof Project project ? project.child() : query;
    boolean isSought =
        rows instanceof Filter filter
            && filter.child() instanceof DataSourceV2ScanRelation
            && isSimple(filter.condition());
    List<Expression> columns = columns(query);
    if (!isSought || !columns.stream().allMatch(LookupStrategy::isSimple)) {
      return NONE;
    }
    Filter filter = (Filter) rows;
    DataSourceV2ScanRelation read = (DataSourceV2ScanRelation) filter.child();
    Lookup lookup = Lookup.of(read.scan());
    if (lookup == null) {
      return NONE;
    }
    Map<ExprId, Integer> places = new HashMap<>();
    CollectionConverters.asJava(read.output())
        .forEach(column -> places.put(column.exprId(), places.size()));
    LookupRows found =
        new LookupRows(
            lookup,
            bound(filter.condition(), places),
            columns.stream().map(column -> bound(column, places)).toList());
    return seq(
        List.of(
            ConnectOperation.sendsRows(session.sparkContext())
                ? new LocalTableScanExec(
                    query.output(),
                    CollectionConverters.asScala(found.read()).toSeq(),
                    Option.empty())
                : new CollectLimitExec(1, new LookupExec(query.output(), found), 0)));
  }

  private static List<Expression> columns(LogicalPlan plan) {
    return plan instanceof Project project
        ? CollectionConverters.asJava(project.projectList()).stream()
            .map(column -> (Expression) column)
            .toList()
        : List.copyOf(CollectionConverters.asJava(plan.output()));
  }

  private static Seq<SparkPlan> seq(List<SparkPlan> plans) {
    return CollectionConverters.asScala(plans).toSeq();
  }

  /**
   * An expression over rows as they are read.
   *
   * @param places of their columns
   */
  private static Expression bound(Expression expression, Map<ExprId, Integer> places) {
    return expression.transform(
        new AbstractPartialFunction<Expression, Expression>() {
          @Override
          public boolean isDefinedAt(Expression part) {
            return part instanceof AttributeReference;
          }

          @Override
          public Expression apply(Expression part) {
            AttributeReference column = (AttributeReference) part;
            return new BoundReference(
                places.getOrDefault(column.exprId(), -1), column.dataType(), column.nullable());
          }
        });
  }

  /** An expression can be computed here, row by row. */
  private static boolean isSimple(Expression expression) {
    return expression.deterministic()
        && !expression.exists(
            part -> part instanceof Unevaluable && !(part instanceof AttributeReference));
  }
}
