package io.keylake.spark.explain;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;
import static io.keylake.tables.KeylakeException.Kind.SCHEMA_MISMATCH;

import io.keylake.spark.keys.ColumnTypes;
import io.keylake.spark.keys.LookupKey;
import io.keylake.spark.read.scan.PushedFilters;
import io.keylake.spark.write.request.CheckedCast;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.SparkRuntimeException;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.FieldReference;
import org.apache.spark.sql.connector.expressions.LiteralValue;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/** A key that somebody has said as a struct: the values of the key columns by their names. */
final class KeyValues {
  private KeyValues() {}

  static LookupKey of(KeyedSchema schema, String table, StructType said, InternalRow values) {
    List<NestedField> columns = schema.key();
    List<String> given = given(said, columns);
    List<String> wanted = columns.stream().map(NestedField::name).toList();
    if (given.size() != wanted.size() || !given.containsAll(wanted)) {
      throw new KeylakeException(
          SCHEMA_MISMATCH,
          "the key of %s is %s, and explain_row has %s; write key => named_struct('%s', ...)"
              .formatted(table, quoted(wanted), quoted(given), String.join("', ..., '", wanted)));
    }
    List<DataType> types = columns.stream().map(ColumnTypes::spark).toList();
    List<Object> cast = new ArrayList<>();
    for (int i = 0; i < columns.size(); i++) {
      int position = given.indexOf(wanted.get(i));
      DataType type = said.fields()[position].dataType();
      cast.add(value(wanted.get(i), values.get(position, type), type, types.get(i)));
    }
    return new LookupKey(columns, types, cast);
  }

  /** The names as the table has them, where the session takes them for the same. */
  private static List<String> given(StructType said, List<NestedField> columns) {
    boolean isCaseSensitive = SparkSession.active().sessionState().conf().caseSensitiveAnalysis();
    return Arrays.stream(said.fields())
        .map(StructField::name)
        .map(
            name ->
                columns.stream()
                    .map(NestedField::name)
                    .filter(own -> isCaseSensitive ? own.equals(name) : own.equalsIgnoreCase(name))
                    .findFirst()
                    .orElse(name))
        .toList();
  }

  private static Object value(String column, Object said, DataType given, DataType target) {
    if (said == null) {
      throw new KeylakeException(
          BAD_ROWS, "column '%s' of the key is null; give it a value".formatted(column));
    }
    Literal literal = new Literal(said, given);
    try {
      Object value = CheckedCast.of(literal, column, target).eval(null);
      return Objects.requireNonNull(value, "only null becomes null");
    } catch (KeylakeException e) {
      throw e; // it has its sentence
    } catch (SparkRuntimeException e) {
      throw new KeylakeException(
          BAD_ROWS,
          "column '%s' is %s and cannot hold the value %s of the key; give it one that fits"
              .formatted(column, ColumnTypes.word(target), literal));
    }
  }

  private static String quoted(List<String> names) {
    return names.isEmpty()
        ? "none"
        : names.stream().map("'%s'"::formatted).collect(Collectors.joining(", "));
  }

  /** The filters that a read of that key alone pushes down. */
  static PushedFilters filters(KeyedSchema schema, LookupKey key) {
    List<Predicate> predicates = new ArrayList<>();
    for (int i = 0; i < key.columns().size(); i++) {
      String name = key.columns().get(i).name();
      predicates.add(
          new Predicate(
              "=",
              new Expression[] {
                FieldReference.apply(CollectionConverters.asScala(List.of(name)).toSeq()),
                new LiteralValue<>(key.values().get(i), key.types().get(i))
              }));
    }
    return PushedFilters.of(schema, predicates.toArray(Predicate[]::new));
  }
}
