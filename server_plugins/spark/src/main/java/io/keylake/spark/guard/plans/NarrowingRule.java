package io.keylake.spark.guard.plans;

import io.keylake.spark.access.AccessControl;
import io.keylake.spark.access.Narrowing;
import io.keylake.spark.access.ServerWork;
import io.keylake.spark.engine.ClassicSession;
import io.keylake.spark.table.KeyedTable;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.NamedRelation;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.RaiseError;
import org.apache.spark.sql.catalyst.expressions.UserDefinedExpression;
import org.apache.spark.sql.catalyst.expressions.VariableReference;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.write.RowLevelOperationTable;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * The rule that puts the rows and columns which a principal may see in the place of a table, where
 * the policy shows it a part. A column that is hidden fails there, and is refused where a query has
 * a use for it:
 *
 * <ol>
 *   <li>Of a keyed table that a statement changes, masked columns are hidden, too: a mask would be
 *       written in the place of the value.
 *   <li>A statement that writes files of a plain table again needs all of it, which stays as it is.
 * </ol>
 */
final class NarrowingRule extends Rule<LogicalPlan> {
  private final AccessControl control;
  private final SparkSession session;

  NarrowingRule(AccessControl control, SparkSession session) {
    this.control = control;
    this.session = session;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (ServerWork.isRunning() || !plan.resolved()) {
      return plan;
    }
    Set<String> rewritten = new HashSet<>();
    Set<String> changed = new HashSet<>();
    collectWritten(plan, rewritten, changed);
    return new Pass(control.principalOf(session), rewritten, changed).node(plan);
  }

  private static void collectWritten(LogicalPlan node, Set<String> rewritten, Set<String> changed) {
    TableName name = null;
    if (node instanceof V2WriteCommand write) {
      name = TableName.of(write.table());
    } else if (node instanceof UpdateTable || node instanceof DeleteFromTable) {
      name = leaf(node.children().head());
    } else if (node instanceof MergeIntoTable merge) {
      name = leaf(merge.targetTable());
    }
    if (name != null) {
      (node instanceof AppendData ? changed : rewritten).add(name.full());
    }
    CollectionConverters.asJava(node.children())
        .forEach(child -> collectWritten(child, rewritten, changed));
  }

  private static @Nullable TableName leaf(LogicalPlan table) {
    LogicalPlan leaf = table;
    while (leaf.children().size() == 1) {
      leaf = leaf.children().head();
    }
    return leaf instanceof NamedRelation relation ? TableName.of(relation) : null;
  }

  /** One walk through a plan. */
  private final class Pass {
    private final String principal;
    private final Set<String> rewritten;
    private final Set<String> changed;

    /**
     * @param rewritten tables whose files the plan writes again
     * @param changed tables to which the plan adds files of rows
     */
    Pass(String principal, Set<String> rewritten, Set<String> changed) {
      this.principal = principal;
      this.rewritten = rewritten;
      this.changed = changed;
    }

    private LogicalPlan node(LogicalPlan node) {
      if (node instanceof SecuredRows) {
        return node;
      }
      if (node instanceof DataSourceV2Relation relation) {
        return relation(relation);
      }
      LogicalPlan changed = node.mapChildren(this::node);
      return changed.transformExpressionsUp(
          new AbstractPartialFunction<Expression, Expression>() {
            @Override
            public boolean isDefinedAt(Expression expression) {
              return expression instanceof PlanExpression<?> subquery
                  && subquery.plan() instanceof LogicalPlan;
            }

            @Override
            @SuppressWarnings("unchecked")
            public Expression apply(Expression expression) {
              PlanExpression<LogicalPlan> subquery = (PlanExpression<LogicalPlan>) expression;
              return subquery.withNewPlan(node(subquery.plan()));
            }
          });
    }

    private LogicalPlan relation(DataSourceV2Relation relation) {
      TableName table = TableName.of(relation);
      if (table == null
          || table.part() != null
          || relation.table() instanceof RowLevelOperationTable
          || rewritten.contains(table.full())) {
        return relation;
      }
      Optional<Narrowing> narrowing =
          control.narrowing(principal, table.full(), table.branch()).filter(n -> !n.isNone());
      return narrowing.isEmpty() ? relation : secured(relation, table, narrowing.get());
    }

    private LogicalPlan secured(
        DataSourceV2Relation relation, TableName table, Narrowing narrowing) {
      DataSourceV2Relation inner = relation.newInstance();
      LogicalPlan rows = inner;
      if (narrowing.rows() != null) {
        rows = new Filter(parsed(narrowing.rows(), "rows", table), rows);
      }
      Set<String> columns = new HashSet<>();
      Arrays.stream(relation.table().columns()).map(Column::name).forEach(columns::add);
      List<? extends Attribute> from = CollectionConverters.asJava(inner.output());
      List<? extends Attribute> to = CollectionConverters.asJava(relation.output());
      boolean isOfStatement =
          relation.table() instanceof KeyedTable keyed && keyed.statement() != null;
      boolean isChanged = changed.contains(table.full());
      List<NamedExpression> shown = new ArrayList<>();
      List<String> hidden = new ArrayList<>();
      for (int i = 0; i < to.size(); i++) {
        Attribute as = to.get(i);
        if (isOfStatement && as.name().equals(KeyedSchema.MERGE_INFO)) {
          shown.add(named(versionAlone(from.get(i)), as));
          continue;
        }
        boolean isHidden =
            !columns.contains(as.name())
                || narrowing.hides(as.name())
                || (isChanged && narrowing.mask(as.name()) != null);
        if (isHidden) {
          hidden.add(as.name());
        }
        shown.add(named(value(from.get(i), isHidden, narrowing, table), as));
      }
      LogicalPlan plan = new Project(CollectionConverters.asScala(shown).toSeq(), rows);
      LogicalPlan resolved = ServerWork.run(() -> ClassicSession.of(session).resolved(plan));
      checkAlone(resolved, table);
      if (!resolved.resolved()) {
        throw AccessControl.refusal(
            "the access policy's rows or masks of %s do not fit its columns; nobody reads it by that rule until they do"
                .formatted(table.full()));
      }
      return new SecuredRows(resolved, principal, table.full(), table.branch(), narrowing, hidden);
    }

    /** The versions of a row as a statement may see them: the newest, and none of a column. */
    private static Expression versionAlone(Attribute info) {
      StructType type = (StructType) info.dataType();
      List<Expression> parts = new ArrayList<>();
      for (int i = 0; i < type.size(); i++) {
        StructField field = type.fields()[i];
        parts.add(Literal.create(field.name(), DataTypes.StringType));
        parts.add(
            field.name().equals(KeyedSchema.VERSION)
                ? new GetStructField(info, i, Option.apply(field.name()))
                : Literal.create(null, field.dataType()));
      }
      return new CreateNamedStruct(CollectionConverters.asScala(parts).toSeq());
    }

    private Expression value(
        Attribute from, boolean isHidden, Narrowing narrowing, TableName table) {
      if (isHidden) {
        return new Cast(never(from.name()), from.dataType(), Option.empty());
      }
      String mask = narrowing.mask(from.name());
      return mask == null
          ? from
          : new Cast(
              parsed(mask, "mask of " + from.name(), table), from.dataType(), Option.empty());
    }

    /** A session can give tables and variables other meanings; columns of the table it cannot. */
    private static void checkAlone(LogicalPlan plan, TableName table) {
      if (plan.exists(NarrowingRule::looksElsewhere)) {
        throw AccessControl.refusal(
            "the access policy's rows or masks of %s have a query or a variable in them, which sessions could give another meaning; nobody reads it by that rule until they have none"
                .formatted(table.full()));
      }
    }

    /** The value of a hidden column: whatever comes to need it fails. */
    private static Expression never(String column) {
      String sentence = "column '%s' is hidden by the access policy".formatted(column);
      return new RaiseError(
          Literal.create(
              KeylakeException.line(KeylakeException.Kind.ACCESS_DENIED, sentence),
              DataTypes.StringType));
    }

    private Expression parsed(String text, String of, TableName table) {
      try {
        return ClassicSession.of(session).expression(text);
      } catch (ParseException e) {
        throw AccessControl.refusal(
            "the access policy's %s for %s is no expression in SQL; nobody reads it by that rule until it is"
                .formatted(of, table.full()));
      }
    }
  }

  private static boolean looksElsewhere(LogicalPlan node) {
    return CollectionConverters.asJava(node.expressions()).stream()
        .anyMatch(
            expression ->
                expression.exists(
                    each ->
                        each instanceof PlanExpression<?>
                            || each instanceof VariableReference
                            || each instanceof UserDefinedExpression));
  }

  private static Alias named(Expression value, Attribute as) {
    return new Alias(
        value,
        as.name(),
        as.exprId(),
        as.qualifier(),
        Option.apply(as.metadata()),
        CollectionConverters.asScala(List.<String>of()).toSeq());
  }
}
