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
final class ColumnTests extends ExpressionVisitor<ColumnTest> {
  private final List<NestedField> fields;
  private final StructType struct;

  ColumnTests(List<NestedField> fields) {
    this.fields = fields;
    this.struct = StructType.of(fields);
  }

  @Override
  public ColumnTest alwaysTrue() {
    return ColumnTest.always(true);
  }

  @Override
  public ColumnTest alwaysFalse() {
    return ColumnTest.always(false);
  }

  @Override
  public ColumnTest and(ColumnTest left, ColumnTest right) {
    return ColumnTest.joined(left, right, true);
  }

  @Override
  public ColumnTest or(ColumnTest left, ColumnTest right) {
    return ColumnTest.joined(left, right, false);
  }

  @Override
  public <T> ColumnTest predicate(UnboundPredicate<T> unbound) {
    Expression bound = unbound.bind(struct, true);
    if (bound.op() == Expression.Operation.TRUE) {
      return alwaysTrue();
    }
    if (bound.op() == Expression.Operation.FALSE) {
      return alwaysFalse();
    }
    ColumnTest loop = bound instanceof BoundPredicate<?> predicate ? loop(predicate) : null;
    return loop == null ? new RowByRow(fields, unbound) : loop;
  }

  private <T> @Nullable ColumnTest loop(BoundPredicate<T> predicate) {
    if (!(predicate.term() instanceof BoundReference<T> reference)) {
      return null;
    }
    int column = column(reference.fieldId());
    Expression.Operation how = predicate.op();
    if (how == Expression.Operation.IS_NULL || how == Expression.Operation.NOT_NULL) {
      return ColumnTest.isNull(column, how == Expression.Operation.IS_NULL);
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

  private static @Nullable ColumnTest compared(
      Expression.Operation how, int column, Type.TypeID type, Object than) {
    return switch (type) {
      case INTEGER, DATE -> NumberTests.compared(how, column, (long) (Integer) than, true);
      case LONG, TIMESTAMP -> NumberTests.compared(how, column, (long) (Long) than, false);
      case FLOAT -> NumberTests.compared(how, column, (double) (Float) than, true);
      case DOUBLE -> NumberTests.compared(how, column, (double) (Double) than, false);
      case STRING -> TextTests.compared(how, column, (CharSequence) than);
      default -> null;
    };
  }

  private static @Nullable ColumnTest among(
      int column, Type.TypeID type, Set<?> constants, boolean in) {
    return switch (type) {
      case INTEGER, DATE -> NumberTests.among(column, all(constants, Integer.class), true, in);
      case LONG, TIMESTAMP -> NumberTests.among(column, all(constants, Long.class), false, in);
      case FLOAT -> NumberTests.amongDoubles(column, all(constants, Float.class), true, in);
      case DOUBLE -> NumberTests.amongDoubles(column, all(constants, Double.class), false, in);
      case STRING -> TextTests.among(column, all(constants, CharSequence.class), in);
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
