package io.keylake.spark.join;

import io.keylake.spark.keys.KeyOrder;
import io.keylake.spark.read.scan.ScannedRows;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.Inner$;
import org.apache.spark.sql.catalyst.plans.JoinType;
import org.apache.spark.sql.catalyst.plans.LeftAnti$;
import org.apache.spark.sql.catalyst.plans.LeftOuter$;
import org.apache.spark.sql.catalyst.plans.LeftSemi$;
import org.apache.spark.sql.catalyst.plans.RightOuter$;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec;
import org.apache.spark.sql.execution.joins.SortMergeJoinExec;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.AtomicType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.VariantType;
import org.jspecify.annotations.Nullable;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Sort-merge joins one above the other, each with a table that has one row for a key, taken as one
 * join of a first input with all of these tables.
 *
 * <pre>
 * SortMergeJoin  id = id                       first    samples
 * :- Project  samples.*, a AS x                sides    features on id = id
 * :  +- SortMergeJoin  id = id        is                orders on id = id
 * :     :- samples                             columns  where each column of the result lies
 * :     +- features
 * +- orders
 * </pre>
 */
final class JoinChain {
  private final SparkPlan first;
  private final List<SparkPlan> tables = new ArrayList<>();
  private final List<Side> sides = new ArrayList<>();
  private final Map<ExprId, JoinPlan.Output> columns;

  private JoinChain(SparkPlan first, Map<ExprId, JoinPlan.Output> columns) {
    this.first = first;
    this.columns = columns;
  }

  /** The chain that a plan is, or null where it is none. */
  static @Nullable JoinChain of(SparkPlan plan) {
    if (plan instanceof ProjectExec project && isNaming(project)) {
      JoinChain chain = of(project.child());
      return chain == null ? null : chain.named(project);
    }
    if (plan instanceof SortMergeJoinExec join
        && !join.isSkewJoin()
        && join.condition().isEmpty()) {
      JoinChain left = joined(join, join.left(), join.right(), true);
      return left == null ? joined(join, join.right(), join.left(), false) : left;
    }
    return null;
  }

  private static @Nullable JoinChain joined(
      SortMergeJoinExec join, SparkPlan streamed, SparkPlan unique, boolean isLeft) {
    Side.How how = how(join.joinType(), isLeft);
    Map<ExprId, JoinPlan.Output> own = new HashMap<>();
    SparkPlan table = lookedThrough(unique, own);
    if (how == null || !(table instanceof BatchScanExec scan) || !scan.supportsColumnar()) {
      return null;
    }
    List<Expression> firstKey =
        CollectionConverters.asJava(isLeft ? join.leftKeys() : join.rightKeys());
    List<Expression> ownKey =
        CollectionConverters.asJava(isLeft ? join.rightKeys() : join.leftKeys());
    JoinChain below = of(streamed);
    if (below != null && below.add(how, firstKey, ownKey, scan, own)) {
      return below;
    }
    Map<ExprId, JoinPlan.Output> columns = new HashMap<>();
    SparkPlan first = lookedThrough(streamed, columns);
    JoinChain chain = new JoinChain(first, columns);
    return chain.add(how, firstKey, ownKey, scan, own) ? chain : null;
  }

  private static Side.@Nullable How how(JoinType type, boolean isLeft) {
    if (type.equals(Inner$.MODULE$)) {
      return Side.How.INNER;
    }
    if (type.equals(isLeft ? LeftOuter$.MODULE$ : RightOuter$.MODULE$)) {
      return Side.How.OUTER;
    }
    if (isLeft && type.equals(LeftSemi$.MODULE$)) {
      return Side.How.SEMI;
    }
    return isLeft && type.equals(LeftAnti$.MODULE$) ? Side.How.ANTI : null;
  }

  /** The plan below mere naming of columns; {@code columns} gets their places in its output. */
  private static SparkPlan lookedThrough(SparkPlan plan, Map<ExprId, JoinPlan.Output> columns) {
    if (plan instanceof ProjectExec project && isNaming(project)) {
      Map<ExprId, JoinPlan.Output> below = new HashMap<>();
      SparkPlan found = lookedThrough(project.child(), below);
      if (found.supportsColumnar()) {
        columns.putAll(renamed(below, project));
        return found;
      }
    }
    List<Attribute> output = CollectionConverters.asJava(plan.output());
    for (int i = 0; i < output.size(); i++) {
      columns.put(output.get(i).exprId(), new JoinPlan.Output(0, i, output.get(i).dataType()));
    }
    return plan;
  }

  private static boolean isNaming(ProjectExec project) {
    return CollectionConverters.asJava(project.projectList()).stream()
        .allMatch(
            named ->
                named instanceof Attribute
                    || (named instanceof Alias alias && alias.child() instanceof Attribute));
  }

  private static Map<ExprId, JoinPlan.Output> renamed(
      Map<ExprId, JoinPlan.Output> columns, ProjectExec project) {
    Map<ExprId, JoinPlan.Output> renamed = new HashMap<>();
    for (NamedExpression named : CollectionConverters.asJava(project.projectList())) {
      Expression column = named instanceof Alias alias ? alias.child() : (Expression) named;
      renamed.put(named.exprId(), columns.get(((Attribute) column).exprId()));
    }
    return renamed;
  }

  private JoinChain named(ProjectExec project) {
    Map<ExprId, JoinPlan.Output> renamed = renamed(columns, project);
    columns.clear();
    columns.putAll(renamed);
    return this;
  }

  /** Takes one more table into the chain; false, and nothing is changed, where it does not fit. */
  private boolean add(
      Side.How how,
      List<Expression> firstKey,
      List<Expression> ownKey,
      BatchScanExec scan,
      Map<ExprId, JoinPlan.Output> own) {
    List<Integer> firstColumns = new ArrayList<>();
    List<Integer> ownColumns = new ArrayList<>();
    List<DataType> types = new ArrayList<>();
    Set<String> names = new HashSet<>();
    for (int i = 0; i < firstKey.size(); i++) {
      JoinPlan.Output left = column(columns, firstKey.get(i));
      JoinPlan.Output right = column(own, ownKey.get(i));
      if (left == null
          || right == null
          || left.input() != 0
          || !left.type().equals(right.type())
          || !isOrdered(left.type())) {
        return false;
      }
      firstColumns.add(left.column());
      ownColumns.add(right.column());
      types.add(left.type());
      names.add(scan.output().apply(right.column()).name());
    }
    Set<String> unique = ScannedRows.uniqueBy(scan.scan());
    if (unique.isEmpty() || !names.containsAll(unique)) {
      return false;
    }
    tables.add(scan);
    sides.add(
        new Side(how, List.copyOf(firstColumns), List.copyOf(ownColumns), List.copyOf(types)));
    if (how == Side.How.OUTER || how == Side.How.INNER) {
      own.forEach(
          (id, at) -> columns.put(id, new JoinPlan.Output(tables.size(), at.column(), at.type())));
    }
    for (int i = 0; how == Side.How.INNER && i < ownKey.size(); i++) {
      columns.put(((Attribute) ownKey.get(i)).exprId(), column(columns, firstKey.get(i))); // equal
    }
    return true;
  }

  private static JoinPlan.@Nullable Output column(
      Map<ExprId, JoinPlan.Output> columns, Expression key) {
    return key instanceof Attribute named ? columns.get(named.exprId()) : null;
  }

  /** Texts are sorted by their bytes, which is one of the orders that Spark has for them. */
  private static boolean isOrdered(DataType type) {
    return KeyOrder.orders(type)
        && (!(type instanceof StringType) || type.equals(DataTypes.StringType));
  }

  /**
   * The chain is quicker as one join. Rows that do not come in batches have to be copied into some,
   * which pays where most of the result comes from the tables.
   */
  boolean isWorthwhile(List<Attribute> output) {
    long ofFirst = columns(output).stream().filter(column -> column.input() == 0).count();
    return columns(output).stream().allMatch(column -> isTaken(column.type()))
        && (first.supportsColumnar()
            || 2L * first.output().size() <= output.size()
            || ofFirst == 0);
  }

  /** Types whose values can be taken from other columns. */
  private static boolean isTaken(DataType type) {
    return type instanceof StructType struct
        ? CollectionConverters.asJava(struct).stream().allMatch(field -> isTaken(field.dataType()))
        : type instanceof ArrayType
            || type instanceof MapType
            || (type instanceof AtomicType && !(type instanceof VariantType));
  }

  private List<JoinPlan.Output> columns(List<Attribute> output) {
    return output.stream().map(column -> columns.get(column.exprId())).toList();
  }

  SparkPlan first() {
    return first;
  }

  List<SparkPlan> tables() {
    return tables;
  }

  JoinPlan plan(List<Attribute> output) {
    return new JoinPlan(List.copyOf(sides), List.copyOf(columns(output)));
  }
}
