package io.keylake.spark.conditions;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.spark.engine.ClassicSession;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.KeyedSchema;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.analysis.MultiAlias;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.ParseException;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A condition that rows of a write have to satisfy. It says nothing of a row that does not carry
 * one of its columns.
 *
 * @param sql in which no names are known yet
 * @param columns of values that it reads, in lower case
 */
public record RequiredCondition(String text, Expression sql, Set<String> columns) {
  public RequiredCondition {
    columns = Set.copyOf(columns);
  }

  public static RequiredCondition of(String text, KeyedSchema schema) {
    Set<String> values =
        schema.values().stream().map(field -> lower(field.name())).collect(Collectors.toSet());
    Expression sql = parsed(text);
    Set<String> columns = new LinkedHashSet<>();
    CollectionConverters.asJava(sql.collectLeaves()).stream()
        .filter(UnresolvedAttribute.class::isInstance)
        .map(leaf -> lower(((UnresolvedAttribute) leaf).nameParts().head()))
        .filter(values::contains)
        .forEach(columns::add);
    return new RequiredCondition(text, sql, columns);
  }

  /** Refuses a condition that looks at more than one row, or at columns that the table has not. */
  public RequiredCondition checked(KeyedSchema schema) {
    RowCondition.of(text, SparkSchemaUtil.convert(schema.visible()));
    return this;
  }

  /** Rows with these columns carry all of the condition's. */
  public boolean concerns(Collection<String> carried) {
    return carried.stream().map(RequiredCondition::lower).toList().containsAll(columns);
  }

  /** The names of the stored versions of its columns. */
  public List<String> leaves(KeyedSchema schema) {
    return schema.values().stream()
        .map(NestedField::name)
        .filter(name -> columns.contains(lower(name)))
        .map(schema.spec()::leafOf)
        .distinct()
        .toList();
  }

  static Expression parsed(String text) {
    try {
      Expression parsed = ClassicSession.active().expression(text);
      if (parsed instanceof Alias || parsed instanceof MultiAlias) {
        throw new KeylakeException(
            DEFINITION, "the condition %s has a name; give the condition alone".formatted(text));
      }
      return parsed;
    } catch (ParseException e) {
      throw new KeylakeException(
          DEFINITION,
          "the condition %s cannot be read: %s"
              .formatted(text, String.valueOf(e.getMessage()).strip()),
          e);
    }
  }

  private static String lower(String name) {
    return name.toLowerCase(Locale.ROOT);
  }
}
