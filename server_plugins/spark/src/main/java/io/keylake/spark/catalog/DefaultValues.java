package io.keylake.spark.catalog;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.spark.keys.ColumnTypes;
import io.keylake.tables.KeylakeException;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.apache.iceberg.Schema;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.Literal;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.catalyst.util.ResolveDefaultColumns$;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;
import scala.runtime.AbstractFunction1;

/**
 * Default values of columns, as Iceberg's write defaults. A row that does not carry a column says
 * nothing about it, so a default is used where a statement asks for it by the word DEFAULT, and
 * where MERGE inserts a row without the column. Rows that are there keep what they have.
 */
final class DefaultValues {
  private static final String STATEMENT = "DEFAULT";
  private static final String CURRENT = "CURRENT_DEFAULT";

  private DefaultValues() {}

  /** The columns of a new table with the defaults that a statement gives them. */
  static Schema of(Schema schema, Column[] columns) {
    List<NestedField> fields =
        schema.columns().stream().map(field -> with(field, columns)).toList();
    return new Schema(fields, schema.identifierFieldIds());
  }

  private static NestedField with(NestedField field, Column[] columns) {
    return Arrays.stream(columns)
        .filter(column -> column.name().equals(field.name()) && column.defaultValue() != null)
        .map(column -> literal(field, Objects.requireNonNull(column.defaultValue()).getSql()))
        .filter(Objects::nonNull)
        .map(value -> NestedField.from(field).withWriteDefault(value.to(field.type())).build())
        .findFirst()
        .orElse(field);
  }

  /**
   * A default as Iceberg has it; null for the default NULL.
   *
   * @param sql a constant
   */
  static @Nullable Literal<?> literal(NestedField field, String sql) {
    checkConstant(field.name(), sql);
    if (!field.type().isPrimitiveType()) {
      throw new KeylakeException(
          DEFINITION,
          "column '%s' is of type %s, and only columns of simple types have a default; leave DEFAULT out"
              .formatted(field.name(), field.type()));
    }
    StructField column =
        new StructField(field.name(), ColumnTypes.spark(field), true, Metadata.empty())
            .withCurrentDefaultValue(sql);
    Object value = ResolveDefaultColumns$.MODULE$.analyze(column, STATEMENT, CURRENT).eval(null);
    if (value instanceof UTF8String text) {
      return Expressions.lit(text.toString());
    }
    if (value instanceof Decimal decimal) {
      return Expressions.lit(decimal.toJavaBigDecimal());
    }
    return value == null ? null : Expressions.lit(value);
  }

  private static void checkConstant(String column, String sql) {
    Expression parsed = CatalystSqlParser$.MODULE$.parseExpression(sql);
    boolean isComputed =
        parsed.containsPattern(TreePattern.CURRENT_LIKE())
            || parsed.exists(
                new AbstractFunction1<Expression, Object>() {
                  @Override
                  public Object apply(Expression part) {
                    return part instanceof UnresolvedFunction
                        || part instanceof UnresolvedAttribute;
                  }
                });
    if (isComputed) {
      throw new KeylakeException(
          DEFINITION,
          "the default of column '%s' is %s, and a default is a constant, such as 5 or 'x'; write such values with the rows"
              .formatted(column, sql));
    }
  }
}
