package io.keylake.tables.spec;

import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.Schema;
import org.apache.iceberg.expressions.And;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.Literal;
import org.apache.iceberg.expressions.Not;
import org.apache.iceberg.expressions.Or;
import org.apache.iceberg.expressions.UnboundPredicate;
import org.apache.iceberg.expressions.UnboundTerm;
import org.apache.iceberg.expressions.UnboundTransform;
import org.apache.iceberg.types.Types.NestedField;

/**
 * Columns under the names that another schema of the table has for them: a name may have changed in
 * between, the field id has not.
 *
 * @param isCaseSensitive false where names are those of {@code from} in any case
 */
public record ColumnNames(Schema from, Schema to, boolean isCaseSensitive) {
  public ColumnNames(Schema from, Schema to) {
    this(from, to, true);
  }

  /** A filter, which may only be on columns that both schemas have. */
  public Expression translated(Expression filter) {
    if (filter instanceof And and) {
      return Expressions.and(translated(and.left()), translated(and.right()));
    }
    if (filter instanceof Or or) {
      return Expressions.or(translated(or.left()), translated(or.right()));
    }
    if (filter instanceof Not not) {
      return Expressions.not(translated(not.child()));
    }
    return filter instanceof UnboundPredicate<?> test ? translated(test) : filter;
  }

  private <T> Expression translated(UnboundPredicate<T> test) {
    String name = test.ref().name();
    String other = name(name);
    if (other.equals(name)) {
      return test;
    }
    UnboundTerm<T> term = term(test.term(), other);
    if (test.literals() == null) {
      return Expressions.predicate(test.op(), term);
    }
    List<T> values = new ArrayList<>();
    for (Literal<T> literal : test.literals()) {
      values.add(literal.value());
    }
    return Expressions.predicate(test.op(), term, values);
  }

  private static <T> UnboundTerm<T> term(UnboundTerm<T> term, String name) {
    return term instanceof UnboundTransform<?, ?>
        ? Expressions.transform(name, ((UnboundTransform<?, T>) term).transform())
        : Expressions.ref(name);
  }

  /** The other name of a column; its own where the other schema does not have it. */
  public String name(String name) {
    NestedField field =
        isCaseSensitive ? from.findField(name) : from.caseInsensitiveFindField(name);
    String other = field == null ? null : to.findColumnName(field.fieldId());
    return other == null ? name : other;
  }
}
