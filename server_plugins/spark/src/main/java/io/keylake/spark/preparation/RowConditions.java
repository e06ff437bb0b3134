package io.keylake.spark.preparation;

import io.keylake.spark.conditions.RequiredCondition;
import io.keylake.spark.statements.Columns;
import io.keylake.spark.write.request.Requirement;
import io.keylake.tables.spec.HelperColumn;
import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.ArrayContains;
import org.apache.spark.sql.catalyst.expressions.ArrayTransform;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.CaseWhen;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.Lower;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.DataTypes;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The conditions that rows of a write have to satisfy, as a column of the prepared rows: the first
 * condition that a row does not satisfy, null where it satisfies all. A condition sees values as
 * the table would store them. It says nothing of rows that delete, or that do not carry one of its
 * columns.
 */
record RowConditions(List<RequiredCondition> conditions) {
  private static final List<String> NO_WRITES = List.of("D", "d", "-D", "-U");

  RowConditions {
    conditions = List.copyOf(conditions);
  }

  /**
   * @param rows that carry the columns which a condition has to be of
   */
  static RowConditions of(Requirement requirement, KeyedSchema schema, Project rows) {
    List<String> carried =
        CollectionConverters.asJava(rows.output()).stream().map(Attribute::name).toList();
    return new RowConditions(
        requirement.conditions().stream()
            .map(text -> RequiredCondition.of(text, schema).checked(schema))
            .filter(condition -> condition.concerns(carried))
            .toList());
  }

  /** The rows with the column. */
  Project beside(Project rows) {
    if (conditions.isEmpty()) {
      return rows;
    }
    List<NamedExpression> columns = new ArrayList<>(CollectionConverters.asJava(rows.output()));
    List<Attribute> named = CollectionConverters.asJava(rows.output());
    List<Tuple2<Expression, Expression>> failures = new ArrayList<>();
    for (RequiredCondition each : conditions) {
      Expression fails =
          new Not(new Coalesce(seq(List.of(each.sql(), Literal$.MODULE$.apply(false)))));
      for (Attribute helper : named) {
        fails = where(helper, each, fails);
      }
      failures.add(new Tuple2<>(fails, Literal$.MODULE$.apply(each.text())));
    }
    columns.add(Columns.alias(new CaseWhen(seq(failures), Option.empty()), HelperColumn.FAILED));
    return Columns.project(columns, rows);
  }

  /** A condition fails only where a helper column says that the row is concerned. */
  private static Expression where(Attribute helper, RequiredCondition condition, Expression fails) {
    if (helper.name().equals(HelperColumn.OP)) {
      List<Expression> ops =
          NO_WRITES.stream().<Expression>map(op -> Literal$.MODULE$.apply(op)).toList();
      return new And(new Not(new In(helper, seq(ops))), fails);
    }
    if (helper.name().equals(HelperColumn.COLUMNS_FROM)) {
      Expression concerned = fails;
      for (String column : condition.columns()) {
        concerned =
            new And(
                new ArrayContains(inLowerCase(helper), Literal$.MODULE$.apply(column)), concerned);
      }
      return concerned;
    }
    return fails;
  }

  private static Expression inLowerCase(Expression names) {
    NamedLambdaVariable name =
        new NamedLambdaVariable(
            "name",
            DataTypes.StringType,
            true,
            NamedExpression.newExprId(),
            new AtomicReference<>());
    List<NamedExpression> arguments = List.of(name);
    return new ArrayTransform(names, new LambdaFunction(new Lower(name), seq(arguments), false));
  }

  private static <T> Seq<T> seq(List<T> list) {
    return CollectionConverters.asScala(list).toSeq();
  }
}
