package io.keylake.spark.conditions;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.spark.engine.ClassicSession;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.KeyedSchema;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
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

  /** Rows with these columns carry all of the condition's. */
  public boolean concerns(Collection<String> carried) {
    return carried.stream().map(RequiredCondition::lower).toList().containsAll(columns);
  }

  private static Expression parsed(String text) {
    try {
      return ClassicSession.active().expression(text);
    } catch (ParseException e) {
      throw new KeylakeException(
          DEFINITION,
          "the condition %s of the write cannot be read: %s"
              .formatted(text, String.valueOf(e.getMessage()).strip()),
          e);
    }
  }

  private static String lower(String name) {
    return name.toLowerCase(Locale.ROOT);
  }
}
