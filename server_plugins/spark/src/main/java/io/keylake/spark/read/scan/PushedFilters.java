package io.keylake.spark.read.scan;

import io.keylake.spark.engine.ParquetPushdown;
import io.keylake.tables.planning.KeySlice;
import io.keylake.tables.spec.KeyedSchema;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.expressions.And;
import org.apache.iceberg.expressions.Binder;
import org.apache.iceberg.expressions.BoundPredicate;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.Not;
import org.apache.iceberg.expressions.Or;
import org.apache.iceberg.spark.SparkV2Filters;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.sources.EqualTo;
import org.apache.spark.sql.sources.Filter;
import org.jspecify.annotations.Nullable;

/**
 * The part of a query's filters that a read can use, in the two languages that its parts speak:
 * Iceberg's for files, Spark's for what is inside them.
 *
 * <p>A filter on the key drops all versions of a row or none, so it chooses buckets, files, row
 * groups and pages. A filter that looks at a value may do so only where one run is passed through;
 * elsewhere it drops a whole section or nothing, since before the merge it would let an older row
 * win. Spark applies both to the merged rows again. A filter on an accumulator is of no use: what a
 * file has is a part of the value.
 *
 * @param onKey tests key columns only
 * @param onValues tests a value column at least
 */
public record PushedFilters(
    List<Predicate> used,
    Expression onKey,
    List<Filter> keyFilters,
    Expression onValues,
    List<Filter> valueFilters) {
  private static final int SHOWN_CHARACTERS = 300;
  private static final Set<Object> ZEROS = Set.of(0.0, -0.0, 0.0f, -0.0f);

  public static final PushedFilters NONE =
      new PushedFilters(
          List.of(), Expressions.alwaysTrue(), List.of(), Expressions.alwaysTrue(), List.of());

  public static PushedFilters of(KeyedSchema schema, Predicate[] predicates) {
    Set<String> key = schema.key().stream().map(NestedField::name).collect(Collectors.toSet());
    PushedFilters all = NONE;
    for (Predicate predicate : predicates) {
      Expression expression = converted(schema, predicate);
      if (expression != null) {
        List<Filter> filter = ParquetPushdown.filter(predicate).stream().toList();
        Expression any = Expressions.alwaysTrue();
        boolean isOnKey = Arrays.stream(predicate.references()).allMatch(ref -> isOf(key, ref));
        all =
            all.and(
                isOnKey
                    ? new PushedFilters(List.of(predicate), expression, filter, any, List.of())
                    : new PushedFilters(List.of(predicate), any, List.of(), expression, filter));
      }
    }
    OptionalInt group = BucketFilter.group(schema, all.onKey);
    return group.isEmpty() ? all : all.and(inGroup(group.getAsInt()));
  }

  /** Files are sorted by group first, so that it is what finds the place of a key. */
  private static PushedFilters inGroup(int group) {
    Expression any = Expressions.alwaysTrue();
    Filter filter = new EqualTo(KeyedSchema.GROUP, group);
    return new PushedFilters(List.of(), any, List.of(filter), any, List.of());
  }

  private static boolean isOf(Set<String> columns, NamedReference reference) {
    return reference.fieldNames().length == 1 && columns.contains(reference.fieldNames()[0]);
  }

  /**
   * The filter in Iceberg's form; null where the statistics of the table's columns cannot be asked
   * this.
   */
  private static @Nullable Expression converted(KeyedSchema schema, Predicate predicate) {
    Set<String> visible =
        schema.visible().columns().stream()
            .map(NestedField::name)
            .filter(name -> !schema.spec().reducer(name).accumulates())
            .collect(Collectors.toSet());
    NamedReference[] references = predicate.references();
    if (references.length == 0 || !Arrays.stream(references).allMatch(r -> isOf(visible, r))) {
      return null;
    }
    try {
      Expression expression = SparkV2Filters.convert(predicate);
      boolean isUsable =
          expression != null
              && !namesZero(Binder.bind(schema.table().asStruct(), expression, true));
      return isUsable ? expression : null;
    } catch (ValidationException
        | IllegalArgumentException
        | NullPointerException
        | ClassCastException e) {
      return null; // a literal that Iceberg does not take: NaN, null, another type
    }
  }

  /** Spark takes the two zeros of a floating-point column for equal; Iceberg tells them apart. */
  private static boolean namesZero(Expression bound) {
    return switch (bound.op()) {
      case AND -> namesZero(((And) bound).left()) || namesZero(((And) bound).right());
      case OR -> namesZero(((Or) bound).left()) || namesZero(((Or) bound).right());
      case NOT -> namesZero(((Not) bound).child());
      default ->
          bound instanceof BoundPredicate<?> test && literals(test).anyMatch(ZEROS::contains);
    };
  }

  private static Stream<?> literals(BoundPredicate<?> test) {
    if (test.isLiteralPredicate()) {
      return Stream.of(test.asLiteralPredicate().literal().value());
    }
    return test.isSetPredicate() ? test.asSetPredicate().literalSet().stream() : Stream.empty();
  }

  PushedFilters and(PushedFilters other) {
    return new PushedFilters(
        joined(used, other.used),
        Expressions.and(onKey, other.onKey),
        joined(keyFilters, other.keyFilters),
        Expressions.and(onValues, other.onValues),
        joined(valueFilters, other.valueFilters));
  }

  private static <T> List<T> joined(List<T> one, List<T> two) {
    return Stream.concat(one.stream(), two.stream()).toList();
  }

  /** The filters on keys and values. */
  List<Filter> filters() {
    return joined(keyFilters, valueFilters);
  }

  /** The filters that merged rows can be tested with, the strictest first. */
  List<Expression> rowTests() {
    return List.of(Expressions.and(onKey, onValues), onValues);
  }

  /** The filters let the rows of one key through at most, and files can be asked for it. */
  boolean nameOneKey(KeyedSchema schema) {
    return !keyFilters.isEmpty() && BucketFilter.namesAll(schema, onKey, schema.key());
  }

  /**
   * The one value of the first sort column that they let through; null where it cannot be sliced.
   */
  @Nullable KeySlice slice(KeyedSchema schema) {
    OptionalInt group = BucketFilter.group(schema, onKey);
    NestedField first = schema.sortKey().get(0);
    Object value =
        group.isPresent()
            ? Integer.valueOf(group.getAsInt())
            : BucketFilter.equalities(schema, onKey).get(first.fieldId());
    return value == null ? null : KeySlice.at(first.type(), value);
  }

  boolean isNone() {
    return used.isEmpty();
  }

  /**
   * The filter that Iceberg's planning is given. Its statistics of uuids are not in one order
   * everywhere, so ranges of them choose no files.
   *
   * @param counts how many buckets the files may have been written for
   */
  public Expression fileFilter(KeyedSchema schema, Set<Integer> counts) {
    Expression buckets = BucketFilter.of(schema, onKey, counts);
    boolean hasUuid =
        schema.key().stream().anyMatch(field -> field.type().typeId() == Type.TypeID.UUID);
    return hasUuid ? buckets : Expressions.and(onKey, buckets);
  }

  public String shownOnKey() {
    return shown(onKey);
  }

  String shownOnValues() {
    return shown(onValues);
  }

  private static String shown(Expression expression) {
    String text = expression == Expressions.alwaysTrue() ? "none" : expression.toString();
    return text.length() <= SHOWN_CHARACTERS ? text : text.substring(0, SHOWN_CHARACTERS) + "...";
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof PushedFilters that
        && onKey.toString().equals(that.onKey.toString())
        && onValues.toString().equals(that.onValues.toString())
        && keyFilters.equals(that.keyFilters)
        && valueFilters.equals(that.valueFilters);
  }

  @Override
  public int hashCode() {
    return keyFilters.hashCode() * 31 + valueFilters.hashCode();
  }
}
