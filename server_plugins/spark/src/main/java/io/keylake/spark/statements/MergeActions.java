package io.keylake.spark.statements;

import static io.keylake.tables.KeylakeException.Kind.SCHEMA_MISMATCH;

import io.keylake.spark.keys.ColumnTypes;
import io.keylake.spark.layout.Comparison;
import io.keylake.spark.write.request.CheckedCast;
import io.keylake.spark.write.request.WriteOptions.Verb;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.TableSpec.ColumnGroup;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.iceberg.spark.SparkUtil;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.Assignment;
import org.apache.spark.sql.catalyst.plans.logical.InsertAction;
import org.apache.spark.sql.catalyst.plans.logical.MergeAction;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.UpdateAction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** The actions of a resolved MERGE INTO, as rows of one write. */
final class MergeActions {
  /** The effect of an action on the row that it applies to. */
  enum Effect {
    UPDATE("U"),
    INSERT("I"),
    DELETE("D");

    private final String op;

    Effect(String op) {
      this.op = op;
    }

    String op() {
      return op;
    }
  }

  /**
   * One action.
   *
   * @param condition true where it has none
   * @param key the key of the row that it writes
   * @param values the value columns that it writes, by name
   */
  record Action(
      Effect effect, Expression condition, List<Expression> key, Map<String, Expression> values) {}

  private final StatementTarget target;
  private final KeyedSchema schema;
  private final List<Expression> matchedBy;
  private final AttributeSet source;
  private final List<Action> matched;
  private final List<Action> notMatched;
  private final List<Action> notMatchedBySource;

  MergeActions(MergeIntoTable merge, StatementTarget target) {
    this.target = target;
    this.schema = target.table().keyed();
    this.matchedBy = Comparison.terms(merge.mergeCondition());
    this.source = merge.sourceTable().outputSet();
    this.matched =
        Conditions.isNever(merge.mergeCondition()) ? List.of() : read(merge.matchedActions());
    this.notMatched = read(merge.notMatchedActions());
    this.notMatchedBySource = read(merge.notMatchedBySourceActions());
  }

  List<Action> matched() {
    return matched;
  }

  List<Action> notMatched() {
    return notMatched;
  }

  List<Action> notMatchedBySource() {
    return notMatchedBySource;
  }

  /** A row of the target that matches several rows of the source is an error. */
  boolean takesOneSourceRow() {
    boolean onlyDeletes =
        matched.size() == 1
            && matched.get(0).effect() == Effect.DELETE
            && matched.get(0).condition().equals(Literal.TrueLiteral());
    return !matched.isEmpty() && !onlyDeletes;
  }

  /** No action can apply to a row. */
  boolean areNone() {
    return all().findAny().isEmpty();
  }

  private Stream<Action> all() {
    return Stream.of(matched, notMatched, notMatchedBySource).flatMap(List::stream);
  }

  private Stream<Action> writes() {
    return all().filter(action -> action.effect() != Effect.DELETE);
  }

  Verb verb() {
    boolean deletes = all().anyMatch(action -> action.effect() == Effect.DELETE);
    boolean writes = writes().findAny().isPresent();
    return deletes ? (writes ? Verb.APPLY_CHANGES : Verb.DELETE) : Verb.UPDATE;
  }

  /** The value columns that some action writes, in the order of the table. */
  List<NestedField> columns() {
    return schema.values().stream()
        .filter(field -> writes().anyMatch(action -> action.values().containsKey(field.name())))
        .toList();
  }

  /** All actions that write do so to the same columns. */
  boolean writeTheSame() {
    return writes().map(action -> action.values().keySet()).distinct().count() <= 1;
  }

  private List<Action> read(Seq<MergeAction> given) {
    return CollectionConverters.asJava(given).stream()
        .filter(action -> !action.condition().exists(Conditions::isNever))
        .map(this::read)
        .toList();
  }

  private Action read(MergeAction action) {
    Expression condition =
        action.condition().isEmpty() ? Literal.TrueLiteral() : action.condition().get();
    if (action instanceof UpdateAction update) {
      List<Assignment> set =
          assignments(update.assignments()).filter(each -> !staysTheKey(each)).toList();
      return new Action(
          Effect.UPDATE, condition, List.copyOf(target.key()), Assignments.of(target, set));
    }
    if (action instanceof InsertAction insert) {
      Map<String, Expression> values = inserted(assignments(insert.assignments()).toList());
      List<Expression> key = new ArrayList<>();
      schema.key().forEach(field -> key.add(keyOf(values, field.name())));
      return new Action(Effect.INSERT, condition, key, values);
    }
    return new Action(Effect.DELETE, condition, List.copyOf(target.key()), Map.of());
  }

  /**
   * The assignments as they were written: casts that Spark adds to what is stored can change
   * values.
   */
  private static Stream<Assignment> assignments(Seq<Assignment> given) {
    return CollectionConverters.asJava(given).stream()
        .map(each -> new Assignment(each.key(), Assignments.asWritten(each.value())));
  }

  private Map<String, Expression> inserted(List<Assignment> given) {
    Map<String, Expression> values = new LinkedHashMap<>();
    for (Assignment each : given) {
      if (!(each.key() instanceof AttributeReference column)) {
        throw StatementTarget.refused(
            "INSERT of MERGE INTO names %s, a member of a column; name the whole column, and give"
                + " it as a struct",
            each.key().sql());
      }
      String name = target.nameOf(column);
      DataType type = each.key().dataType();
      if (values.put(name, CheckedCast.of(each.value(), name, type)) != null) {
        throw StatementTarget.refused("INSERT of MERGE INTO has the column '%s' twice", name);
      }
    }
    addDefaults(values);
    schema.spec().columnGroups().forEach((name, group) -> checkIsWhole(name, group, values));
    return values;
  }

  /** A new row gets the defaults of columns that the statement does not name. */
  private void addDefaults(Map<String, Expression> values) {
    Set<String> named = Set.copyOf(values.keySet());
    Set<String> withDefaults = leaves(field -> field.writeDefault() != null);
    if (withDefaults.isEmpty()) {
      return;
    }
    Set<String> withValues = leaves(field -> named.contains(field.name()));
    for (NestedField field : schema.values()) {
      String leaf = schema.spec().leafOf(field.name());
      boolean isShared = withDefaults.contains(leaf) && !withValues.contains(leaf);
      if (field.writeDefault() != null || isShared) {
        values.putIfAbsent(field.name(), defaultOf(field));
      }
    }
  }

  /** The versions of the columns that have something; columns of a group share one. */
  private Set<String> leaves(Predicate<NestedField> has) {
    return schema.values().stream()
        .filter(has)
        .map(field -> schema.spec().leafOf(field.name()))
        .collect(Collectors.toSet());
  }

  private static Expression defaultOf(NestedField field) {
    return Literal.create(
        SparkUtil.internalToSpark(field.type(), field.writeDefault()), ColumnTypes.spark(field));
  }

  private static void checkIsWhole(String name, ColumnGroup group, Map<String, Expression> values) {
    Set<String> lacking = new LinkedHashSet<>(group.columns());
    lacking.removeAll(values.keySet());
    if (!lacking.isEmpty() && lacking.size() < group.columns().size()) {
      throw new KeylakeException(
          SCHEMA_MISMATCH,
          "INSERT of MERGE INTO has a part of the column group '%s' and lacks %s; a group is written whole"
              .formatted(name, lacking));
    }
  }

  private Expression keyOf(Map<String, Expression> values, String name) {
    Expression value = values.remove(name);
    if (value == null) {
      throw new KeylakeException(
          SCHEMA_MISMATCH,
          "INSERT of MERGE INTO lacks the key column '%s'; every row needs the whole key %s"
              .formatted(name, schema.spec().key()));
    }
    return value;
  }

  /** A column of the key is set to just that value by which rows are matched. */
  private boolean staysTheKey(Assignment set) {
    Expression own = set.key();
    boolean isKey = target.key().stream().anyMatch(own::semanticEquals);
    return isKey
        && (set.value().semanticEquals(own)
            || matchedBy.stream()
                .filter(each -> each instanceof EqualTo || each instanceof EqualNullSafe)
                .map(each -> (BinaryComparison) each)
                .anyMatch(
                    each ->
                        isPair(each.left(), each.right(), own, set.value())
                            || isPair(each.right(), each.left(), own, set.value())));
  }

  /**
   * The columns of the source that say the bucket of the target's rows that match; empty where rows
   * may match in any bucket.
   */
  List<Expression> sourceOfBucket() {
    List<Expression> columns = new ArrayList<>();
    for (String name : schema.spec().bucketBy()) {
      Attribute own = target.column(name);
      matchedBy.stream()
          .filter(each -> each instanceof EqualTo)
          .map(each -> other((EqualTo) each, own))
          .flatMap(Optional::stream)
          .filter(other -> isHashedAs(other.dataType(), own.dataType()))
          .findFirst()
          .ifPresent(columns::add);
    }
    boolean liesByBucket = schema.spec().partitionBy().isEmpty() && schema.spec().groups() == null;
    return liesByBucket && columns.size() == schema.spec().bucketBy().size() ? columns : List.of();
  }

  /** Rows that are inserted lie in the buckets to which rows of the source are brought. */
  boolean insertsByBucket() {
    List<Expression> source = sourceOfBucket();
    List<String> key = schema.spec().key();
    for (int i = 0; i < source.size(); i++) {
      Expression wanted = source.get(i);
      int at = key.indexOf(schema.spec().bucketBy().get(i));
      if (!notMatched.stream().allMatch(row -> uncast(row.key().get(at)).semanticEquals(wanted))) {
        return false;
      }
    }
    return !source.isEmpty();
  }

  /** The column of the source that a term compares with one of the target. */
  private Optional<Expression> other(EqualTo term, Attribute own) {
    Expression left = uncast(term.left());
    Expression right = uncast(term.right());
    Expression other = left.semanticEquals(own) ? right : left;
    boolean isPair = left.semanticEquals(own) || right.semanticEquals(own);
    return isPair && other instanceof Attribute column && source.contains(column)
        ? Optional.of(other)
        : Optional.empty();
  }

  private static boolean isHashedAs(DataType other, DataType own) {
    return other.equals(own) || (isWhole(other) && isWhole(own));
  }

  private static boolean isWhole(DataType type) {
    return type.equals(DataTypes.IntegerType) || type.equals(DataTypes.LongType);
  }

  private static boolean isPair(
      Expression one, Expression other, Expression own, Expression value) {
    return uncast(one).semanticEquals(own) && uncast(other).semanticEquals(uncast(value));
  }

  private static Expression uncast(Expression value) {
    return value instanceof Cast cast ? uncast(cast.child()) : value;
  }
}
