package io.keylake.spark.read.predicates;

import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.iceberg.expressions.BoundPredicate;
import org.apache.iceberg.expressions.BoundReference;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.ExpressionVisitors.ExpressionVisitor;
import org.apache.iceberg.expressions.UnboundPredicate;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.iceberg.types.Types.StructType;
import org.jspecify.annotations.Nullable;

/** Makes the tests of a filter; what has no loop of its own here is asked row by row. */
final class ColumnPredicates extends ExpressionVisitor<ColumnPredicate> {
  private final List<NestedField> fields;
  private final StructType struct;

  ColumnPredicates(List<NestedField> fields) {
    this.fields = fields;
    this.struct = StructType.of(fields);
  }

  @Override
  public ColumnPredicate alwaysTrue() {
    return ColumnPredicate.always(true);
  }

  @Override
  public ColumnPredicate alwaysFalse() {
    return ColumnPredicate.always(false);
  }

  @Override
  public ColumnPredicate and(ColumnPredicate left, ColumnPredicate right) {
    return ColumnPredicate.joined(left, right, true);
  }

  @Override
  public ColumnPredicate or(ColumnPredicate left, ColumnPredicate right) {
    return ColumnPredicate.joined(left, right, false);
  }

  @Override
  public <T> ColumnPredicate predicate(UnboundPredicate<T> unbound) {
    Expression bound = unbound.bind(struct, true);
    if (bound.op() == Expression.Operation.TRUE) {
      return alwaysTrue();
    }
    if (bound.op() == Expression.Operation.FALSE) {
      return alwaysFalse();
    }
    ColumnPredicate loop = bound instanceof BoundPredicate<?> predicate ? loop(predicate) : null;
    return loop == null ? new RowByRow(fields, unbound) : loop;
  }

  private <T> @Nullable ColumnPredicate loop(BoundPredicate<T> predicate) {
    if (!(predicate.term() instanceof BoundReference<T> reference)) {
      return null;
    }
    int column = column(reference.fieldId());
    Expression.Operation how = predicate.op();
    if (how == Expression.Operation.IS_NULL || how == Expression.Operation.NOT_NULL) {
      return ColumnPredicate.isNull(column, how == Expression.Operation.IS_NULL);
    }
    Type.TypeID type = reference.type().typeId();
    if (predicate.isLiteralPredicate()) {
      return compared(how, column, type, predicate.asLiteralPredicate().literal().value());
    }
    if (predicate.isSetPredicate()) {
      return among(
          column, type, predicate.asSetPredicate().literalSet(), how == Expression.Operation.IN);
    }
    return null;
  }

  private static @Nullable ColumnPredicate compared(
      Expression.Operation how, int column, Type.TypeID type, Object than) {
    return switch (type) {
      case INTEGER, DATE -> NumberPredicates.compared(how, column, (long) (Integer) than, true);
      case LONG, TIMESTAMP -> NumberPredicates.compared(how, column, (long) (Long) than, false);
      case FLOAT -> NumberPredicates.compared(how, column, (double) (Float) than, true);
      case DOUBLE -> NumberPredicates.compared(how, column, (double) (Double) than, false);
      case STRING -> TextPredicates.compared(how, column, (CharSequence) than);
      default -> null;
    };
  }

  private static @Nullable ColumnPredicate among(
      int column, Type.TypeID type, Set<?> constants, boolean in) {
    return switch (type) {
      case INTEGER, DATE -> NumberPredicates.among(column, all(constants, Integer.class), true, in);
      case LONG, TIMESTAMP -> NumberPredicates.among(column, all(constants, Long.class), false, in);
      case FLOAT -> NumberPredicates.amongDoubles(column, all(constants, Float.class), true, in);
      case DOUBLE -> NumberPredicates.amongDoubles(column, all(constants, Double.class), false, in);
      case STRING -> TextPredicates.among(column, all(constants, CharSequence.class), in);
      default -> null;
    };
  }

  private static <T> Set<T> all(Set<?> constants, Class<T> type) {
    return constants.stream()
        .map(type::cast)
        .map(Objects::requireNonNull)
        .collect(Collectors.toSet());
  }

  private int column(int fieldId) {
    for (int i = 0; i < fields.size(); i++) {
      if (fields.get(i).fieldId() == fieldId) {
        return i;
      }
    }
    throw new IllegalStateException("the filter asks for field " + fieldId + ", which is not read");
  }
}
