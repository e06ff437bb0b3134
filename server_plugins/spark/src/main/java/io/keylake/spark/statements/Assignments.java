package io.keylake.spark.statements;

import io.keylake.spark.write.request.CheckedCast;
import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.AssertNotNull;
import org.apache.spark.sql.catalyst.plans.logical.Assignment;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.runtime.AbstractPartialFunction;

/**
 * The columns that a SET clause writes, with their values: those that it names, and what has to be
 * written together with them.
 *
 * <ol>
 *   <li>A column group is written whole, the others of it with the values that were read.
 *   <li>A struct of which fields are set is written whole, its other fields as they were read.
 *   <li>The key of a row cannot be set: another key is another row. Nor can an accumulator, whose
 *       value is that of all its contributions.
 * </ol>
 */
public final class Assignments {
  private final StatementTarget target;
  private final KeyedSchema schema;
  private final Map<String, List<Assignment>> byColumn = new LinkedHashMap<>();

  private Assignments(StatementTarget target) {
    this.target = target;
    this.schema = target.table().keyed();
  }

  /** The values by the names of columns. */
  public static Map<String, Expression> of(StatementTarget target, List<Assignment> given) {
    Assignments all = new Assignments(target);
    given.forEach(all::add);
    return all.values();
  }

  private void add(Assignment assignment) {
    String name = target.nameOf(columnOf(assignment.key()));
    if (schema.spec().key().contains(name)) {
      throw StatementTarget.refused(
          "the statement sets '%s', which is a column of the key of %s, and a row with another key"
              + " is another row; delete it and insert the other",
          name, target.table().name());
    }
    if (schema.values().stream().noneMatch(field -> field.name().equals(name))) {
      throw StatementTarget.refused(
          "the statement sets '%s', which is not stored as such; set columns of %s only",
          name, target.table().name());
    }
    if (schema.spec().reducer(name).accumulates()) {
      throw StatementTarget.refused(
          "the statement sets '%s', and what is written to that column is not its new value but one"
              + " more contribution to its %s; leave the column out, and contribute with INSERT"
              + " INTO %s",
          name, schema.spec().reducer(name).type(), target.table().name());
    }
    if (schema.spec().reducer(name).skipsNulls() && isNull(assignment.value())) {
      throw StatementTarget.refused(
          "the statement sets '%s' to null, which does not replace the value of a LatestNotNull"
              + " column; delete the row, or declare the column as Latest",
          name);
    }
    byColumn.computeIfAbsent(name, each -> new ArrayList<>()).add(assignment);
  }

  private static Attribute columnOf(Expression place) {
    if (place instanceof GetStructField field) {
      return columnOf(field.child());
    }
    if (place instanceof AttributeReference column) {
      return column;
    }
    throw StatementTarget.refused(
        "the statement sets %s; it can set columns and fields of structs, so set the whole column",
        place.sql());
  }

  private static boolean isNull(Expression value) {
    return value instanceof Cast cast
        ? isNull(cast.child())
        : value instanceof Literal literal && literal.value() == null;
  }

  private Map<String, Expression> values() {
    Set<String> leaves = new LinkedHashSet<>();
    byColumn.keySet().forEach(name -> leaves.add(schema.spec().leafOf(name)));
    Map<String, Expression> values = new LinkedHashMap<>();
    for (NestedField field : schema.values()) {
      String name = field.name();
      if (leaves.contains(schema.spec().leafOf(name))) {
        AttributeReference column = target.column(name);
        List<Assignment> own = byColumn.getOrDefault(name, List.of());
        values.put(name, own.isEmpty() ? column : value(column, name, own));
      }
    }
    return values;
  }

  /**
   * The value of a column or a field.
   *
   * @param given all that is set in it
   */
  private static Expression value(Expression place, String path, List<Assignment> given) {
    List<Assignment> whole = given.stream().filter(set -> isOf(set, place)).toList();
    if (whole.size() > 1 || (whole.size() == 1 && given.size() > 1)) {
      throw StatementTarget.refused(
          whole.size() > 1
              ? "the statement sets '%s' twice; set it once"
              : "the statement sets '%s' and a field of it; set one of both",
          path);
    }
    if (whole.size() == 1) {
      return CheckedCast.of(asWritten(whole.get(0).value()), path, place.dataType());
    }
    StructType struct = (StructType) place.dataType();
    List<Expression> parts = new ArrayList<>();
    for (int i = 0; i < struct.size(); i++) {
      StructField field = struct.fields()[i];
      Expression part = new GetStructField(place, i, Option.apply(field.name()));
      List<Assignment> within = given.stream().filter(set -> isWithin(set, part)).toList();
      parts.add(Literal.create(field.name(), DataTypes.StringType));
      parts.add(within.isEmpty() ? part : value(part, path + "." + field.name(), within));
    }
    return new CreateNamedStruct(Columns.seq(parts));
  }

  /**
   * The value without what Spark adds to make it fit: casts to what is stored can change values.
   */
  static Expression asWritten(Expression value) {
    if (value instanceof AssertNotNull checked) {
      return asWritten(checked.child());
    }
    return value instanceof Cast cast && cast.getTagValue(Cast.BY_TABLE_INSERTION()).isDefined()
        ? asWritten(cast.child())
        : value;
  }

  /** A statement without those casts: some of them are none that Spark knows. */
  public static LogicalPlan asWritten(LogicalPlan statement) {
    return statement.transformExpressions(
        new AbstractPartialFunction<Expression, Expression>() {
          @Override
          public boolean isDefinedAt(Expression part) {
            return part instanceof Assignment;
          }

          @Override
          public Expression apply(Expression part) {
            Assignment set = (Assignment) part;
            return new Assignment(set.key(), asWritten(set.value()));
          }
        });
  }

  private static boolean isOf(Assignment set, Expression place) {
    return set.key().semanticEquals(place);
  }

  private static boolean isWithin(Assignment set, Expression place) {
    return set.key().exists(part -> part.semanticEquals(place));
  }
}
