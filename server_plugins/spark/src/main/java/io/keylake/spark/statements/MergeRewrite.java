package io.keylake.spark.statements;

import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.spark.keys.ColumnTypes;
import io.keylake.spark.keys.KeyBucketFunction;
import io.keylake.spark.layout.Comparison;
import io.keylake.spark.statements.MergeActions.Action;
import io.keylake.spark.statements.MergeActions.Effect;
import io.keylake.spark.write.request.WriteOptions.Verb;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.HelperColumn;
import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.ApplyFunctionExpression;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.CreateArray;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.MonotonicallyIncreasingID;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.plans.FullOuter$;
import org.apache.spark.sql.catalyst.plans.Inner$;
import org.apache.spark.sql.catalyst.plans.JoinType;
import org.apache.spark.sql.catalyst.plans.LeftOuter$;
import org.apache.spark.sql.catalyst.plans.RightOuter$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.HintInfo;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.JoinHint;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.MergeRows;
import org.apache.spark.sql.catalyst.plans.logical.NO_BROADCAST_AND_REPLICATION$;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionByExpression;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The write that a resolved MERGE INTO comes down to:
 *
 * <ol>
 *   <li>Target and source are joined. Filters of ON that are on the target alone reach its scan,
 *       unless rows that the source lacks are asked for.
 *   <li>Each joined row becomes the row that the first action that applies to it writes. It carries
 *       what that action assigns; one row of the target that matches several of the source is an
 *       error of Spark's.
 * </ol>
 */
public final class MergeRewrite {
  private static final String OF_SOURCE = "_merge_info:of_source";
  private static final String BUCKET_OF_SOURCE = "_merge_info:bucket_of_source";
  private static final String OF_TARGET = "_merge_info:of_target";

  /** Marks the key of rows that lie by bucket as long as those of the target do. */
  private static final Metadata BY_BUCKET =
      new MetadataBuilder().putBoolean("keylake.by_bucket", true).build();

  private final MergeIntoTable merge;
  private final StatementTarget target;
  private final StatementVersions versions;
  private final KeyedSchema schema;
  private final MergeActions actions;
  private final List<NestedField> columns;
  private final Verb verb;
  private final boolean listsColumns;

  public MergeRewrite(MergeIntoTable merge, StatementTarget target) {
    this.merge = merge;
    this.target = target;
    this.versions = new StatementVersions(target);
    this.schema = target.table().keyed();
    this.actions = new MergeActions(merge, target);
    this.columns = actions.columns();
    this.verb = actions.verb();
    this.listsColumns = verb != Verb.DELETE && !actions.writeTheSame();
  }

  /**
   * The rows of a MERGE lie in the buckets of the target's, wherever these are joined to the
   * source.
   */
  public static boolean isByBucket(Seq<Attribute> output) {
    return output.exists(column -> column.metadata().equals(BY_BUCKET));
  }

  public LogicalPlan write() {
    checkConditions();
    if (actions.areNone()) {
      return Conditions.nothing();
    }
    Map<String, String> options = new TreeMap<>();
    if (verb == Verb.APPLY_CHANGES) {
      options.put("op", HelperColumn.OP);
    }
    if (listsColumns) {
      options.put("columns_from", HelperColumn.COLUMNS_FROM);
    }
    return target.write(rows(), verb, versions.areGiven() ? HelperColumn.VERSION : null, options);
  }

  private LogicalPlan rows() {
    LogicalPlan joined = joined();
    List<Attribute> output = output();
    return new MergeRows(
        new IsNotNull(columnOf(joined, OF_SOURCE)),
        new IsNotNull(columnOf(joined, OF_TARGET)),
        Columns.seq(instructions(actions.matched())),
        Columns.seq(instructions(actions.notMatched())),
        Columns.seq(instructions(actions.notMatchedBySource())),
        actions.takesOneSourceRow(),
        Columns.seq(output),
        joined);
  }

  private LogicalPlan joined() {
    boolean keepsTarget = !actions.notMatchedBySource().isEmpty();
    boolean keepsSource = !actions.notMatched().isEmpty();
    JoinType type =
        keepsTarget
            ? (keepsSource ? FullOuter$.MODULE$ : LeftOuter$.MODULE$)
            : (keepsSource ? RightOuter$.MODULE$ : Inner$.MODULE$);
    List<Expression> ofTarget = new ArrayList<>();
    List<Expression> ofBoth = new ArrayList<>();
    for (Expression each : Comparison.terms(merge.mergeCondition())) {
      boolean isOfTarget = !keepsTarget && each.references().subsetOf(target.rows().outputSet());
      (isOfTarget ? ofTarget : ofBoth).add(each);
    }
    LogicalPlan filtered =
        ofTarget.isEmpty() ? target.rows() : new Filter(all(ofTarget), target.rows());
    List<NamedExpression> left = columnsOf(filtered);
    left.add(Columns.alias(Literal.TrueLiteral(), OF_TARGET));
    if (actions.takesOneSourceRow()) {
      left.add(Columns.alias(new MonotonicallyIncreasingID(), MergeRows.ROW_ID()));
    }
    List<NamedExpression> right = columnsOf(merge.sourceTable());
    right.add(Columns.alias(Literal.TrueLiteral(), OF_SOURCE));
    return new Join(
        Columns.project(left, filtered),
        Columns.project(right, source()),
        type,
        Option.apply(all(ofBoth)),
        // Matches of a row of the target are counted by a task, so that its rows stay where they
        // are.
        actions.takesOneSourceRow()
            ? new JoinHint(
                Option.apply(new HintInfo(Option.apply(NO_BROADCAST_AND_REPLICATION$.MODULE$))),
                Option.empty())
            : JoinHint.NONE());
  }

  /**
   * Rows of the source go to the buckets of the target, whose own rows then stay where they are.
   */
  private LogicalPlan source() {
    List<Expression> key = actions.sourceOfBucket();
    if (key.isEmpty()) {
      return merge.sourceTable();
    }
    int buckets = schema.spec().buckets();
    List<Expression> arguments = new ArrayList<>(key);
    arguments.add(0, Literal.create(buckets, DataTypes.IntegerType));
    StructType types = new StructType();
    for (int i = 0; i < arguments.size(); i++) {
      types = types.add("_" + i, arguments.get(i).dataType());
    }
    ScalarFunction<?> function = (ScalarFunction<?>) new KeyBucketFunction().bind(types);
    NamedExpression bucket =
        Columns.alias(
            new ApplyFunctionExpression(function, Columns.seq(arguments)), BUCKET_OF_SOURCE);
    List<NamedExpression> columns = columnsOf(merge.sourceTable());
    columns.add(bucket);
    return new RepartitionByExpression(
        Columns.seq(List.<Expression>of(bucket.toAttribute())),
        Columns.project(columns, merge.sourceTable()),
        Option.apply(buckets),
        Option.empty());
  }

  private static List<NamedExpression> columnsOf(LogicalPlan plan) {
    return new ArrayList<>(CollectionConverters.asJava(plan.output()));
  }

  private static Attribute columnOf(LogicalPlan plan, String name) {
    return CollectionConverters.asJava(plan.output()).stream()
        .filter(column -> column.name().equals(name))
        .findFirst()
        .orElseThrow();
  }

  private static Expression all(List<Expression> conditions) {
    return conditions.stream().reduce(And::new).orElse(Literal.TrueLiteral());
  }

  /** The columns of the rows that are written: key, values, and what the writer is told. */
  private List<Attribute> output() {
    List<Attribute> output = new ArrayList<>();
    Metadata mark = actions.insertsByBucket() ? BY_BUCKET : Metadata.empty();
    schema
        .key()
        .forEach(
            field -> output.add(column(field.name(), ColumnTypes.spark(field)).withMetadata(mark)));
    columns.forEach(field -> output.add(column(field.name(), ColumnTypes.spark(field))));
    if (versions.areGiven()) {
      output.add(column(HelperColumn.VERSION, DataTypes.LongType));
    }
    if (verb == Verb.APPLY_CHANGES) {
      output.add(column(HelperColumn.OP, DataTypes.StringType));
    }
    if (listsColumns) {
      output.add(
          column(HelperColumn.COLUMNS_FROM, DataTypes.createArrayType(DataTypes.StringType)));
    }
    return output;
  }

  private static Attribute column(String name, DataType type) {
    return new AttributeReference(
        name,
        type,
        true,
        Metadata.empty(),
        NamedExpression.newExprId(),
        Columns.seq(List.<String>of()));
  }

  private List<MergeRows.Instruction> instructions(List<Action> given) {
    return given.stream().map(this::instruction).toList();
  }

  private MergeRows.Instruction instruction(Action action) {
    List<Expression> row = new ArrayList<>(action.key());
    for (NestedField field : columns) {
      Expression value = action.values().get(field.name());
      row.add(value == null ? Literal.create(null, ColumnTypes.spark(field)) : value);
    }
    if (versions.areGiven()) {
      row.add(version(action));
    }
    if (verb == Verb.APPLY_CHANGES) {
      row.add(text(action.effect().op()));
    }
    if (listsColumns) {
      List<Expression> names = action.values().keySet().stream().map(MergeRewrite::text).toList();
      row.add(new CreateArray(Columns.seq(names), true));
    }
    MergeRows.Context context =
        switch (action.effect()) {
          case UPDATE -> MergeRows.Update$.MODULE$;
          case INSERT -> MergeRows.Insert$.MODULE$;
          case DELETE -> MergeRows.Delete$.MODULE$;
        };
    return new MergeRows.Keep(context, action.condition(), Columns.seq(row));
  }

  private static Expression text(String value) {
    return Literal.create(value, DataTypes.StringType);
  }

  /** The value that an action assigns to the ordering column, else the version of the statement. */
  private Expression version(Action action) {
    Expression said =
        schema.spec().ordering() == null ? null : action.values().get(schema.spec().ordering());
    if (action.effect() == Effect.INSERT) {
      return said == null ? versions.ofStatement() : versions.number(said);
    }
    return said == null
        ? versions.atLeast(versions.newest())
        : versions.number(versions.checked(said, versions.newest(), action.key()));
  }

  /** Refuses conditions that Spark refuses in a MERGE into any table. */
  private void checkConditions() {
    check("the condition of ON", merge.mergeCondition());
    actions.matched().forEach(action -> check("a condition of WHEN MATCHED", action.condition()));
    actions
        .notMatched()
        .forEach(action -> check("a condition of WHEN NOT MATCHED", action.condition()));
    actions
        .notMatchedBySource()
        .forEach(action -> check("a condition of WHEN NOT MATCHED BY SOURCE", action.condition()));
  }

  private static void check(String what, Expression condition) {
    Conditions.checkDeterministic(what, condition, "compute it in the source");
    if (SubqueryExpression.hasSubquery(condition)) {
      throw refused("%s, %s, has a subquery; join it to the source", what, condition);
    }
    if (condition.exists(part -> part instanceof AggregateExpression)) {
      throw refused("%s, %s, has an aggregate function; compute it in the source", what, condition);
    }
  }

  private static KeylakeException refused(String sentence, String what, Expression condition) {
    return new KeylakeException(UNSUPPORTED, sentence.formatted(what, condition.sql()));
  }
}
