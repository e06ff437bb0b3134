package io.keylake.tables.planning;

import io.keylake.merge.Presence;
import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.expressions.And;
import org.apache.iceberg.expressions.Binder;
import org.apache.iceberg.expressions.BoundPredicate;
import org.apache.iceberg.expressions.BoundReference;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.InclusiveMetricsEvaluator;
import org.apache.iceberg.expressions.Or;
import org.apache.iceberg.expressions.UnboundPredicate;
import org.apache.iceberg.types.Type;
import org.jspecify.annotations.Nullable;

/**
 * A filter on merged rows, asked of the statistics of files: can a section hold a row that it
 * keeps?
 *
 * <p>A merged row takes each value from some file of its section, or has none, which reads as null;
 * two columns may come from two files. So the question is put to each atom of the filter, a test of
 * one column, by itself: a section may satisfy an atom when one of its files may, or when the atom
 * accepts null. Only then are "and" and "or" applied. This holds for registers, whose values are
 * values that were written; an accumulator's are not.
 */
final class ValueFilter {
  private static final Set<Expression.Operation> REFUSE_NULL =
      Set.of(
          Expression.Operation.LT,
          Expression.Operation.LT_EQ,
          Expression.Operation.GT,
          Expression.Operation.GT_EQ,
          Expression.Operation.EQ,
          Expression.Operation.IN,
          Expression.Operation.NOT_NULL,
          Expression.Operation.IS_NAN,
          Expression.Operation.STARTS_WITH);

  private final KeyedSchema schema;
  private final Expression filter;
  private final List<Atom> atoms = new ArrayList<>();
  private final Set<Integer> columns = new HashSet<>();

  /** A test of one column, which null does not pass, and which Iceberg decides as Spark does. */
  private record Atom(
      Expression test, int column, boolean orNaN, InclusiveMetricsEvaluator files) {}

  ValueFilter(KeyedSchema schema, Expression filter) {
    this.schema = schema;
    this.filter = Expressions.rewriteNot(filter);
    collect(this.filter);
  }

  /** Field ids of the columns whose statistics decide. */
  Set<Integer> columns() {
    return columns;
  }

  private void collect(Expression expression) {
    if (expression instanceof And and) {
      collect(and.left());
      collect(and.right());
    } else if (expression instanceof Or or) {
      collect(or.left());
      collect(or.right());
    } else if (expression instanceof UnboundPredicate<?> test) {
      Atom atom = atom(test);
      if (atom != null) {
        atoms.add(atom);
        columns.add(atom.column());
      }
    }
  }

  /** The atom of a test; null for one that statistics do not decide. */
  private @Nullable Atom atom(UnboundPredicate<?> test) {
    Expression bound;
    try {
      bound = Binder.bind(schema.table().asStruct(), test, true);
    } catch (ValidationException e) {
      return null;
    }
    if (!(bound instanceof BoundPredicate<?> predicate)
        || !(predicate.term() instanceof BoundReference<?> column)
        || !REFUSE_NULL.contains(predicate.op())) {
      return null;
    }
    Type.TypeID type = column.type().typeId();
    boolean isFloating = type == Type.TypeID.FLOAT || type == Type.TypeID.DOUBLE;
    if (type == Type.TypeID.UUID || (isFloating && namesZero(predicate))) {
      return null;
    }
    boolean isAbove =
        predicate.op() == Expression.Operation.GT || predicate.op() == Expression.Operation.GT_EQ;
    return new Atom(
        test,
        column.fieldId(),
        isFloating && isAbove,
        new InclusiveMetricsEvaluator(schema.table(), test));
  }

  /** Spark takes the two zeros for equal; statistics tell them apart. */
  private static boolean namesZero(BoundPredicate<?> predicate) {
    if (predicate.isLiteralPredicate()) {
      return isZero(predicate.asLiteralPredicate().literal().value());
    }
    return predicate.isSetPredicate()
        && predicate.asSetPredicate().literalSet().stream().anyMatch(ValueFilter::isZero);
  }

  private static boolean isZero(Object value) {
    return ((Number) value).doubleValue() == 0;
  }

  /** The atoms that some row of the file may satisfy. */
  BitSet mayMatch(DataFile file) {
    BitSet may = new BitSet(atoms.size());
    for (int i = 0; i < atoms.size(); i++) {
      may.set(i, mayMatch(atoms.get(i), file));
    }
    return may;
  }

  private boolean mayMatch(Atom atom, DataFile file) {
    boolean isCarried =
        schema.values().stream()
            .filter(value -> value.fieldId() == atom.column())
            .noneMatch(v -> FileFacts.presence(file, schema, schema.leafOf(v)) == Presence.NEVER);
    return isCarried
        && (atom.files().eval(file) || (atom.orNaN() && mayHoldNaN(file, atom.column())));
  }

  /**
   * Says whether a file may hold a NaN, which Spark has above every number. The bounds of a file
   * leave it out.
   */
  private static boolean mayHoldNaN(DataFile file, int column) {
    Long count = file.nanValueCounts() == null ? null : file.nanValueCounts().get(column);
    return count == null || count > 0;
  }

  /** A section of these files may hold a row that the filter keeps. */
  boolean mayMatch(List<PlannedFile> files) {
    BitSet may = new BitSet(atoms.size());
    files.forEach(file -> may.or(file.mayMatch()));
    return holds(filter, may);
  }

  private boolean holds(Expression expression, BitSet may) {
    if (expression instanceof And and) {
      return holds(and.left(), may) && holds(and.right(), may);
    }
    if (expression instanceof Or or) {
      return holds(or.left(), may) || holds(or.right(), may);
    }
    for (int i = 0; i < atoms.size(); i++) {
      if (atoms.get(i).test() == expression) {
        return may.get(i);
      }
    }
    return expression.op() != Expression.Operation.FALSE;
  }
}
